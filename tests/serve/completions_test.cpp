// completions_test.cpp: what the real server gives for completions and scores, against the program alone.
#include <algorithm>
#include <thread>

#include "cli/fixture.h"
#include "ordinal/model.h"
#include "ordinal/sampler.h"
#include "ordinal/session.h"
#include "served.h"

using namespace test;
using Json = nlohmann::json;

namespace {

// What `ordinal generate` alone gives with the same settings.
Json generated(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"generate", "--json", "-q"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run(all);
  check_done(outcome);
  return json_of(outcome);
}

struct Twin {
  Json body;
  std::vector<std::string> arguments;
};

// Requests, and the command lines that ask for the same.
std::vector<Twin> twins() {
  const std::string model = byte_model();
  return {
      {{{"prompt", "some words"}, {"max_tokens", 12}, {"temperature", 0.9}, {"seed", 7}},
       {"-m", model, "some words", "-n", "12", "--temp", "0.9", "--seed", "7"}},
      {{{"prompt", {1, 2, 3}}, {"max_tokens", 20}, {"temperature", 0}, {"seed", 2}},
       {"-m", model, "--ids", "1,2,3", "-n", "20", "--temp", "0", "--seed", "2"}},
      {{{"prompt", "some words"}, {"max_tokens", 30}, {"seed", 3}, {"top_p", 0.8}, {"top_k", 40}, {"position", "none"}},
       {"-m", model, "some words", "-n", "30", "--temp", "1", "--seed", "3", "--top-p", "0.8", "--top-k", "40",
        "--position", "none"}},
      {{{"prompt", "caf\xc3\xa9"}, {"max_tokens", 25}, {"seed", 11}, {"stop", {"e", "zz"}}, {"position", "rope"}},
       {"-m", model, "caf\xc3\xa9", "-n", "25", "--temp", "1", "--seed", "11", "--stop", "e", "--stop", "zz",
        "--position", "rope"}},
      {{{"prompt", "ab ab ab ab"},
        {"max_tokens", 60},
        {"seed", 5},
        {"presence_penalty", 0.5},
        {"frequency_penalty", 0.25},
        {"repetition_penalty", 1.5},
        {"logit_bias", {{"97", 3.5}}},
        {"min_p", 0.01},
        {"typical_p", 0.9},
        {"draft", "lookup"},
        {"position", "alibi"},
        {"ctx", 64}},
       {"-m",          model,
        "ab ab ab ab", "-n",
        "60",          "--temp",
        "1",           "--seed",
        "5",           "--presence-penalty",
        "0.5",         "--frequency-penalty",
        "0.25",        "--repeat-penalty",
        "1.5",         "--logit-bias",
        "97=3.5",      "--min-p",
        "0.01",        "--typical",
        "0.9",         "--position",
        "alibi",       "--ctx",
        "64"}},
  };
}

void check_twin(const Json& answer, const Json& expected) {
  const Json& choice = answer.at("choices").at(0);
  CHECK(choice.at("ids") == expected.at("ids"));
  CHECK(choice.at("text") == expected.at("text"));
  CHECK(choice.at("seed") == expected.at("seed"));
  CHECK(answer.at("position") == expected.at("position"));
  CHECK(answer.at("usage").at("completion_tokens") == expected.at("ids").size());
}

}  // namespace

