// compare.cpp: `ordinal compare`.
#include "study/compare/compare.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/ranks_report.h"
#include "cli/terminal.h"
#include "cli/texts.h"
#include "cli/together.h"
#include "cli/weights_checksum.h"
#include "ordinal/error.h"
#include "position/scheme.h"
#include "report/compared_html.h"
#include "report/compared_text.h"
#include "report/json.h"
#include "report/npy.h"
#include "report/text.h"
#include "study/compare/presets.h"
#include "study/pictures/pictures.h"

namespace ordinal::cli {
namespace {

constexpr const char* kDefaultPrompt = "Once upon a time there lived";

struct CompareCommand {
  ModelOptions model;
  TextOptions texts;
  CompareOptions compare;
  std::optional<std::string> prompt;
  int64_t tokens = 0;
  ThreadsOption threads;
  std::optional<uint64_t> seed;
  std::optional<std::string> html, json, csv, per_token;
  bool quiet = false;
};

constexpr double kWorthSaying = 2;  // seconds

std::string preset_help() {
  std::string text;
  for (const Preset& preset : presets())
    text += (text.empty() ? "" : "; ") + std::string(preset.name) + " " + std::string(preset.summary);
  return text;
}

std::string duration_text(double seconds) {
  if (seconds < 90) return report::fixed(seconds, 0) + " s";
  if (seconds < 5400) return report::fixed(seconds / 60, 0) + " minutes";
  return report::fixed(seconds / 3600, 1) + " hours";
}

// As it can be typed again; with `base_names` files are without the folders of whoever typed it.
std::string command_line(Arguments arguments, bool base_names) {
  static constexpr std::array<std::string_view, 9> kOfFiles = {"--vocab", "-m",     "--model", "-f",         "--file",
                                                               "--html",  "--json", "--csv",   "--per-token"};
  std::string line = "ordinal compare", before;
  for (std::string argument : arguments) {
    const size_t value = argument.starts_with("--") ? argument.find('=') + 1 : 0;  // --html=page.html
    const std::string name = value > 0 ? argument.substr(0, value - 1) : before;
    before = argument;
    if (base_names && std::ranges::find(kOfFiles, name) != kOfFiles.end()) {
      while (argument.size() > 1 && argument.ends_with('/')) argument.pop_back();  // a folder
      argument.erase(value, std::max(value, argument.find_last_of('/') + 1) - value);
    }
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$&|;<>()*?#`!") == std::string::npos;
    std::string quoted;
    for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    line += plain ? " " + argument : " '" + quoted + "'";
  }
  return line;
}

// Today, as 2026-12-01.
std::string date_text() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  const auto two = [](unsigned n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return std::to_string(static_cast<int>(day.year())) + "-" + two(static_cast<unsigned>(day.month())) + "-" +
         two(static_cast<unsigned>(day.day()));
}

// Each scheme's own picture, in this model's numbers; none for those that are of a text.
std::vector<SchemePicture> pictures_of(const Compared& result, const OpenedModel& opened) {
  const ModelConfig& c = opened.model->config();
  std::vector<SchemePicture> drawn;
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.standing == Standing::refused || scheme.position.find(';') != std::string::npos) continue;
    const Picture& picture = find_picture("", scheme.position);
    if (picture.needs_text) continue;
    PictureInput input;
    input.spec = scheme.position;
    input.model = opened.model;
    input.shape = attention_shape(c, c.max_seq_len);
    Figure figure = picture.draw(input);
    figure.id = "scheme-" + std::to_string(drawn.size() + 1);
    drawn.push_back({scheme.position, std::move(figure)});
  }
  return drawn;
}

}  // namespace

