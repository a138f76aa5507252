// batch_lines.cpp: see batch_lines.h.
#include "cli/batch_lines.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/words.h"
#include "cli/weights_checksum.h"
#include "ordinal/error.h"

namespace ordinal::cli {
namespace {

// Runs `action`; an Error from it gets the place in front.
template <class Action>
auto at_place(const std::string& place, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(place + ": " + error.summary(), error.expected(), error.found(), error.suggestion());
  }
}

// The lines of a text, each with its number and its beginning.
struct TextLine {
  int64_t number = 0;
  std::string_view text;
  size_t end = 0;      // of the line, the newline included
  bool whole = false;  // there is a newline
};

class TextLines {
 public:
  // A byte order mark in front is no part of the first line.
  explicit TextLines(std::string_view text) : text_(text), at_(text.starts_with("\xef\xbb\xbf") ? 3 : 0) {}

  std::optional<TextLine> next() {
    if (at_ == text_.size()) return std::nullopt;
    const size_t newline = text_.find('\n', at_);
    const bool whole = newline != std::string_view::npos;
    const std::string_view line = text_.substr(at_, whole ? newline - at_ : newline);
    at_ = whole ? newline + 1 : text_.size();
    return TextLine{++number_, line, at_, whole};
  }

 private:
  std::string_view text_;
  size_t at_;
  int64_t number_ = 0;
};

// Reads one line of the input.
class LineParser {
 public:
  LineParser(const TextLine& line, const BatchInput& input, const GenerateCommand& command, const OpenedModel& opened,
             const Session& session)
      : document_(parse_json(line.text, input.name, line.number)),
        name_(input.name),
        command_(command),
        opened_(opened),
        session_(session),
        line_{line.number, "null", false},
        request_{{}, command.generate} {}

  void parse() {
    const Json& json = document_;
    check_members(json, "the request", {},
                  {{"prompt", "ids", "id", "n", "temp", "top_k", "top_p", "min_p", "seed", "stop"}});
    GenerateOptions& options = request_.options;
    SamplerOptions& sampler = options.sampler;
    const Json* prompt = &json;
    int sources = 0;
    for (const auto& [key, value] : json.items()) {
      if (key == "prompt") {
        prompt = &value, ++sources;
        text_ = text(value, "the prompt");
      } else if (key == "ids") {
        prompt = &value, ++sources;
        read_ids(value);
      } else if (key == "id") {
        line_.id = value.raw();
      } else if (key == "n") {
        options.max_new_tokens = whole_number(value, "the number of new tokens");
      } else if (key == "temp") {
        sampler.temperature = number_f32(value, "the temperature");
      } else if (key == "top_k") {
        sampler.top_k = whole_number(value, "top-k");
      } else if (key == "top_p") {
        sampler.top_p = number_f32(value, "top-p");
      } else if (key == "min_p") {
        sampler.min_p = number_f32(value, "min-p");
      } else if (key == "seed") {
        sampler.seed = natural(value, "the seed");
        line_.seeded = true;
      } else {
        options.stop.clear();
        for (const Json& string : array(value, "stop strings")) options.stop.push_back(text(string, "a stop string"));
      }
      at_place(place(value), [&] { check_generate_options(options, session_.model().config().vocab_size); });
    }
    if (sources != 1)
      throw Error(place(json) + ": the request has " + (sources == 0 ? "no prompt" : "two prompts"),
                  "one of \"prompt\", a text, and \"ids\", an array", sources == 0 ? "neither" : "both",
                  "{\"prompt\": \"Once upon a time\"}");
    at_place(place(*prompt), [&] { settle_prompt(); });
  }

  BatchLine line() { return std::move(line_); }
  GenerateRequest request() { return std::move(request_); }

 private:
  std::string place(const Json& value) const { return name_ + ", " + value.place(); }

  void read_ids(const Json& ids) {
    const int64_t vocab_size = session_.model().config().vocab_size;
    for (const Json& json : array(ids, "the ids of the prompt")) {
      const int64_t id = whole_number(json, "a token id");
      if (id < 0 || id >= vocab_size)
        json.fail("this is no token id of the model", "0 to " + std::to_string(vocab_size - 1), std::to_string(id));
      request_.prompt.push_back(static_cast<TokenId>(id));
    }
  }

  void settle_prompt() {
    if (text_)
      request_.prompt = prompt_ids(command_.prompt, text_, opened_);
    else if (request_.prompt.empty())
      request_.prompt = prompt_ids(command_.prompt, "", opened_);
    const auto length = static_cast<int64_t>(request_.prompt.size());
    if (length > session_.capacity() && request_.options.overflow == Overflow::stop)
      throw Error("the prompt is longer than the context",
                  "at most " + std::to_string(session_.capacity()) + " tokens in this batch",
                  std::to_string(length) + " tokens",
                  "a shorter prompt, --overflow slide, or --ctx " + std::to_string(length) +
                      " where the position scheme allows");
    check_request(request_, session_, opened_.tokenizer.get());
  }

