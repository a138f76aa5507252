// generate_batch_test.cpp: `ordinal generate --batch` as a process.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "fixture.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

Strings lines_of(const std::string& text) {
  Strings lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The results without what a clock says.
std::vector<Json> results_of(const std::string& text) {
  std::vector<Json> results;
  for (const std::string& line : lines_of(text)) {
    Json json = Json::parse(line, nullptr, false);
    REQUIRE(!json.is_discarded());
    json.erase("timings");
    results.push_back(std::move(json));
  }
  return results;
}

Command batch(const std::string& input, Strings more = {}, const std::string& model = byte_model()) {
  Command command;
  command.arguments = {"generate", "-m", model, "--batch", "-"};
  command.arguments.insert(command.arguments.end(), more.begin(), more.end());
  command.input = input;
  return command;
}

// Thirteen prompts: more than are at work at once, with settings of their own.
const std::string kInput =
    R"({"prompt": "some words", "id": "a"})"
    "\n"
    R"({"prompt": "some words", "seed": 9, "n": 3, "id": {"deep": [1, 12345678901234567890123]}})"
    "\n"
    R"({"ids": [1, 2, 3], "temp": 0, "n": 30})"
    "\r\n\n  \n"
    R"({"prompt": "", "n": 0})"
    "\n"
    R"({"prompt": "caf\u00e9 \ud83d\udc4b", "top_k": 5, "top_p": 0.5, "min_p": 0.1, "temp": 1.5, "n": 9})"
    "\n"
    R"({"prompt": "some words", "stop": ["zz", "e"], "n": 25, "temp": 1})"
    "\n"
    R"({"prompt": "a"})"
    "\n"
    R"({"prompt": "b", "n": 100})"
    "\n"
    R"({"prompt": "some words that fill the context nearly"})"
    "\n"
    R"({"prompt": "d"})"
    "\n"
    R"({"prompt": "e", "seed": 18446744073709551615})"
    "\n"
    R"({"id": null, "prompt": "f"})"
    "\n"
    R"({"prompt": "the last has no newline", "id": 13})";

const Strings kSettings = {"-n", "12", "--temp", "0.9", "--seed", "100", "--logprobs", "1"};

}  // namespace

TEST_CASE("cli batch: every result is that of the prompt alone, in order, whatever is at work at once") {
  const Outcome outcome = run(batch(kInput, kSettings));
  check_done(outcome);
  const std::vector<Json> results = results_of(outcome.out);
  REQUIRE(results.size() == 13);
  CHECK(outcome.out.find(R"("id":{"deep": [1, 12345678901234567890123]})") != std::string::npos);
  CHECK(outcome.err.find("13 results") != std::string::npos);

  const Strings input = lines_of(kInput);
  for (size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    const auto line = results[i].at("line").get<size_t>();
    CHECK(line == (i < 3 ? i + 1 : i + 3));  // the two blank ones are counted and left out
    const Json asked = Json::parse(input[line - 1]);
    CHECK(results[i].at("id") == asked.value("id", Json()));
    Strings alone = {"generate", "-m", byte_model(), "--json", "--logprobs", "1", "-q"};
    const auto add = [&](const char* option, const char* key, const std::string& otherwise) {
      if (asked.contains(key))
        alone.insert(alone.end(), {option, asked[key].dump()});
      else if (!otherwise.empty())
        alone.insert(alone.end(), {option, otherwise});
    };
    add("-n", "n", "12");
    add("--temp", "temp", "0.9");
    add("--top-k", "top_k", "");
    add("--top-p", "top_p", "");
    add("--min-p", "min_p", "");
    add("--seed", "seed", std::to_string(100 + i));
    for (const Json& stop : asked.value("stop", Json::array())) alone.insert(alone.end(), {"--stop", stop});
    if (asked.contains("ids"))
      alone.insert(alone.end(), {"--ids", "1,2,3"});
    else
      alone.push_back(asked["prompt"]);
    Json expected = json_of(run(alone)), found = results[i];
    expected.erase("timings");
    found.erase("line");
    found.erase("id");
    CHECK(found.at("settings").at("n") == asked.value("n", 12));
    CHECK(found.at("settings").at("stop") == asked.value("stop", Json::array()));
    found.erase("settings");
    CHECK(found == expected);
  }
  for (const char* parallel : {"1", "3", "100"}) {
    Strings more = kSettings;
    more.insert(more.end(), {"--parallel", parallel});
    CHECK(results_of(run(batch(kInput, more)).out) == results);
  }
}

