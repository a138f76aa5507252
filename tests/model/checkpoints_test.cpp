// checkpoints_test.cpp: checkpoints that others trained, with activations, logits and texts that others computed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"
#include "support.h"

namespace {

using nlohmann::json;
using ordinal::TokenId;
using Matrix = std::vector<std::vector<float>>;

constexpr double kLogitTolerance = 1e-4;
constexpr double kRowTolerance = 5e-5;  // activations, relative to the largest of the row where that is above 1

std::vector<TokenId> listed_ids(const json& list) { return list.get<std::vector<TokenId>>(); }

std::shared_ptr<const ordinal::Model> opened(const std::string& path) {
  return ordinal::Model::bind(ordinal::open_any_model(path));
}

TokenId best_of(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - most);
  return most + std::log(sum);
}

// Compares a row with another that has to be as long; `expected` may be floats or JSON.
template <class Expected>
bool close(std::span<const float> found, const Expected& expected, double tolerance) {
  if (found.size() != expected.size()) return false;
  double worst = 0.0, largest = 1.0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double value = static_cast<double>(expected[i]);
    if (!(std::abs(found[i] - value) < INFINITY)) return false;
    worst = std::max(worst, std::abs(found[i] - value));
    largest = std::max(largest, std::abs(value));
  }
  return worst <= tolerance * largest;
}

// A whole text through a model, with every observed row by name: "x", "0.q", "2.ffn_out", "1.weights.0".
struct Run {
  Run(const std::shared_ptr<const ordinal::Model>& model, const std::vector<TokenId>& ids) {
    std::mutex mutex;
    ordinal::SessionOptions options;
    options.observer = [&](const ordinal::Observed& observed) {
      const std::scoped_lock lock(mutex);
      std::string name(observed.name);
      if (observed.layer >= 0) name = std::to_string(observed.layer) + "." + name;
      if (observed.head >= 0) name += "." + std::to_string(observed.head);
      Matrix& rows = seen[name];
      for (int64_t r = 0; r < observed.rows.rows; ++r) {
        const size_t at = observed.row >= 0 ? static_cast<size_t>(observed.row) : rows.size();
        if (rows.size() <= at) rows.resize(at + 1);
        rows[at].assign(observed.rows[r].begin(), observed.rows[r].end());
      }
    };
    ordinal::Session session(model, options);
    session.evaluate_all(ids,
                         [&](int64_t, std::span<const float> row) { logits.emplace_back(row.begin(), row.end()); });
  }

  const Matrix& rows(const std::string& name) const {
    REQUIRE_MESSAGE(seen.contains(name), "nothing observed by the name ", name);
    return seen.at(name);
  }

  std::map<std::string, Matrix> seen;
  Matrix logits;
};

// Greedy decoding. A text that would pass the context goes on from its last `max_seq_len` tokens, at position 0 again.
std::vector<TokenId> greedy(const std::shared_ptr<const ordinal::Model>& model, std::vector<TokenId> text,
                            size_t count) {
  ordinal::Session session(model);
  const size_t room = static_cast<size_t>(session.capacity()), prompt = text.size();
  std::vector<TokenId> next = text;
  while (text.size() < prompt + count) {
    if (text.size() > room) {
      session.rewind(0);
      next.assign(text.end() - static_cast<int64_t>(room), text.end());
    }
    text.push_back(best_of(session.evaluate(next)));
    next = {text.back()};
  }
  return {text.begin() + static_cast<int64_t>(prompt), text.end()};
}

// Names of golden.json in the observer's words: "h2.attn_resid" is "2.attn_out".
std::string observed_name(const std::string& name) {
  const std::map<std::string, std::string> words = {
      {"q", "q"}, {"k", "k"}, {"v", "v"}, {"attn_resid", "attn_out"}, {"out", "ffn_out"}};
  if (name == "x") return name;
  if (name == "ln_f" || name == "norm") return "norm";
  const size_t dot = name.find('.');
  return name.substr(1, dot) + words.at(name.substr(dot + 1));
}

