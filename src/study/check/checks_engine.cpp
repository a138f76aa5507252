// checks_engine.cpp: see checks_engine.h.
#include "study/check/checks_engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_set>

#include "model/products.h"
#include "position/scheme.h"
#include "study/check/check_model.h"
#include "study/check/checks_sinusoid.h"

namespace ordinal {
namespace {

// Different tokens of the vocabulary, as long as it has so many.
std::vector<TokenId> some_tokens(const ModelConfig& config, int64_t count) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>((1 + i * 7919) % config.vocab_size));
  return ids;
}

int64_t tokens_that_fit(const Subject& subject, int64_t count) {
  return std::min(count, subject.scheme->max_positions());
}

std::string layers_of(const Subject& subject) {
  const int64_t n = subject.model->config().n_layers;
  return std::to_string(n) + (n == 1 ? " layer" : " layers");
}

CheckLabel label_of(const Subject& subject, const std::string& id, const std::string& what) {
  return {id, what + ", engine", subject.name};
}

// The largest difference as a part of the largest number of `a`.
double relative_change(const Logits& a, const Logits& b) {
  double difference = 0, largest = 0;
  for (size_t r = 0; r < a.size(); ++r)
    for (size_t c = 0; c < a[r].size(); ++c) {
      const double apart = std::abs(static_cast<double>(a[r][c]) - static_cast<double>(b[r][c]));
      if (!(apart <= difference)) difference = apart;
      largest = std::max(largest, std::abs(static_cast<double>(a[r][c])));
    }
  return difference / largest;
}

double change_of_last(const Subject& subject, const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  return relative_change({logits_under(subject.model, subject.scheme, a).back()},
                         {logits_under(subject.model, subject.scheme, b).back()});
}

int64_t count_different(const Logits& a, const Logits& b) {
  int64_t count = 0;
  for (size_t r = 0; r < a.size(); ++r)
    for (size_t c = 0; c < a[r].size(); ++c)
      if (a[r][c] != b[r][c]) ++count;  // NaN counts
  return count;
}

// Whether products round their inputs to 8 bits, where a last bit can become a step.
bool rounds_inputs(const Model& model) {
  const Dtype dtype = model.weights().layers.front().attn_q.weight->dtype;
  return dtype_info(dtype).block_items > 1;
}

// Rows of the token table, spread evenly over the vocabulary.
std::vector<std::vector<float>> token_rows(const Model& model, int64_t most) {
  const ModelConfig& c = model.config();
  const int64_t count = std::min(most, c.vocab_size);
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float>& row = rows.emplace_back(static_cast<size_t>(c.d_model));
    embed(*model.weights().token_embd, static_cast<TokenId>(i * c.vocab_size / count), c.embedding_scale, row);
  }
  return rows;
}

double mean_length(const std::vector<std::vector<float>>& rows) {
  double sum = 0;
  for (const auto& row : rows) {
    const std::vector<double> wide(row.begin(), row.end());
    sum += std::sqrt(dot(wide, wide));
  }
  return sum / static_cast<double>(rows.size());
}

std::string_view bytes_of(const std::vector<float>& row) {
  return {reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float)};
}

// How many sums of a token and a position row equal an earlier one to the bit. Tokens alike count once.
int64_t count_collisions(const std::vector<std::vector<float>>& tokens,
                         const std::vector<std::vector<float>>& positions) {
  std::unordered_set<size_t> known_tokens, known_sums;  // hashes of 64 bits: no two alike by accident
  const std::hash<std::string_view> hash;
  int64_t collisions = 0;
  for (const auto& token : tokens) {
    if (!known_tokens.insert(hash(bytes_of(token))).second) continue;
    for (const auto& position : positions) {
      std::vector<float> sum = token;
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += position[c];
      collisions += !known_sums.insert(hash(bytes_of(sum))).second;
    }
  }
  return collisions;
}

}  // namespace

int64_t rows_to_look_at(const Subject& subject) {
  const int64_t last = subject.scheme->max_positions();
  return std::min<int64_t>(512, last == PositionScheme::kUnlimited ? subject.model->config().max_seq_len : last);
}

