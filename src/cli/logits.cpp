// logits.cpp: `ordinal logits`.
#include <algorithm>
#include <numeric>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/together.h"
#include "ordinal/error.h"
#include "ordinal/sampler.h"
#include "report/json.h"
#include "report/npy.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

struct LogitsCommand {
  ModelOptions model;
  RunOptions run;
  PromptOptions prompt;
  std::optional<std::string> output;
  int64_t top = 10;
  bool all = false, json = false, quiet = false;
};

std::vector<ScoredToken> best_of(std::span<const float> logits, int64_t count, const Tokenizer* tokenizer) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<ptrdiff_t>(count, static_cast<ptrdiff_t>(order.size()));
  const auto logit_of = [&](TokenId id) { return logits[static_cast<size_t>(id)]; };
  std::partial_sort(order.begin(), end, order.end(), [&](TokenId a, TokenId b) {
    return logit_of(a) != logit_of(b) ? logit_of(a) > logit_of(b) : a < b;
  });
  std::vector<ScoredToken> best;
  if (end == order.begin()) return best;
  const double first = log_probability(logits, order.front());
  for (auto id = order.begin(); id != end; ++id) {
    ScoredToken token;
    token.id = *id;
    token.logit = logit_of(*id);
    token.logprob = first + (token.logit - static_cast<double>(logit_of(order.front())));
    if (tokenizer != nullptr && *id < tokenizer->vocab_size()) token.piece = tokenizer->piece(*id);
    best.push_back(std::move(token));
  }
  return best;
}

// The best tokens after the last id, or the best one after each.
std::string table_of(const LogitsCommand& o, const Evaluated& result, bool with_pieces) {
  std::vector<std::string> head = {o.all ? "best id" : "id", "logit", "log p"};
  if (with_pieces) head.push_back("piece");
  if (o.all) head.insert(head.begin(), {"place", "id"});
  std::vector<std::vector<std::string>> rows = {head};
  for (size_t i = 0; i < result.best.size(); ++i) {
    const ScoredToken& token = result.best[i];
    std::vector<std::string>& row = rows.emplace_back();
    if (o.all) row = {std::to_string(i), std::to_string(result.ids[i])};
    row.push_back(std::to_string(token.id));
    row.push_back(report::fixed(token.logit, 4));
    row.push_back(report::fixed(token.logprob, 4));
    if (with_pieces) row.push_back("'" + report::escaped(token.piece) + "'");
  }
  return report::table(rows, o.all ? "rrrrrl" : "rrrl");
}

// Runs the ids through the session and hands over the rows that are wanted: all of them, or the last.
void evaluate(Session& session, std::span<const TokenId> ids, bool all, bool quiet, const Session::LogitsSink& sink) {
  Progress progress("logits", quiet);
  const auto chunk = static_cast<size_t>(session.options().chunk);
  for (size_t done = 0; done < ids.size();) {
    throw_if_interrupted();
    const auto part = ids.subspan(done, std::min(chunk, ids.size() - done));
    const bool last = done + part.size() == ids.size();
    if (all) {
      session.evaluate_all(part, [&](int64_t row, std::span<const float> logits) {
        throw_if_interrupted();
        sink(static_cast<int64_t>(done) + row, logits);
      });
    } else {
      const std::span<const float> logits = session.evaluate(part);
      if (last) sink(static_cast<int64_t>(ids.size()) - 1, logits);
    }
    done += part.size();
    progress.update(static_cast<int64_t>(done), static_cast<int64_t>(ids.size()));
  }
}

}  // namespace

int run_logits(Arguments arguments) {
  LogitsCommand o;
  Parser parser("logits",
                "Writes the scores of the next token: the best as a table, all as JSON, or all as a float32 NumPy file "
                "of shape [vocabulary], with --all [tokens, vocabulary].",
                "ordinal logits --ids 1,2,3 --position none -o logits.npy");
  o.prompt.add_to(parser, "prompt");
  parser.option("--ids", "1,2,3", o.prompt.ids, "the prompt as token ids");
  o.model.add_to(parser);
  o.model.add_dtype_to(parser);
  parser.flag("--all", o.all, "the scores after every token, not the last alone");
  parser.option("-o,--output", "FILE.npy", o.output,
                "write the scores to this file, which is replaced; - for standard output");
  parser.option("--top", "N", o.top, "rows of the table [default: 10]");
  o.run.add_to(parser);
  parser.flag("--json", o.json, "one JSON object with all scores");
  parser.flag("-q,--quiet", o.quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  o.run.check();
  if (o.output && o.json) throw UsageError{"-o does not go with --json", ""};
  if (o.top < 0) throw Error("--top is out of range", "0 or more", std::to_string(o.top));

  watch_signals();
  if (o.json || o.output || o.all) parser.idle({"--top"}, "it is the rows of the table of the last token");
  if (o.prompt.ids) parser.idle({"--special"}, "--ids is no text");
  const Notes notes = parser.notes(o.quiet);
  const std::optional<std::string> text = o.prompt.read(notes);
  const OpenedModel opened = open_model(o.model, notes);
  const std::vector<TokenId> ids = prompt_ids(o.prompt, text, opened);
  const auto length = static_cast<int64_t>(ids.size());
  const int64_t vocab_size = opened.model->config().vocab_size;
  Session session = open_session(opened, o.run, {.prompt_length = length}, notes);

  const std::vector<int64_t> shape = o.all ? std::vector{length, vocab_size} : std::vector{vocab_size};
  const bool to_output = o.output == "-";
  std::optional<report::NpyFile> file;
  in_step([&] {
    if (o.output && !to_output && speaks()) file.emplace(*o.output, shape);
    return true;
  });
  if (to_output) write_out(report::npy_header(shape));
  Evaluated result;
  result.model = opened.path;
  result.position = session.scheme().spec();
  result.standing = standing_word(session, length);
  result.ids = ids;
  result.all = o.all;
  evaluate(session, ids, o.all, o.quiet, [&](int64_t, std::span<const float> logits) {
    if (file) return file->add(logits);
    if (o.output) return write_out({reinterpret_cast<const char*>(logits.data()), logits.size_bytes()});
    if (o.json) result.logits.emplace_back(logits.begin(), logits.end());
    for (ScoredToken& token : best_of(logits, o.all ? 1 : o.top, opened.tokenizer.get()))
      result.best.push_back(std::move(token));
  });
  if (o.output && !to_output) {
    if (file) file->finish();
    notes.say("wrote " + *o.output + ": float32 [" + (o.all ? std::to_string(length) + ", " : "") +
              std::to_string(vocab_size) + "], position " + result.position);
  } else if (!to_output) {
    write_out(o.json ? report::to_json(result) + "\n" : table_of(o, result, opened.tokenizer != nullptr));
  }
  return 0;
}

}  // namespace ordinal::cli
