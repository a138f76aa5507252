// parts_test.cpp: the server's parts by themselves: who may ask, bodies as they are read, shapes of answers.
#include <map>

#include <nlohmann/json.hpp>

#include "serve/guard.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/shapes.h"
#include "support.h"

using namespace ordinal;
using namespace ordinal::serve;

TEST_CASE("serve: addresses of this machine, and names that only look like it") {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "localhost", "LocalHost", "::1", "[::1]"})
    CHECK(is_loopback(host));
  for (const char* host : {"", "127.0.0.1.evil.example", "0.0.0.0", "::", "10.0.0.1", "localhost.", "127.0.0",
                           "1127.0.0.1", "[::1", "127.0.0.1x"})
    CHECK(!is_loopback(host));
  const std::map<std::string, std::string> hosts = {
      {"localhost:80", "localhost"}, {"[::1]:80", "[::1]"}, {"[::1]", "[::1]"}, {"::1", "::1"}, {"", ""}, {"[", "["}};
  for (const auto& [header, host] : hosts) CHECK(host_of(header) == host);
}

TEST_CASE("serve: keys are equal only when they are") {
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK(equal_in_constant_time("", ""));
  for (const auto& [a, b] :
       {std::pair{"abc", "abd"}, {"abc", "ab"}, {"ab", "abc"}, {"", "a"}, {"a", ""}, {"abab", "ab"}})
    CHECK(!equal_in_constant_time(a, b));
}

TEST_CASE("serve: a body's fields become what the generator takes") {
  const RequestLimits limits{.context = 100};
  const JsonDocument json = parse_body(
      R"({"model":"m","prompt":["a",[1,2]],"max_tokens":9,"temperature":0.5,"top_p":0.25,"n":2,"stream":true,)"
      R"("stream_options":{"include_usage":true},"logprobs":3,"echo":true,"stop":"x","presence_penalty":1,)"
      R"("frequency_penalty":-1,"logit_bias":{"5":2.5},"seed":-1,"user":"u","top_k":4,"min_p":0.125,"typical_p":0.75,)"
      R"("repetition_penalty":1.5,"position":"none","ctx":50,"special":true,"ignore_eos":true,"draft":"lookup",)"
      R"("draft_tokens":3,"best_of":null})",
      limits);
  CHECK(model_of(json) == "m");
  const CompletionBody body = read_completion(json, limits, 10);
  CHECK(std::get<std::string>(body.prompts.at(0)) == "a");
  CHECK(std::get<std::vector<TokenId>>(body.prompts.at(1)) == std::vector<TokenId>{1, 2});
  CHECK(body.n == 2);
  CHECK(body.best_of == 2);
  CHECK((body.stream && body.include_usage && body.echo && body.special && body.seeded));
  CHECK(body.position == "none");
  const GenerateOptions& o = body.options;
  CHECK(o.max_new_tokens == 9);
  CHECK(o.logprobs == 3);
  CHECK(o.prompt_logprobs == 3);
  CHECK(o.stop == std::vector<std::string>{"x"});
  CHECK(o.ignore_eos);
  CHECK(o.context == 50);
  CHECK(o.draft_tokens == 3);
  const SamplerOptions& s = o.sampler;
  CHECK(s.temperature == 0.5f);
  CHECK(s.top_p == 0.25f);
  CHECK(s.top_k == 4);
  CHECK(s.min_p == 0.125f);
  CHECK(s.typical_p == 0.75f);
  CHECK(s.repetition_penalty == 1.5f);
  CHECK(s.presence_penalty == 1.0f);
  CHECK(s.frequency_penalty == -1.0f);
  CHECK(s.logit_bias == std::vector<std::pair<TokenId, float>>{{5, 2.5f}});
  CHECK(s.seed == UINT64_MAX);
}