TEST_CASE("serve: a request gives what generate gives alone, one by one and many at once") {
  const Served server({"-m", byte_model(), "--parallel", "3"});
  const std::vector<Twin> all = twins();
  std::vector<Json> expected;
  for (const Twin& twin : all) {
    expected.push_back(generated(twin.arguments));
    CAPTURE(twin.body.dump());
    const Answered answer = server.post("/v1/completions", twin.body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    check_twin(answer.json(), expected.back());
  }
  // Four clients of each kind at once, on three sequences.
  std::vector<std::thread> clients;
  std::vector<Answered> answers(all.size() * 4);
  for (size_t i = 0; i < answers.size(); ++i)
    clients.emplace_back([&, i] { answers[i] = server.post("/v1/completions", all[i % all.size()].body); });
  for (std::thread& client : clients) client.join();
  for (size_t i = 0; i < answers.size(); ++i) {
    REQUIRE(answers[i].status == 200);
    check_twin(answers[i].json(), expected[i % all.size()]);
  }
}

TEST_CASE("serve: a streamed text is the whole one in pieces, each whole characters") {
  const Served server({"-m", byte_model()});
  for (const Twin& twin : twins()) {
    Json body = twin.body;
    body["logprobs"] = 2;
    const Json whole = server.post("/v1/completions", body).json();
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    const Answered answer = server.post("/v1/completions", body);
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("content-type") == "text/event-stream");
    std::vector<std::string> events = events_of(answer.body);
    REQUIRE(events.size() >= 3);
    CHECK(events.back() == "[DONE]");
    const Json last = Json::parse(events[events.size() - 2]);
    CHECK(last.at("usage") == whole.at("usage"));
    CHECK(last.at("choices").empty());
    std::string text, finish, id;
    Json ids = Json::array(), values = Json::array(), tokens = Json::array(), offsets = Json::array();
    for (size_t i = 0; i + 2 < events.size(); ++i) {
      const Json chunk = Json::parse(events[i]);
      CHECK(chunk.at("object") == "text_completion");
      CHECK((id.empty() || chunk.at("id") == id));
      id = chunk.at("id");
      const Json& choice = chunk.at("choices").at(0);
      CHECK(finish.empty());
      text += choice.at("text").get<std::string>();
      ids.insert(ids.end(), choice.at("ids").begin(), choice.at("ids").end());
      if (!choice.at("finish_reason").is_null()) finish = choice.at("finish_reason");
      if (choice.at("logprobs").is_null()) continue;
      const Json& part = choice.at("logprobs");
      values.insert(values.end(), part.at("token_logprobs").begin(), part.at("token_logprobs").end());
      tokens.insert(tokens.end(), part.at("tokens").begin(), part.at("tokens").end());
      offsets.insert(offsets.end(), part.at("text_offset").begin(), part.at("text_offset").end());
    }
    const Json& choice = whole.at("choices").at(0);
    CHECK(text == choice.at("text"));
    CHECK(finish == choice.at("finish_reason"));
    CHECK(ids == choice.at("ids"));
    CHECK(values == choice.at("logprobs").at("token_logprobs"));
    CHECK(tokens == choice.at("logprobs").at("tokens"));
    CHECK(offsets == choice.at("logprobs").at("text_offset"));
  }
}

TEST_CASE("serve: an echoed prompt has the log-probability of each token but the first, and of the best") {
  const Served server({"-m", byte_model()});
  const std::string prompt = "some words";
  const auto model = ordinal::Model::open(byte_model());
  ordinal::Session session(model);
  std::vector<ordinal::TokenId> ids(prompt.begin(), prompt.end());
  std::vector<double> expected;
  std::vector<ordinal::TokenId> best;
  session.evaluate_all(ids, [&](int64_t row, std::span<const float> logits) {
    if (static_cast<size_t>(row) + 1 < ids.size())
      expected.push_back(ordinal::log_probability(logits, ids[static_cast<size_t>(row) + 1]));
    best.push_back(static_cast<ordinal::TokenId>(std::ranges::max_element(logits) - logits.begin()));
  });
  for (const int tokens : {0, 1, 4})
    for (const bool stream : {false, true}) {
      CAPTURE(tokens);
      CAPTURE(stream);
      const Answered answer = server.post("/v1/completions", Json{{"prompt", prompt},
                                                                  {"max_tokens", tokens},
                                                                  {"echo", true},
                                                                  {"logprobs", 2},
                                                                  {"temperature", 0},
                                                                  {"stream", stream}});
      REQUIRE(answer.status == 200);
      const Json json = stream ? Json::parse(events_of(answer.body).front()) : answer.json();
      const Json& choice = json.at("choices").at(0);
      CHECK(choice.at("text").get<std::string>().starts_with(prompt));
      const Json& logprobs = choice.at("logprobs");
      REQUIRE(logprobs.at("token_logprobs").size() >= ids.size());
      CHECK(logprobs.at("token_logprobs").size() <= ids.size() + static_cast<size_t>(tokens));
      CHECK(logprobs.at("token_logprobs")[0].is_null());
      CHECK(logprobs.at("top_logprobs")[0].is_null());
      for (size_t i = 1; i < ids.size(); ++i) {
        CHECK(logprobs.at("token_logprobs")[i].get<double>() == expected[i - 1]);
        CHECK(logprobs.at("tokens")[i] == std::string(1, prompt[i]));
        CHECK(logprobs.at("text_offset")[i] == i);
        CHECK(logprobs.at("top_logprobs")[i].size() == 2);
        double most = -1e9;
        for (const auto& [token, value] : logprobs.at("top_logprobs")[i].items())
          most = std::max(most, value.get<double>());
        CHECK((most == expected[i - 1]) == (best[i - 1] == ids[i]));
      }
    }
}

