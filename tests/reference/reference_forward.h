// reference_forward.h: a decoder-only Transformer in double precision and plain loops, written from the papers.
//
// It shares no code with src/ and reads a model from its draft, so that the engine, the model file and the kernels are
// all checked against something else. Vaswani et al. 2017 (arXiv:1706.03762): attention, post-norm, sinusoids. Radford
// et al. 2019 (GPT-2): pre-norm. Ba et al. 2016 (arXiv:1607.06450): LayerNorm. Zhang, Sennrich 2019 (arXiv:1910.07467):
// RMSNorm. Hendrycks, Gimpel 2016 (arXiv:1606.08415): GELU. Shazeer 2019, 2020 (arXiv:1911.02150, 2002.05202): shared
// keys and values, gated MLP. Wang, Komatsuzaki 2021 (GPT-J): parallel sublayers. Dehghani et al. 2023
// (arXiv:2302.05442): norms of queries and keys. Gemma Team 2024 (arXiv:2408.00118): soft caps, norms before and after,
// windows. Ainslie et al. 2023 (arXiv:2305.13245): grouped ones. Positions: reference_positions.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/model_writer.h"
#include "reference/reference_positions.h"

namespace reference {

using Matrix = std::vector<Row>;

// y = W x + b; both may be empty.
struct Affine {
  Matrix weight;
  Row bias;
};

// A norm's weight and bias; a norm without a weight is not there.
struct Norm {
  Row weight, bias;
};

struct Layer {
  Affine attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down;
  Norm attn_norm, attn_q_norm, attn_k_norm, post_attention_norm, ffn_norm, post_ffw_norm;
};

struct Model {
  explicit Model(const ordinal::ModelDraft& draft);

  ordinal::ModelConfig config;
  Matrix token_embd, position_embd;
  std::vector<Layer> layers;
  Norm token_embd_norm, output_norm;
  Affine embd_in, embd_out, output;
  std::map<std::string, Matrix> tensors;  // all of them, for the schemes that have some
};

// What a pass computed. Intermediate rows go by the names of include/ordinal/session.h, those of layer 3 as "3.q",
// scores and weights of its head 2 as "3.scores.2" (rows of growing length).
struct Result {
  Matrix logits;  // [M, V]
  std::map<std::string, Matrix> seen;
};

Result forward(const Model& model, const Scheme& scheme, const std::vector<int32_t>& ids, int64_t first_position = 0);

// The ids that greedy decoding adds to a prompt, lowest id first among equals; every step recomputes everything.
std::vector<int32_t> greedy(const Model& model, const Scheme& scheme, std::vector<int32_t> ids, int64_t count);

}  // namespace reference