void check_golden(const std::shared_ptr<const ordinal::Model>& model, const std::string& file) {
  const json golden = json::parse(test::read_file(file));
  REQUIRE(!golden["cases"].empty());
  for (const json& item : golden["cases"]) {
    CAPTURE(item["ids"].dump());
    const std::vector<TokenId> ids = listed_ids(item["ids"]);
    const Run run(model, ids);
    const std::vector<float>& last = run.logits.back();

    if (item.contains("logits_last")) {
      const auto expected = item["logits_last"].get<std::vector<double>>();
      REQUIRE(expected.size() == last.size());
      double worst = 0.0;
      for (size_t i = 0; i < last.size(); ++i) worst = std::max(worst, std::abs(last[i] - expected[i]));
      CHECK(worst <= kLogitTolerance);
    }
    for (const char* some : {"top", "some"})
      for (const json& pair : item.value(some, json::array()))
        CHECK(std::abs(last.at(pair[0].get<size_t>()) - pair[1].get<double>()) <= kLogitTolerance);
    CHECK(std::abs(log_sum_exp(last) - item["logsumexp_last"].get<double>()) <= kLogitTolerance);

    std::vector<TokenId> best;
    for (const auto& row : run.logits) best.push_back(best_of(row));
    CHECK(best == listed_ids(item["argmax_each"]));
    if (item.contains("mean_nll")) {
      double sum = 0.0;
      for (size_t t = 0; t + 1 < ids.size(); ++t) sum += log_sum_exp(run.logits[t]) - run.logits[t].at(ids[t + 1]);
      CHECK(std::abs(sum / static_cast<double>(ids.size() - 1) - item["mean_nll"].get<double>()) <= kLogitTolerance);
    }
    for (const auto& [name, row] : item["last_row"].items()) {
      CAPTURE(name);
      CHECK(close(run.rows(observed_name(name)).back(), row.get<std::vector<double>>(), kRowTolerance));
    }
    const std::vector<TokenId> continuation = listed_ids(item["greedy_ids"]);
    CHECK(greedy(model, ids, continuation.size()) == continuation);
  }
}

TEST_CASE("checkpoints: logits, activations and greedy ids equal the float64 goldens") {
  const std::map<std::string, std::string> weights = {{"gpt-nano-sort", "hf"},
                                                      {"gpt2basic-byte-3x64", "hf"},
                                                      {"gpt2basic-bpe384-2x48", "hf"},
                                                      {"hf-tiny-gpt2", ""},
                                                      {"stories260K", "stories260K.bin"}};
  for (const auto& [name, file] : weights) {
    CAPTURE(name);
    const std::string folder = test::shared("checkpoints/" + name);
    if (folder.empty()) continue;
    check_golden(opened(folder + "/" + file), folder + "/golden.json");
  }
}

TEST_CASE("checkpoints: stories260K tells the story of llama2.c's own test, all 200 tokens") {
  const std::string folder = test::shared("checkpoints/stories260K");
  if (folder.empty()) return;
  const auto model = opened(folder + "/stories260K.bin");
  CHECK(model->config().bos_id == 1);
  std::vector<TokenId> ids = greedy(model, {1}, 200);
  ids.insert(ids.begin(), 1);
  const auto tokenizer = ordinal::make_tokenizer(model->file().tokenizer());
  CHECK(tokenizer->decode(ids) == test::read_file(folder + "/expected-200-greedy.txt"));
}

TEST_CASE("checkpoints: gpt-nano-sort sorts all 729 strings of six letters") {
  const std::string folder = test::shared("checkpoints/gpt-nano-sort/hf");
  if (folder.empty()) return;
  const auto model = opened(folder);
  int wrong = 0;
  for (int code = 0; code < 729; ++code) {
    std::vector<TokenId> letters;
    for (int rest = code, i = 0; i < 6; ++i, rest /= 3) letters.push_back(rest % 3);
    const std::vector<TokenId> found = greedy(model, letters, 6);
    std::sort(letters.begin(), letters.end());
    if (found != letters) ++wrong;
  }
  CHECK(wrong == 0);
}

