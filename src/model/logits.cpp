// logits.cpp: from the last x of a pass to the scores of the next token.
#include "kernels/kernels.h"
#include "model/forward.h"

namespace ordinal {

Rows logits_of(SessionState& session, Rows x, Workspace& work) {
  const ModelConfig& c = session.model->config();
  const Weights& weights = session.model->weights();
  const Kernels& kernel = kernels();
  const ModelShare& share = session.share;
  const int threads = session.options.n_threads;
  Rows h = x;  // [R, D]
  if (weights.output_norm) {
    h = work.rows(kNorm, x.rows, c.d_model);
    normalize(threads, c.norm, c.norm_epsilon, weights.output_norm, x, h);
  }
  observe(session, "norm", -1, h);
  if (c.d_embedding != 0) {
    const Rows narrow = work.rows(kEmbdOut, h.rows, c.d_embedding);  // [R, E]
    matmul(threads, h, {{.linear = weights.embd_out, .y = narrow, .panels = share.embedding.panels}}, work.rounded);
    share.gather(narrow, share.embedding, work.gathered);
    h = narrow;
  }
  const Rows logits = session.logits_rows(x.rows);  // [R, V]
  matmul(threads, h, {{.linear = weights.output, .y = logits, .panels = share.vocab.panels}}, work.rounded);
  share.gather(logits, share.vocab, work.gathered);
  if (c.logit_scale != 1.0f || c.logit_softcap > 0)
    for_rows(threads, logits, [&](int64_t r) {
      if (c.logit_scale != 1.0f) kernel.scale(logits[r].data(), c.logit_scale, c.vocab_size);
      if (c.logit_softcap > 0) kernel.soft_cap(logits[r].data(), c.logit_softcap, c.vocab_size);
    });
  return logits;
}

}  // namespace ordinal