TEST_CASE("cli batch: goes on after a cut anywhere in the last line") {
  const Scratch scratch;
  const std::string input = "{\"prompt\":\"ab\",\"id\":1}\n{\"prompt\":\"c\",\"n\":1,\"id\":2}\n",
                    path = scratch.path("out");
  const auto with = [&](Strings more) {
    more.insert(more.end(), {"-n", "3", "-o", path, "-q"});
    Command command = batch(input, more, fs::path(byte_model()).filename());
    command.folder = fs::path(byte_model()).parent_path();
    return command;
  };
  check_done(run(with({"--seed", "5"})));
  const std::string whole = read_file(path);
  const std::vector<Json> expected = results_of(whole);
  REQUIRE(expected.size() == 2);
  const size_t last = whole.find('\n') + 1;
  for (size_t size = last; size < whole.size(); ++size) {
    CAPTURE(size);
    // Every byte near the ends, every third between: each is a run of the program.
    if (size % 3 != 0 && size > last + 3 && size + 4 < whole.size()) continue;
    write_file(path, whole.substr(0, size));
    const Outcome outcome = run(with({"--resume"}));  // the seed is that of the results that are there
    check_done(outcome);
    CHECK(read_file(path).substr(0, last) == whole.substr(0, last));
    CHECK(results_of(read_file(path)) == expected);
  }
  // From nothing, from half of the first line, and with nothing left to do.
  for (const size_t size : {size_t{0}, last / 2, whole.size()}) {
    write_file(path, whole.substr(0, size));
    check_done(run(with({"--resume", "--seed", "5"})));
    CHECK(results_of(read_file(path)) == expected);
  }
  fs::remove(path);
  check_done(run(with({"--resume", "--seed", "5"})));
  CHECK(results_of(read_file(path)) == expected);
}

TEST_CASE("cli batch: results made with another setting are not gone on with, and the setting is named") {
  const Scratch scratch;
  const std::string path = scratch.path("out");
  const std::string input = "{\"prompt\":\"ab\"}\n{\"prompt\":\"cd\", \"top_k\": 5}\n";
  check_done(run(batch(input, {"-n", "3", "-o", path, "--seed", "1"})));
  const std::string whole = read_file(path);
  const std::vector<std::pair<Strings, std::string>> changes = {
      {{"-n", "4"}, "n"},
      {{"--temp", "0.5"}, "temp"},
      {{"--top-k", "9"}, "top_k"},
      {{"--typical", "0.5"}, "typical"},
      {{"--top-p", "0.5"}, "top_p"},
      {{"--min-p", "0.5"}, "min_p"},
      {{"--repeat-penalty", "1.5"}, "repetition_penalty"},
      {{"--presence-penalty", "1"}, "presence_penalty"},
      {{"--frequency-penalty", "1"}, "frequency_penalty"},
      {{"--penalize", "new"}, "penalize"},
      {{"--penalty-window", "2"}, "penalty_window"},
      {{"--logit-bias", "5=1"}, "logit_bias"},
      {{"--stop", "x"}, "stop"},
      {{"--ignore-eos"}, "ignore_eos"},
      {{"--overflow", "slide"}, "overflow"},
      {{"--logprobs", "1"}, "logprobs"},
      {{"--ctx", "9"}, "context"},
      {{"--kv-dtype", "f16"}, "kv_dtype"},
  };
  for (const auto& [options, name] : changes) {
    CAPTURE(name);
    Strings more = {"-o", path, "--resume"};
    if (options.front() != "-n") more.insert(more.end(), {"-n", "3"});
    more.insert(more.end(), options.begin(), options.end());
    check_failed(run(batch(input, more)), {"line 1 is not the result that belongs there: the setting " + name + " "});
  }
  const Strings as_it_was = {"-n", "3", "-o", path, "--resume"};
  check_failed(run(batch("{\"prompt\":\"ab\"}\n{\"prompt\":\"cd\", \"top_k\": 6}\n", as_it_was)),
               {"line 2 is not the result that belongs there: the setting top_k differs"});
  CHECK(read_file(path) == whole);

  // The same path with other weights, as far as the file says.
  std::string other = whole;
  const size_t digit = other.find("\"weights\":\"") + 11;
  other[digit] = other[digit] == '0' ? '1' : '0';
  write_file(path, other);
  check_failed(run(batch(input, as_it_was)), {"the setting weights differs"});

  // What changes no result is no setting, and results of before there were settings are gone on with, with a word.
  write_file(path, whole);
  check_done(run(batch(input, {"-n", "3", "-o", path, "--resume", "--draft", "lookup", "--parallel", "1", "-t", "1"})));
  std::string old = whole;
  for (size_t at = old.find("\"settings\""); at != std::string::npos; at = old.find("\"settings\""))
    old.erase(at, old.find("},", at) + 2 - at);
  write_file(path, old);
  const Outcome outcome = run(batch(input, {"-n", "4", "-o", path, "--resume"}));
  check_done(outcome);
  CHECK(outcome.err.find("2 of them do not say their settings") != std::string::npos);
  CHECK(read_file(path) == old);
}