  const JsonDocument document_;
  const std::string& name_;
  const GenerateCommand& command_;
  const OpenedModel& opened_;
  const Session& session_;
  BatchLine line_;
  GenerateRequest request_;
  std::optional<std::string> text_;
};

// What of a result says which line it answers.
struct Written {
  int64_t line = 0;
  uint64_t seed = 0;
  std::string id, model, position, settings;
  std::vector<TokenId> prompt;
};

Written parse_result(const TextLine& line, const std::string& name) {
  Written written;
  const JsonDocument result = parse_json(line.text, name, line.number);
  for (const auto& [key, value] : object(result, "a result").items()) {
    if (key == "line")
      written.line = whole_number(value, "the line");
    else if (key == "id")
      written.id = value.raw();
    else if (key == "seed")
      written.seed = natural(value, "the seed");
    else if (key == "model")
      written.model = text(value, "the model");
    else if (key == "position")
      written.position = text(value, "the position scheme");
    else if (key == "settings")
      written.settings = value.raw();
    else if (key == "prompt_ids")
      for (const Json& id : array(value, "the prompt's ids"))
        written.prompt.push_back(whole_number_32(id, "a token id"));
  }
  return written;
}

// Names the first setting that differs.
template <class Refuse>
void same_settings(const std::string& expected, const std::string& found, const Refuse& refuse) {
  if (expected == found) return;
  const JsonDocument wanted = parse_json(expected, "settings"), there = parse_json(found, "settings");
  for (const auto& [key, value] : object(wanted, "the settings").items()) {
    std::string other = "nothing";
    for (const auto& [name, stated] : object(there, "the settings").items())
      if (name == key) other = stated.raw();
    if (other != value.raw()) refuse("the setting " + std::string(key) + " differs", std::string(value.raw()), other);
  }
  refuse("its settings differ", expected, found);
}

}  // namespace

std::string settings_of(const GenerateRequest& request, const GenerateCommand& command, const BatchInput& input) {
  const GenerateOptions& o = request.options;
  const SamplerOptions& s = o.sampler;
  JsonWriter json;
  json.begin_object();
  json.add("n", o.max_new_tokens);
  json.add("temp", s.temperature);
  json.add("top_k", s.top_k);
  json.add("typical", s.typical_p);
  json.add("top_p", s.top_p);
  json.add("min_p", s.min_p);
  json.add("repetition_penalty", s.repetition_penalty);
  json.add("presence_penalty", s.presence_penalty);
  json.add("frequency_penalty", s.frequency_penalty);
  json.add("penalize", command.penalize);
  json.add("penalty_window", s.penalty_window);
  json.add("logit_bias", command.logit_bias);
  json.add("stop", o.stop);
  json.add("ignore_eos", o.ignore_eos);
  json.add("overflow", command.overflow);
  json.add("keep", o.keep);
  json.add("logprobs", o.logprobs);
  json.add("context", input.context);
  json.add("kv_dtype", command.run.kv_dtype);
  json.add("weights", input.weights);
  json.end_object();
  return json.take();
}

void BatchInput::seed_from(uint64_t seed) {
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].seeded) requests[i].options.sampler.seed = seed + i;
}

BatchInput parse_batch(std::string_view text, std::string name, const GenerateCommand& command,
                       const OpenedModel& opened, const Session& session) {
  BatchInput input{std::move(name), session.capacity(), weights_checksum(opened.model->file()), {}, {}};
  TextLines lines(text);
  while (const std::optional<TextLine> line = lines.next()) {
    if (line->text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    LineParser parser(*line, input, command, opened, session);
    parser.parse();
    input.lines.push_back(parser.line());
    input.requests.push_back(parser.request());
  }
  return input;
}

BatchDone parse_results(std::string_view text, const std::string& name, const BatchInput& input,
                        const GenerateCommand& command, const std::string& model, const std::string& position) {
  BatchDone done;
  TextLines lines(text);
  while (const std::optional<TextLine> line = lines.next()) {
    if (!line->whole) break;
    const std::string here = name + ", line " + std::to_string(line->number);
    const auto refuse = [&](const std::string& what, const std::string& expected, const std::string& found) {
      throw Error(here + " is not the result that belongs there: " + what, expected, found,
                  "the input and options that " + name + " began with, or another -o");
    };
    if (done.count == input.lines.size())
      refuse("there are more lines than prompts",
             std::to_string(input.lines.size()) + " lines, as many as prompts in " + input.name, "one more");
    const Written written = parse_result(*line, name);
    const BatchLine& asked = input.lines[done.count];
    const GenerateRequest& request = input.requests[done.count];
    const auto same = [&](const char* what, const std::string& expected, const std::string& found) {
      if (expected != found)
        refuse(std::string(what) + " differs", expected, found.empty() ? "nothing" : in_quotes(found));
    };
    same("the line", std::to_string(asked.line), std::to_string(written.line));
    same("the id", asked.id, written.id);
    same("the model", model, written.model);
    same("the position scheme", position, written.position);
    if (written.settings.empty())
      ++done.without_settings;
    else
      same_settings(settings_of(request, command, input), written.settings, refuse);
    if (written.prompt != request.prompt)
      refuse("the prompt differs", "the prompt_ids of " + input.name + ", line " + std::to_string(asked.line),
             "others");
    // The run drew its lines' seeds from one, which the first line without a seed of its own gives away.
    if (!asked.seeded && !done.seed) done.seed = command.seed.value_or(written.seed - done.count);
    same("the seed", std::to_string(asked.seeded ? request.options.sampler.seed : *done.seed + done.count),
         std::to_string(written.seed));
    ++done.count;
    done.bytes = line->end;
  }
  return done;
}

}  // namespace ordinal::cli
