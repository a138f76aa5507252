// check_model.cpp: see check_model.h.
#include "study/check/check_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/random_numbers.h"
#include "format/model_writer.h"
#include "model/plan.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr int64_t kMostLayers = 16, kMostHeadDim = 4096;

// Heads in which a spec can turn as many channels as it says.
int64_t head_dim_for(const LayeredSpec& spec) {
  int64_t widest = 64;
  const auto look = [&](const std::string& part) {
    for (const auto& [key, value] : parse_first_scheme(part).params) {
      int64_t number = 0;
      // What is no number is for the scheme to refuse.
      if (key == "rotary_dim" && std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc())
        widest = std::max(widest, number);
    }
  };
  look(spec.base);
  for (const LayeredSpec::Part& part : spec.parts) look(part.spec);
  if (widest > kMostHeadDim)
    throw Error("the random model of a check has narrow heads", "rotary_dim up to " + std::to_string(kMostHeadDim),
                std::to_string(widest), "a smaller one, or -m MODEL to check a checkpoint");
  return widest;
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
  void add(SchemeTable table) {
    const int64_t cols = table.shape.back();
    const auto read = [values = std::move(table.values), cols](int64_t first, int64_t count, float* out) {
      std::copy_n(values.begin() + first * cols, count * cols, out);
    };
    draft_.tensors.push_back({.name = std::move(table.name),
                              .shape = std::move(table.shape),
                              .source_dtype = Dtype::f32,
                              .read_rows = read,
                              .is_table = true});
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
  c.head_dim = head_dim_for(parsed);
  c.d_ff = 96;
  c.norm = NormKind::rms_norm;
  const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  c.attention_scale.assign(static_cast<size_t>(c.n_layers), static_cast<float>(scale));

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

  for (SchemeTable& table : made_up_tables(spec, attention_shape(c, c.max_seq_len))) build.add(std::move(table));
  return Model::bind(write_model_in_memory(draft, "a random model"));
}

Logits logits_under(const std::shared_ptr<const Model>& model, const std::shared_ptr<const PositionScheme>& scheme,
                    std::span<const TokenId> tokens, SessionOptions options) {
  options.scheme = scheme;
  options.capacity = static_cast<int64_t>(tokens.size());
  Session session(model, std::move(options));
  Logits all;
  session.evaluate_all(tokens, [&](int64_t, std::span<const float> row) { all.emplace_back(row.begin(), row.end()); });
  return all;
}

Logits last_logits_together(const std::shared_ptr<const Model>& model,
                            const std::shared_ptr<const PositionScheme>& scheme,
                            std::span<const std::vector<TokenId>> texts) {
  std::vector<Session> sessions;
  for (const auto& text : texts)
    sessions.emplace_back(
        model, SessionOptions{
                   .scheme = scheme, .capacity = static_cast<int64_t>(text.size()), .n_threads = 1, .observer = {}});
  std::vector<Session::Part> parts;
  for (size_t i = 0; i < texts.size(); ++i) parts.push_back({&sessions[i], texts[i]});
  Logits all;
  for (const std::span<const float> row : Session::evaluate_together(parts)) all.emplace_back(row.begin(), row.end());
  return all;
}

}  // namespace ordinal
