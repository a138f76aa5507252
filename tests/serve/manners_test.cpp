// manners_test.cpp: the real server with clients that err, ask too much, are not meant to ask, vanish, dawdle or
// attack.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "cli/fixture.h"
#include "served.h"

using namespace test;
using Json = nlohmann::json;

namespace {

const Json kShort = {{"prompt", "some words"}, {"max_tokens", 4}, {"seed", 1}};

Json shortest() { return kShort; }

// The server still answers, and with the same bits as before.
void check_well(const Served& server) {
  static std::map<std::string, Json> known;
  const Answered answer = server.post("/v1/completions", shortest());
  CAPTURE(answer.body);
  REQUIRE(answer.status == 200);
  const Json ids = answer.json().at("choices").at(0).at("ids");
  const std::string model = answer.json().at("model");
  if (known.contains(model)) CHECK(ids == known[model]);
  known[model] = ids;
}

double metric(const Served& server, const std::string& name) {
  const std::string text = server.get("/metrics").body;
  const size_t at = text.find("\n" + name + " ");
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + name.size() + 2));
}

template <class Condition>
bool comes_true(const Condition& condition, double seconds = 20) {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<int64_t>(seconds * (kSanitized ? 10000 : 1000)));
  while (std::chrono::steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

const std::string kLong = R"({"prompt":"go on","max_tokens":8000,"stream":true,"ignore_eos":true})";

}  // namespace

TEST_CASE("serve: what cannot be answered is refused in OpenAI's shape, naming the field") {
  const Served server(
      {"-m", byte_model(), "--max-ctx", "80", "--max-tokens", "500", "--parallel", "2", "--queue", "6"});
  struct Row {
    std::string body, param, word;
  };
  const std::vector<Row> rows = {
      {"", "", "JSON"},
      {"{", "", "JSON"},
      {"[1]", "", "object"},
      {R"({"prompt":"a","temperature":NaN})", "", "JSON"},
      {"{\"prompt\":\"\xff\"}", "", "JSON"},
      {std::string(2000, '[') + std::string(2000, ']'), "", "nested"},
      {R"({"prompt":"a","prompt":"b"})", "", "twice"},
      {R"({})", "prompt", "must be there"},
      {R"({"prompt":null})", "prompt", "must be there"},
      {R"({"prompt":5})", "prompt", "an array"},
      {R"({"prompt":[]})", "prompt", "no prompt"},
      {R"({"prompt":[257]})", "prompt", "0 to 256"},
      {R"({"prompt":[-1]})", "prompt", "0 to 256"},
      {R"({"prompt":[1.5]})", "prompt", "integer"},
      {R"({"prompt":["a",{}]})", "prompt", "array"},
      {R"({"prompt":"a","no_such":1})", "no_such", "temperature"},
      {R"({"prompt":"a","temperature":-1})", "temperature", "0 to 100"},
      {R"({"prompt":"a","temperature":"hot"})", "temperature", "a number"},
      {R"({"prompt":"a","temperature":1e999})", "", "overflow"},
      {R"({"prompt":"a","temperature":1e99})", "temperature", "fits f32"},
      {R"({"prompt":"a","top_p":1.5})", "top_p", "1.5"},
      {R"({"prompt":"a","max_tokens":501})", "max_tokens", "0 to 500"},
      {R"({"prompt":"a","max_tokens":-1})", "max_tokens", "0 to 500"},
      {R"({"prompt":"a","logprobs":21})", "logprobs", "0 to 20"},
      {R"({"prompt":"a","n":0})", "n", "1 to 8"},
      {R"({"prompt":"a","n":9})", "n", "1 to 8"},
      {R"({"prompt":["a","b","c"],"n":3})", "n", "at most 8"},
      {R"({"prompt":"a","best_of":2,"stream":true})", "best_of", "streamed"},
      {R"({"prompt":"a","stop":["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"]})", "stop", "16"},
      {R"({"prompt":"a","stop":[""]})", "stop", "stop"},
      {R"({"prompt":"a","logit_bias":{"257":1}})", "logit_bias", "\\\"256\\\""},
      {R"({"prompt":"a","logit_bias":{"1":101}})", "logit_bias", "-100 to 100"},
      {R"({"prompt":"a","suffix":"z"})", "suffix", "leave it out"},
      {R"({"prompt":"a","position":"no_such"})", "prompt", "no_such"},
      {R"({"prompt":"a","position":"rope:theta=-1"})", "prompt", "theta"},
      {R"({"prompt":"a","ctx":81})", "ctx", "1 to 80"},
      {R"({"prompt":"a","draft":"magic"})", "draft", "lookup"},
      {R"({"prompt":"a","seed":1.5})", "seed", "integer"},
      {R"({"prompt":"a","stream_options":{"no_such":1}})", "stream_options", "include_usage"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.body.substr(0, 100));
    const Answered answer = server.post("/v1/completions", row.body);
    CAPTURE(answer.body);
    CHECK(answer.status == 400);
    CHECK(answer.headers.at("content-type") == "application/json");
    const Json error = answer.json().at("error");
    CHECK(error.at("type") == "invalid_request_error");
    CHECK(error.at("param") == (row.param.empty() ? Json() : Json(row.param)));
    CHECK(mentions(error.dump(), {row.word}));
  }
  const Answered too_long = server.post("/v1/completions", Json{{"prompt", std::string(41, 'a')}});
  CHECK(too_long.status == 400);
  CHECK(too_long.json().at("error").at("code") == "context_length_exceeded");
  CHECK(server.post("/v1/completions", Json{{"prompt", std::string(41, 'a')}, {"position", "none"}, {"ctx", 80}})
            .status == 200);
  const Answered model = server.post("/v1/completions", Json{{"prompt", "a"}, {"model", "gpt-4"}});
  CHECK(model.status == 404);
  CHECK(model.json().at("error").at("code") == "model_not_found");
  const Answered chat =
      server.post("/v1/chat/completions", Json{{"messages", {{{"role", "user"}, {"content", "Hello"}}}}});
  CHECK(chat.status == 400);
  CHECK(mentions(chat.body, {"chat template"}));
  CHECK(server.get("/v1/completions").status == 405);
  CHECK(server.get("/v1/completions").headers.at("allow") == "POST");
  CHECK(server.post("/health", "").status == 405);
  CHECK(server.get("/no/such").status == 404);
  CHECK(server.post("/no/such", "{}").json().at("error").at("code") == "not_found");
  check_well(server);
}

