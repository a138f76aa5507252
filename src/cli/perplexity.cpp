// perplexity.cpp: `ordinal perplexity`.
#include "study/perplexity.h"

#include "base/words.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/texts.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

struct PerplexityCommand {
  ModelOptions model;
  RunOptions run;
  TextOptions texts;
  std::string protocol = "rolling";
  std::optional<int64_t> stride;
  std::optional<std::string> bos;
  bool json = false, quiet = false;
};

StartToken start_rule(const std::optional<std::string>& text, StartToken otherwise) {
  if (!text || *text == "auto") return otherwise;
  if (*text == "yes") return StartToken::always;
  if (*text == "no") return StartToken::never;
  throw Error("--bos takes a word", "auto, yes, no", "'" + report::escaped(*text) + "'");
}

std::string table_of(const Perplexity& result) {
  std::vector<std::vector<std::string>> cells = {
      {"text", "tokens", "nats/token", "+-", "ppl", "ppl/word", "bits/byte"}};
  const auto add = [&](const PerplexityRow& row) {
    cells.push_back({row.name, report::grouped(row.tokens), report::fixed(row.nll, 4), report::fixed(row.std_error, 4),
                     report::fixed(row.ppl, 3), report::fixed(row.word_ppl, 2), report::fixed(row.bits_per_byte, 4)});
  };
  for (const PerplexityRow& row : result.texts) add(row);
  if (result.texts.size() > 1) add(result.all);
  std::string text = report::table(cells, "lrrrrrr");
  if (result.texts.size() > 1)
    text += "\nmean over texts (macro): " + report::fixed(result.macro_nll, 4) + " nats/token\n";
  return text;
}

}  // namespace

int run_perplexity(Arguments arguments) {
  PerplexityCommand o;
  const std::string names = joined(protocols(), ", ", &Protocol::name);
  Parser parser(
      "perplexity",
      "Measures how well a model predicts texts: nats and perplexity per token, perplexity per word, bits per "
      "byte, each text by itself and all together. +- is the standard error of nats/token.",
      "ordinal perplexity -f book.txt --ctx 256 --stride 128 --position rope");
  o.texts.add_to(parser);
  o.model.add_to(parser);
  o.model.add_dtype_to(parser);
  parser.option("--protocol", "NAME", o.protocol,
                "how to count: " + names + "; src/study/README.md says what each does [default: rolling]");
  parser.option("--stride", "N", o.stride,
                "tokens from one window to the next; the window is --ctx [default: the protocol's own]");
  parser.option("--bos", "RULE", o.bos,
                "a start token before each text, which makes its first token count: yes, no [default: auto, as the "
                "protocol has it]");
  o.run.add_to(parser);
  parser.flag("--json", o.json, "one JSON object");
  parser.flag("-q,--quiet", o.quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  o.run.check();
  const Protocol& protocol = protocol_from_name(o.protocol);
  const StartToken start = start_rule(o.bos, protocol.start);
  o.texts.check();

  watch_signals();
  const Notes notes = parser.notes(o.quiet);
  const OpenedModel opened = open_model(o.model, notes);
  const std::vector<TokenStream> streams = read_streams(o.texts, opened, start, notes);
  Session session = open_session(opened, o.run, {}, notes);
  const int64_t ctx = session.capacity();
  const std::string standing = standing_word(session, ctx);
  const int64_t stride = o.stride.value_or(protocol.stride > 0    ? std::min(protocol.stride, ctx)
                                           : protocol.stride == 0 ? ctx
                                                                  : std::max<int64_t>(1, ctx / 2));
  if (o.stride && (protocol.cut == Cut::half || protocol.cut == Cut::harness) && stride != ctx)
    throw Error("--stride does not go with --protocol " + o.protocol, "windows that do not overlap",
                "a stride of " + std::to_string(stride), "--protocol rolling or hf");

  Progress progress("perplexity", o.quiet);
  Perplexity result =
      measure_perplexity(std::move(session), streams, protocol, ctx, stride, [&](int64_t done, int64_t total) {
        throw_if_interrupted();
        progress.update(done, total);
      });
  progress.clear();
  result.model = opened.path;
  result.standing = standing;
  notes.say(std::string(protocol.name) + ": " + std::to_string(result.windows) + " windows of " + std::to_string(ctx) +
            " tokens, stride " + std::to_string(stride) + ", start token " + (result.start_token ? "yes" : "no") +
            ", position " + result.position + ", " + report::fixed(result.seconds, 1) + " s");
  write_out(o.json ? report::to_json(result) + "\n" : table_of(result));
  return 0;
}

}  // namespace ordinal::cli
