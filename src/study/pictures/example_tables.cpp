// example_tables.cpp: see example_tables.h.
#include "study/pictures/example_tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "study/random_numbers.h"

namespace ordinal {
namespace {

int64_t whole_param(const SchemeFacts& facts, std::string_view key, int64_t otherwise) {
  const auto param = std::ranges::find(facts.params, key, &SchemeParam::key);
  if (param == facts.params.end()) return otherwise;
  int64_t value = otherwise;
  std::from_chars(param->value.data(), param->value.data() + param->value.size(), value);
  return value;
}

std::vector<float> noise(int64_t count, double size, RandomNumbers& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(size * random.normal());
  return values;
}

std::vector<float> waves(int64_t rows, int64_t cols, RandomNumbers& random) {
  std::vector<float> values = noise(rows * cols, 0.004, random);
  for (int64_t c = 0; c < cols; ++c) {
    const double rounds = std::ceil(4 * random.uniform() * random.uniform());  // 1 to 4, seldom 4
    const double size = 0.1 / (rounds * std::sqrt(1 + 0.1 * static_cast<double>(c)));
    const double phase = 2 * std::numbers::pi * random.uniform();
    for (int64_t r = 0; r < rows; ++r) {
      const double part = static_cast<double>(r) / static_cast<double>(rows);
      values[r * cols + c] += static_cast<float>(size * std::cos(2 * std::numbers::pi * rounds * part + phase));
    }
  }
  return values;
}

std::vector<float> falling_bias(int64_t rows, int64_t heads, RandomNumbers& random) {
  std::vector<float> values = noise(rows * heads, 0.08, random);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t h = 0; h < heads; ++h)
      values[r * heads + h] -= static_cast<float>(1.5 * std::log1p(static_cast<double>(r)) * static_cast<double>(h) /
                                                  static_cast<double>(std::max<int64_t>(1, heads - 1)));
  return values;
}

// Rows 0 .. 2 clip; row `clip` is the token itself.
std::vector<float> shrinking_vectors(int64_t clip, int64_t cols, RandomNumbers& random) {
  std::vector<float> values = noise((2 * clip + 1) * cols, 0.3, random);
  for (int64_t r = 0; r <= 2 * clip; ++r)
    for (int64_t c = 0; c < cols; ++c)
      values[r * cols + c] /= static_cast<float>(1 + 0.15 * std::abs(static_cast<double>(r - clip)));
  return values;
}

}  // namespace

ExampleTables::ExampleTables(std::string_view spec, const AttentionShape& shape) {
  const SchemeFacts facts = describe_position_scheme(spec.substr(0, spec.find(';')), shape);
  const int64_t heads = shape.n_heads, width = shape.head_dim, clip = whole_param(facts, "clip", 32);
  const int64_t buckets = whole_param(facts, "buckets", clip + 1);
  const int64_t pairs = whole_param(facts, "rotary_dim", width) / 2;
  const int64_t rows = shape.trained_length + whole_param(facts, "offset", 0);
  RandomNumbers random(20240607);
  add("position_embd.weight", rows, shape.d_model, waves(rows, shape.d_model, random));
  add("attn_rel_b.weight", buckets, heads, falling_bias(buckets, heads, random));
  for (int64_t layer = 0; layer < shape.n_layers; ++layer)
    for (const char* name : {".attn_rel_k.weight", ".attn_rel_v.weight"})
      add("blk." + std::to_string(layer) + name, 2 * clip + 1, width, shrinking_vectors(clip, width, random));
  add("attn_xl_r.weight", heads * width, shape.d_model,
      noise(heads * width * shape.d_model, 1 / std::sqrt(static_cast<double>(shape.d_model)), random));
  add("attn_xl_u.weight", heads, width, noise(heads * width, 0.5, random));
  add("attn_xl_v.weight", heads, width, noise(heads * width, 0.5, random));
  std::vector<float> within(pairs, 1.0f), beyond = within;
  for (size_t i = 0; i < beyond.size(); ++i)
    beyond[i] = static_cast<float>(std::pow(4, static_cast<double>(i) / static_cast<double>(beyond.size())));
  add("rope_factors_short.weight", 0, pairs, within);
  add("rope_factors_long.weight", 0, pairs, beyond);
}

void ExampleTables::add(std::string name, int64_t rows, int64_t cols, std::vector<float> values) {
  Table& table = tables_.emplace_back();
  table.values = std::move(values);
  table.view = {.name = std::move(name),
                .dtype = Dtype::f32,
                .layout = Layout::rows,
                .shape = rows == 0 ? std::vector{cols} : std::vector{rows, cols},
                .data = reinterpret_cast<const std::byte*>(table.values.data()),
                .bytes = static_cast<int64_t>(table.values.size() * sizeof(float))};
}

TensorLookup ExampleTables::lookup() const {
  return [this](std::string_view name) -> const TensorView* {
    for (const Table& table : tables_)
      if (table.view.name == name) return &table.view;
    return nullptr;
  };
}

}  // namespace ordinal
