// generate.cpp: `ordinal generate`.
#include "text/generator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>

#include "cli/commands.h"
#include "cli/generate_command.h"
#include "cli/terminal.h"
#include "cli/together.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

void define(Parser& parser, GenerateCommand& o) {
  o.prompt.add_to(parser, "prompt");
  parser.option("--ids", "1,2,3", o.prompt.ids, "the prompt as token ids");
  parser.option("--chat", "TEXT", o.prompt.chat,
                "a message to an instruct model: put into the chat template that the checkpoint has, if it is one of "
                "the known ones");
  o.model.add_to(parser);
  o.model.add_dtype_to(parser);
  parser.option("-n,--new-tokens", "N", o.generate.max_new_tokens, "most new tokens [default: 200]");
  SamplerOptions& s = o.generate.sampler;
  parser.option("--temp,--temperature", "T", s.temperature,
                "divides the logits; 0 takes the best token, ties go to the lowest id [default: 0.8]");
  parser.option("--top-k", "K", s.top_k, "sample from the K best; 0 from all [default: 0]");
  parser.option("--top-p", "P", s.top_p, "sample from the fewest best that reach probability P [default: 1]");
  parser.option("--min-p", "P", s.min_p, "drop what is less likely than P times the best [default: 0]");
  parser.option("--typical", "P", s.typical_p, "sample from the most typical that reach probability P [default: 1]");
  parser.option("--repeat-penalty,--repetition-penalty", "R", s.repetition_penalty,
                "divides (below 0: multiplies) the logits of tokens seen [default: 1]");
  parser.option("--presence-penalty", "X", s.presence_penalty, "subtracted from tokens seen [default: 0]");
  parser.option("--frequency-penalty", "X", s.frequency_penalty,
                "subtracted as often as a token was seen [default: 0]");
  parser.option("--penalize", "usual|all|new", o.penalize,
                "what counts as seen: all tokens, the new ones alone, or, as most programs do, all for the repetition "
                "penalty and the new ones for the two others [default: usual]");
  parser.option("--penalty-window", "N", s.penalty_window, "the last N tokens count as seen; -1 for all [default: -1]");
  parser.option("--logit-bias", "ID=X", o.logit_bias, "add X to the logit of a token, -inf bans it; may be repeated");
  parser.option("--seed", "S", o.seed, "of the random draws [default: a new one, which is printed]");
  parser.option("--stop", "TEXT", o.generate.stop, "end before this text; may be repeated");
  parser.flag("--ignore-eos", o.generate.ignore_eos, "go on after the model's end token");
  parser.option("--samples", "N", o.generate.samples,
                "continuations of the prompt, with seeds S, S+1, ... [default: 1]");
  parser.option(
      "--overflow", "stop|slide", o.overflow,
      "when the context is full: stop, or keep the first tokens and the newer half of the rest [default: stop]");
  parser.option("--keep", "N", o.keep, "first tokens that stay when sliding [default: 4, in a tiny context fewer]");
  parser.option("--logprobs", "N", o.logprobs, "with --json: log-probabilities of each new token and of the N best");
  parser.option("--draft", "lookup", o.draft,
                "guess tokens that followed the same words before and check several in one pass: the same text, sooner "
                "where it repeats itself");
  parser.option("--draft-tokens", "N", o.draft_tokens, "with --draft: most tokens guessed at once [default: 8]");
  parser.flag("--echo", o.echo, "write the prompt before the new text");
  parser.option(
      "--batch", "FILE.jsonl", o.batch,
      "prompts in, results out, JSON lines, in order: {\"prompt\": TEXT} or {\"ids\": [1,2]}; a line may have "
      "an id and its own n, temp, top_k, top_p, min_p, seed, stop; - for standard input");
  parser.option("--parallel", "N", o.parallel, "with --batch: prompts at work at once; changes no result [default: 8]");
  parser.option("-o,--output", "FILE.jsonl", o.output, "with --batch: write the results to this new file");
  parser.flag("--resume", o.resume, "with -o: go on after the results that the file holds");
  o.run.add_to(parser);
  parser.flag("--json", o.json, "one JSON object; an array of them with --samples");
  parser.flag("-q,--quiet", o.quiet, "no notes and timings on standard error");
}

std::pair<TokenId, float> parse_bias(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError{"--logit-bias takes ID=VALUE; found '" + report::escaped(text) + "'", "--logit-bias 50256=-inf"};
  const int64_t id = parse_integer(text.substr(0, equals), "--logit-bias, before the =,");
  // Ids too large for any model stay too large.
  return {static_cast<TokenId>(std::clamp<int64_t>(id, -1, std::numeric_limits<TokenId>::max())),
          parse_number(text.substr(equals + 1), "--logit-bias, after the =,")};
}

