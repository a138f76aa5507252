// reference_forward.cpp: see reference_forward.h.
#include "reference/reference_forward.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace reference {
namespace {

Matrix read_tensor(const ordinal::TensorSource& source) {
  const int64_t n = source.shape.size() == 1 ? 1 : source.shape[0], k = source.shape.back();
  Matrix rows(static_cast<size_t>(n));
  std::vector<float> buffer(static_cast<size_t>(k));
  for (int64_t row = 0; row < n; ++row) {
    source.read_rows(row, 1, buffer.data());
    rows[row].assign(buffer.begin(), buffer.end());
  }
  return rows;
}

Row transformed(const Affine& affine, const Row& x) {
  Row y(affine.weight.size(), 0.0);
  for (size_t n = 0; n < y.size(); ++n) {
    for (size_t k = 0; k < x.size(); ++k) y[n] += affine.weight[n][k] * x[k];
    if (!affine.bias.empty()) y[n] += affine.bias[n];
  }
  return y;
}

// A row without a weight passes as it is.
Row normalized(ordinal::NormKind kind, double epsilon, const Row& x, const Norm& norm) {
  if (norm.weight.empty()) return x;
  const double count = static_cast<double>(x.size());
  double mean = 0.0, square = 0.0;
  if (kind == ordinal::NormKind::layer_norm) {
    for (const double value : x) mean += value / count;
  }
  for (const double value : x) square += (value - mean) * (value - mean) / count;
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) / std::sqrt(square + epsilon) * norm.weight[i];
    if (!norm.bias.empty()) y[i] += norm.bias[i];
  }
  return y;
}

double activated(ordinal::Activation kind, double x) {
  switch (kind) {
    case ordinal::Activation::gelu_tanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case ordinal::Activation::gelu_erf:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case ordinal::Activation::relu:
      return x > 0.0 ? x : 0.0;
    case ordinal::Activation::silu:
      return x / (1.0 + std::exp(-x));
    case ordinal::Activation::relu_squared:
      return x > 0.0 ? x * x : 0.0;
  }
  throw std::logic_error("an activation without a formula here");
}

Row softmax(const Row& scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  Row weights(scores.size());
  double sum = 0.0;
  for (size_t i = 0; i < scores.size(); ++i) sum += weights[i] = std::exp(scores[i] - most);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The part of a row that belongs to one head.
Row head_of(const Row& row, int64_t head, int64_t head_dim) {
  return Row(row.begin() + head * head_dim, row.begin() + (head + 1) * head_dim);
}

void turn_heads(const Scheme& scheme, int64_t position, int64_t head_dim, Row& row) {
  if (!scheme.turn) return;
  for (size_t at = 0; at < row.size(); at += head_dim) {
    Row head(row.begin() + at, row.begin() + at + head_dim);
    scheme.turn(position, head);
    std::copy(head.begin(), head.end(), row.begin() + at);
  }
}

void add(Row& x, const Row& y, double factor = 1.0) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

double capped(double x, double cap) { return cap > 0.0 ? cap * std::tanh(x / cap) : x; }

// The heads of a query or key normed one by one, each with its own weights, or all as one row.
void normalize_heads(const ordinal::ModelConfig& config, const Norm& norm, Row& row) {
  if (config.qk_norm == ordinal::QkNorm::none) return;
  const size_t width = config.qk_norm == ordinal::QkNorm::head ? static_cast<size_t>(config.head_dim) : row.size();
  for (size_t at = 0; at < row.size(); at += width) {
    const auto part = [&](const Row& of) { return of.empty() ? Row{} : Row(of.begin() + at, of.begin() + at + width); };
    const Row head =
        normalized(config.qk_norm_kind, config.norm_epsilon, part(row), {part(norm.weight), part(norm.bias)});
    std::copy(head.begin(), head.end(), row.begin() + at);
  }
}

}  // namespace