Checks check_shift(const Subject& subject) {
  const ModelConfig& c = subject.model->config();
  const int64_t last = subject.scheme->max_positions();
  const int64_t count = std::min<int64_t>(13, last / 2);
  int64_t shift = std::min<int64_t>(100, last - count);
  if (shift == c.max_seq_len) --shift;  // once round a table that wraps
  if (count < 1 || shift < 1) return {};
  const std::vector<TokenId> tokens = some_tokens(c, count);
  const double change =
      relative_change(logits_under(subject.model, subject.scheme, tokens),
                      logits_under(subject.model, subject.scheme, tokens, {.first_position = shift, .observer = {}}));
  const CheckLabel label =
      label_of(subject, "C4", "positions moved by " + std::to_string(shift) + ": change of the logits");
  if (subject.anchored) {
    const PositionRows rows = engine_rows(subject.scheme, subject.name, c.d_model);
    double most = 0;
    for (const int64_t position : {int64_t{0}, shift, shift + count - 1})
      for (const double number : rows.at(position)) most = std::max(most, std::abs(number));
    return {check_shown(label, change),
            check_near(label_of(subject, "C4", "anchored: added to the embedding, at most"), most, 0, 0)};
  }
  if (!subject.relative) return {check_above(label, change, 1e-3)};
  if (!subject.turns) return {check_near(label, change, 0, 0)};
  return {check_below(label, change, rounds_inputs(*subject.model) ? 1e-1 : 1e-4)};
}

Checks check_places(const Subject& subject, const PlacesOf& places_of) {
  const AttentionShape shape = attention_shape(subject.model->config(), subject.model->config().max_seq_len);
  const ModifiedSpec first = parse_modified_spec(subject.name.substr(0, end_of_modified(subject.name)));
  const int64_t tokens = 4 * shape.trained_length;
  Checks checks;
  for (const std::string& modifier : first.modifiers) {
    const SchemeFacts facts = describe_position_modifier(modifier, shape);
    const std::string name = parse_position_spec(modifier).name;
    if (modifier_info(name).acts_on != "views") continue;
    double most = 0;
    int64_t falls_short = 0;  // queries that do not see themselves at hand
    for (const int64_t query : {shape.trained_length - 1, shape.trained_length, tokens / 2, tokens - 1}) {
      const std::vector<double> places = places_of("rope;with=" + modifier, shape, query);
      for (const double place : places)
        if (!std::isnan(place)) most = std::max(most, place);
      falls_short += !(std::abs(places.back()) < 0.01);
    }
    const auto value = [&](const char* key) { return std::stod(facts.param(key)); };
    const std::map<std::string_view, double> promised = {
        {"rerope", facts.param("window").empty() ? 0 : value("window")},
        {"lambda", facts.param("window").empty() ? 0 : value("window")},
        {"sinks", facts.param("first").empty() ? 0 : value("first") + value("window") - 1},
        {"dca", facts.param("limit").empty() ? 0 : value("limit") - (facts.param("top") == "limit" ? 0 : 1)}};
    const CheckLabel label =
        label_of(subject, "C16", name + ", " + std::to_string(tokens) + " tokens: the farthest at which a key stands");
    const auto bound = promised.find(name);
    checks.push_back(bound == promised.end() ? check_shown(label, most)
                                             : check_between(label, most, 0, bound->second + 0.01));
    checks.push_back(check_near(label_of(subject, "C16", name + ": queries that do not stand where they are"),
                                static_cast<double>(falls_short), 0, 0));
  }
  return checks;
}

Check check_prefix(const Subject& subject) {
  std::vector<TokenId> tokens = some_tokens(subject.model->config(), 12), moved = tokens;
  std::reverse(moved.begin(), moved.end() - 1);
  std::swap(moved[0], moved[5]);
  const double change = change_of_last(subject, tokens, moved);
  const CheckLabel label = label_of(subject, "C6", "prefix permuted: change of the last logits, " + layers_of(subject));
  return subject.model->config().n_layers == 1 ? check_near(label, change, 0, 1e-5) : check_above(label, change, 1e-3);
}

