// forward.cpp: the forward pass, in the order things happen.
//
// Radford et al. 2019 (GPT-2): decoder-only, pre-norm; other combinations of ModelConfig's facts run through the same
// lines. M rows now, D = d_model, F = d_ff, H / G = query / key-value heads, d = head_dim, V = vocab_size.
#include "model/forward.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace ordinal {
namespace {

using Activate = void (*Kernels::*)(float*, int64_t);
constexpr Activate kActivations[] = {&Kernels::gelu_tanh, &Kernels::gelu_erf, &Kernels::relu, &Kernels::silu};

// Moves the wanted rows of x and q to the front. Returns the parts that they make up.
std::span<const PassPart> keep_wanted(std::span<const PassPart> parts, std::vector<PassPart>& tails, Rows& x, Rows& q) {
  int64_t kept = 0;
  tails.clear();
  for (const PassPart& part : parts) {
    const auto count = static_cast<int64_t>(part.tokens.size());
    if (part.wanted <= 0) continue;
    const int64_t wanted = std::min(part.wanted, count), left = count - wanted;
    for (int64_t r = 0, from = part.first_row + left; from != kept && r < wanted; ++r)
      for (const Rows& rows : {x, q}) std::ranges::copy(rows[from + r], rows[kept + r].begin());
    tails.push_back({part.session, part.tokens.subspan(static_cast<size_t>(left)), kept, part.past + left});
    kept += wanted;
  }
  x = x.slice(0, kept);
  q = q.slice(0, kept);
  return tails;
}

}  // namespace

Rows forward(std::span<const PassPart> parts, Workspace& work) {
  const SessionState& lead = *parts.front().session;
  const Model& model = *lead.model;
  const ModelConfig& c = model.config();
  const Weights& weights = model.weights();
  const Kernels& kernel = kernels();
  const int threads = lead.options.n_threads;
  const bool pre_norm = c.norm_place == NormPlace::pre;
  const auto activation = kernel.*kActivations[static_cast<size_t>(c.activation)];

  int64_t m = 0;
  bool observed = false;
  for (const PassPart& part : parts) {
    m += static_cast<int64_t>(part.tokens.size());
    observed = observed || part.session->options.observer != nullptr;
  }
  Rows x = work.rows(kX, m, c.d_model);                        // [M, D]: the residual stream
  Rows h = work.rows(kH, m, c.d_model);                        // [M, D]: normed, what a sublayer reads
  Rows q = work.rows(kQ, m, c.n_heads * c.head_dim);           // [M, H*d]
  const Rows k = work.rows(kK, m, c.n_kv_heads * c.head_dim);  // [M, G*d]
  const Rows v = work.rows(kV, m, c.n_kv_heads * c.head_dim);  // [M, G*d]
  Rows mix = work.rows(kMix, m, c.n_heads * c.head_dim);       // [M, H*d]: values weighted by attention
  Rows sub = work.rows(kSub, m, c.d_model);                    // [M, D]: what a sublayer adds
  Rows up = work.rows(kUp, m, c.d_ff);                         // [M, F]
  Rows gate = c.gated_mlp ? work.rows(kGate, m, c.d_ff) : up;  // [M, F]
  const auto told = [&](std::string_view name, int64_t layer, Rows rows) {
    for (const PassPart& part : parts)
      observe(*part.session, name, layer, rows.slice(part.first_row, static_cast<int64_t>(part.tokens.size())));
  };

  // Embed the tokens.                                                                              hook 1
  for (const PassPart& part : parts) {
    const SessionState& session = *part.session;
    const Positions positions(session.positions.data() + part.past, part.tokens.size());
    const Rows rows = x.slice(part.first_row, static_cast<int64_t>(part.tokens.size()));
    parallel_for(rows.rows < 8 ? 1 : threads, rows.rows, [&](int64_t r, int) {
      embed(*weights.token_embd, part.tokens[static_cast<size_t>(r)], c.embedding_scale, rows[r]);
      session.scheme->add_to_embedding(positions.subspan(static_cast<size_t>(r), 1), rows.slice(r, 1));
    });
  }
  told("x", -1, x);

  for (int64_t layer = 0; layer < c.n_layers; ++layer) {
    const LayerWeights& w = weights.layers[static_cast<size_t>(layer)];

    // What attention reads: x, normed first in a pre-norm model.
    if (pre_norm) normalize(threads, c, w.attn_norm, x, h);
    const Rows attn_in = pre_norm ? h : x;
    told("attn_norm", layer, attn_in);
    matmul(threads, attn_in, {{.linear = w.attn_q, .y = q}, {.linear = w.attn_k, .y = k}, {.linear = w.attn_v, .y = v}},
           work.rounded);

    // Positions turn q and k; k and v enter the cache as they are then.                            hook 2
    turn_and_store(parts, layer, q, k, v);
    told("q", layer, q);
    told("k", layer, k);
    told("v", layer, v);

    // Of the last layer only the wanted rows go on.
    if (layer + 1 == c.n_layers && !observed) {
      parts = keep_wanted(parts, work.call.tails, x, q);
      if (x.rows == 0) return x;
      for (Rows* rows : {&h, &mix, &sub, &up, &gate}) *rows = rows->slice(0, x.rows);
    }

    // Attend, project, add.                                                                hooks 3 and 4
    attend(parts, layer, q, mix, work);
    told("attn_mix", layer, mix);
    matmul(threads, mix, {{.linear = w.attn_output, .y = sub, .combine = kernel.add, .into = x}}, work.rounded);
    if (!pre_norm) normalize(threads, c, w.attn_norm, x, x);
    told("attn_out", layer, x);

    // The MLP: down(act(up x)), or down(act(gate x) * up x).
    if (pre_norm) normalize(threads, c, w.ffn_norm, x, h);
    const Rows ffn_in = pre_norm ? h : x;
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
    matmul(threads, gate, {{.linear = w.ffn_down, .y = sub, .combine = kernel.add, .into = x}}, work.rounded);
    if (!pre_norm) normalize(threads, c, w.ffn_norm, x, x);
    told("ffn_out", layer, x);
  }
  return x;
}

Rows logits_of(SessionState& session, Rows x, Workspace& work) {
  const ModelConfig& c = session.model->config();
  const Weights& weights = session.model->weights();
  const int threads = session.options.n_threads;
  Rows h = x;  // [R, D]
  if (!weights.output_norm.weight.empty()) {
    h = work.rows(kNorm, x.rows, c.d_model);
    normalize(threads, c, weights.output_norm, x, h);
  }
  observe(session, "norm", -1, h);
  const Rows logits = session.logits_rows(x.rows);  // [R, V]
  matmul(threads, h, {{.linear = weights.output, .y = logits}}, work.rounded);
  return logits;
}

}  // namespace ordinal