void settle_batch(const GenerateCommand& o) {
  if (!o.batch) {
    for (const auto& [given, name] :
         {std::pair{o.parallel.has_value(), "--parallel"}, {o.output.has_value(), "-o"}, {o.resume, "--resume"}})
      if (given) throw UsageError{std::string(name) + " goes with --batch", ""};
    return;
  }
  if (o.prompt.text || o.prompt.file || o.prompt.ids || o.prompt.chat)
    throw UsageError{"--batch has the prompts; an argument, -f or --ids is one too many", ""};
  if (o.generate.samples != 1)
    throw UsageError{"--samples does not go with --batch", "the prompt on several lines: each has a seed of its own"};
  if (o.echo) throw UsageError{"--echo does not go with --batch, whose results have the prompts' ids", ""};
  if (o.resume && !o.output) throw UsageError{"--resume goes with -o, the file to go on with", ""};
  if (o.parallel && *o.parallel < 1)
    throw Error("--parallel is out of range", "1 or more", std::to_string(*o.parallel));
}

void settle_drafts(GenerateCommand& o) {
  if (!o.draft) {
    if (o.draft_tokens) throw UsageError{"--draft-tokens goes with --draft", "--draft lookup"};
    return;
  }
  if (*o.draft != "lookup") throw UsageError{"--draft takes lookup; found '" + report::escaped(*o.draft) + "'", ""};
  o.generate.draft_tokens = o.draft_tokens.value_or(8);
  if (o.generate.draft_tokens < 1)
    throw Error("--draft-tokens is out of range", "1 or more", std::to_string(o.generate.draft_tokens));
}

// Turns the options into what the generator takes, and finds every fault that shows without a model.
void settle(GenerateCommand& o) {
  for (const std::string& bias : o.logit_bias) o.generate.sampler.logit_bias.push_back(parse_bias(bias));
  if (o.overflow != "stop" && o.overflow != "slide")
    throw UsageError{"--overflow takes stop or slide; found '" + report::escaped(o.overflow) + "'", ""};
  if (o.keep && o.overflow == "stop") throw UsageError{"--keep goes with --overflow slide", ""};
  if (o.logprobs && !o.json && !o.batch) throw UsageError{"--logprobs goes with --json", ""};
  constexpr std::array<std::string_view, 3> kPenalize = {"usual", "all", "new"};
  const auto penalize = std::ranges::find(kPenalize, o.penalize);
  if (penalize == kPenalize.end())
    throw UsageError{"--penalize takes usual, all or new; found '" + report::escaped(o.penalize) + "'", ""};
  o.generate.sampler.penalize = static_cast<Penalize>(penalize - kPenalize.begin());
  settle_batch(o);
  settle_drafts(o);
  if (o.echo && o.json) throw UsageError{"--echo does not go with --json, which has the prompt's ids", ""};
  o.generate.overflow = o.overflow == "slide" ? Overflow::slide : Overflow::stop;
  o.generate.keep = o.keep.value_or(0);
  o.generate.logprobs = o.logprobs.value_or(-1);
  if (o.logprobs && *o.logprobs < 0)
    throw Error("--logprobs is out of range", "0 or more", std::to_string(*o.logprobs));
  // Not `random_device` for all 64 bits: a seed is to be read and typed.
  o.generate.sampler.seed =
      o.seed ? *o.seed : std::stoull(from_first([] { return std::to_string(std::random_device()()); }));
  o.run.check();
  check_generate_options(o.generate, std::numeric_limits<TokenId>::max());
}

// A line of a batch may have settings of its own, beside which the options have an effect again.
void note_idle(Parser& parser, const GenerateCommand& o) {
  const SamplerOptions& s = o.generate.sampler;
  if (o.prompt.ids) parser.idle({"--special"}, "--ids is no text");
  if (o.prompt.chat) parser.idle({"--special"}, "the template of --chat has its special tokens");
  if (o.batch) parser.idle({"--json"}, "--batch writes JSON lines anyway");
  if (s.temperature == 0 && !o.batch) {
    parser.idle({"--top-k", "--top-p", "--min-p", "--typical", "--seed"}, "--temp 0 takes the best token");
    if (o.generate.samples > 1) parser.idle({"--samples"}, "with --temp 0 all are alike");
  }
  if (s.repetition_penalty == 1 && s.presence_penalty == 0 && s.frequency_penalty == 0)
    parser.idle({"--penalty-window"}, "no penalty is set");
}