Model::Model(const ordinal::ModelDraft& draft) : config(draft.config) {
  for (const ordinal::TensorSource& source : draft.tensors) tensors[source.name] = read_tensor(source);
  const auto matrix = [&](const std::string& name) { return tensors.contains(name) ? tensors[name] : Matrix{}; };
  const auto vector = [&](const std::string& name) { return tensors.contains(name) ? tensors[name][0] : Row{}; };
  const auto norm = [&](const std::string& name) { return Norm{vector(name + ".weight"), vector(name + ".bias")}; };
  const auto affine = [&](const std::string& name) { return Affine{matrix(name + ".weight"), vector(name + ".bias")}; };

  token_embd = matrix("token_embd.weight");
  position_embd = matrix("position_embd.weight");
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    Layer layer;
    layer.attn_norm = norm(block + "attn_norm");
    layer.attn_q_norm = norm(block + "attn_q_norm");
    layer.attn_k_norm = norm(block + "attn_k_norm");
    layer.post_attention_norm = norm(block + "post_attention_norm");
    layer.post_ffw_norm = norm(block + "post_ffw_norm");
    layer.attn_q = affine(block + "attn_q");
    layer.attn_k = affine(block + "attn_k");
    layer.attn_v = affine(block + "attn_v");
    layer.attn_output = affine(block + "attn_output");
    layer.ffn_norm = norm(block + "ffn_norm");
    layer.ffn_gate = affine(block + "ffn_gate");
    layer.ffn_up = affine(block + "ffn_up");
    layer.ffn_down = affine(block + "ffn_down");
    layers.push_back(std::move(layer));
  }
  token_embd_norm = norm("token_embd_norm");
  embd_in = affine("embd_in");
  embd_out = affine("embd_out");
  output_norm = norm("output_norm");
  output = affine("output");
  if (config.tied_output) output.weight = token_embd;
}

