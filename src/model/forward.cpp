// forward.cpp: the forward pass, in the order things happen.
//
// Radford et al. 2019 (GPT-2): decoder-only, pre-norm; every other combination of ModelConfig's facts runs through the
// same lines. M rows now, D = d_model, E = embedding width, F = d_ff, H / G = query / key-value heads, d = head_dim,
// V = vocab_size.
#include "model/forward.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

using Activate = void (*Kernels::*)(float*, int64_t);
constexpr Activate kActivations[] = {&Kernels::gelu_tanh, &Kernels::gelu_erf, &Kernels::relu, &Kernels::silu,
                                     &Kernels::relu_squared};

// Moves the wanted rows of x, q (in all its views) and h to the front. Returns the parts that they make up.
std::span<const PassPart> keep_wanted(std::span<const PassPart> parts, std::vector<PassPart>& tails, Rows& x, Rows& q,
                                      Rows& h) {
  int64_t kept = 0;
  tails.clear();
  for (const PassPart& part : parts) {
    const auto count = static_cast<int64_t>(part.tokens.size());
    if (part.wanted <= 0) continue;
    const int64_t wanted = std::min(part.wanted, count), left = count - wanted;
    for (int64_t r = 0, from = part.first_row + left; from != kept && r < wanted; ++r)
      for (const Rows& rows : {x, q, h}) std::copy_n(rows[from + r].data(), rows.stride, rows[kept + r].data());
    tails.push_back({part.session, part.tokens.subspan(static_cast<size_t>(left)), kept, part.past + left});
    kept += wanted;
  }
  for (Rows* rows : {&x, &q, &h}) *rows = rows->slice(0, kept);
  return tails;
}

// x += what a sublayer gives: the matrix applied to `in`; then, where the model has them, a norm and a scale.
void add_output(int threads, const ModelConfig& c, Rows in, const Linear& matrix, const Norm& norm, Rows sub, Rows x,
                RoundedRows& rounded) {
  const Kernels& kernel = kernels();
  if (!norm && c.residual_scale == 1.0f)
    return matmul(threads, in, {{.linear = matrix, .y = sub, .combine = kernel.add, .into = x}}, rounded);
  matmul(threads, in, {{.linear = matrix, .y = sub}}, rounded);
  if (norm) normalize(threads, c.norm, c.norm_epsilon, norm, sub, sub);
  for_rows(threads, sub, [&](int64_t r) {
    if (c.residual_scale != 1.0f) kernel.scale(sub[r].data(), c.residual_scale, c.d_model);
    kernel.add(x[r].data(), sub[r].data(), c.d_model);
  });
}

}  // namespace

