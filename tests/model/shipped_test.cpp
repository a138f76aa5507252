// shipped_test.cpp: the shipped model gives what transformers computes for its weights (tools/make_shipped_golden.py).
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ordinal/session.h"
#include "ordinal/tokenizer.h"
#include "support.h"

using nlohmann::json;
using ordinal::TokenId;

TEST_CASE("shipped model: ids, logits, best tokens and a greedy continuation are those of transformers") {
  const std::string path = test::repository("models/tales.ordinal");
  const auto model = ordinal::Model::open(path);
  CHECK_NOTHROW(model->file().verify());
  const json golden = json::parse(test::read_file(test::repository("tests/goldens/shipped_model.json")));
  const auto tokenizer = ordinal::make_tokenizer(model->file().tokenizer());
  // transformers knows GPT-2's learned positions only; the other schemes are held to PyTorch by tools/train_check.py.
  ordinal::Session session(model, {.position = "learned", .observer = {}});

  REQUIRE(golden["prompts"].size() == 3);
  for (const auto& [name, prompt] : golden["prompts"].items()) {
    CAPTURE(name);
    const auto ids = prompt["ids"].get<std::vector<TokenId>>();
    if (prompt.contains("text")) CHECK(tokenizer->encode(prompt["text"].get<std::string>()) == ids);
    session.rewind(0);
    std::vector<TokenId> best;
    std::vector<float> last;
    session.evaluate_all(ids, [&](int64_t, std::span<const float> logits) {
      best.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
      last.assign(logits.begin(), logits.end());
    });
    REQUIRE(prompt["smallest_gap"].get<double>() > 2e-4);  // so that no best token is a matter of rounding
    CHECK(best == prompt["argmax"].get<std::vector<TokenId>>());
    for (const char* part : {"top", "spread"})
      for (const json& entry : prompt["last"][part])
        CHECK(std::abs(last[entry[0].get<size_t>()] - entry[1].get<double>()) <= 2e-4);
  }

  session.rewind(0);
  auto next = golden["prompts"][golden["greedy"]["prompt"].get<std::string>()]["ids"].get<std::vector<TokenId>>();
  std::vector<TokenId> drawn;
  for (size_t step = 0; step < golden["greedy"]["ids"].size(); ++step) {
    const std::span<const float> logits = session.evaluate(next);
    drawn.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    next = {drawn.back()};
  }
  CHECK(drawn == golden["greedy"]["ids"].get<std::vector<TokenId>>());
  CHECK(tokenizer->decode(drawn) == golden["greedy"]["text"].get<std::string>());
}
