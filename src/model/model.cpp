// model.cpp: finds every weight of a model by name and checks its shape.
#include "ordinal/model.h"

#include <utility>

#include "model/workspace.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

std::string shape_text(std::span<const int64_t> shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

// Looks tensors up and refuses those of another shape or layout. Optional ones may be absent.
class Binder {
 public:
  explicit Binder(const ModelFile& file) : file_(file) {}

  const TensorView* matrix(const std::string& name, int64_t n, int64_t k) const {
    const TensorView& view = require(name, {n, k}, Layout::panels);
    return &view;
  }

  std::vector<float> vector(const std::string& name, int64_t n) const {
    const TensorView& view = require(name, {n}, Layout::rows);
    std::vector<float> values(static_cast<size_t>(n));
    widen(view.dtype, view.data, 0, values);
    return values;
  }

  std::vector<float> optional_vector(const std::string& name, int64_t n) const {
    return file_.find(name) == nullptr ? std::vector<float>() : vector(name, n);
  }

  Linear linear(const std::string& name, int64_t n, int64_t k) const {
    return {matrix(name + ".weight", n, k), optional_vector(name + ".bias", n), n, k};
  }

  Norm norm(const std::string& name, int64_t n) const {
    return {vector(name + ".weight", n), optional_vector(name + ".bias", n)};
  }

 private:
  const TensorView& require(const std::string& name, std::vector<int64_t> shape, Layout layout) const {
    const std::string expected =
        name + " " + shape_text(shape) + " in " + std::string(kLayouts[static_cast<size_t>(layout)]);
    const TensorView* view = file_.find(name);
    if (view == nullptr)
      throw Error(file_.path() + " lacks a tensor that its settings call for", expected, "no tensor of that name",
                  "`ordinal inspect " + file_.path() + " --tensors` lists what there is");
    if (view->shape != shape || view->layout != layout)
      throw Error(
          "a tensor of " + file_.path() + " does not fit the model's settings", expected,
          name + " " + shape_text(view->shape) + " in " + std::string(kLayouts[static_cast<size_t>(view->layout)]));
    return *view;
  }

  const ModelFile& file_;
};

LayerWeights bind_layer(const Binder& bind, const ModelConfig& c, int64_t index) {
  const std::string block = "blk." + std::to_string(index) + ".";
  LayerWeights layer;
  layer.attn_norm = bind.norm(block + "attn_norm", c.d_model);
  layer.attn_q = bind.linear(block + "attn_q", c.n_heads * c.head_dim, c.d_model);
  layer.attn_k = bind.linear(block + "attn_k", c.n_kv_heads * c.head_dim, c.d_model);
  layer.attn_v = bind.linear(block + "attn_v", c.n_kv_heads * c.head_dim, c.d_model);
  layer.attn_output = bind.linear(block + "attn_output", c.d_model, c.n_heads * c.head_dim);
  layer.ffn_norm = bind.norm(block + "ffn_norm", c.d_model);
  if (c.gated_mlp) layer.ffn_gate = bind.linear(block + "ffn_gate", c.d_ff, c.d_model);
  layer.ffn_up = bind.linear(block + "ffn_up", c.d_ff, c.d_model);
  layer.ffn_down = bind.linear(block + "ffn_down", c.d_model, c.d_ff);
  return layer;
}

}  // namespace

std::shared_ptr<const Model> Model::bind(ModelFile file) { return std::make_shared<const Model>(std::move(file)); }

Model::~Model() = default;

Model::Model(ModelFile file) : file_(std::move(file)), workspaces_(std::make_unique<WorkspacePool>()) {
  const ModelConfig& c = config();
  c.validate();
  const Binder bind(file_);
  weights_.token_embd = bind.matrix("token_embd.weight", c.vocab_size, c.d_model);
  for (int64_t i = 0; i < c.n_layers; ++i) weights_.layers.push_back(bind_layer(bind, c, i));

  // The original, post-norm Transformer ends without a norm of its own.
  const bool ends_with_norm = c.norm_place == NormPlace::pre || file_.find("output_norm.weight") != nullptr;
  if (ends_with_norm) weights_.output_norm = bind.norm("output_norm", c.d_model);
  if (c.tied_output) {
    weights_.output = {weights_.token_embd, bind.optional_vector("output.bias", c.vocab_size), c.vocab_size, c.d_model};
  } else {
    weights_.output = bind.linear("output", c.vocab_size, c.d_model);
  }
}

AttentionShape attention_shape(const ModelConfig& c, int64_t length) {
  return {.n_layers = c.n_layers,
          .d_model = c.d_model,
          .n_heads = c.n_heads,
          .n_kv_heads = c.n_kv_heads,
          .head_dim = c.head_dim,
          .trained_length = c.max_seq_len,
          .length = length};
}

std::shared_ptr<const PositionScheme> Model::make_scheme(std::string_view spec, int64_t length) const {
  return make_position_scheme(expand_native(spec, file_.notes().position), attention_shape(config(), length),
                              [this](std::string_view name) { return file_.find(name); });
}

}  // namespace ordinal
