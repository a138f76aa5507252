// family.cpp: see family.h.
#include "convert/family.h"

#include <algorithm>

namespace ordinal::convert {
namespace {

struct Widths {
  int64_t q, kv, all;
};

Widths widths_of(const ModelConfig& c) {
  const int64_t q = c.n_heads * c.head_dim, kv = c.n_kv_heads * c.head_dim;
  return {q, kv, q + 2 * kv};
}

Widths widths_of_a_group(const ModelConfig& c) {
  const int64_t q = c.n_heads / c.n_kv_heads * c.head_dim;
  return {q, c.head_dim, q + 2 * c.head_dim};
}

// q, then k, then v, again and again.
Share q_among(const Widths& w) { return {0, w.q, w.all}; }
Share k_among(const Widths& w) { return {w.q, w.kv, w.all}; }
Share v_among(const Widths& w) { return {w.q + w.kv, w.kv, w.all}; }

std::string with_number(std::string name, char mark, int64_t number) {
  if (const size_t at = name.find(mark); at != std::string::npos) name.replace(at, 1, std::to_string(number));
  return name;
}

Bias bias_of(const FamilyFacts& facts, std::string_view part) {
  if (part.ends_with("_norm")) return facts.norm_bias;
  if (part == "output") return facts.head_bias;
  if (part == "attn_output") return facts.output_bias;
  if (part.starts_with("attn_")) return facts.qkv_bias;
  return part.starts_with("ffn_") ? facts.mlp_bias : Bias::no;
}

// A vector whose numbers `fill` gives.
TensorSource vector_source(const PlannedTensor& tensor, Dtype dtype, std::function<void(std::span<float>)> fill) {
  const auto size = static_cast<size_t>(tensor.shape[0]);
  return {.name = tensor.name,
          .shape = tensor.shape,
          .source_dtype = dtype,
          .read_rows = [size, fill = std::move(fill)](int64_t, int64_t, float* out) { fill({out, size}); }};
}

void read_vector(const TensorSource& source, std::span<float> out) { source.read_rows(0, 1, out.data()); }

// The norm of queries or keys: a vector for each head, one that all heads share, or one for the whole row.
TensorSource head_norm_source(const FamilyPart& row, const ModelConfig& c, HfWeights& weights,
                              const PlannedTensor& tensor, const std::string& name, const Note& note) {
  const int64_t all = tensor.shape[0];
  std::vector<TensorSource> sources;
  if (row.name.find('@') != std::string_view::npos) {
    for (int64_t head = 0; head < all / c.head_dim; ++head)
      sources.push_back(
          source_of(tensor.name, {c.head_dim}, {weights.take(with_number(name, '@', head), {c.head_dim})}, note));
  } else {
    const bool shared =
        c.qk_norm == QkNorm::head && weights.has(name) && weights.at(name).shape == std::vector<int64_t>{c.head_dim};
    // Cohere keeps a vector for each head as a matrix.
    const bool is_matrix = weights.has(name) && weights.at(name).shape.size() == 2;
    const std::vector<int64_t> shape = shared      ? std::vector{c.head_dim}
                                       : is_matrix ? std::vector{all / c.head_dim, c.head_dim}
                                                   : std::vector{all};
    sources.push_back(source_of(tensor.name, {shared ? c.head_dim : all}, {weights.take(name, shape)}, note));
  }
  const float added = row.plus_one ? 1.0f : 0.0f;
  const Dtype dtype = sources.front().source_dtype;
  return vector_source(tensor, dtype, [sources = std::move(sources), added](std::span<float> out) {
    for (size_t at = 0, i = 0; at < out.size();
         at += static_cast<size_t>(sources[i].shape[0]), i = (i + 1) % sources.size())
      read_vector(sources[i], out.subspan(at, static_cast<size_t>(sources[i].shape[0])));
    for (float& value : out) value += added;
  });
}

}  // namespace

Share q_of_qkv(const ModelConfig& config) { return q_among(widths_of(config)); }
Share k_of_qkv(const ModelConfig& config) { return k_among(widths_of(config)); }
Share v_of_qkv(const ModelConfig& config) { return v_among(widths_of(config)); }
Share q_of_groups(const ModelConfig& config) { return q_among(widths_of_a_group(config)); }
Share k_of_groups(const ModelConfig& config) { return k_among(widths_of_a_group(config)); }
Share v_of_groups(const ModelConfig& config) { return v_among(widths_of_a_group(config)); }

Share gate_of_both(const ModelConfig& config) { return {0, config.d_ff, 2 * config.d_ff}; }
Share up_of_both(const ModelConfig& config) { return {config.d_ff, config.d_ff, 2 * config.d_ff}; }

const Family* find_family(std::string_view model_type) {
  const auto all = families();
  const auto found = std::ranges::find(all, model_type, &Family::model_type);
  return found == all.end() ? nullptr : &*found;
}

std::string weight_name(const Family& family, std::string_view part, const HfWeights& weights) {
  std::string first;
  for (const FamilyPart& row : family.parts) {
    if (row.part != part) continue;
    std::string name = std::string(row.name) + ".weight";
    if (weights.has(name)) return name;
    if (first.empty()) first = std::move(name);
  }
  return first;
}

std::optional<TensorSource> find_in_family(const Family& family, const FamilyFacts& facts, HfWeights& weights,
                                           const PlannedTensor& tensor, const Note& note) {
  const std::string_view part = tensor.part->name;
  const Bias bias = bias_of(facts, part);
  const bool is_norm = part.ends_with("_norm");
  if (tensor.is_bias && bias == Bias::no) return std::nullopt;
  if (is_norm && !facts.norm_weights)
    return vector_source(tensor, Dtype::f32, [](std::span<float> out) { std::ranges::fill(out, 1.0f); });

  const FamilyPart* row = nullptr;
  std::string name;
  for (const FamilyPart& candidate : family.parts) {
    if (candidate.part != part) continue;
    std::string its_name =
        with_number(std::string(candidate.name), '#', tensor.layer) + (tensor.is_bias ? ".bias" : ".weight");
    const bool is_there = weights.has(with_number(its_name, '@', 0));
    if (row == nullptr || is_there) row = &candidate, name = std::move(its_name);
    if (is_there) break;
  }
  const bool needed = tensor.is_bias ? bias == Bias::yes : tensor.required;
  if (row == nullptr || (!needed && !weights.has(name))) return std::nullopt;
  if (part == "attn_q_norm" || part == "attn_k_norm")
    return head_norm_source(*row, facts.model, weights, tensor, name, note);

  Origin origin{.at = {}, .turned = row->turned && !tensor.is_bias};
  if (row->share != nullptr) origin.share = row->share(facts.model);
  std::vector<int64_t> shape = tensor.shape;
  shape[0] = origin.share.outputs_in_all(shape[0]);
  if (origin.turned) std::swap(shape[0], shape[1]);
  origin.at = weights.take(name, shape);
  TensorSource source = source_of(tensor.name, tensor.shape, origin, note);
  if (!row->plus_one) return source;
  return vector_source(tensor, source.source_dtype, [source](std::span<float> out) {
    read_vector(source, out);
    for (float& value : out) value += 1.0f;
  });
}

void add_family_tensors(ModelDraft& draft, const Family& family, bool has_biases, HfWeights& weights,
                        const Note& note) {
  FamilyFacts facts;
  facts.model = draft.config;
  facts.set_biases(has_biases);
  facts.norm_bias = has_biases ? Bias::yes : Bias::no;
  for_each_tensor(draft.config, [&](const PlannedTensor& tensor) {
    if (auto source = find_in_family(family, facts, weights, tensor, note)) draft.tensors.push_back(*std::move(source));
  });
}

}  // namespace ordinal::convert