TEST_CASE("cli batch: with drafts the results are what they are without") {
  std::string input;
  for (const char* prompt : {"abcabcabcabcab", "xyxyxyxyxyx", "abcabcabc", "one two one two one two"})
    input += "{\"prompt\":\"" + std::string(prompt) + "\", \"n\": 40}\n";
  for (const char* temperature : {"0", "0.7"}) {
    const Strings settings = {"--temp", temperature, "--seed", "3"};
    Strings drafting = settings;
    drafting.insert(drafting.end(), {"--draft", "lookup"});
    const Outcome plain = run(batch(input, settings)), drafted = run(batch(input, drafting));
    check_done(plain);
    check_done(drafted);
    CHECK(results_of(drafted.out) == results_of(plain.out));
    int64_t proposed = 0;
    for (const std::string& line : lines_of(drafted.out))
      proposed += Json::parse(line).at("timings").at("draft_proposed").get<int64_t>();
    CHECK(proposed > 0);
  }
}

TEST_CASE("cli batch: results that are there are not written over") {
  const Scratch scratch;
  const std::string path = scratch.path("out");
  const std::string input = "{\"prompt\":\"ab\"}\n{\"prompt\":\"cd\"}\n";
  check_done(run(batch(input, {"-n", "3", "-o", path, "--seed", "1"})));
  const std::string whole = read_file(path);
  check_failed(run(batch(input, {"-n", "3", "-o", path})), {"--resume to go on"});
  const auto refused = [&](const std::string& changed_input, Strings more, const std::string& word) {
    if (std::ranges::find(more, "-n") == more.end()) more.insert(more.end(), {"-n", "3"});
    more.insert(more.end(), {"-o", path, "--resume"});
    check_failed(run(batch(changed_input, more)), {word});
  };
  refused("{\"prompt\":\"ab\"}\n{\"prompt\":\"xd\"}\n", {}, "line 2 is not the result that belongs there: the prompt");
  refused("{\"prompt\":\"ab\",\"id\":7}\n{\"prompt\":\"cd\"}\n", {}, "the id differs");
  refused("{\"prompt\":\"ab\"}\n\n{\"prompt\":\"cd\"}\n", {}, "the line differs");
  refused("{\"prompt\":\"ab\"}\n", {}, "more lines than prompts");
  refused(input, {"--seed", "2"}, "the seed differs");
  refused(input, {"--position", "none"}, "the position scheme differs");
  refused(input, {"-n", "4"}, "the setting n differs");
  refused(input, {"--temp", "0.5"}, "the setting temp differs");
  refused(input, {"--stop", "a"}, "the setting stop differs");
  refused(input, {"--kv-dtype", "f16"}, "the setting kv_dtype differs");
  refused(input, {"--logit-bias", "3=1"}, "the setting logit_bias differs");
  CHECK(read_file(path) == whole);
  for (const std::string& other : {std::string("{\"prompt\": 1}\n"), std::string("text\n"), whole + "\n"}) {
    write_file(path, other);
    check_failed(run(batch(input, {"-o", path, "--resume"})), {"line 1", "line 3"});
    CHECK(read_file(path) == other);
  }
  check_failed(run(batch(input, {"-o", scratch.path("no/such/folder")})), {"cannot write"});
  check_failed(run(batch(input, {"-o", scratch.folder().string()})), {"cannot write"});
  check_failed(run(batch(input, {"-o", scratch.folder().string(), "--resume"})), {"no regular file"});
}