TEST_CASE("serve: defaults are OpenAI's") {
  const RequestLimits limits{.max_tokens = 77, .context = 100};
  const CompletionBody body = read_completion(parse_body(R"({"prompt":"a"})", limits), limits, 10);
  CHECK(body.options.max_new_tokens == 16);
  CHECK(body.options.sampler.temperature == 1.0f);
  CHECK(body.options.logprobs == -1);
  CHECK(body.options.prompt_logprobs == -1);
  const CompletionBody chat = read_chat(
      parse_body(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],)"
                 R"("logprobs":true,"response_format":{"type":"text"},"tools":[]})",
                 limits),
      limits, 10);
  CHECK(chat.options.max_new_tokens == 77);
  CHECK(chat.options.logprobs == 0);
  REQUIRE(chat.messages.size() == 1);
  CHECK(chat.messages[0].content == "ab");
}

TEST_CASE("serve: a chat that asks for what there is not is refused") {
  const RequestLimits limits{.context = 100};
  const auto refused = [&](const std::string& more) {
    try {
      read_chat(parse_body(R"({"messages":[{"role":"user","content":"a"}],)" + more + "}", limits), limits, 10);
    } catch (const BadRequest& bad) {
      return bad.field();
    }
    return std::string("nothing");
  };
  CHECK(refused(R"("tools":[{"type":"function"}])") == "tools");
  CHECK(refused(R"("response_format":{"type":"json_object"})") == "response_format");
  CHECK(refused(R"("echo":true)") == "echo");
  CHECK(refused(R"("top_logprobs":21)") == "top_logprobs");
  CHECK(refused(R"("audio":{})") == "audio");
  CHECK(refused(R"("user":"me")") == "nothing");
}

TEST_CASE("serve: tokens that are no characters have a text that says their bytes, and keys of an object differ") {
  TokenizerData data;
  data.kind = "bytes";
  for (int byte = 0; byte < 256; ++byte) data.pieces.emplace_back(1, static_cast<char>(byte));
  const auto tokenizer = make_tokenizer(data);
  CHECK(token_text(tokenizer.get(), 'a') == "a");
  CHECK(token_text(tokenizer.get(), 0xc3) == "bytes:\\xc3");
  CHECK(token_text(tokenizer.get(), 300) == "token_id:300");
  CHECK(token_text(nullptr, 3) == "token_id:3");

  Generation result;
  result.ids = {0xc3, 0xa9};
  result.text = "\xc3\xa9";
  result.logprobs = {{0xc3, -1.5, {{0xc3, -1.5}, {0xc4, -2.0}}}, {0xa9, -0.5, {{0xa9, -0.5}, {'a', -3.0}}}};
  const AnswerHead head{"cmpl-1", "m", "none", 5, false, true, tokenizer.get()};
  const std::vector<TokenId> prompt = {'h', 'i'};
  const Choice choice{0, prompt, false, &result};
  const auto json = nlohmann::json::parse(answer_json(head, std::span(&choice, 1), {2, 2}, {}));
  const auto& logprobs = json.at("choices")[0].at("logprobs");
  CHECK(logprobs.at("tokens") == nlohmann::json{"bytes:\\xc3", "bytes:\\xa9"});
  CHECK(logprobs.at("text_offset") == nlohmann::json{2, 3});
  CHECK(logprobs.at("top_logprobs")[1] == nlohmann::json{{"bytes:\\xa9", -0.5}, {"a", -3.0}});
  CHECK(json.at("usage").at("total_tokens") == 4);
}

TEST_CASE("serve: metrics count by path and status, and fill their histogram") {
  Metrics metrics;
  metrics.answered("/v1/completions", 200);
  metrics.answered("/v1/completions", 200);
  metrics.answered("other", 404);
  metrics.tokens(3, 5);
  for (const double ms : {5.0, 10.0, 11.0, 99999.0}) metrics.first_token(ms);
  const std::string text = metrics.text("more 1\n");
  for (const char* line :
       {"ordinal_requests_total{path=\"/v1/completions\",status=\"200\"} 2\n",
        "ordinal_requests_total{path=\"other\",status=\"404\"} 1\n", "ordinal_prompt_tokens_total 3\n",
        "ordinal_new_tokens_total 5\n", "ordinal_first_token_seconds_bucket{le=\"0.01\"} 2\n",
        "ordinal_first_token_seconds_bucket{le=\"0.025\"} 3\n", "ordinal_first_token_seconds_bucket{le=\"+Inf\"} 4\n",
        "ordinal_first_token_seconds_count 4\n", "more 1\n"})
    CHECK(text.find(line) != std::string::npos);
}