TEST_CASE("serve: models, health, metrics and the page say what they should") {
  const Served server({"-m", byte_model(), "--name", "first", "--also", "second=" + bare_model(), "--log", "json"});
  CHECK(server.get("/health").json().at("status") == "ok");
  const Json models = server.get("/v1/models").json();
  CHECK(models.at("object") == "list");
  REQUIRE(models.at("data").size() == 2);
  CHECK(models.at("data")[0].at("id") == "first");
  CHECK(models.at("data")[0].at("position") == "learned");
  CHECK(models.at("data")[0].at("context") == 40);
  CHECK(models.at("data")[1].at("vocab_size") == 257);
  CHECK(server.get("/v1/positions").json().at("data").size() >= 9);
  const Json ids =
      server.post("/v1/completions", Json{{"model", "second"}, {"prompt", {1, 2}}, {"max_tokens", 5}}).json();
  CHECK(ids.at("choices")[0].at("ids").size() == 5);
  const Answered streamed = server.post(
      "/v1/completions", Json{{"model", "second"}, {"prompt", {1, 2}}, {"max_tokens", 5}, {"stream", true}});
  size_t told = 0;
  for (const std::string& event : events_of(streamed.body))
    if (event != "[DONE]") told += Json::parse(event).at("choices")[0].at("ids").size();
  CHECK(told == 5);
  CHECK(server.post("/v1/completions", Json{{"model", "second"}, {"prompt", "text"}}).status == 400);
  CHECK(metric(server, "ordinal_new_tokens_total") == 10);
  CHECK(metric(server, "ordinal_prompt_tokens_total") == 4);
  CHECK(mentions(server.get("/metrics").body, {R"(ordinal_requests_total{path="/v1/completions",status="400"} 1)"}));
  CHECK(metric(server, "ordinal_first_token_seconds_count") == 2);
  const Answered page = server.get("/");
  CHECK(page.headers.at("content-type").starts_with("text/html"));
  const std::string policy = page.headers.at("content-security-policy");
  CHECK(policy.starts_with("default-src 'none'"));
  CHECK(!mentions(policy, {"unsafe", "http"}));
}

