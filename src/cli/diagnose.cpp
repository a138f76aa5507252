// diagnose.cpp: `ordinal diagnose`.
#include "study/diagnose.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/texts.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

// What follows from the ranking, for a person.
std::string verdict_on(const std::vector<DiagnosisRow>& rows, const std::string& native,
                       const std::vector<std::string>& trained) {
  const DiagnosisRow& best = rows.front();
  if (best.position == native) return "the file's own " + native + " has the lowest loss";
  const std::string gap = report::fixed(-best.delta_nll, 3) + " nats a token";
  if (-best.delta_nll <= 2 * best.delta_stderr)
    return best.position + " is ahead of the file's own " + native + " by " + gap + ", which may be chance: +- " +
           report::fixed(best.delta_stderr, 3);
  if (std::ranges::find(trained, best.position) != trained.end())
    return best.position + ", under which the weights were trained too, is better than the native " + native + " by " +
           gap;
  return best.position + " (" + best.fact + ") is better than the file's own " + native + " by " + gap +
         ": the file may state its positions wrongly; try --position " + best.position;
}

}  // namespace

int run_diagnose(Arguments arguments) {
  ModelOptions model;
  TextOptions texts;
  std::optional<std::string> named;
  int64_t tokens = 512, rows_shown = 12;
  ThreadsOption threads;
  bool json = false, quiet = false;
  Parser parser(
      "diagnose",
      "Tries other pairings, bases, offsets, slopes, scales and layouts on a checkpoint and ranks them by the "
      "loss on a text, so that a file whose positions were converted wrongly is found in seconds.",
      "ordinal diagnose model.ordinal -f book.txt");
  parser.positional("model", named, "the model; the same as -m");
  model.add_to(parser);
  texts.add_to(parser);
  parser.option("--tokens", "N", tokens,
                "tokens of the text that count; all candidates see a quarter (128 at least), the best eight see all "
                "[default: 512]");
  parser.option("--top", "N", rows_shown, "rows of the table; 0: all [default: 12]");
  threads.add_to(parser);
  parser.flag("--json", json, "one JSON object with all rows");
  parser.flag("-q,--quiet", quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  if (named && model.model) throw UsageError{"the model is given twice\n  expected: an argument or -m", ""};
  if (named) model.model = named;
  check_range("--tokens", tokens, 8, 1 << 24);
  if (rows_shown < 0) throw Error("--top is out of range", "0 or more", std::to_string(rows_shown));
  const int n_threads = threads.count();

  watch_signals();
  if (json) parser.idle({"--top"}, "--json has all rows");
  const Notes notes = parser.notes(quiet);
  if (texts.files.empty()) texts.files.push_back(default_text_path());
  if (texts.files.size() > 1) throw UsageError{"diagnose takes one text\n  expected: one -f FILE", ""};
  const OpenedModel opened = open_model(model, notes);
  const std::vector<TokenStream> streams = read_streams(texts, opened, StartToken::never, notes);
  if (streams.front().tokens.size() < 8)
    throw Error("the text is too short to tell schemes apart", "8 tokens or more",
                std::to_string(streams.front().tokens.size()), "-f a longer text");
  Progress progress("diagnose", quiet);
  Diagnosed result;
  result.model = opened.path;
  result.native = opened.model->make_scheme("native", 1)->spec();
  result.rows = diagnose(opened.model, streams.front(), tokens, n_threads, [&](int64_t done, int64_t total) {
    throw_if_interrupted();
    progress.update(done, total);
  });
  progress.clear();
  result.verdict = verdict_on(result.rows, result.native, opened.model->file().notes().trained_positions);
  if (json) {
    write_out(report::to_json(result) + "\n");
    return 0;
  }
  std::vector<std::vector<std::string>> cells = {
      {"position", "tried", "tokens", "nats/token", "against the file", "+-"}};
  for (const DiagnosisRow& row : result.rows) {
    if (rows_shown > 0 && cells.size() > static_cast<size_t>(rows_shown)) break;
    cells.push_back(
        {row.position, row.fact, std::to_string(row.tokens), report::fixed(row.nll, 4),
         row.position == result.native ? "-" : (row.delta_nll < 0 ? "" : "+") + report::fixed(row.delta_nll, 4),
         row.position == result.native ? "-" : report::fixed(row.delta_stderr, 4)});
  }
  write_out(report::table(cells, "llrrrr") + "\n" + result.verdict + "\n");
  return 0;
}

}  // namespace ordinal::cli
