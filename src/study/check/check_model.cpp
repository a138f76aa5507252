// check_model.cpp: see check_model.h.
#include "study/check/check_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "format/model_writer.h"
#include "model/forward.h"
#include "model/plan.h"
#include "position/scheme.h"
#include "study/check/check.h"
#include "study/random_numbers.h"

namespace ordinal {
namespace {

constexpr int64_t kMostRows = 4096, kMostLayers = 16;

// The whole number that a spec states for a parameter of a scheme, the largest if it does so in several parts.
std::optional<int64_t> stated(const LayeredSpec& spec, std::string_view scheme, std::string_view key) {
  std::optional<int64_t> largest;
  const auto look = [&](const std::string& part) {
    const PositionSpec parsed = parse_position_spec(part);
    if (parsed.name != scheme) return;
    for (const auto& [name, value] : parsed.params) {
      int64_t number = 0;
      // What is no number is for the scheme to refuse.
      if (name == key && std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc())
        largest = std::max(largest.value_or(0), number);
    }
  };
  look(spec.base);
  for (const LayeredSpec::Part& part : spec.parts) look(part.spec);
  if (largest && *largest > kMostRows)
    throw Error("the random model of a check has small tables",
                std::string(key) + " up to " + std::to_string(kMostRows), std::to_string(*largest),
                "a smaller one, or -m MODEL to check a checkpoint");
  return largest;
}

int64_t layers_named(const LayeredSpec& spec) {
  int64_t layers = 0;
  for (const LayeredSpec::Part& part : spec.parts)
    for (const auto& [first, last] : part.ranges) layers = std::max(layers, last + 1);
  if (layers > kMostLayers)
    throw Error("the random model of a check has few layers", "layers 0 to " + std::to_string(kMostLayers - 1),
                "layer " + std::to_string(layers - 1), "-m MODEL to check a checkpoint");
  return layers;
}

// Adds tensors of random numbers to a draft, each name with numbers of its own.
class Builder {
 public:
  explicit Builder(ModelDraft& draft) : draft_(draft) {}

  void add(const std::string& name, std::vector<int64_t> shape, double centre, double deviation) {
    uint64_t seed = 7;
    for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
    const int64_t cols = shape.back();
    const auto read = [random = RandomNumbers(seed), cols, centre, deviation](int64_t, int64_t count,
                                                                              float* out) mutable {
      for (int64_t i = 0; i < count * cols; ++i) out[i] = static_cast<float>(centre + deviation * random.normal());
    };
    draft_.tensors.push_back({name, std::move(shape), Dtype::f32, read});
  }
  // Keeps rows of unit size at `gain`.
  void matrix(const std::string& name, int64_t n, int64_t k, double gain) {
    add(name, {n, k}, 0, gain / std::sqrt(static_cast<double>(k)));
  }

 private:
  ModelDraft& draft_;
};

bool turns_to_scores(const PlannedTensor& tensor) {
  return tensor.part->name == "attn_q" || tensor.part->name == "attn_k";
}

// A session's inside with any scheme.
SessionState make_timeline(const std::shared_ptr<const Model>& model,
                           const std::shared_ptr<const PositionScheme>& scheme, size_t count,
                           const TimelineOptions& options) {
  const auto capacity = static_cast<int64_t>(count);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < capacity; ++i) positions.push_back(options.first_position + i);
  SessionState state{.model = model,
                     .options = {.n_threads = options.n_threads, .observer = options.observer},
                     .scheme = scheme,
                     .cache = KvCache(model->config(), capacity, Dtype::f32),
                     .length = 0,
                     .positions = std::move(positions)};
  return state;
}

void append_logits(SessionState& lead, Rows x, Workspace& work, Logits& out) {
  const Rows logits = logits_of(lead, x, work);
  for (int64_t r = 0; r < logits.rows; ++r) out.emplace_back(logits[r].begin(), logits[r].end());
}

}  // namespace