TEST_CASE("serve: keys, hosts and origins") {
  const Served server(
      {"-m", byte_model(), "--api-key", "one-key", "--api-key", "another", "--cors", "https://good.example"},
      {{"ORDINAL_API_KEY", "not-used"}});
  const auto status = [&](const Headers& headers) { return server.get("/v1/models", headers).status; };
  CHECK(status({}) == 401);
  CHECK(status({{"Authorization", "Bearer one-ke"}}) == 401);
  CHECK(status({{"Authorization", "Bearer one-keyx"}}) == 401);
  CHECK(status({{"Authorization", "Basic one-key"}}) == 401);
  CHECK(status({{"Authorization", "Bearer not-used"}}) == 401);
  CHECK(status({{"Authorization", "Bearer one-key"}}) == 200);
  CHECK(status({{"Authorization", "bearer another"}}) == 200);
  CHECK(server.post("/v1/completions", kShort).status == 401);
  CHECK(server.get("/metrics").status == 401);
  CHECK(server.get("/health").status == 200);
  CHECK(server.get("/").status == 200);
  const std::string key = "Authorization: Bearer one-key\r\n";
  const auto raw = [&](const std::string& headers) {
    const Wire wire(server.port());
    wire.send("GET /v1/models HTTP/1.1\r\n" + headers + key + "Connection: close\r\n\r\n");
    return wire.read_all();
  };
  CHECK(raw("Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n").starts_with("HTTP/1.1 200"));
  CHECK(raw("Host: LOCALHOST\r\n").starts_with("HTTP/1.1 200"));
  CHECK(raw("Host: [::1]:80\r\n").starts_with("HTTP/1.1 200"));
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "10.0.0.1"})
    CHECK(raw("Host: " + std::string(host) + "\r\n").starts_with("HTTP/1.1 403"));
  const std::string own = "Host: localhost:1234\r\n";
  CHECK(raw(own + "Origin: http://localhost:1234\r\n").starts_with("HTTP/1.1 200"));
  CHECK(raw(own + "Origin: http://localhost:1235\r\n").starts_with("HTTP/1.1 403"));
  CHECK(raw(own + "Origin: null\r\n").starts_with("HTTP/1.1 403"));
  CHECK(raw(own + "Origin: https://evil.example\r\n").starts_with("HTTP/1.1 403"));
  const std::string allowed = raw(own + "Origin: https://good.example\r\n");
  CHECK(allowed.starts_with("HTTP/1.1 200"));
  const std::string header = "Access-Control-Allow-Origin: ";
  CHECK(mentions(allowed, {header + "https://good.example"}));
  CHECK(allowed.find(header) == allowed.rfind(header));  // twice, browsers would not take it
  const std::string evil = raw(own + "Origin: https://evil.example\r\n");
  CHECK(!mentions(evil, {"Access-Control-Allow-Origin"}));
}

TEST_CASE("serve: beyond this machine only with a key, and a port that is taken is refused") {
  const Outcome open = run({"serve", "-m", byte_model(), "--host", "0.0.0.0", "--port", "0"});
  check_failed(open, {"--api-key"});
  const Served server({"-m", byte_model()});
  const Outcome taken = run({"serve", "-m", byte_model(), "--port", std::to_string(server.port())});
  check_failed(taken, {"--port 0"});
  check_failed(run({"serve", "-m", byte_model(), "--port", "70000"}), {"0 to 65535"});
  check_failed(run({"serve", "-m", byte_model(), "--cache-mb", "1", "--max-ctx", "1000000"}), {"--cache-mb"});
  check_failed(run({"serve", "-m", byte_model(), "--also", "x"}), {"NAME=MODEL"}, 2);
}

TEST_CASE("serve: a full queue refuses with a time to wait, and takes again when there is room") {
  const Served server({"-m", slow_model(), "--parallel", "1", "--queue", "1"});
  Wire first(server.port()), second(server.port());
  first.send(request_text("/v1/completions", kLong));
  CHECK(mentions(first.read_until("data: "), {"200 OK"}));
  second.send(request_text("/v1/completions", kLong));
  CHECK(comes_true([&] { return metric(server, "ordinal_queue_length") == 1; }));
  const Answered full = server.post("/v1/completions", kShort);
  CHECK(full.status == 429);
  CHECK(full.headers.at("retry-after") == "1");
  CHECK(full.json().at("error").at("code") == "queue_full");
  CHECK(server.get("/health").status == 200);
  first.close();
  second.close();
  CHECK(comes_true([&] { return server.post("/v1/completions", kShort).status == 200; }));
}