// ---- gpt-nano-sort's partials: activations that its authors stored ----

// Little-endian float32 numbers in base64.
std::vector<float> floats_of(const json& tensor) {
  const auto digit = [](char c) -> uint32_t {
    if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0' + 52);
    return c == '+' ? 62 : 63;
  };
  std::string bytes;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : tensor["data"].get<std::string>()) {
    if (c == '=') break;
    held = (held << 6 | digit(c)) & 0xffffff;
    if ((bits += 6) >= 8) bytes.push_back(static_cast<char>(held >> (bits -= 8) & 0xff));
  }
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  size_t count = 1;
  for (const json& size : tensor["shape"]) count *= size.get<size_t>();
  REQUIRE(values.size() == count);
  return values;
}

TEST_CASE("checkpoints: gpt-nano-sort's activations are those its authors stored") {
  const std::string folder = test::shared("checkpoints/gpt-nano-sort");
  if (folder.empty()) return;
  const json partials = json::parse(test::read_file(folder + "/partials.json"));
  const auto model = opened(folder + "/hf");
  constexpr size_t kBatch = 3, kTime = 11, kHeads = 3, kHeadDim = 16;
  const std::vector<float> idx = floats_of(partials["idx"]);
  REQUIRE(idx.size() == kBatch * kTime);

  for (size_t b = 0; b < kBatch; ++b) {
    CAPTURE(b);
    const Run run(model, std::vector<TokenId>(idx.begin() + b * kTime, idx.begin() + (b + 1) * kTime));

    // [batch, time, width]
    const std::map<std::string, const Matrix*> rows = {{"x", &run.rows("x")},
                                                       {"ln1", &run.rows("0.attn_norm")},
                                                       {"y", &run.rows("0.attn_mix")},
                                                       {"attnResid", &run.rows("0.attn_out")},
                                                       {"ln2", &run.rows("0.ffn_norm")},
                                                       {"gelu", &run.rows("0.ffn_act")},
                                                       {"mlpResid", &run.rows("0.ffn_out")},
                                                       {"block0", &run.rows("0.ffn_out")},
                                                       {"block1", &run.rows("1.ffn_out")},
                                                       {"block2", &run.rows("2.ffn_out")},
                                                       {"ln_f", &run.rows("norm")},
                                                       {"lm_head", &run.logits}};
    for (const auto& [name, found] : rows) {
      CAPTURE(name);
      const std::vector<float> all = floats_of(partials[name]);
      const size_t width = all.size() / (kBatch * kTime);
      REQUIRE(found->size() == kTime);
      for (size_t t = 0; t < kTime; ++t)
        CHECK(close((*found)[t], std::span(all).subspan((b * kTime + t) * width, width), 1e-5));
    }

    // [batch, head, time, head_dim] and [batch, head, time, time]
    const std::vector<float> att = floats_of(partials["att"]), weights = floats_of(partials["attSm"]);
    for (size_t head = 0; head < kHeads; ++head)
      for (size_t t = 0; t < kTime; ++t) {
        CAPTURE(head);
        CAPTURE(t);
        const size_t row = (b * kHeads + head) * kTime + t;
        for (const char* name : {"q", "k", "v"}) {
          const std::vector<float> all = floats_of(partials[name]);
          const std::span<const float> found(run.rows("0." + std::string(name))[t]);
          CHECK(
              close(found.subspan(head * kHeadDim, kHeadDim), std::span(all).subspan(row * kHeadDim, kHeadDim), 1e-5));
        }
        const std::string of_head = "." + std::to_string(head);
        CHECK(close(run.rows("0.scores" + of_head)[t], std::span(att).subspan(row * kTime, t + 1), 1e-5));
        CHECK(close(run.rows("0.weights" + of_head)[t], std::span(weights).subspan(row * kTime, t + 1), 1e-5));
      }
  }
}

}  // namespace
