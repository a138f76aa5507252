// llama.cpp: Llama and those that keep its names: Mistral, Qwen2, Qwen3, SmolLM3, Granite, OLMo 1.
#include "convert/families/families.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart kLlamaParts[] = {
    kLlamaEmbd,
    kLlamaAttnNorm,
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    {"attn_q_norm", "layers.#.self_attn.q_norm"},
    {"attn_k_norm", "layers.#.self_attn.k_norm"},
    kLlamaO,
    kLlamaFfnNorm,
    kLlamaGate,
    kLlamaUp,
    kLlamaDown,
    kLlamaNorm,
    kLmHead,
};

void read_llama(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts);
  facts.position = read_rope(settings, facts);
}

void read_mistral(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 131072, .kv_heads = 8});
  set_windows(facts.model, read_window(settings, 4096));
  facts.position = read_rope(settings, facts);
}

// Windows in the upper layers, where the file asks for them at all.
void read_qwen_windows(Settings& settings, ModelConfig& model) {
  const bool uses = settings.flag("use_sliding_window", false);
  const int64_t window = read_window(settings, 4096), first = settings.size({"max_window_layers"}, 28);
  const std::vector<bool> windowed =
      read_windowed_layers(settings, model, [&](int64_t layer) { return uses && layer >= first; });
  if (uses) set_windows(model, window, windowed);
}

void read_qwen2(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 32768, .kv_heads = 32, .bos = -1, .eos = -1});
  facts.qkv_bias = Bias::yes;
  facts.output_bias = Bias::no;
  read_qwen_windows(settings, facts.model);
  facts.position = read_rope(settings, facts);
}

void read_qwen3(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 32768, .kv_heads = 32, .head_dim = 128, .bos = -1, .eos = -1});
  facts.model.qk_norm = QkNorm::head;
  facts.model.qk_norm_kind = NormKind::rms_norm;
  read_qwen_windows(settings, facts.model);
  facts.position = read_rope(settings, facts);
}

void read_smollm3(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 32768, .kv_heads = 4, .tied = true, .bos = 128000, .eos = 128001});
  ModelConfig& model = facts.model;
  const int64_t window = read_window(settings, 0), interval = settings.size({"no_rope_layer_interval"}, 4);
  const bool uses = settings.flag("use_sliding_window", false);
  std::vector<bool> with_rope = settings.flags("no_rope_layers");  // of which 1 means: with
  if (with_rope.empty())
    for (int64_t layer = 0; layer < model.n_layers; ++layer) with_rope.push_back((layer + 1) % interval != 0);
  if (static_cast<int64_t>(with_rope.size()) != model.n_layers)
    throw Error(settings.what("no_rope_layers") + " does not fit the layers",
                std::to_string(model.n_layers) + " numbers", std::to_string(with_rope.size()));
  const std::vector<bool> windowed = read_windowed_layers(
      settings, model, [&](int64_t layer) { return uses && !with_rope[static_cast<size_t>(layer)]; });
  if (uses) set_windows(model, window, windowed);
  with_rope.flip();
  facts.position = per_layer(read_rope(settings, facts, {.theta = 2e6}), with_rope, "none");
}

void read_granite(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts);
  ModelConfig& model = facts.model;
  model.embedding_scale = static_cast<float>(settings.number({"embedding_multiplier"}, 1));
  model.residual_scale = static_cast<float>(settings.number({"residual_multiplier"}, 1));
  model.logit_scale = static_cast<float>(1 / settings.positive({"logits_scaling"}, 1));
  set_scale(model, settings.number({"attention_multiplier"}, 1));
  facts.position = read_rope(settings, facts);
}

// Its norms have no weights.
void read_olmo(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.bos = -1, .eos = 50279});
  ModelConfig& model = facts.model;
  model.norm = NormKind::layer_norm;
  model.norm_epsilon = 1e-5f;
  model.qkv_clip = static_cast<float>(settings.number({"clip_qkv"}, 0));
  facts.norm_weights = false;
  facts.position = read_rope(settings, facts);
}

constexpr Family kLlamaFamilies[] = {
    {"llama", "Llama", kLlamaParts, read_llama},       {"mistral", "Mistral", kLlamaParts, read_mistral},
    {"qwen2", "Qwen2", kLlamaParts, read_qwen2},       {"qwen3", "Qwen3", kLlamaParts, read_qwen3},
    {"smollm3", "SmolLM3", kLlamaParts, read_smollm3}, {"granite", "Granite", kLlamaParts, read_granite},
    {"olmo", "OLMo", kLlamaParts, read_olmo},
};

}  // namespace

std::span<const Family> llama_families() { return kLlamaFamilies; }

}  // namespace ordinal::convert
