// gguf_architectures.cpp: see gguf_architectures.h.
#include "convert/gguf/gguf_architectures.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/words.h"
#include "ordinal/error.h"
#include "position/scheme.h"

namespace ordinal::convert {
namespace {

constexpr int64_t kMostSize = int64_t{1} << 24;  // no size in a file is larger; lengths without a table stop here

// A size that may be stated layer by layer: all must be alike.
std::optional<int64_t> size_of(GgufFacts& facts, std::string_view name, int64_t most = kMostSize) {
  const std::string key = facts.key(name);
  const auto values = facts.file.keys.numbers(key);
  if (!values) return std::nullopt;
  const std::string what = key + " in " + facts.file.keys.file();
  for (const double value : *values) {
    if (!(value >= 1 && value <= static_cast<double>(most)) || value != std::floor(value))
      throw Error(what + " is out of range", "1 to " + grouped(most), shortest(static_cast<float>(value)));
    if (value != values->front())
      throw Error(what + " differs from layer to layer", "layers that are alike",
                  joined(std::vector{values->front(), value}, " and ", number_text));
  }
  if (values->empty()) throw Error(what + " is an empty list", "a number", "none");
  return static_cast<int64_t>(values->front());
}

int64_t needed_size(GgufFacts& facts, std::string_view name) {
  if (const auto value = size_of(facts, name)) return *value;
  throw Error(facts.file.keys.file() + " lacks the key " + facts.key(name), "a number", "no such key");
}

std::optional<float> number_of(GgufFacts& facts, std::string_view name, double above, double most) {
  const auto value = facts.file.keys.number(facts.key(name));
  if (!value) return std::nullopt;
  if (!(*value > above && *value <= most))
    throw Error(facts.key(name) + " in " + facts.file.keys.file() + " is out of range",
                "above " + number_text(above) + ", at most " + number_text(most), number_text(*value));
  return static_cast<float>(*value);
}

// --- positions

void learned(GgufFacts& facts) { facts.position = "learned"; }

// A scaling of rope, by the name that files give it.
struct Scaling {
  std::string_view name;
  std::string (*spec)(GgufFacts& facts, const std::string& factor);
};

std::string original_length(GgufFacts& facts) {
  const auto length = size_of(facts, "rope.scaling.original_context_length");
  return length ? ",original_length=" + std::to_string(*length) : "";
}

std::string yarn(GgufFacts& facts, const std::string& factor) {
  std::string spec = ",scaling=yarn" + factor + original_length(facts);
  for (const char* beta : {"beta_fast", "beta_slow"})
    if (const auto value = number_of(facts, std::string("rope.scaling.yarn_") + beta, 0, 1e6))
      spec += std::string(",") + beta + "=" + shortest(*value);
  return spec;
}

constexpr Scaling kScalings[] = {
    {"none", [](GgufFacts&, const std::string&) { return std::string(); }},
    {"linear", [](GgufFacts&, const std::string& factor) { return ",scaling=linear" + factor; }},
    {"yarn", yarn},
};

std::string scaling_of(GgufFacts& facts) {
  GgufKeys& keys = facts.file.keys;
  const auto factor = number_of(facts, "rope.scaling.factor", 0, 1e6),
             old = number_of(facts, "rope.scale_linear", 0, 1e6);
  const auto stated = keys.text(facts.key("rope.scaling.type"));
  const std::string_view type = stated ? *stated : old && *old != 1 ? "linear" : "none";
  const auto* const scaling = std::ranges::find(kScalings, type, &Scaling::name);
  if (scaling == std::end(kScalings))
    throw Error(facts.key("rope.scaling.type") + " in " + keys.file() + " names a scaling that is not read",
                joined(kScalings, ", ", &Scaling::name), in_quotes(type));
  const auto factor_text = factor || old ? ",factor=" + shortest(factor ? *factor : *old) : "";
  return scaling->spec(facts, factor_text);
}

// Rope over the first rotary channels of a head, with its base and its scaling.
std::string rope_spec(GgufFacts& facts, const char* pairing) {
  const float theta = number_of(facts, "rope.freq_base", 1, 1e12).value_or(10000);
  const int64_t rotary = size_of(facts, "rope.dimension_count").value_or(facts.config.head_dim);
  std::string spec = "rope:theta=" + shortest(theta) + ",pairing=" + pairing;
  if (rotary != facts.config.head_dim) spec += ",rotary_dim=" + std::to_string(rotary);
  return spec + scaling_of(facts);
}

void rope_neighbours(GgufFacts& facts) { facts.position = rope_spec(facts, "interleaved"); }
void rope_halves(GgufFacts& facts) { facts.position = rope_spec(facts, "half"); }

// The biggest bias is a key of MPT's; BLOOM has none, and 8. None at all: a table.
void alibi(GgufFacts& facts) {
  const auto bias = facts.file.keys.number(facts.key("attention.max_alibi_bias")).value_or(8);
  if (bias == 0) return learned(facts);
  facts.position = "alibi:max_bias=" + number_text(bias);
}

// Which layers see a window only: as a list says, layer by layer, or all but every `period`th; six when nothing is
// said.
std::vector<bool> layers_in_windows(GgufFacts& facts) {
  const auto n_layers = static_cast<size_t>(facts.config.n_layers);
  const std::string key = facts.key("attention.sliding_window_pattern");
  const auto pattern = facts.file.keys.numbers(key).value_or(std::vector<double>{6});
  std::vector<bool> local;
  if (pattern.size() == 1 && pattern[0] >= 1)
    for (size_t layer = 0; layer < n_layers; ++layer)
      local.push_back((layer + 1) % static_cast<size_t>(pattern[0]) != 0);
  else if (pattern.size() == n_layers)
    for (const double in_window : pattern) local.push_back(in_window != 0);
  else
    throw Error(key + " in " + facts.file.keys.file() + " does not fit the layers",
                "a number, or " + std::to_string(n_layers) + " flags", std::to_string(pattern.size()) + " values");
  return local;
}

// Layers that see everything turn by rope_spec; those that see a window, at a base of their own and without a scaling.
void rope_in_windows(GgufFacts& facts) {
  const auto window = size_of(facts, "attention.sliding_window");
  const float local_theta = number_of(facts, "rope.freq_base_swa", 1, 1e12).value_or(10000);
  facts.position = rope_spec(facts, "half");
  if (!window) return;
  std::vector<int64_t> local;
  for (const bool in_window : layers_in_windows(facts)) {
    if (in_window) local.push_back(static_cast<int64_t>(facts.config.window.size()));
    facts.config.window.push_back(in_window ? *window : 0);
  }
  if (!local.empty())
    facts.position += ";layers=" + joined(local, ",") + ":rope:theta=" + shortest(local_theta) + ",pairing=half";
}

// --- what is particular

// The embedding times sqrt(D). Weights of norms hold the 1 + that the original adds.
void gemma(GgufFacts& facts) {
  facts.config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(facts.config.d_model)));
}