int run_compare(Arguments arguments) {
  CompareCommand o;
  Parser parser("compare",
                "Runs the same weights and texts under several position schemes, side by side, and says what each does "
                "to the loss, inside the trained length and beyond. Each row says whether the weights were trained for "
                "its scheme at its length.",
                "ordinal compare -f book.txt --positions @trained,@extensions --lengths 128,512 --html page.html");
  o.model.add_to(parser);
  o.model.add_dtype_to(parser);
  o.texts.add_to(parser);
  CompareOptions& options = o.compare;
  parser.list("--positions", options.positions,
              "schemes and sets of schemes with commas between them: " + preset_help() + " [default: @trained]",
              split_choice);
  parser.option("--reference", "SPEC", options.reference,
                "what differences are from [default: native]; where it cannot go, native on the last tokens");
  parser.list("--lengths", options.lengths,
              "windows in tokens [default: a quarter, half, one, two and four times the trained length]");
  parser.option("--prompt", "TEXT", o.prompt, std::string("a prompt to continue [default: ") + kDefaultPrompt + "]");
  parser.option("-n,--new-tokens", "N", options.new_tokens,
                "tokens of the continuations; 0: none, and no text past the trained length [default: 24]");
  parser.option("--tokens", "N", o.tokens, "score the first N tokens of each text; 0: all [default: 0]");
  parser.option("--seed", "S", o.seed, "for shuffled, made-up and drawn tokens [default: 1]");
  o.threads.add_to(parser);
  parser.option("--html", "FILE", o.html, "write a page with charts, which needs nothing else");
  parser.option("--json", "FILE", o.json, "write all figures as JSON; - for standard output, in place of the tables");
  parser.option("--csv", "FILE", o.csv, "write the rows as CSV; - for standard output, in place of the tables");
  parser.option("--per-token", "FILE.npy", o.per_token,
                "write every token's loss under every scheme, with its id and place, as a NumPy file of records");
  parser.flag("-q,--quiet", o.quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  if (options.new_tokens < 0 || o.tokens < 0)
    throw Error("a number of tokens is below 0", "0 or more", std::to_string(std::min(options.new_tokens, o.tokens)));
  if ((o.html == "-") + (o.json == "-") + (o.csv == "-") > 1)
    throw UsageError{"two results for standard output\n  expected: one of --html, --json and --csv with -", ""};
  if (o.per_token == "-")
    throw UsageError{"--per-token - is not possible\n  expected: the name of a file", "--per-token losses.npy"};
  for (const auto& path : {o.html, o.json, o.csv, o.per_token})
    if (path) check_result(*path);
  check_position_spec(options.reference);
  options.keep_tokens = o.per_token.has_value();
  options.seed = o.seed.value_or(1);
  options.n_threads = o.threads.count();

  const std::string prompt = o.prompt.value_or(kDefaultPrompt);
  if (prompt.empty()) parser.idle({"-n"}, "there is no prompt to continue");

  watch_signals();
  const Notes notes = parser.notes(o.quiet);
  if (o.texts.files.empty()) o.texts.files.push_back(from_first(default_text_path));
  const auto start = std::chrono::steady_clock::now();
  const OpenedModel opened = open_model(o.model, notes);
  note_idle_ranks(opened.model->config(), notes);
  std::vector<TokenStream> streams = read_streams(o.texts, opened, start_if_any(opened.model->config()), notes);
  for (TokenStream& stream : streams) stream.keep_first(o.tokens);
  if (!prompt.empty()) options.prompt = opened.tokenizer->encode(prompt, {.parse_special = o.texts.special});

  const double expected = estimate_seconds(opened.model, streams, options);
  if (expected > kWorthSaying) notes.say("this will take about " + duration_text(expected));
  Progress progress("comparing", o.quiet);
  Compared result = compare(opened.model, *opened.tokenizer, streams, options, [&](int64_t done, int64_t total) {
    throw_if_interrupted();
    progress.update(done, total);
  });
  progress.clear();
  result.model = opened.path;
  result.prompt = prompt;
  TokenId previous = -1;
  for (const TokenId id : options.prompt) {
    result.prompt_pieces.push_back(opened.tokenizer->decode_next(previous, id, true));
    previous = id;
  }
  result.command = command_line(arguments, false);
  result.command_shown = command_line(arguments, true);
  result.checksum = weights_checksum(opened.model->file());
  result.date = date_text();
  result.version = kVersion;
  result.findings = findings_of(result);
  for (const Finding& found : result.findings) result.headlines.push_back(found.text);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (o.html) write_result(*o.html, report::to_html(result, pictures_of(result, opened)));
  if (o.json) write_result(*o.json, report::to_json(result) + "\n");
  if (o.csv) write_result(*o.csv, report::to_csv(result));
  if (o.per_token) {
    std::vector<std::string> ran;
    for (const ComparedScheme& scheme : result.schemes)
      if (scheme.standing != Standing::refused) ran.push_back(scheme.position);
    write_result(*o.per_token, report::to_npy(result.token_losses, ran));
  }
  if (o.json != "-" && o.csv != "-" && o.html != "-")
    write_out(report::to_text(result, output_width(), output_takes_colour()));
  for (const std::optional<std::string>& file : {o.html, o.json, o.csv, o.per_token})
    if (file && *file != "-") notes.say("wrote " + *file);
  notes.say(report::fixed(result.seconds, 1) + " s");
  return 0;
}

}  // namespace ordinal::cli
