// forward.cpp: the forward pass, in the order things happen.
//
// Radford et al. 2019 (GPT-2): decoder-only, pre-norm; every other combination of ModelConfig's facts runs through the
// same lines. M rows now, D = d_model, E = embedding width, F = d_ff, H / G = query / key-value heads, d = head_dim,
// V = vocab_size.
//
// Where several ranks share the model, each computes its own columns of a product's rows, and `whole` gives all ranks
// all of them; heads of attention, with what they cache, stay where they are (share.h).
#include "model/forward.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

using Activate = void (*Kernels::*)(float*, int64_t);
constexpr Activate kActivations[] = {&Kernels::gelu_tanh, &Kernels::gelu_erf, &Kernels::relu, &Kernels::silu,
                                     &Kernels::relu_squared};

// x += what a sublayer gives: the matrix applied to `in`; then, where the model has them, a norm and a scale.
void add_output(int threads, const ModelConfig& c, const ModelShare& share, Rows in, const Linear& matrix,
                const Norm& norm, Rows sub, Rows x, Workspace& work) {
  const Kernels& kernel = kernels();
  const Extent own = share.d_model.panels;
  if (!norm && c.residual_scale == 1.0f) {
    matmul(threads, in, {{.linear = matrix, .y = sub, .panels = own, .combine = kernel.add, .into = x}}, work.rounded);
    return share.gather(x, share.d_model, work.gathered);
  }
  matmul(threads, in, {{.linear = matrix, .y = sub, .panels = own}}, work.rounded);
  share.gather(sub, share.d_model, work.gathered);
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
  const ModelShare& share = lead.share;
  const int threads = lead.options.n_threads;
  const bool serial = c.residual == Residual::serial, post_norm = c.norm_place == NormPlace::post;
  const bool norms_heads = c.qk_norm == QkNorm::head;
  const auto activation = kernel.*kActivations[static_cast<size_t>(c.activation)];
  const auto norm = [&](const Norm& by, Rows from, Rows to) {
    normalize(threads, c.norm, c.norm_epsilon, by, from, to);
  };
  const auto whole = [&](Rows rows, const Split& split) { share.gather(rows, split, work.gathered); };

  int64_t m = 0;
  bool observed = false;
  Views views;  // as many as any part's scheme has
  for (const PassPart& part : parts) {
    m += static_cast<int64_t>(part.tokens.size());
    observed = observed || part.session->options.observer != nullptr;
    const Views of_part = part.session->scheme->views();
    views = {std::max(views.queries, of_part.queries), std::max(views.keys, of_part.keys)};
  }
  const bool all_heads = observed || c.qk_norm == QkNorm::width;                  // are needed in one place
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
    embed_rows(threads, share, *weights.token_embd, part.tokens, c.embedding_scale,
               embd.slice(part.first_row, static_cast<int64_t>(part.tokens.size())), work.gathered);
  if (weights.token_embd_norm) norm(weights.token_embd_norm, embd, embd);
  if (c.d_embedding != 0) {
    matmul(threads, embd, {{.linear = weights.embd_in, .y = x, .panels = share.d_model.panels}}, work.rounded);
    whole(x, share.d_model);
  }
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
    matmul(threads, attn_in,
           {{.linear = w.attn_q, .y = q, .panels = share.query_heads.panels},
            {.linear = w.attn_k, .y = k, .panels = share.kv_panels},
            {.linear = w.attn_v, .y = v, .panels = share.kv_panels}},
           work.rounded);
    if (all_heads) {
      whole(q, share.query_heads);
      for (const Rows rows : {k, v}) whole(rows, share.kv_heads);
    } else {
      share.clear_other_heads(q, k, v);
    }
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
    whole(mix, share.query_heads);
    told("attn_mix", layer, mix);
    add_output(threads, c, share, mix, w.attn_output, w.post_attention_norm, sub, x, work);
    if (post_norm) norm(w.attn_norm, x, x);
    told("attn_out", layer, x);

    // The MLP: down(act(up x)), or down(act(gate x) * up x).
    if (serial && norms_ffn) norm(w.ffn_norm, x, h);
    const Rows ffn_in = serial ? (norms_ffn ? h : x) : h2;
    told("ffn_norm", layer, ffn_in);
    if (c.gated_mlp) {
      matmul(threads, ffn_in,
             {{.linear = w.ffn_gate, .y = gate, .panels = share.d_ff.panels, .activation = activation},
              {.linear = w.ffn_up,
               .y = up,
               .panels = share.d_ff.panels,
               .combine = kernel.multiply,
               .into = gate,
               .follows = true}},
             work.rounded);
    } else {
      matmul(threads, ffn_in, {{.linear = w.ffn_up, .y = up, .panels = share.d_ff.panels, .activation = activation}},
             work.rounded);
    }
    whole(gate, share.d_ff);
    told("ffn_act", layer, gate);
    add_output(threads, c, share, gate, w.ffn_down, w.post_ffw_norm, sub, x, work);
    if (post_norm) norm(w.ffn_norm, x, x);
    told("ffn_out", layer, x);
  }
  return x;
}

}  // namespace ordinal