TEST_CASE("cli batch: a bad line is named with its column before anything runs") {
  const Scratch scratch;
  const auto refused = [&](const std::string& line, const std::string& place, const std::string& word) {
    CAPTURE(line);
    const std::string path = scratch.path("out");
    const Outcome outcome = run(batch("{\"prompt\":\"fine\"}\n" + line + "\n", {"-o", path}));
    check_failed(outcome, {"standard input, line 2, column " + place + ": "});
    CHECK(mentions(outcome.err, {word}));
    CHECK(!fs::exists(path));
  };
  refused("{\"prompt\":\"a\"", "14", "'}'");
  refused("[]", "1", "an object");
  refused("{\"prompt\":\"a\"} {}", "16", "end of input");
  refused("{}", "1", "no prompt");
  refused("{\"prompt\":\"a\",\"ids\":[1]}", "1", "two prompts");
  refused("{\"prompt\":3}", "11", "a string");
  refused("{\"prompt\":\"\xff\"}", "12", "UTF-8");
  refused("{\"ids\":[1,257]}", "11", "0 to 256");
  refused("{\"ids\":[-1]}", "9", "0 to 256");
  refused("{\"ids\":[1.0]}", "9", "an integer");
  refused("{\"prompt\":\"\xc3\xa9\",\"n\":-1}", "19", "new tokens");
  refused("{\"prompt\":\"a\",\"n\":\"3\"}", "19", "an integer");
  refused("{\"prompt\":\"a\",\"temp\":-1}", "22", "temperature");
  refused("{\"prompt\":\"a\",\"top_k\":-1}", "23", "top-k");
  refused("{\"prompt\":\"a\",\"top_p\":2}", "23", "top-p");
  refused("{\"prompt\":\"a\",\"min_p\":2}", "23", "min-p");
  refused("{\"prompt\":\"a\",\"seed\":-1}", "22", "0 or more");
  refused("{\"prompt\":\"a\",\"stop\":[\"\"]}", "22", "stop string");
  refused("{\"prompt\":\"a\",\"stop\":\"b\"}", "22", "an array");
  refused("{\"prompt\":\"a\",\"colour\":1}", "15", "min_p");
  refused("{\"prompt\":\"a\",\"prompt\":\"b\"}", "15", "twice");
  refused("{\"prompt\":\"a\",\"id\":" + std::string(50, '[') + "}", "51", "nested");
  refused("{\"prompt\":\"" + std::string(41, 'x') + "\"}", "11", "41 tokens");
  check_failed(run(batch("{\"prompt\":\"a\"}", {}, bare_model())), {"line 1, column 11: the model has no tokenizer"});
  check_done(run(batch("{\"ids\":[5]}", {"-n", "2"}, bare_model())));
}

TEST_CASE("cli batch: what does not go together is wrong usage") {
  const auto refused = [](Strings options, const std::string& word, int status = 2) {
    options.insert(options.begin(), {"generate", "-m", "/no/such/model"});
    check_failed(run(options), {word}, status);
  };
  refused({"--batch", "x", "a prompt"}, "one too many");
  refused({"--batch", "x", "--ids", "1"}, "one too many");
  refused({"--batch", "x", "--samples", "2"}, "--samples");
  refused({"--batch", "x", "--echo"}, "--echo");
  refused({"--batch", "x", "--resume"}, "-o");
  refused({"x", "--resume"}, "--batch");
  refused({"x", "-o", "y"}, "--batch");
  refused({"x", "--parallel", "2"}, "--batch");
  refused({"--batch", "x", "--parallel", "0"}, "--parallel", 1);
  refused({"--batch", "/no/such/file"}, "cannot open /no/such/file", 1);
}