void gemma3(GgufFacts& facts) {
  gemma(facts);
  ModelConfig& config = facts.config;
  config.norm_place = NormPlace::both;
  config.qk_norm = QkNorm::head;
  config.qk_norm_kind = NormKind::rms_norm;
  config.logit_softcap = number_of(facts, "final_logit_softcapping", 0, 1e6).value_or(0);
  // The one of 27 B divides scores by the root of D / H, not of the head; no key says so.
  constexpr int64_t kLayersOf27B = 62;
  if (config.n_layers == kLayersOf27B)
    config.attention_scale.assign(kLayersOf27B, static_cast<float>(std::sqrt(static_cast<double>(config.n_heads) /
                                                                             static_cast<double>(config.d_model))));
}

void parallel_on_one_norm(GgufFacts& facts) { facts.config.residual = Residual::parallel_one_norm; }

void gptneox(GgufFacts& facts) {
  const bool parallel = facts.file.keys.flag(facts.key("use_parallel_residual")).value_or(true);
  facts.config.residual = parallel ? Residual::parallel : Residual::serial;
}

void bloom(GgufFacts& facts) { facts.config.embedding_norm = true; }

void mpt(GgufFacts& facts) {
  facts.config.qkv_clip = number_of(facts, "attention.clamp_kqv", -1e-9, 1e6).value_or(0);
  if (facts.has_tensor("blk.0.attn_q_norm.weight")) facts.config.qk_norm = QkNorm::width;
}

// The large one has two norms beside each other: attn_norm_2 for attention, and attn_norm, which is then the MLP's.
bool has_two_norms(const GgufFacts& facts) { return facts.has_tensor("blk.0.attn_norm_2.weight"); }
void falcon(GgufFacts& facts) {
  facts.config.residual = has_two_norms(facts) ? Residual::parallel : Residual::parallel_one_norm;
}
std::string_view falcon_name(const GgufFacts& facts, std::string_view part) {
  if (!has_two_norms(facts)) return part;
  return part == "attn_norm" ? "attn_norm_2" : part == "ffn_norm" ? "attn_norm" : part;
}

// --- the table

using enum NormKind;
using enum Activation;

