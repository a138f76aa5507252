// random_model.cpp: see random_model.h.
#include "reference/random_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "support.h"

namespace test {
namespace {

// 64-bit FNV-1a: gives every tensor of a model a stream of its own, whatever the order they are made in.
uint64_t hash_of(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

float keep_8_bits(float value) {
  if (std::fabs(value) < 0x1p-14f) return 0.0f;  // below this f16 has fewer bits
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

// Adds the tensors of one model to its draft.
class Builder {
 public:
  explicit Builder(const RandomModel& model) : model_(model) {}

  // A matrix that turns rows of unit deviation into rows of deviation `gain`.
  void matrix(const std::string& name, int64_t n, int64_t k, double gain) {
    add(name + ".weight", {n, k}, 0.0, gain * std::sqrt(3.0 / static_cast<double>(k)));
  }
  void bias(const std::string& name, int64_t n, bool present) {
    if (present) add(name + ".bias", {n}, 0.0, 0.4);
  }
  void norm(const std::string& name) {
    add(name + ".weight", {model_.config.d_model}, 1.0, 0.5);
    bias(name, model_.config.d_model, model_.norm_bias);
  }

  std::vector<ordinal::TensorSource> tensors;

 private:
  void add(const std::string& name, std::vector<int64_t> shape, double center, double spread) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::vector<float> values = uniform_numbers(model_.seed, name, count, center, spread, model_.coarse);
    tensors.push_back(tensor_of(name, std::move(shape), std::move(values)));
  }

  const RandomModel& model_;
};

}  // namespace

std::vector<float> uniform_numbers(uint64_t seed, const std::string& name, int64_t count, double center, double spread,
                                   bool coarse) {
  Random random(seed ^ hash_of(name));
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(center + spread * (2.0 * random.uniform() - 1.0));
    if (coarse) value = keep_8_bits(value);
  }
  return values;
}

ordinal::TensorSource tensor_of(const std::string& name, std::vector<int64_t> shape, std::vector<float> values) {
  ordinal::TensorSource source;
  source.name = name;
  source.shape = std::move(shape);
  const int64_t cols = source.shape.back();
  const auto held = std::make_shared<const std::vector<float>>(std::move(values));
  source.read_rows = [held, cols](int64_t first, int64_t count, float* out) {
    std::copy_n(held->begin() + first * cols, count * cols, out);
  };
  return source;
}

void scale_by_head_dim(ordinal::ModelConfig& config) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.attention_scale.assign(static_cast<size_t>(config.n_layers), static_cast<float>(scale));
}

ordinal::ModelConfig small_config() {
  ordinal::ModelConfig config;
  config.vocab_size = 77;
  config.max_seq_len = 40;
  config.d_model = 36;
  config.n_layers = 2;
  config.n_heads = 3;
  config.n_kv_heads = 3;
  config.head_dim = 12;
  config.d_ff = 50;
  scale_by_head_dim(config);
  return config;
}

ordinal::ModelDraft random_model(const RandomModel& model) {
  const ordinal::ModelConfig& config = model.config;
  const int64_t width = config.d_model;
  const int64_t q_width = config.n_heads * config.head_dim, kv_width = config.n_kv_heads * config.head_dim;
  const double logit_gain = 3.0 / std::sqrt(static_cast<double>(width));

  Builder build(model);
  // Rows of the embedding are logit directions too when the output is tied: a deviation of 3 for rows of unit size.
  build.matrix("token_embd", config.vocab_size, width, logit_gain * std::sqrt(static_cast<double>(width)));
  if (model.position_rows > 0) build.matrix("position_embd", model.position_rows, width, 2.0);
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    const double scale = config.attention_scale[static_cast<size_t>(layer)];
    // q·k of d terms has a deviation of gain^2 * sqrt(d); scaled, it should be near 2.
    const double qk_gain = std::sqrt(2.0 / (scale * std::sqrt(static_cast<double>(config.head_dim))));
    build.norm(block + "attn_norm");
    build.matrix(block + "attn_q", q_width, width, qk_gain);
    build.bias(block + "attn_q", q_width, model.attn_bias);
    build.matrix(block + "attn_k", kv_width, width, qk_gain);
    build.bias(block + "attn_k", kv_width, model.attn_bias);
    build.matrix(block + "attn_v", kv_width, width, 1.0);
    build.bias(block + "attn_v", kv_width, model.attn_bias);
    build.matrix(block + "attn_output", width, q_width, 1.0);
    build.bias(block + "attn_output", width, model.attn_output_bias);
    build.norm(block + "ffn_norm");
    if (config.gated_mlp) build.matrix(block + "ffn_gate", config.d_ff, width, 1.2);
    if (config.gated_mlp) build.bias(block + "ffn_gate", config.d_ff, model.ffn_bias);
    build.matrix(block + "ffn_up", config.d_ff, width, 1.2);
    build.bias(block + "ffn_up", config.d_ff, model.ffn_bias);
    build.matrix(block + "ffn_down", width, config.d_ff, 1.5);
    build.bias(block + "ffn_down", width, model.ffn_bias);
  }
  if (model.output_norm) build.norm("output_norm");
  if (!config.tied_output) build.matrix("output", config.vocab_size, width, 3.0);
  build.bias("output", config.vocab_size, model.output_bias);

  ordinal::ModelDraft draft;
  draft.config = config;
  draft.notes.position = model.position;
  draft.notes.trained_positions = {model.position};
  draft.tensors = std::move(build.tensors);
  return draft;
}

ordinal::TokenizerData byte_tokenizer() {
  ordinal::TokenizerData data;
  data.kind = "bytes";
  for (int byte = 0; byte < 256; ++byte) data.pieces.push_back(std::string(1, static_cast<char>(byte)));
  data.pieces.push_back("<|end|>");
  data.special_ids = {256};
  return data;
}

std::vector<ordinal::TokenId> random_ids(uint64_t seed, int64_t count, int64_t vocab_size) {
  Random random(seed);
  std::vector<ordinal::TokenId> ids(static_cast<size_t>(count));
  for (ordinal::TokenId& id : ids) id = static_cast<ordinal::TokenId>(random.below(vocab_size));
  return ids;
}

}  // namespace test