// Writes continuations as they come: the first while it grows, the others when they are done.
class Writer {
 public:
  Writer(const GenerateCommand& options, const OpenedModel& opened) : options_(options), opened_(opened) {}

  void prompt(const std::optional<std::string>& text, const std::vector<TokenId>& ids) {
    if (!options_.echo || options_.json) return;
    if (opened_.tokenizer == nullptr) {
      for (const TokenId id : ids) id_word(id);
    } else {
      put(text ? *text : opened_.tokenizer->decode(ids));
    }
  }

  void token(int64_t sample, TokenId id) {
    if (!options_.json && sample == 0 && opened_.tokenizer == nullptr) id_word(id);
  }

  void text(int64_t sample, std::string_view text) {
    if (!options_.json && sample == 0) put(text);
  }

  void finished(int64_t sample, const Generation& result) {
    if (options_.json) return;
    if (sample > 0) {
      put("---\n");
      if (opened_.tokenizer == nullptr) {
        first_id_ = true;
        for (const TokenId id : result.ids) id_word(id);
      } else {
        put(result.text);
      }
    }
    // Exact bytes for one text in a pipe; else lines that a person or a separator can follow.
    const bool several = options_.generate.samples > 1;
    if ((several || output_is_terminal() || opened_.tokenizer == nullptr) && last_ != '\n') put("\n");
  }

 private:
  void id_word(TokenId id) {
    put((first_id_ ? "" : " ") + std::to_string(id));
    first_id_ = false;
  }

  void put(std::string_view text) {
    if (text.empty()) return;
    write_out(text);
    last_ = text.back();
  }

  const GenerateCommand& options_;
  const OpenedModel& opened_;
  bool first_id_ = true;
  char last_ = '\n';
};

ScoredToken scored(TokenId id, double logprob, const Tokenizer* tokenizer) {
  ScoredToken token;
  token.id = id;
  token.logprob = logprob;
  if (tokenizer != nullptr && id < tokenizer->vocab_size()) token.piece = tokenizer->piece(id);
  return token;
}

void say_how_it_ended(const std::vector<Generation>& results, const GenerateCommand& options, const OpenedModel& opened,
                      int64_t capacity, const Notes& notes) {
  const auto full = std::ranges::count(results, Finish::context, &Generation::finish);
  if (full > 0)
    notes.say("stopped: the context of " + std::to_string(capacity) + " tokens is full" +
              (results.size() > 1 ? " (" + std::to_string(full) + " samples)" : ""));
  const GenerateTimings& first = results.front().timings;  // the others take over its prompt
  int64_t decoded = 0;
  double decode_ms = 0;  // samples run side by side
  for (const Generation& result : results) {
    decoded += result.timings.decode_tokens;
    decode_ms = std::max(decode_ms, result.timings.decode_ms);
  }
  notes.line("ordinal: load " + report::fixed(opened.load_ms, 1) + " ms, prompt " +
             rate(first.prefill_tokens, first.prefill_ms) +
             (results.size() > 1
                  ? ", " + std::to_string(decoded) + " new tokens in " + std::to_string(results.size()) + " samples"
                  : ", decode " + rate(decoded, decode_ms)));
  if (!options.draft) return;
  int64_t proposed = 0, accepted = 0, passes = 0, tokens = 0;
  for (const Generation& result : results) {
    proposed += result.timings.draft_proposed;
    accepted += result.timings.draft_accepted;
    passes += result.timings.passes;
    tokens += std::ssize(result.ids);
  }
  notes.line("ordinal: drafts: proposed " + std::to_string(proposed) + ", accepted " + std::to_string(accepted) +
             ", passes " + std::to_string(passes) + " for " + std::to_string(tokens) + " tokens");
}

}  // namespace

GenerateCommand::GenerateCommand() {
  generate.max_new_tokens = 200;
  generate.sampler.temperature = 0.8f;
}

int64_t default_keep(int64_t capacity) { return std::min<int64_t>(4, capacity / 2); }

std::string rate(int64_t tokens, double ms) {
  std::string text =
      std::to_string(tokens) + (tokens == 1 ? " token in " : " tokens in ") + report::fixed(ms, 1) + " ms";
  if (tokens > 0 && ms > 0) text += " (" + report::fixed(static_cast<double>(tokens) * 1000.0 / ms, 1) + "/s)";
  return text;
}