constexpr GgufArchitecture kArchitectures[] = {
    {"llama", rms_norm, silu, true, rope_neighbours},
    {"qwen2", rms_norm, silu, true, rope_halves},
    {"gemma", rms_norm, gelu_tanh, true, rope_halves, gemma},
    {"gemma3", rms_norm, gelu_tanh, true, rope_in_windows, gemma3},
    {"phi2", layer_norm, gelu_tanh, false, rope_halves, parallel_on_one_norm},
    {"gptneox", layer_norm, gelu_erf, false, rope_halves, gptneox},
    {"bloom", layer_norm, gelu_tanh, false, alibi, bloom},
    {"mpt", layer_norm, gelu_erf, false, alibi, mpt},
    {"falcon", layer_norm, gelu_erf, false, rope_halves, falcon, falcon_name},
    {"gpt2", layer_norm, gelu_tanh, false, learned},
    {"starcoder", layer_norm, gelu_tanh, false, learned},
};

// What else files say of an architecture: values of these keys must be these, or they may be anything.
void check_other_keys(GgufFacts& facts) {
  GgufKeys& keys = facts.file.keys;
  const std::string in_file = " in " + keys.file();
  keys.whole(facts.key("vocab_size"), 0, kMostSize);  // a label: the embedding's rows count
  keys.text(facts.key("tensor_data_layout"));         // names the order that the architecture has anyway
  if (const auto experts = keys.whole(facts.key("expert_count"), 0, kMostSize); experts && *experts > 0)
    throw Error(keys.file() + " is a mixture of experts, which is not supported", "expert_count of 0",
                std::to_string(*experts) + " experts");
  keys.whole(facts.key("expert_used_count"), 0, kMostSize);
  if (keys.flag(facts.key("attention.causal")) == false)
    throw Error(facts.key("attention.causal") + in_file + " is false", "a model that predicts what follows",
                "one that looks ahead");
  if (const auto unknown = keys.unknown(facts.architecture + "."); !unknown.empty())
    throw Error(keys.file() + " has a key of its architecture that is not known and may change what it computes",
                "keys that " + facts.architecture + " has", joined(unknown));
}

}  // namespace

const GgufArchitecture& gguf_architecture(GgufKeys& keys) {
  const auto name = keys.text("general.architecture");
  const auto* const row = std::ranges::find(kArchitectures, name.value_or(""), &GgufArchitecture::name);
  if (row == std::end(kArchitectures))
    throw Error("the model in " + keys.file() + " is of a kind that cannot be read yet",
                joined(kArchitectures, ", ", &GgufArchitecture::name),
                name ? in_quotes(*name) : "no general.architecture");
  return *row;
}

void read_gguf_facts(const GgufArchitecture& row, GgufFacts& facts) {
  ModelConfig& config = facts.config;
  const std::string in_file = " in " + facts.file.keys.file();
  config.n_layers = needed_size(facts, "block_count");
  if (config.n_layers > static_cast<int64_t>(facts.file.tensors.size()))
    throw Error(facts.key("block_count") + in_file + " is larger than its tensors warrant",
                "at most " + std::to_string(facts.file.tensors.size()), std::to_string(config.n_layers));
  config.max_seq_len = needed_size(facts, "context_length");
  config.d_model = needed_size(facts, "embedding_length");
  config.d_ff = needed_size(facts, "feed_forward_length");
  config.n_heads = needed_size(facts, "attention.head_count");
  config.n_kv_heads = size_of(facts, "attention.head_count_kv").value_or(config.n_heads);
  const auto key_length = size_of(facts, "attention.key_length"),
             value_length = size_of(facts, "attention.value_length");
  if (!key_length && config.d_model % config.n_heads != 0)
    throw Error(facts.key("attention.head_count") + in_file + " does not divide embedding_length",
                "a divisor of " + std::to_string(config.d_model), std::to_string(config.n_heads));
  config.head_dim = key_length.value_or(config.d_model / config.n_heads);
  if (value_length.value_or(config.head_dim) != config.head_dim)
    throw Error(facts.key("attention.value_length") + in_file + " differs from key_length",
                std::to_string(config.head_dim), std::to_string(*value_length));
  config.attention_scale.assign(static_cast<size_t>(config.n_layers),
                                static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))));

  config.norm = row.norm;
  const char* epsilon = row.norm == rms_norm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  config.norm_epsilon = number_of(facts, epsilon, 0, 1).value_or(config.norm_epsilon);
  config.activation = row.activation;
  config.gated_mlp = row.gated_mlp;
  config.tied_output = !facts.has_tensor("output.weight");
  row.position(facts);
  row.particular(facts);
  check_other_keys(facts);
}

}  // namespace ordinal::convert