TEST_CASE("serve: choices count over prompts and samples, with the seeds of generate --samples") {
  const Served server({"-m", byte_model()});
  const Json answer =
      server
          .post("/v1/completions",
                Json{{"prompt", {"one", "two"}}, {"n", 3}, {"max_tokens", 6}, {"seed", 40}, {"temperature", 0.8}})
          .json();
  REQUIRE(answer.at("choices").size() == 6);
  for (size_t i = 0; i < 6; ++i) {
    const Json& choice = answer.at("choices")[i];
    CHECK(choice.at("index") == i);
    CHECK(choice.at("seed") == 40 + i % 3);
    CHECK(choice.at("ids") == generated({"-m", byte_model(), i < 3 ? "one" : "two", "-n", "6", "--temp", "0.8",
                                         "--seed", std::to_string(40 + i % 3)})
                                  .at("ids"));
  }
  CHECK(answer.at("usage").at("prompt_tokens") == 6);
}

TEST_CASE("serve: best_of keeps what the model holds likeliest a token") {
  const Served server({"-m", byte_model()});
  const auto ask = [&](int n, int best_of) {
    return server
        .post("/v1/completions", Json{{"prompt", "one"},
                                      {"n", n},
                                      {"best_of", best_of},
                                      {"max_tokens", 6},
                                      {"seed", 40},
                                      {"logprobs", 0},
                                      {"ignore_eos", true}})
        .json();
  };
  const Json all = ask(5, 5), kept = ask(2, 5);
  std::vector<std::pair<double, Json>> order;
  for (const Json& choice : all.at("choices")) {
    double sum = 0;
    for (const Json& value : choice.at("logprobs").at("token_logprobs")) sum += value.get<double>();
    order.emplace_back(-sum, choice.at("ids"));
  }
  std::ranges::sort(order);
  REQUIRE(kept.at("choices").size() == 2);
  for (size_t i = 0; i < 2; ++i) CHECK(kept.at("choices")[i].at("ids") == order[i].second);
  CHECK(kept.at("usage").at("completion_tokens") == 30);
}

TEST_CASE("serve: scores are those of perplexity's own arithmetic, under several schemes") {
  const Served server({"-m", byte_model()});
  const std::string text = "a short text";
  const Json answer =
      server.post("/v1/score", Json{{"text", {text, "b"}}, {"positions", {"native", "none"}}, {"top", 1}}).json();
  REQUIRE(answer.at("scores").size() == 4);
  const auto model = ordinal::Model::open(byte_model());
  for (size_t k = 0; k < 2; ++k) {
    ordinal::Session session(model, {.position = k == 0 ? "native" : "none"});
    const std::vector<ordinal::TokenId> ids(text.begin(), text.end());
    double nats = 0;
    session.evaluate_all(ids, [&](int64_t row, std::span<const float> logits) {
      if (static_cast<size_t>(row) + 1 < ids.size())
        nats -= ordinal::log_probability(logits, ids[static_cast<size_t>(row) + 1]);
    });
    const Json& score = answer.at("scores")[k];
    CHECK(score.at("nats").get<double>() == doctest::Approx(nats).epsilon(1e-12));
    CHECK(score.at("tokens") == text.size() - 1);
    CHECK(score.at("token_nats").size() == text.size());
    CHECK(score.at("top")[1].size() == 1);
  }
  CHECK(answer.at("scores")[0].at("nats") != answer.at("scores")[1].at("nats"));
  CHECK(answer.at("scores")[2].at("nats_per_token").is_null());  // one token has nothing before it
}

TEST_CASE("serve: tokens and text go both ways") {
  const Served server({"-m", byte_model()});
  const Json tokens = server.post("/tokenize", Json{{"text", "a\xc3\xa9<|end|>"}, {"special", true}}).json();
  CHECK(tokens.at("ids") == Json{97, 0xc3, 0xa9, 256});
  CHECK(tokens.at("tokens")[1].at("piece") == "bytes:\\xc3");
  CHECK(tokens.at("tokens")[3].at("end") == 10);
  CHECK(server.post("/detokenize", Json{{"ids", {97, 0xc3, 0xa9}}}).json().at("text") == "a\xc3\xa9");
}