Generated report_of(const Generation& result, const OpenedModel& opened, const Session& session,
                    const std::vector<TokenId>& prompt, bool with_logprobs) {
  Generated report;
  report.model = opened.path;
  report.position = session.scheme().spec();
  report.standing =
      standing_word(session, std::min(session.capacity(), static_cast<int64_t>(prompt.size() + result.ids.size())));
  report.seed = result.seed;
  report.prompt_ids = prompt;
  report.ids = result.ids;
  report.text = result.text;
  report.finish = finish_name(result.finish);
  if (with_logprobs) {
    report.logprobs.emplace();
    for (const TokenLogprob& logprob : result.logprobs) {
      LogprobRow& row = report.logprobs->emplace_back();
      row.drawn = scored(logprob.id, logprob.logprob, opened.tokenizer.get());
      for (const auto& [id, value] : logprob.best) row.best.push_back(scored(id, value, opened.tokenizer.get()));
    }
  }
  const GenerateTimings& t = result.timings;
  report.timings = {opened.load_ms, t.prefill_tokens, t.prefill_ms,     t.decode_tokens,
                    t.decode_ms,    t.draft_proposed, t.draft_accepted, t.passes};
  return report;
}

int run_generate(Arguments arguments) {
  GenerateCommand o;
  Parser parser("generate",
                "Continues a prompt. Only the new text goes to standard output, as it comes. The prompt is taken as it "
                "is, a newline at the end of a file included; an empty one begins with the model's start token.",
                "ordinal generate \"Once upon a time\" -n 100 --temp 0.7 --seed 1");
  define(parser, o);
  if (!parser.parse(arguments)) return 0;
  settle(o);
  note_idle(parser, o);
  const Notes notes = parser.notes(o.quiet);
  if (o.batch) return run_generate_batch(o);

  const std::atomic<bool>& interrupted = watch_signals();
  const std::optional<std::string> text = o.prompt.read(notes);
  const OpenedModel opened = open_model(o.model, notes);
  check_generate_options(o.generate, opened.model->config().vocab_size);
  if (opened.tokenizer == nullptr && !o.generate.stop.empty())
    throw Error("stop strings need text, and the model has no tokenizer", "a model with a tokenizer", "ids only");
  const std::vector<TokenId> prompt = prompt_ids(o.prompt, text, opened);
  const auto length = static_cast<int64_t>(prompt.size());
  const bool slides = o.generate.overflow == Overflow::slide;
  const SessionNeeds needs{.prompt_length = length,
                           .new_tokens = o.generate.max_new_tokens,
                           .n_sessions = std::min<int64_t>(o.generate.samples, 8),
                           .can_slide = true,
                           .slides = slides};
  Session session = open_session(opened, o.run, needs, notes);
  const int64_t capacity = session.capacity(), fits = capacity - length + 1;
  if (!o.keep) o.generate.keep = default_keep(capacity);
  if (!o.seed && o.generate.sampler.temperature > 0)
    notes.line("ordinal: seed " + std::to_string(o.generate.sampler.seed));
  if (!slides && o.generate.max_new_tokens > fits)
    notes.say("only " + std::to_string(fits) + " of " + std::to_string(o.generate.max_new_tokens) +
              " new tokens fit: the context holds " + std::to_string(capacity) + ", the prompt takes " +
              std::to_string(length) + " (--overflow slide goes on, --ctx may allow more)");

  Writer writer(o, opened);
  Progress progress("prompt", o.quiet);
  bool slid = false;
  GenerateEvents events;
  events.cancel = &interrupted;
  events.prompt = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    if (done == total) progress.clear();
  };
  events.token = [&](int64_t sample, TokenId id) { writer.token(sample, id); };
  events.text = [&](int64_t sample, std::string_view piece) { writer.text(sample, piece); };
  events.finished = [&](int64_t sample, const Generation& result) { writer.finished(sample, result); };
  events.slide = [&](int64_t, int64_t kept, int64_t dropped) {
    if (!std::exchange(slid, true))
      notes.say("the context is full: " + std::to_string(dropped) + " tokens dropped, " + std::to_string(kept) +
                " kept, the first " + std::to_string(o.generate.keep) + " among them; said once");
  };
  writer.prompt(text, prompt);
  const std::vector<Generation> results = generate(session, opened.tokenizer.get(), prompt, o.generate, events);

  if (o.json) {
    std::vector<Generated> reports;
    for (const Generation& result : results)
      reports.push_back(report_of(result, opened, session, prompt, o.logprobs.has_value()));
    write_out((o.generate.samples > 1 ? report::to_json(reports) : report::to_json(reports.front())) + "\n");
  }
  say_how_it_ended(results, o, opened, capacity, notes);
  return interrupted ? signal_exit_status() : 0;
}

}  // namespace ordinal::cli