TEST_CASE("cli batch: a byte order mark in front is passed over, and is no column") {
  const std::string mark = "\xef\xbb\xbf", input = "{\"prompt\":\"ab\"}\n{\"prompt\":\"cd\"}\n";
  const Outcome plain = run(batch(input, {"-n", "3", "--seed", "1"})),
                marked = run(batch(mark + input, {"-n", "3", "--seed", "1"}));
  check_done(marked);
  CHECK(results_of(marked.out) == results_of(plain.out));
  check_failed(run(batch(mark + "{\"prompt\":3}\n")), {"line 1, column 11: "});
  CHECK(run(batch(mark + "\n")).err.find("no prompts") != std::string::npos);
}

TEST_CASE("cli batch: no prompts, no results") {
  const Scratch scratch;
  for (const char* input : {"", "\n", " \n\r\n"}) {
    const Outcome outcome = run(batch(input));
    check_done(outcome);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("no prompts") != std::string::npos);
  }
  write_file(scratch.path("in"), "");
  check_done(run({"generate", "-m", byte_model(), "--batch", scratch.path("in"), "-o", scratch.path("out")}));
  CHECK(read_file(scratch.path("out")).empty());
}

TEST_CASE("cli batch: a prompt that is too long is cut when sliding") {
  const std::string input = "{\"prompt\":\"" + std::string(50, 'x') + "\"}\n{\"prompt\":\"y\"}\n";
  const Outcome outcome = run(batch(input, {"-n", "60", "--overflow", "slide", "--seed", "1", "--ignore-eos"}));
  check_done(outcome);
  for (const Json& result : results_of(outcome.out)) CHECK(result["ids"].size() == 60);
}

TEST_CASE("cli batch: Ctrl-C leaves whole lines, exits 130 and says how to go on") {
  const Scratch scratch;
  const std::string path = scratch.path("out"), input_path = scratch.path("in");
  std::string input;
  for (int i = 0; i < 400; ++i) input += "{\"ids\":[" + std::to_string(i % 200) + ",7],\"n\":6}\n";
  write_file(input_path, input);
  const auto with = [&](Strings more) {
    Command command;
    command.arguments = {"generate", "-m", slow_model(), "--batch", input_path,
                         "--seed",   "1",  "--parallel", "2",       "--ignore-eos"};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return command;
  };
  Command command = with({});
  command.watch = [](const std::string& out, const std::string&) {
    return std::ranges::count(out, '\n') >= 3 ? Command::Action::interrupt : Command::Action::none;
  };
  const Outcome outcome = run(command);
  CHECK(outcome.status == 130);
  CHECK(outcome.out.back() == '\n');
  CHECK(outcome.err.find("-o FILE") != std::string::npos);
  const std::vector<Json> first = results_of(outcome.out);
  CHECK(first.size() >= 3);
  CHECK(first.size() < 400);

  // The same into a file, interrupted as soon as the seed is said, then gone on with.
  Command to_file = with({"-o", path});
  std::erase(to_file.arguments, "--seed");
  std::erase(to_file.arguments, "1");
  to_file.watch = [](const std::string&, const std::string& err) {
    return err.find("seed") != std::string::npos ? Command::Action::interrupt : Command::Action::none;
  };
  const Outcome cut = run(to_file);
  CHECK(cut.status == 130);
  CHECK(cut.err.find("--resume goes on") != std::string::npos);
  const std::string part = read_file(path);
  CHECK((part.empty() || part.back() == '\n'));

  // What was written is what the whole run writes.
  write_file(path, outcome.out.substr(0, outcome.out.find('\n') + 5));
  write_file(input_path, lines_of(input)[0] + "\n" + lines_of(input)[1] + "\n" + lines_of(input)[2] + "\n");
  check_done(run(with({"-o", path, "--resume"})));
  CHECK(results_of(read_file(path)) == std::vector<Json>(first.begin(), first.begin() + 3));
}

TEST_CASE("cli batch: a full disk is an error") {
  if (!fs::exists("/dev/full")) return;
  check_failed(run(batch("{\"prompt\":\"a\"}", {"-o", "/dev/full"})), {"no space"});
}
