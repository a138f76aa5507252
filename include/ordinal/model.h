// model.h: the nouns of a loaded model: its config, its weights by name, and the file that holds them.
//
// Shape letters: D = d_model, E = embedding_width(), F = d_ff, H / G = query / key-value heads, d = head_dim,
// V = vocab_size.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ordinal/model_file.h"
#include "ordinal/position.h"
#include "ordinal/tensor.h"

namespace ordinal {

// y = x · weight + bias. The weight is a matrix in panels, read where it is mapped.
struct Linear {
  const TensorView* weight = nullptr;  // [n, k], panels; nullptr when the model has no such matrix
  std::vector<float> bias;             // [n], or empty
  int64_t n = 0;
  int64_t k = 0;
};

struct Norm {
  std::vector<float> weight;  // [n]; empty when the model has no such norm
  std::vector<float> bias;    // [n], or empty

  explicit operator bool() const { return !weight.empty(); }
};

struct LayerWeights {
  Norm attn_norm;
  Linear attn_q;       // [H*d, D]
  Linear attn_k;       // [G*d, D]
  Linear attn_v;       // [G*d, D]
  Norm attn_q_norm;    // [H*d]
  Norm attn_k_norm;    // [G*d]
  Linear attn_output;  // [D, H*d]
  Norm post_attention_norm;
  Norm ffn_norm;
  Linear ffn_gate;  // [F, D], gated MLP only
  Linear ffn_up;    // [F, D]
  Linear ffn_down;  // [D, F]
  Norm post_ffw_norm;
};

struct Weights {
  const TensorView* token_embd = nullptr;  // [V, E], panels
  Norm token_embd_norm;                    // [E]
  Linear embd_in;                          // [D, E], where E is not D
  std::vector<LayerWeights> layers;
  Norm output_norm;
  Linear embd_out;  // [E, D], where E is not D
  Linear output;    // [V, E]; the same panels as token_embd when tied
};

class WorkspacePool;  // src/model/workspace.h

// What a position scheme may know of a model of this config; `length`: the most positions that will be used.
AttentionShape attention_shape(const ModelConfig& config, int64_t length);

// A model ready to run: immutable, shared by any number of sessions and threads.
class Model {
 public:
  // Binds the weights of an opened file. Throws Error for a missing tensor, a wrong shape, or a kind that the forward
  // pass cannot read yet.
  static std::shared_ptr<const Model> bind(ModelFile file);
  static std::shared_ptr<const Model> open(const std::string& path) { return bind(ModelFile::open(path)); }

  const ModelConfig& config() const { return file_.config(); }
  const ModelFile& file() const { return file_; }
  const Weights& weights() const { return weights_; }

  // A position scheme for this model; "native" is the one the file names. `length`: see AttentionShape.
  // Throws Error for a bad spec or a missing tensor.
  std::shared_ptr<const PositionScheme> make_scheme(std::string_view spec, int64_t length) const;

  // The memory that passes over this model work in; it is no part of the model's value.
  WorkspacePool& workspaces() const { return *workspaces_; }

  explicit Model(ModelFile file);
  ~Model();

 private:
  ModelFile file_;
  Weights weights_;
  std::unique_ptr<WorkspacePool> workspaces_;
};

}  // namespace ordinal
