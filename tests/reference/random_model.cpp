// random_model.cpp: see random_model.h.
#include "reference/random_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "model/plan.h"
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

// What a matrix makes of rows of unit deviation: rows of this deviation.
double gain_of(const ordinal::PlannedTensor& tensor, const ordinal::ModelConfig& config) {
  const std::string_view part = tensor.part->name;
  // q·k of d terms has a deviation of gain^2 * sqrt(d); scaled, it should be near 2.
  const double scale = config.attention_scale[static_cast<size_t>(tensor.layer)];
  if (part == "attn_q" || part == "attn_k")
    return std::sqrt(2.0 / (scale * std::sqrt(static_cast<double>(config.head_dim))));
  if (part == "ffn_gate" || part == "ffn_up") return 1.2;
  if (part == "ffn_down") return 1.5;
  // Rows of the embedding are logit directions too when the output is tied: a deviation of 3 for rows of unit size.
  return part == "token_embd" || part == "output" ? 3.0 : 1.0;
}

bool has_bias(const ordinal::PlannedTensor& tensor, const RandomModel& model) {
  const std::string_view part = tensor.part->name;
  if (part.ends_with("_norm")) return model.norm_bias && (model.output_norm || part != "output_norm");
  if (part == "output") return model.output_bias;
  if (part.starts_with("embd_")) return false;
  if (part == "attn_output") return model.attn_output_bias;
  return part.starts_with("attn_") ? model.attn_bias : model.ffn_bias;
}

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

void set_random_facts(ordinal::ModelConfig& c, Random& random, int64_t narrow) {
  const auto maybe = [&](auto& fact, auto value) {
    if (random.below(2) == 0) fact = value;
  };
  c.norm = random.below(2) == 0 ? ordinal::NormKind::layer_norm : ordinal::NormKind::rms_norm;
  c.norm_place = static_cast<ordinal::NormPlace>(random.below(4));
  if (c.norm_place == ordinal::NormPlace::pre || c.norm_place == ordinal::NormPlace::both)
    c.residual = static_cast<ordinal::Residual>(random.below(3));
  c.activation = static_cast<ordinal::Activation>(random.below(5));
  c.qk_norm = static_cast<ordinal::QkNorm>(random.below(3));
  maybe(c.qk_norm_kind, ordinal::NormKind::rms_norm);
  maybe(c.final_norm, false);
  maybe(c.gated_mlp, true);
  maybe(c.tied_output, false);
  maybe(c.residual_scale, 0.22f);
  maybe(c.embedding_scale, 6.0f);
  maybe(c.embedding_norm, true);
  maybe(c.d_embedding, narrow);
  maybe(c.attention_softcap, 2.0f);
  maybe(c.qkv_clip, 1.1f);
  maybe(c.logit_scale, 0.3f);
  maybe(c.logit_softcap, 3.0f);
  maybe(c.window, std::vector<int64_t>{static_cast<int64_t>(random.below(9)), 5});
}

ordinal::ModelDraft random_model(const RandomModel& model) {
  const ordinal::ModelConfig& config = model.config;
  std::vector<ordinal::TensorSource> tensors;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, double center, double spread) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::vector<float> values = uniform_numbers(model.seed, name, count, center, spread, model.coarse);
    tensors.push_back(tensor_of(name, std::move(shape), std::move(values)));
  };
  const auto matrix = [&](const std::string& name, const std::vector<int64_t>& shape, double gain) {
    add(name, shape, 0.0, gain * std::sqrt(3.0 / static_cast<double>(shape.back())));
  };

  if (model.position_rows > 0) {
    matrix("position_embd.weight", {model.position_rows, config.d_model}, 2.0);
    tensors.back().is_table = true;
  }
  ordinal::for_each_tensor(config, [&](const ordinal::PlannedTensor& tensor) {
    if (tensor.is_bias) {
      if (has_bias(tensor, model)) add(tensor.name, tensor.shape, 0.0, 0.4);
    } else if (tensor.shape.size() == 2) {
      matrix(tensor.name, tensor.shape, gain_of(tensor, config));
    } else if (tensor.required || model.output_norm) {
      add(tensor.name, tensor.shape, 1.0, 0.5);
    }
  });

  ordinal::ModelDraft draft;
  draft.config = config;
  draft.notes.position = model.position;
  draft.notes.trained_positions = {model.position};
  draft.tensors = std::move(tensors);
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