TEST_CASE("serve: a client that goes away frees its place at every stage") {
  const Served server({"-m", slow_model(), "--parallel", "2"});
  check_well(server);
  const std::string prompt = std::string(6000, 'a');
  const std::string reading = R"({"prompt":")" + prompt + R"(","max_tokens":2000,"ignore_eos":true})";
  const std::string whole = R"({"prompt":"go on","max_tokens":8000,"ignore_eos":true})";
  for (const std::string& body : {kLong, reading, whole}) {
    Wire wire(server.port()), partner(server.port());
    wire.send(request_text("/v1/completions", body));
    CHECK(comes_true([&] { return metric(server, "ordinal_sequences_at_work") == 1; }));
    if (body == kLong) wire.read_until("data: ");
    partner.send(request_text("/v1/completions", body).substr(0, 40));  // and one that never says all
    wire.close();
    CHECK(comes_true([&] { return metric(server, "ordinal_sequences_at_work") == 0; }));
    check_well(server);
  }
  CHECK(mentions(server.get("/metrics").body, {R"(status="499"} 1)", R"(status="499"} 2)", R"(status="499"} 3)"}));
}

TEST_CASE("serve: slow, broken and hostile requests are answered or dropped, and nobody else notices") {
  const Served server({"-m", byte_model(), "--body-kb", "64", "--idle-seconds", "2", "--connections", "20"});
  check_well(server);
  SUBCASE("bytes one by one") {
    const Wire wire(server.port());
    for (const char byte : request_text("/v1/completions", shortest().dump(), "Connection: close\r\n"))
      REQUIRE(wire.send(std::string(1, byte)));
    CHECK(wire.read_all().starts_with("HTTP/1.1 200"));
  }
  SUBCASE("half a head, half a body, then nothing") {
    for (const std::string& part :
         {std::string("POST /v1/compl"), request_text("/v1/completions", shortest().dump()).substr(0, 130),
          std::string("GET / HTTP/1.1\r\nHost: loc")}) {
      const Wire wire(server.port());
      wire.send(part);
      const std::string answer = wire.read_all(8);
      CHECK((answer.empty() || answer.starts_with("HTTP/1.1 4")));
    }
  }
  SUBCASE("ten thousand headers") {
    std::string headers;
    for (int i = 0; i < 10000; ++i) headers += "X-" + std::to_string(i) + ": y\r\n";
    const Wire wire(server.port());
    wire.send(request_text("/v1/completions", shortest().dump(), headers + "Connection: close\r\n"));
    CHECK(wire.read_all().starts_with("HTTP/1.1 "));
  }
  SUBCASE("a header without an end") {
    const Wire wire(server.port());
    const std::string block(1 << 16, 'x');
    bool sent = wire.send("GET / HTTP/1.1\r\nX: ");
    for (int i = 0; i < 100 && sent; ++i) sent = wire.send(block);
    CHECK(!mentions(wire.read_all(5), {"200 OK"}));
  }
  SUBCASE("a body that is too large, said or not") {
    CHECK(server.post("/v1/completions", std::string(65537, ' ')).status == 413);
    const Wire wire(server.port());
    wire.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string block = "10000\r\n" + std::string(65536, ' ') + "\r\n";
    for (int i = 0; i < 200 && wire.send(block); ++i) {
    }
    const std::string answer = wire.read_all(5);
    CHECK((answer.empty() || answer.starts_with("HTTP/1.1 413")));
    CHECK(server.rss_mb() < (kSanitized ? 2000 : 200));
  }
  SUBCASE("lengths and methods that cannot be") {
    for (const std::string& text :
         {std::string(
              "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n{}"),
          std::string("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n{}"),
          std::string("PRI * HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde"),
          std::string("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde"),
          std::string("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; "
                      "boundary=x\r\nContent-Length: 5\r\n\r\nabcde"),
          std::string("\r\n\r\n\r\n"), std::string("\0\1\2\3\r\n\r\n", 8),
          std::string("GET " + std::string(20000, '/') + " HTTP/1.1\r\nHost: localhost\r\n\r\n")}) {
      CAPTURE(text.substr(0, 80));
      const Wire wire(server.port());
      wire.send(text);
      CHECK(!mentions(wire.read_all(5), {"200 OK"}));
    }
  }
  SUBCASE("more connections than are served") {
    std::vector<std::unique_ptr<Wire>> wires;
    for (int i = 0; i < 60; ++i) {
      wires.push_back(std::make_unique<Wire>(server.port()));
      wires.back()->send(request_text("/v1/completions", shortest().dump(), "Connection: close\r\n"));
    }
    for (const auto& wire : wires) CHECK(wire->read_all().starts_with("HTTP/1.1 200"));
  }
  check_well(server);
}

