// cohere.cpp: Cohere's Command models, 1 and 2.
#include "convert/families/families.h"

namespace ordinal::convert {
namespace {

constexpr FamilyPart kCohereParts[] = {
    kLlamaEmbd,
    kLlamaAttnNorm,
    kLlamaQ,
    kLlamaK,
    kLlamaV,
    {"attn_q_norm", "layers.#.self_attn.q_norm"},
    {"attn_k_norm", "layers.#.self_attn.k_norm"},
    kLlamaO,
    kLlamaGate,
    kLlamaUp,
    kLlamaDown,
    kLlamaNorm,
    kLmHead,
};

void read_cohere_like(Settings& settings, FamilyFacts& facts) {
  read_llama_like(settings, facts, {.length = 8192, .epsilon = 1e-5, .tied = true, .bos = 5, .eos = 255001});
  ModelConfig& model = facts.model;
  model.norm = NormKind::layer_norm;
  model.residual = Residual::parallel_one_norm;
  model.logit_scale = static_cast<float>(settings.number({"logit_scale"}, 0.0625));
}

// Versions of transformers take different angles when the file names none.
constexpr RopeCustoms kCohereRope = {.theta = 5e5, .interleaved = true, .must_state_theta = true};

void read_cohere(Settings& settings, FamilyFacts& facts) {
  read_cohere_like(settings, facts);
  if (settings.flag("use_qk_norm", false)) facts.model.qk_norm = QkNorm::head;
  facts.position = read_rope(settings, facts, kCohereRope);
}

// Positions in the layers with a window; the others see all, in no order.
void read_cohere2(Settings& settings, FamilyFacts& facts) {
  read_cohere_like(settings, facts);
  ModelConfig& model = facts.model;
  const int64_t pattern = settings.size({"sliding_window_pattern", "_sliding_window_pattern"}, 4);
  const std::vector<bool> windowed =
      read_windowed_layers(settings, model, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  set_windows(model, read_window(settings, 4096), windowed);
  facts.position = per_layer("none", windowed, read_rope(settings, facts, kCohereRope));
}

constexpr Family kCohereFamilies[] = {
    {"cohere", "Cohere", kCohereParts, read_cohere},
    {"cohere2", "Cohere 2", kCohereParts, read_cohere2},
};

}  // namespace

std::span<const Family> cohere_families() { return kCohereFamilies; }

}  // namespace ordinal::convert