Rows forward(std::span<const PassPart> parts, Workspace& work) {
  const SessionState& lead = *parts.front().session;
  const Model& model = *lead.model;
  const ModelConfig& c = model.config();
  const Weights& weights = model.weights();
  const Kernels& kernel = kernels();
  const int threads = lead.options.n_threads;
  const bool serial = c.residual == Residual::serial, post_norm = c.norm_place == NormPlace::post;
  const bool norms_heads = c.qk_norm == QkNorm::head;
  const auto activation = kernel.*kActivations[static_cast<size_t>(c.activation)];
  const auto norm = [&](const Norm& by, Rows from, Rows to) {
    normalize(threads, c.norm, c.norm_epsilon, by, from, to);
  };

  int64_t m = 0;
  bool observed = false;
  Views views;  // as many as any part's scheme has
  for (const PassPart& part : parts) {
    m += static_cast<int64_t>(part.tokens.size());
    observed = observed || part.session->options.observer != nullptr;
    const Views of_part = part.session->scheme->views();
    views = {std::max(views.queries, of_part.queries), std::max(views.keys, of_part.keys)};
  }
  Rows x = work.rows(kX, m, c.d_model);                                           // [M, D]: the residual stream
  Rows h = work.rows(kH, m, c.d_model);                                           // [M, D]: normed, for attention
  Rows h2 = c.residual == Residual::parallel ? work.rows(kH2, m, c.d_model) : h;  // [M, D]: normed, for the MLP
  Rows q = work.rows(kQ, m, c.n_heads * c.head_dim, views.queries);               // [M, views, H*d]
  const Rows k = work.rows(kK, m, c.n_kv_heads * c.head_dim, views.keys);         // [M, views, G*d]
  const Rows v = work.rows(kV, m, c.n_kv_heads * c.head_dim);                     // [M, G*d]
  Rows mix = work.rows(kMix, m, c.n_heads * c.head_dim);       // [M, H*d]: values weighted by attention
  Rows sub = work.rows(kSub, m, c.d_model);                    // [M, D]: what a sublayer adds
  Rows up = work.rows(kUp, m, c.d_ff);                         // [M, F]
  Rows gate = c.gated_mlp ? work.rows(kGate, m, c.d_ff) : up;  // [M, F]
  const auto told = [&](std::string_view name, int64_t layer, Rows rows) {
    for (const PassPart& part : parts)
      observe(*part.session, name, layer, rows.slice(part.first_row, static_cast<int64_t>(part.tokens.size())));
  };

  // Embed the tokens.                                                                              hook 1
  const Rows embd = c.d_embedding != 0 ? work.rows(kEmbd, m, c.d_embedding) : x;  // [M, E]
  for (const PassPart& part : parts)
    for_rows(threads, embd.slice(part.first_row, static_cast<int64_t>(part.tokens.size())), [&](int64_t r) {
      embed(*weights.token_embd, part.tokens[static_cast<size_t>(r)], c.embedding_scale, embd[part.first_row + r]);
    });
  if (weights.token_embd_norm) norm(weights.token_embd_norm, embd, embd);
  if (c.d_embedding != 0) matmul(threads, embd, {{.linear = weights.embd_in, .y = x}}, work.rounded);
  for (const PassPart& part : parts) {
    const SessionState& session = *part.session;
    const Positions positions(session.positions.data() + part.past, part.tokens.size());
    const Rows rows = x.slice(part.first_row, static_cast<int64_t>(part.tokens.size()));
    for_rows(threads, rows, [&](int64_t r) {
      session.scheme->add_to_embedding(positions.subspan(static_cast<size_t>(r), 1), rows.slice(r, 1));
    });
  }
  told("x", -1, x);

  for (int64_t layer = 0; layer < c.n_layers; ++layer) {
    const LayerWeights& w = weights.layers[static_cast<size_t>(layer)];
    const bool norms_attn = w.attn_norm && !post_norm, norms_ffn = w.ffn_norm && !post_norm;

    // What attention reads, and the MLP too where it works beside attention.
    if (norms_attn) norm(w.attn_norm, x, h);
    const Rows attn_in = norms_attn ? h : x;
    if (!serial && norms_ffn) norm(w.ffn_norm, x, h2);
    told("attn_norm", layer, attn_in);

    // Queries, keys and values.
    matmul(threads, attn_in, {{.linear = w.attn_q, .y = q}, {.linear = w.attn_k, .y = k}, {.linear = w.attn_v, .y = v}},
           work.rounded);
    if (c.qkv_clip > 0)
      for (const Rows rows : {q, k, v})
        for_rows(threads, rows, [&](int64_t r) { kernel.clip(rows[r].data(), c.qkv_clip, rows.cols); });
    if (c.qk_norm != QkNorm::none) {
      normalize(threads, c.qk_norm_kind, c.norm_epsilon, w.attn_q_norm, q, q, norms_heads ? c.n_heads : 1);
      normalize(threads, c.qk_norm_kind, c.norm_epsilon, w.attn_k_norm, k, k, norms_heads ? c.n_kv_heads : 1);
    }

    // Positions turn q and k; k and v enter the cache as they are then.                            hook 2
    turn_and_store(parts, layer, q, k, v);
    told("q", layer, q);
    told("k", layer, k);
    told("v", layer, v);

    // Of the last layer only the wanted rows go on.
    if (layer + 1 == c.n_layers && !observed) {
      parts = keep_wanted(parts, work.call.tails, x, q, h2);
      if (x.rows == 0) return x;
      for (Rows* rows : {&h, &mix, &sub, &up, &gate}) *rows = rows->slice(0, x.rows);
    }

    // Attend, project, add.                                                                hooks 3 and 4
    attend(parts, layer, q, mix, work);
    told("attn_mix", layer, mix);
    add_output(threads, c, mix, w.attn_output, w.post_attention_norm, sub, x, work.rounded);
    if (post_norm) norm(w.attn_norm, x, x);
    told("attn_out", layer, x);

    // The MLP: down(act(up x)), or down(act(gate x) * up x).
    if (serial && norms_ffn) norm(w.ffn_norm, x, h);
    const Rows ffn_in = serial ? (norms_ffn ? h : x) : h2;
    told("ffn_norm", layer, ffn_in);
    if (c.gated_mlp) {
      matmul(threads, ffn_in,
             {{.linear = w.ffn_gate, .y = gate, .activation = activation},
              {.linear = w.ffn_up, .y = up, .combine = kernel.multiply, .into = gate, .follows = true}},
             work.rounded);
    } else {
      matmul(threads, ffn_in, {{.linear = w.ffn_up, .y = up, .activation = activation}}, work.rounded);
    }
    told("ffn_act", layer, gate);
    add_output(threads, c, gate, w.ffn_down, w.post_ffw_norm, sub, x, work.rounded);
    if (post_norm) norm(w.ffn_norm, x, x);
    told("ffn_out", layer, x);
  }
  return x;
}

Rows logits_of(SessionState& session, Rows x, Workspace& work) {
  const ModelConfig& c = session.model->config();
  const Weights& weights = session.model->weights();
  const Kernels& kernel = kernels();
  const int threads = session.options.n_threads;
  Rows h = x;  // [R, D]
  if (weights.output_norm) {
    h = work.rows(kNorm, x.rows, c.d_model);
    normalize(threads, c.norm, c.norm_epsilon, weights.output_norm, x, h);
  }
  observe(session, "norm", -1, h);
  if (c.d_embedding != 0) {
    const Rows narrow = work.rows(kEmbdOut, h.rows, c.d_embedding);  // [R, E]
    matmul(threads, h, {{.linear = weights.embd_out, .y = narrow}}, work.rounded);
    h = narrow;
  }
  const Rows logits = session.logits_rows(x.rows);  // [R, V]
  matmul(threads, h, {{.linear = weights.output, .y = logits}}, work.rounded);
  if (c.logit_scale != 1.0f || c.logit_softcap > 0)
    for_rows(threads, logits, [&](int64_t r) {
      if (c.logit_scale != 1.0f) kernel.scale(logits[r].data(), c.logit_scale, c.vocab_size);
      if (c.logit_softcap > 0) kernel.soft_cap(logits[r].data(), c.logit_softcap, c.vocab_size);
    });
  return logits;
}

}  // namespace ordinal