TEST_CASE("serve: one who reads slowly holds up nobody") {
  const Served server({"-m", slow_model(), "--parallel", "2", "--idle-seconds", "60"});
  check_well(server);
  const Wire dawdler(server.port());
  // More than the system keeps between the two; under a sanitizer that would take minutes.
  const std::string tokens = kSanitized ? "300" : "3000";
  dawdler.send(request_text("/v1/completions", R"({"prompt":"go on","max_tokens":)" + tokens +
                                                   R"(,"stream":true,"ignore_eos":true,"logprobs":20})"));
  dawdler.read_until("data: ");
  for (int i = 0; i < 5; ++i) check_well(server);
  CHECK(comes_true([&] { return metric(server, "ordinal_sequences_at_work") == 0; }, 60));
  CHECK(mentions(dawdler.read_until("[DONE]", 60), {"[DONE]"}));
}

TEST_CASE(
    "serve: SIGTERM takes no more, finishes what runs, and what is left when the time is up ends with what it has") {
  SUBCASE("in time") {
    Served server({"-m", slow_model()});
    const Wire wire(server.port());
    wire.send(
        request_text("/v1/completions", R"({"prompt":"go on","max_tokens":200,"stream":true,"ignore_eos":true})"));
    wire.read_until("data: ");
    server.signal(SIGTERM);
    CHECK(comes_true([&] { return mentions(server.err(), {"no new requests"}); }));
    const Answered late = server.post("/v1/completions", kShort);
    CHECK((late.status == 503 || late.status == 0));
    const std::string rest = wire.read_until("[DONE]", 60);
    CHECK(mentions(rest, {R"("finish_reason":"length")"}));
    CHECK(mentions(rest, {"[DONE]"}));
    CHECK(server.wait() == 0);
  }
  SUBCASE("cut short") {
    Served server({"-m", slow_model(), "--grace", "0"});
    const Wire wire(server.port()), whole(server.port()), idle(server.port());
    wire.send(request_text("/v1/completions", kLong));
    whole.send(request_text("/v1/completions", R"({"prompt":"go on","max_tokens":8000,"ignore_eos":true})"));
    wire.read_until("data: ");
    CHECK(comes_true([&] { return metric(server, "ordinal_sequences_at_work") == 2; }));
    server.signal(SIGTERM);
    const std::string rest = wire.read_until("[DONE]");
    CHECK(mentions(rest, {R"("finish_reason":"stop")"}));
    CHECK(mentions(rest, {"[DONE]"}));
    CHECK(mentions(whole.read_until(R"("usage")"), {R"("finish_reason":"stop")"}));
    CHECK(server.wait() == 0);
  }
}

TEST_CASE("serve: a request ends when its time is up, and logs say what was asked but never what was said") {
  const std::string secret = "xyzzy-prompt";
  Served server({"-m", slow_model(), "--seconds", "1", "--api-key", "key-plugh"});
  const Headers key = {{"Authorization", "Bearer key-plugh"}};
  const Answered answer =
      server.post("/v1/completions", Json{{"prompt", secret}, {"max_tokens", 8000}, {"ignore_eos", true}}.dump(), key);
  CHECK(answer.status == 200);
  CHECK(answer.json().at("choices")[0].at("ids").size() < 8000);
  CHECK(comes_true([&] { return mentions(server.err(), {"/v1/completions 200 in 12 out "}); }));
  CHECK(!mentions(server.err(), {secret, "plugh"}));
}
