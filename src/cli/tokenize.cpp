// tokenize.cpp: `ordinal tokenize` and `ordinal detokenize`.
#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

std::string table_of(const Tokenized& result) {
  std::vector<std::vector<std::string>> rows = {{"id", "bytes", "piece"}};
  for (const auto& token : result.tokens)
    rows.push_back({std::to_string(token.id), std::to_string(token.begin) + ".." + std::to_string(token.end),
                    "'" + report::escaped(token.piece) + "'"});
  return report::table(rows, "rrl");
}

}  // namespace

int run_tokenize(Arguments arguments) {
  ModelOptions model;
  PromptOptions prompt;
  bool ids_only = false, no_bos = false, json = false, quiet = false;
  Parser parser(
      "tokenize",
      "Shows the tokens of a text: id, the bytes of the text it stands for (from..to, the end not included), "
      "and its piece. The text is taken as it is, a newline at the end of a file included. --vocab without -m "
      "takes a tokenizer alone: a folder, a tokenizer.json or a tokenizer.model.",
      "ordinal tokenize \"Once upon a time\"");
  prompt.add_to(parser, "text");
  model.add_to(parser);
  parser.flag("--ids-only", ids_only, "only the ids, on one line, with commas between: as --ids takes them");
  parser.flag("--no-bos", no_bos, "no start token where the tokenizer would put one");
  parser.flag("--json", json, "one JSON object: ids, pieces, offsets");
  parser.flag("-q,--quiet", quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;

  if (json) parser.idle({"--ids-only"}, "--json has all of a token");
  const Notes notes = parser.notes(quiet);
  const std::string text = *prompt.read(notes);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(model, notes);
  Tokenized result;
  for (const TextToken& token :
       tokenizer->encode_with_offsets(text, {.parse_special = prompt.special, .add_bos = !no_bos}))
    result.tokens.push_back({token.id, std::string(tokenizer->piece(token.id)), token.begin, token.end});
  if (json) {
    write_out(report::to_json(result) + "\n");
  } else if (ids_only) {
    std::string line;
    for (const auto& token : result.tokens) line += (line.empty() ? "" : ",") + std::to_string(token.id);
    write_out(line + "\n");
  } else {
    write_out(table_of(result));
  }
  return 0;
}

int run_detokenize(Arguments arguments) {
  ModelOptions model;
  std::optional<std::string> ids_given, from;
  bool special = false, json = false, quiet = false;
  Parser parser("detokenize",
                "Writes the text of token ids, its bytes exactly. Ids have commas or blanks between them.",
                "ordinal detokenize --ids 1,2,3");
  parser.positional("ids", from, "the ids, or - to read them from standard input, which is also done without any");
  parser.option("--ids", "1,2,3", ids_given, "the ids");
  model.add_to(parser);
  parser.flag("--special", special, "write special tokens by name; otherwise they stand for nothing");
  parser.flag("--json", json, "one JSON object: ids, text");
  parser.flag("-q,--quiet", quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  if (ids_given && from) throw UsageError{"the ids are given twice\n  expected: one of an argument and --ids", ""};
  if (!ids_given && !from && input_is_terminal())
    throw UsageError{"there are no ids", "--ids 1,2,3, or - to read them from standard input"};

  const std::string given = ids_given ? *ids_given : from.value_or("-"), text = given == "-" ? read_file("-") : given;
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(model, parser.notes(quiet));
  const std::vector<TokenId> ids = parse_ids(text, tokenizer->vocab_size());
  const std::string bytes = tokenizer->decode(ids, special);
  write_out(json ? report::text_json(ids, bytes) + "\n" : bytes);
  if (!json && output_is_terminal() && !bytes.empty() && bytes.back() != '\n') write_out("\n");
  return 0;
}

}  // namespace ordinal::cli
