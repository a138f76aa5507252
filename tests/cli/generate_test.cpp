// generate_test.cpp: `ordinal generate` as a process.
#include "text/generator.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "fixture.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;

namespace {

Strings generate(const std::string& model, Strings more) {
  Strings arguments = {"generate", "-m", model};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// What the library gives for the same request.
ordinal::Generation by_library(const std::string& path, const std::string& prompt, float temperature, uint64_t seed,
                               int64_t n) {
  const auto model = ordinal::Model::open(path);
  const auto tokenizer = ordinal::make_tokenizer(model->file().tokenizer());
  ordinal::Session session(model);
  ordinal::GenerateOptions options;
  options.max_new_tokens = n;
  options.sampler.temperature = temperature;
  options.sampler.seed = seed;
  return ordinal::generate(session, tokenizer.get(), tokenizer->encode(prompt), options).at(0);
}

}  // namespace

TEST_CASE("cli generate: standard output is the new text, exactly") {
  const ordinal::Generation expected = by_library(byte_model(), "some words", 0.8f, 5, 20);
  const Outcome outcome = run(generate(byte_model(), {"some words", "-n", "20", "--seed", "5"}));
  check_done(outcome);
  CHECK(outcome.out == expected.text);
  CHECK(outcome.err.find("decode") != std::string::npos);
  CHECK(run(generate(byte_model(), {"some words", "-n", "20", "--seed", "5", "--echo"})).out ==
        "some words" + expected.text);
}

TEST_CASE("cli generate: JSON has the documented keys and the library's values") {
  const ordinal::Generation expected = by_library(byte_model(), "some words", 1.5f, 7, 12);
  const Outcome outcome = run(
      generate(byte_model(), {"some words", "-n", "12", "--temp", "1.5", "--seed", "7", "--json", "--logprobs", "2"}));
  check_done(outcome);
  const nlohmann::json json = json_of(outcome);
  Strings keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  CHECK(keys ==
        Strings{"finish", "ids", "logprobs", "model", "position", "prompt_ids", "seed", "standing", "text", "timings"});
  CHECK(json["model"] == byte_model());
  CHECK(json["position"] == "learned");
  CHECK(json["seed"] == 7);
  CHECK(json["ids"] == expected.ids);
  CHECK(json["prompt_ids"] == std::vector<int>{115, 111, 109, 101, 32, 119, 111, 114, 100, 115});
  CHECK(json["finish"] == ordinal::finish_name(expected.finish));
  CHECK(json["logprobs"].size() == expected.ids.size());
  CHECK(json["logprobs"][0]["id"] == expected.ids[0]);
  CHECK(json["logprobs"][0]["best"].size() == 2);
  CHECK(json["logprobs"][0]["logprob"].get<double>() <= json["logprobs"][0]["best"][0]["logprob"].get<double>());
  CHECK(json["timings"]["prefill_tokens"] == 10);
  for (const char* key : {"load_ms", "prefill_ms", "decode_tokens", "decode_ms"})
    CHECK(json["timings"][key].is_number());
  CHECK(run(generate(byte_model(), {"x", "-n", "1", "--json"})).out.find("\"logprobs\":null") != std::string::npos);
}

TEST_CASE("cli generate: samples come in order, as text and as an array") {
  Strings texts;
  for (uint64_t seed = 3; seed < 6; ++seed) texts.push_back(by_library(byte_model(), "ab", 0.8f, seed, 8).text);
  const Strings arguments = generate(byte_model(), {"ab", "-n", "8", "--seed", "3", "--samples", "3"});
  const Outcome plain = run(arguments);
  check_done(plain);
  const auto line = [](const std::string& text) { return text.empty() || text.back() != '\n' ? text + "\n" : text; };
  CHECK(plain.out == line(texts[0]) + "---\n" + line(texts[1]) + "---\n" + line(texts[2]));
  Strings with_json = arguments;
  with_json.push_back("--json");
  const nlohmann::json json = json_of(run(with_json));
  REQUIRE(json.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(json[i]["seed"] == 3 + i);
}

TEST_CASE("cli generate: without --seed each run has its own, printed and repeatable") {
  std::set<std::string> seeds;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = run(generate(byte_model(), {"ab", "-n", "20"}));
    const size_t at = outcome.err.find("seed ");
    REQUIRE(at != std::string::npos);
    const std::string seed = outcome.err.substr(at + 5, outcome.err.find('\n', at) - at - 5);
    seeds.insert(seed);
    CHECK(run(generate(byte_model(), {"ab", "-n", "20", "--seed", seed})).out == outcome.out);
  }
  CHECK(seeds.size() > 1);
}

TEST_CASE("cli generate: one seed gives one text on any thread count and chunk, other seeds others") {
  for (const Strings& sampling : {Strings{"--temp", "0"}, Strings{"--temp", "1", "--seed", "1234"}}) {
    Strings base = {"--ids", "3,17,8", "-n", "9", "-q"};
    base.insert(base.end(), sampling.begin(), sampling.end());
    const std::string expected = run(generate(bare_model(), base)).out;
    CHECK(std::ranges::count(expected, ' ') == 8);
    for (const char* threads : {"1", "2", "3", "4", "7", "16"})
      for (const char* chunk : {"1", "2", "5", "12"}) {
        Strings more = base;
        more.insert(more.end(), {"-t", threads, "--chunk", chunk});
        CHECK(run(generate(bare_model(), more)).out == expected);
      }
  }
  std::set<std::string> distinct;
  for (int seed = 0; seed < 20; ++seed)
    distinct.insert(
        run(generate(bare_model(), {"--ids", "3,17,8", "-n", "9", "--temp", "1.5", "--seed", std::to_string(seed)}))
            .out);
  CHECK(distinct.size() >= 5);
}

TEST_CASE("cli generate: a model without a tokenizer takes ids and writes ids") {
  const Outcome outcome = run(generate(bare_model(), {"--ids", "3, 17 8", "-n", "4", "--temp", "0", "-q"}));
  check_done(outcome);
  CHECK(outcome.err.empty());
  std::string expected;
  const auto model = ordinal::Model::open(bare_model());
  ordinal::Session session(model);
  ordinal::GenerateOptions options;
  options.max_new_tokens = 4;
  options.sampler.temperature = 0;
  const std::vector<ordinal::TokenId> prompt = {3, 17, 8};
  const std::vector<ordinal::Generation> results = ordinal::generate(session, nullptr, prompt, options);
  for (const ordinal::TokenId id : results[0].ids) expected += (expected.empty() ? "" : " ") + std::to_string(id);
  CHECK(outcome.out == expected + "\n");
  check_failed(run(generate(bare_model(), {"text", "-n", "4"})), {"tokenizer"});
  check_failed(run(generate(bare_model(), {"--ids", "1", "--stop", "a"})), {"tokenizer"});
}

TEST_CASE("cli generate: a stop string ends the text, wherever it lies") {
  const Strings base = {"ab", "-n", "30", "--seed", "11", "--temp", "1", "-q"};
  const std::string whole = run(generate(byte_model(), base)).out;
  REQUIRE(whole.size() > 12);
  for (const size_t begin : {size_t{0}, size_t{4}, whole.size() - 3}) {
    const std::string stop = whole.substr(begin, 3);
    if (stop.find('\0') != std::string::npos) continue;  // not to be had in an argument
    Strings more = base;
    more.insert(more.end(), {"--stop", "never there", "--stop", stop});
    const Outcome outcome = run(generate(byte_model(), more));
    check_done(outcome);
    CHECK(outcome.out == whole.substr(0, whole.find(stop)));
    more.push_back("--json");
    CHECK(json_of(run(generate(byte_model(), more)))["finish"] == "stop");
  }
  check_failed(run(generate(byte_model(), {"ab", "--stop", ""})), {"stop string"});
}

TEST_CASE("cli generate: a stop string in brackets or quotes is taken as it is") {
  for (const char* stop : {"[END]", "[a,b]", "\"x\"", "{}", "--", "-n", " "}) {
    const Outcome outcome = run(generate(byte_model(), {"--ids", "1", "-n", "2", "--seed", "1", "--stop", stop}));
    check_done(outcome);
  }
  // A bias makes the model write "[" alone, so that the bracket shows.
  const Outcome outcome =
      run(generate(byte_model(), {"ab", "-n", "9", "--temp", "0", "--logit-bias", "91=1000", "--stop", "[[["}));
  CHECK(outcome.out.empty());
}

TEST_CASE("cli generate: logit bias, penalties and filters reach the sampler") {
  const std::string z = run(generate(byte_model(), {"ab", "-n", "5", "--temp", "0", "--logit-bias", "122=1000"})).out;
  CHECK(z == "zzzzz");
  const std::string once = run(generate(byte_model(), {"ab", "-n", "5", "--temp", "0", "--logit-bias", "122=1000",
                                                       "--presence-penalty", "5000"}))
                               .out;
  CHECK(std::ranges::count(once, 'z') == 1);
  const std::string twice = run(generate(byte_model(), {"ab", "-n", "9", "--temp", "0", "--logit-bias", "122=1000",
                                                        "--frequency-penalty", "600"}))
                                .out;
  CHECK(std::ranges::count(twice, 'z') == 2);
  const std::string divided = run(generate(byte_model(), {"ab", "-n", "5", "--temp", "0", "--logit-bias", "122=1000",
                                                          "--repeat-penalty", "1000"}))
                                  .out;
  CHECK(divided[0] == 'z');
  CHECK(divided != "zzzzz");
  const std::string banned = run(generate(byte_model(), {"ab", "-n", "5", "--temp", "0", "--logit-bias", "122=1000",
                                                         "--logit-bias", "122=-inf"}))
                                 .out;
  CHECK(std::ranges::count(banned, 'z') == 0);
  const std::string greedy = run(generate(byte_model(), {"ab", "-n", "9", "--temp", "0"})).out;
  for (const Strings& narrow :
       {Strings{"--top-k", "1"}, Strings{"--top-p", "0"}, Strings{"--min-p", "1"}, Strings{"--temp", "1e-6"}}) {
    Strings more = {"ab", "-n", "9", "--temp", "1", "--seed", "4"};
    more.insert(more.end(), narrow.begin(), narrow.end());
    CHECK(run(generate(byte_model(), more)).out == greedy);
  }
}

TEST_CASE("cli generate: the end token ends the text unless told to go on") {
  const Strings base = {"ab", "-n", "5", "--temp", "0", "--logit-bias", "256=1000", "--json"};
  const nlohmann::json ended = json_of(run(generate(byte_model(), base)));
  CHECK(ended["finish"] == "eot");
  CHECK(ended["text"] == "");
  CHECK(ended["ids"] == std::vector<int>{256});
  Strings more = base;
  more.push_back("--ignore-eos");
  const nlohmann::json ignored = json_of(run(generate(byte_model(), more)));
  CHECK(ignored["finish"] == "length");
  CHECK(ignored["ids"] == std::vector<int>(5, 256));
  CHECK(ignored["text"] == "");
}

TEST_CASE("cli generate: what will not fit is announced before it happens") {
  const Outcome outcome =
      run(generate(byte_model(), {"0123456789", "-n", "100", "--temp", "0", "--ignore-eos", "--json"}));
  check_done(outcome);
  CHECK(json_of(outcome)["finish"] == "context");
  CHECK(new_ids(outcome).size() == 31);
  CHECK(outcome.err.find("only 31 of 100 new tokens fit") != std::string::npos);
  CHECK(outcome.err.find("context of 40 tokens is full") != std::string::npos);

  const Outcome slid = run(generate(byte_model(), {"0123456789", "-n", "100", "--temp", "0", "--ignore-eos", "--json",
                                                   "--overflow", "slide", "--keep", "2"}));
  CHECK(json_of(slid)["finish"] == "length");
  CHECK(new_ids(slid).size() == 100);
  CHECK(mentions(slid.err, {"dropped"}));
}

TEST_CASE("cli generate: --kv-dtype keeps keys and values in another kind, and a large cache is announced") {
  for (const char* kind : {"f32", "f16", "bf16"})
    CHECK(new_ids(run(generate(byte_model(), {"abcd", "-n", "5", "--kv-dtype", kind, "--json", "--ignore-eos"})))
              .size() == 5);
  check_failed(run(generate(byte_model(), {"abcd", "--kv-dtype", "q8_0"})), {"f32, f16, bf16"});

  // Zeros until tokens come: announced, and not taken.
  const auto note_of = [](const std::string& ctx, const std::string& kind) {
    return run(generate(bare_model(),
                        {"--ids", "1,2", "-n", "1", "--position", "none", "--ctx", ctx, "--kv-dtype", kind}))
        .err;
  };
  CHECK(note_of("1000000", "f32").find("1000000 tokens takes") != std::string::npos);
  CHECK(note_of("1000000", "f32").find("--kv-dtype f16 halves it") != std::string::npos);
  CHECK(note_of("1000000", "bf16").find("halves") == std::string::npos);
  CHECK(note_of("1000", "f32").find("cache") == std::string::npos);
}

TEST_CASE("cli generate: --ctx sets the context, up to the end of the position scheme") {
  const Outcome small = run(generate(byte_model(), {"abcd", "-n", "9", "--ctx", "6", "--json", "--ignore-eos"}));
  CHECK(new_ids(small).size() == 3);
  check_failed(run(generate(byte_model(), {"abcdefgh", "--ctx", "6"})), {"--ctx 8"});
  check_failed(run(generate(byte_model(), {"abcd", "--ctx", "41"})), {"40"});
  check_failed(run(generate(byte_model(), {"abcd", "--ctx", "0"})), {"ctx"});
  check_failed(run(generate(byte_model(), {"abcd", "--ctx", "1000000000000000"})), {"ctx"});
  check_failed(run(generate(byte_model(), {"abcd", "--ctx", "1000000000000", "--position", "none"})), {"memory"});
  const Outcome large =
      run(generate(byte_model(), {"abcd", "-n", "90", "--ctx", "99", "--position", "none", "--json", "--ignore-eos"}));
  CHECK(new_ids(large).size() == 90);
  CHECK(json_of(large)["position"] == "none");
}

TEST_CASE("cli generate: bad options fail before the model is even looked for") {
  const auto refused = [](Strings options, const std::string& word, int status = 1) {
    Strings arguments = {"generate", "x", "-m", "/no/such/model"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    CAPTURE(options[0]);
    check_failed(run(arguments), {word}, status);
  };
  refused({"--temp", "-1"}, "temperature");
  refused({"--temp", "nan"}, "temperature");
  refused({"--temp", "inf"}, "temperature");
  refused({"--temp", "warm"}, "--temp", 2);
  refused({"--temp", "1x"}, "--temp", 2);
  refused({"--temp", ""}, "--temp", 2);
  refused({"--top-p", "-0.1"}, "top");
  refused({"--top-p", "1.5"}, "top");
  refused({"--top-k", "-3"}, "top");
  refused({"--min-p", "2"}, "min-p");
  refused({"--typical", "-1"}, "typical");
  refused({"--repeat-penalty", "0"}, "penalty");
  refused({"--penalty-window", "-5"}, "penalty");
  refused({"-n", "-1"}, "new tokens");
  refused({"-n", "3.5"}, "--new-tokens", 2);
  refused({"-n", "99999999999999999999"}, "--new-tokens", 2);
  refused({"--samples", "0"}, "samples");
  refused({"--keep", "-1", "--overflow", "slide"}, "keep");
  refused({"--keep", "4"}, "slide", 2);
  refused({"--logprobs", "-1", "--json"}, "logprobs");
  refused({"--logprobs", "2"}, "--json", 2);
  refused({"--echo", "--json"}, "--echo", 2);
  refused({"--seed", "-1"}, "--seed", 2);
  refused({"--overflow", "wrap"}, "stop or slide", 2);
  refused({"--logit-bias", "5"}, "ID=VALUE", 2);
  refused({"--logit-bias", "x=1"}, "--logit-bias", 2);
  refused({"--logit-bias", "-1=1"}, "ids 0 to");
  refused({"--logit-bias", "1=nan"}, "bias");
  refused({"--position", "ropes"}, "rope");
  refused({"--position", "rope:theta"}, "rope");
  refused({"-t", "-1"}, "thread");
  refused({"-t", "1000000"}, "thread");
  refused({"--chunk", "0"}, "chunk");
  refused({"--colour", "red"}, "--colour", 2);
  refused({"another", "word"}, "quote", 2);
  refused({"--draft", "model"}, "lookup", 2);
  refused({"--draft-tokens", "4"}, "--draft", 2);
  refused({"--draft", "lookup", "--draft-tokens", "0"}, "--draft-tokens");
  refused({"--penalize", "some"}, "usual, all or new", 2);
  refused({"--temp"}, "--temp", 2);
  refused({"--stop"}, "--stop", 2);
}

TEST_CASE("cli generate: errors that need the model name its numbers") {
  check_failed(run(generate(byte_model(), {"x", "--logit-bias", "257=1"})), {"ids 0 to 256"});
  check_failed(run(generate(byte_model(), {"x", "--logprobs", "300", "--json"})), {"257"});
  check_failed(run(generate(byte_model(), {"x", "--vocab", "/tmp"})), {"--vocab"});
  check_failed(run(generate("", {"x"})), {"empty name"});
  check_failed(run(generate(byte_model(), {"--ids", "1,257"})), {"0 to 256"});
  check_failed(run(generate(byte_model(), {"--ids", "1,-2"})), {"'-2'"});
  check_failed(run(generate(byte_model(), {"--ids", "1,x"})), {"'x'"});
  check_failed(run(generate(byte_model(), {"x", "--position", "rope:pairs=half"})), {"pairing"});
}

TEST_CASE("cli generate: -t 0 means the processors that the process may use") {
  Command command;
  command.arguments = generate(byte_model(), {"ab", "-n", "12", "--temp", "0"});
  const std::string expected = run(command).out;
  for (const char* threads : {"0", "1", "5", "64"}) {
    command.arguments = generate(byte_model(), {"ab", "-n", "12", "--temp", "0", "-t", threads});
    CHECK(run(command).out == expected);
  }
  command.cpus = {0};
  const Outcome pinned = run(command);
  check_done(pinned);
  CHECK(pinned.out == expected);
}

TEST_CASE("cli generate: more threads than processors cost little" * doctest::test_suite("alone")) {
  const auto seconds = [](const char* threads, std::vector<int> cpus) {
    std::vector<double> runs;
    for (int i = 0; i < 3; ++i) {
      Command command;
      command.arguments = generate(slow_model(), {"--ids", "1,2,3", "-n", "32", "--temp", "0", "-t", threads, "-q"});
      command.cpus = cpus;
      const Outcome outcome = run(command);
      check_done(outcome);
      runs.push_back(outcome.seconds);
    }
    std::sort(runs.begin(), runs.end());
    return runs[0];  // others may be using the machine: the best run says most
  };
  const double alone = seconds("1", {});
  // Lenient: this is for spinning threads, which cost a hundredfold; the real figures are in the speed log.
  CHECK(seconds("8", {}) < 10.0 * alone + 1.0);
  CHECK(seconds("64", {}) < 20.0 * alone + 2.0);
  CHECK(seconds("0", {0}) < 5.0 * alone + 1.0);
}

TEST_CASE("cli generate: text is written as it comes, in whole characters") {
  Command command;
  // The bytes of a euro sign, e2 82 ac, alone are likely: signs and pieces of them in any order.
  command.arguments =
      generate(slow_model(), {"--ids", "1", "-n", "90", "--seed", "3", "--temp", "1000", "--top-k", "3", "-q",
                              "--logit-bias", "226=500", "--logit-bias", "130=500", "--logit-bias", "172=500"});
  const Outcome outcome = run(command);
  check_done(outcome);
  CHECK(outcome.out.size() == 90);
  CHECK(outcome.chunks.size() > 5);
  size_t written = 0;
  for (const std::string& chunk : outcome.chunks) {
    written += chunk.size();
    for (size_t begin = written < 3 ? 0 : written - 2; begin < written; ++begin)
      CHECK(ordinal::utf8_length(std::string_view(outcome.out).substr(begin)) <= written - begin);
  }
}

TEST_CASE("cli generate: drafts change the passes, not the text") {
  int64_t accepted = 0;
  for (const Strings& sampling : {Strings{"--temp", "0", "--seed", "2"}, Strings{"--temp", "0.2", "--seed", "3"},
                                  Strings{"--temp", "0.5", "--seed", "4", "--overflow", "slide", "-n", "90"}}) {
    // Biases that make the text repeat itself now and then.
    Strings arguments = generate(byte_model(), {"abcabcabcabc", "-n", "25", "--json", "--ignore-eos", "--logprobs", "1",
                                                "--logit-bias", "97=7", "--logit-bias", "98=7"});
    arguments.insert(arguments.end(), sampling.begin(), sampling.end());
    nlohmann::json plain = json_of(run(arguments));
    CHECK(plain["timings"]["draft_proposed"] == 0);
    for (const char* most : {"1", "8"}) {
      Strings drafting = arguments;
      drafting.insert(drafting.end(), {"--draft", "lookup", "--draft-tokens", most});
      const Outcome outcome = run(drafting);
      check_done(outcome);
      nlohmann::json drafted = json_of(outcome);
      const nlohmann::json timings = drafted["timings"];
      CHECK(timings["decode_tokens"] == plain["timings"]["decode_tokens"]);
      CHECK(timings["passes"].get<int64_t>() + timings["draft_accepted"].get<int64_t>() == timings["decode_tokens"]);
      CHECK(outcome.err.find("drafts: proposed " + timings["draft_proposed"].dump() + ", accepted " +
                             timings["draft_accepted"].dump() + ", passes " + timings["passes"].dump() + " for " +
                             std::to_string(drafted["ids"].size()) + " tokens") != std::string::npos);
      accepted += timings["draft_accepted"].get<int64_t>();
      drafted.erase("timings");
      nlohmann::json expected = plain;
      expected.erase("timings");
      CHECK(drafted == expected);
    }
  }
  CHECK(accepted > 0);
}