Checks check_counting(const Subject& subject) {
  const std::vector<TokenId> tokens(24, 5);
  double weight_error = 0, output_error = 0, largest = 0;
  const Observer observer = [&](const Observed& seen) {
    if (seen.name == "weights")
      for (const float weight : seen.rows[0])
        weight_error =
            std::max(weight_error, std::abs(static_cast<double>(weight) - 1 / static_cast<double>(seen.rows.cols)));
    if (seen.name != "ffn_out") return;
    for (int64_t r = 0; r < seen.rows.rows; ++r)
      for (int64_t col = 0; col < seen.rows.cols; ++col) {
        const auto value = static_cast<double>(seen.rows[r][static_cast<size_t>(col)]);
        const auto first = static_cast<double>(seen.rows[0][static_cast<size_t>(col)]);
        output_error = std::max(output_error, std::abs(value - first));
        largest = std::max(largest, std::abs(value));
      }
  };
  logits_under(subject.model, subject.scheme, tokens, {.observer = observer});
  return {check_near(label_of(subject, "C7", "a token repeated: token t gives 1/t to each"), weight_error, 0, 1e-6),
          check_near(label_of(subject, "C7", "a token repeated: rows alike at every layer"), output_error / largest, 0,
                     1e-5)};
}

Check check_word_order(const Subject& subject, bool seen) {
  const std::vector<TokenId> t = some_tokens(subject.model->config(), tokens_that_fit(subject, 4));
  std::vector<TokenId> moved = t;
  if (moved.size() > 1) std::reverse(moved.begin(), moved.end() - 1);
  const double change = change_of_last(subject, t, moved);
  const CheckLabel label =
      label_of(subject, "C8", "dog bites man, man bites dog: change after it, " + layers_of(subject));
  return seen ? check_above(label, change, 1e-4) : check_near(label, change, 0, 1e-5);
}

Checks check_collisions(const Subject& subject) {
  const ModelConfig& c = subject.model->config();
  const std::vector<std::vector<float>> tokens = token_rows(*subject.model, 2000);
  std::vector<std::vector<float>> positions;
  const PositionRows rows = engine_rows(subject.scheme, subject.name, c.d_model);
  for (int64_t p = 0; p < rows_to_look_at(subject); ++p) {
    const std::vector<double> row = rows.at(p);
    positions.emplace_back(row.begin(), row.end());
  }
  const std::string of_tokens = " of " + std::to_string(tokens.size()) + " token rows";
  const std::string of_positions = " of " + std::to_string(positions.size()) + " position rows";
  Checks checks = {
      check_shown(label_of(subject, "C10", "mean length" + of_tokens), mean_length(tokens)),
      check_shown(label_of(subject, "C10", "mean length" + of_positions), mean_length(positions)),
      check_shown(label_of(subject, "C10", "closest two" + of_tokens), distances_between(tokens).smallest)};
  if (positions.size() > 1)
    checks.push_back(
        check_shown(label_of(subject, "C10", "farthest two" + of_positions), distances_between(positions).largest));
  const auto few = [](std::vector<std::vector<float>> all, size_t most) {
    if (all.size() > most) all.resize(most);
    return all;
  };
  checks.push_back(check_near(label_of(subject, "C10", "sums of a token and a position that equal another"),
                              static_cast<double>(count_collisions(few(tokens, 500), few(positions, 256))), 0, 0));
  return checks;
}

Check check_same_bits(const Subject& subject) {
  const std::vector<TokenId> tokens = some_tokens(subject.model->config(), tokens_that_fit(subject, 12));
  const auto under = [&](std::span<const TokenId> text, int64_t chunk = 256, int n_threads = 1) {
    return logits_under(subject.model, subject.scheme, text, {.n_threads = n_threads, .chunk = chunk, .observer = {}});
  };
  const Logits whole = under(tokens);
  int64_t different = 0;
  std::string where;
  const auto compare = [&](const char* how, const Logits& other) {
    const int64_t count = count_different({whole.end() - static_cast<ptrdiff_t>(other.size()), whole.end()}, other);
    different += count;
    if (count > 0) where += (where.empty() ? " (not alike: " : ", ") + std::string(how);
  };
  compare("one by one", under(tokens, 1));
  compare("in pieces", under(tokens, 5));
  compare("threads", under(tokens, 256, 3));
  Logits recomputed;
  for (size_t n = 1; n <= tokens.size(); ++n) recomputed.push_back(under(std::span(tokens).first(n)).back());
  compare("recomputed", recomputed);
  const std::vector<std::vector<TokenId>> texts = {{tokens.rbegin(), tokens.rend()}, tokens};
  compare("batch", {last_logits_together(subject.model, subject.scheme, texts)[1]});
  if (!where.empty()) where += ")";
  return check_near(label_of(subject, "C14", "logits that differ: cached, recomputed, pieces, batch, threads" + where),
                    static_cast<double>(different), 0, 0);
}

}  // namespace ordinal