Result forward(const Model& model, const Scheme& scheme, const std::vector<int32_t>& ids, int64_t first_position) {
  const ordinal::ModelConfig& config = model.config;
  const bool post = config.norm_place == ordinal::NormPlace::post;
  const bool serial = config.residual == ordinal::Residual::serial;
  const int64_t d = config.head_dim, group = config.n_heads / config.n_kv_heads;
  const size_t count = ids.size();
  const auto norm = [&](const Row& x, const Norm& by) { return normalized(config.norm, config.norm_epsilon, x, by); };
  Result result;

  Matrix x(count);
  for (size_t t = 0; t < count; ++t) {
    x[t] = model.token_embd[ids[t]];
    for (double& value : x[t]) value *= config.embedding_scale;
    x[t] = norm(x[t], model.token_embd_norm);
    if (config.d_embedding != 0) x[t] = transformed(model.embd_in, x[t]);
    if (scheme.embed) scheme.embed(first_position + static_cast<int64_t>(t), x[t]);
  }
  result.seen["x"] = x;

  for (int64_t i = 0; i < config.n_layers; ++i) {
    const Layer& layer = model.layers[i];
    const auto seen = [&](const std::string& name) -> Matrix& { return result.seen[std::to_string(i) + "." + name]; };

    // Attention over the token itself and all before it.
    Matrix keys(count), values(count), before = x;
    const int64_t window = config.window.empty() ? 0 : config.window[i];
    for (size_t t = 0; t < count; ++t) {
      const int64_t position = first_position + static_cast<int64_t>(t);
      const Row h = post ? x[t] : norm(x[t], layer.attn_norm);
      Row q = transformed(layer.attn_q, h);
      keys[t] = transformed(layer.attn_k, h);
      values[t] = transformed(layer.attn_v, h);
      for (Row* row : {&q, &keys[t], &values[t]})
        for (double& value : *row)
          if (config.qkv_clip > 0) value = std::clamp<double>(value, -config.qkv_clip, config.qkv_clip);
      normalize_heads(config, layer.attn_q_norm, q);
      normalize_heads(config, layer.attn_k_norm, keys[t]);
      turn_heads(scheme, position, d, q);
      turn_heads(scheme, position, d, keys[t]);
      Row mix;
      for (int64_t head = 0; head < config.n_heads; ++head) {
        Row query = head_of(q, head, d);
        if (scheme.factor)
          for (double& value : query) value *= scheme.factor(i, head, position);
        Row scores;
        for (size_t s = 0; s <= t; ++s) {
          const Row key = head_of(keys[s], head / group, d);
          double product = 0.0;
          for (int64_t c = 0; c < d; ++c) product += query[c] * key[c];
          const int64_t of_key = first_position + static_cast<int64_t>(s);
          if (scheme.meet) product = scheme.meet(position, of_key, query, key);
          const bool seen_by = window == 0 || static_cast<int64_t>(t - s) < window;
          scores.push_back(seen_by && !std::isinf(product)
                               ? capped(product * config.attention_scale[i], config.attention_softcap)
                               : -INFINITY);
          if (scheme.bias) scores.back() += scheme.bias(i, head, position, of_key);
        }
        if (scheme.add_to_row) scheme.add_to_row(i, query, scores);
        const Row weights = softmax(scores);
        Row mixed(static_cast<size_t>(d), 0.0);
        for (size_t s = 0; s <= t; ++s) {
          const Row value = head_of(values[s], head / group, d);
          for (int64_t c = 0; c < d; ++c) mixed[c] += weights[s] * value[c];
        }
        mix.insert(mix.end(), mixed.begin(), mixed.end());
        seen("scores." + std::to_string(head)).push_back(scores);
        seen("weights." + std::to_string(head)).push_back(weights);
      }
      seen("attn_norm").push_back(h);
      seen("q").push_back(q);
      seen("attn_mix").push_back(mix);
    }
    seen("k") = keys;
    seen("v") = values;
    for (size_t t = 0; t < count; ++t) {
      add(x[t], norm(transformed(layer.attn_output, seen("attn_mix")[t]), layer.post_attention_norm),
          config.residual_scale);
      if (post) x[t] = norm(x[t], layer.attn_norm);
    }
    seen("attn_out") = x;

    // The MLP, a token at a time.
    for (size_t t = 0; t < count; ++t) {
      const bool shared = config.residual == ordinal::Residual::parallel_one_norm;
      const Row h = post ? x[t] : norm(serial ? x[t] : before[t], shared ? layer.attn_norm : layer.ffn_norm);
      const Row up = transformed(layer.ffn_up, h), gate = config.gated_mlp ? transformed(layer.ffn_gate, h) : Row{};
      Row act(up.size());
      for (size_t f = 0; f < act.size(); ++f)
        act[f] = config.gated_mlp ? activated(config.activation, gate[f]) * up[f] : activated(config.activation, up[f]);
      add(x[t], norm(transformed(layer.ffn_down, act), layer.post_ffw_norm), config.residual_scale);
      if (post) x[t] = norm(x[t], layer.ffn_norm);
      seen("ffn_norm").push_back(h);
      seen("ffn_act").push_back(act);
    }
    seen("ffn_out") = x;
  }

  for (size_t t = 0; t < count; ++t) {
    const Row h = norm(x[t], model.output_norm);
    result.seen["norm"].push_back(h);
    const Row narrow = config.d_embedding != 0 ? transformed(model.embd_out, h) : h;
    result.logits.push_back(transformed(model.output, narrow));
    for (double& logit : result.logits.back()) logit = capped(logit * config.logit_scale, config.logit_softcap);
  }
  return result;
}

std::vector<int32_t> greedy(const Model& model, const Scheme& scheme, std::vector<int32_t> ids, int64_t count) {
  const size_t prompt = ids.size();
  for (int64_t step = 0; step < count; ++step) {
    const Row logits = forward(model, scheme, ids).logits.back();
    ids.push_back(static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  ids.erase(ids.begin(), ids.begin() + static_cast<int64_t>(prompt));
  return ids;
}

}  // namespace reference