std::shared_ptr<const Model> make_check_model(std::string_view spec, int64_t n_layers) {
  const LayeredSpec parsed = parse_layered_spec(spec);
  ModelDraft draft;
  ModelConfig& c = draft.config;
  c.vocab_size = 97;
  c.max_seq_len = 128;
  c.d_model = 64;
  c.n_layers = std::max(n_layers, layers_named(parsed));
  c.n_heads = 4;
  c.n_kv_heads = 2;
  c.head_dim = std::max<int64_t>(64, stated(parsed, "rope", "rotary_dim").value_or(64));
  c.d_ff = 96;
  c.norm = NormKind::rms_norm;
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  c.attention_scale.assign(static_cast<size_t>(c.n_layers), static_cast<float>(scale));
  const int64_t heads = c.n_heads, d = c.head_dim;

  Builder build(draft);
  for_each_tensor(c, [&](const PlannedTensor& tensor) {
    if (!tensor.required) return;
    if (tensor.part->name == "token_embd")
      build.add(tensor.name, tensor.shape, 0, 1);
    else if (tensor.shape.size() == 1)
      build.add(tensor.name, tensor.shape, 1, 0.2);
    else  // scores wide enough that weights differ
      build.matrix(tensor.name, tensor.shape[0], tensor.shape[1], turns_to_scores(tensor) ? 1.2 : 1);
  });

  // What schemes ask for. A one-sided table of biases, unless the spec says how many distances it is to have.
  const std::optional<int64_t> distances = stated(parsed, "relative_bias", "clip");
  const int64_t biases = distances ? 2 * *distances + 1 : stated(parsed, "t5_bias", "buckets").value_or(32);
  const int64_t vectors = 2 * stated(parsed, "shaw", "clip").value_or(16) + 1;
  const int64_t pairs = std::max<int64_t>(1, stated(parsed, "rope", "rotary_dim").value_or(d) / 2);
  build.add("position_embd.weight", {c.max_seq_len + stated(parsed, "learned", "offset").value_or(0), c.d_model}, 0, 1);
  build.add("attn_rel_b.weight", {biases, heads}, 0, 1.5);
  build.matrix("attn_xl_u.weight", heads, d, 8);
  build.matrix("attn_xl_v.weight", heads, d, 8);
  build.add("rope_factors_short.weight", {pairs}, 1.5, 0.1);
  build.add("rope_factors_long.weight", {pairs}, 8, 0.5);
  for (int64_t layer = 0; layer < c.n_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    build.add(block + "attn_rel_k.weight", {vectors, d}, 0, 1);
    build.add(block + "attn_rel_v.weight", {vectors, d}, 0, 1);
    build.matrix(block + "attn_xl_r.weight", heads * d, c.d_model, 1.5);
  }
  return Model::bind(write_model_in_memory(draft, "a random model"));
}

Logits logits_under(const std::shared_ptr<const Model>& model, const std::shared_ptr<const PositionScheme>& scheme,
                    std::span<const TokenId> tokens, const TimelineOptions& options) {
  SessionState timeline = make_timeline(model, scheme, tokens.size(), options);
  const WorkspacePool::Lease work(model->workspaces());
  work->reserve(model->config(), 1, static_cast<int64_t>(tokens.size()), options.n_threads);
  Logits all;
  while (static_cast<size_t>(timeline.length) < tokens.size()) {
    const auto rest = tokens.subspan(static_cast<size_t>(timeline.length));
    const PassPart part{&timeline, rest.first(std::min(rest.size(), options.piece)), 0, timeline.length};
    const Rows x = forward({&part, 1}, *work);
    append_logits(timeline, x, *work, all);
    timeline.length += x.rows;
  }
  return all;
}

std::vector<Logits> logits_together(const std::shared_ptr<const Model>& model,
                                    const std::shared_ptr<const PositionScheme>& scheme,
                                    std::span<const std::vector<TokenId>> texts) {
  std::vector<SessionState> timelines;
  for (const auto& text : texts) timelines.push_back(make_timeline(model, scheme, text.size(), {}));
  std::vector<PassPart> parts;
  int64_t row = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    parts.push_back({&timelines[i], texts[i], row, 0});
    row += static_cast<int64_t>(texts[i].size());
  }
  const WorkspacePool::Lease work(model->workspaces());
  const Rows x = forward(parts, *work);
  std::vector<Logits> all(texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    append_logits(timelines.front(), x.slice(parts[i].first_row, static_cast<int64_t>(texts[i].size())), *work, all[i]);
  return all;
}

}  // namespace ordinal
