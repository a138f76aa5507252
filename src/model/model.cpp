// model.cpp: binds the tensors of a file to the parts of the plan.
#include "ordinal/model.h"

#include <utility>

#include "base/words.h"
#include "model/plan.h"
#include "model/workspace.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

// Finds what the plan asks for and refuses what has another shape or layout. Optional tensors may be absent.
class Binder {
 public:
  Binder(const ModelFile& file, Weights& weights) : file_(file), weights_(weights) {}

  void bind(const PlannedPart& part, int64_t layer) const {
    with_member(part, weights_, layer, [&](auto& member) { fill(member, part, layer); });
  }

 private:
  void fill(const TensorView*& table, const PlannedPart& part, int64_t layer) const {
    table = find(part, layer, false);
  }

  void fill(Norm& norm, const PlannedPart& part, int64_t layer) const {
    norm = {vector(part, layer, false), vector(part, layer, true)};
  }

  void fill(Linear& linear, const PlannedPart& part, int64_t layer) const {
    const ModelConfig& c = file_.config();
    const bool tied = part.need(c) == Need::tied;
    linear = {tied ? weights_.token_embd : find(part, layer, false), vector(part, layer, true), part.n(c), part.k(c)};
  }

  std::vector<float> vector(const PlannedPart& part, int64_t layer, bool is_bias) const {
    const TensorView* view = find(part, layer, is_bias);
    if (view == nullptr) return {};
    std::vector<float> values(static_cast<size_t>(view->shape[0]));
    widen(view->dtype, view->data, 0, values);
    return values;
  }

  const TensorView* find(const PlannedPart& part, int64_t layer, bool is_bias) const {
    const PlannedTensor wanted = planned_tensor(file_.config(), part, layer, is_bias);
    const Layout layout = wanted.shape.size() == 1 ? Layout::rows : Layout::panels;
    const auto text = [&](std::span<const int64_t> shape, Layout lies) {
      return wanted.name + " " + shape_text(shape) + " in " + std::string(kLayouts[static_cast<size_t>(lies)]);
    };
    const TensorView* view = file_.find(wanted.name);
    if (view == nullptr && wanted.required)
      throw Error(file_.path() + " lacks a tensor that its settings call for", text(wanted.shape, layout),
                  "no tensor of that name", "`ordinal inspect " + file_.path() + " --tensors` lists what there is");
    if (view != nullptr && (view->shape != wanted.shape || view->layout != layout))
      throw Error("a tensor of " + file_.path() + " does not fit the model's settings", text(wanted.shape, layout),
                  text(view->shape, view->layout));
    return view;
  }

  const ModelFile& file_;
  Weights& weights_;
};

}  // namespace

std::shared_ptr<const Model> Model::bind(ModelFile file) { return std::make_shared<const Model>(std::move(file)); }

Model::~Model() = default;

Model::Model(ModelFile file) : file_(std::move(file)), workspaces_(std::make_unique<WorkspacePool>()) {
  config().validate();
  const Binder binder(file_, weights_);
  for_each_part(config(), [&](const PlannedPart& part, int64_t layer) {
    if (part.is_in_layers()) weights_.layers.resize(static_cast<size_t>(layer + 1));
    binder.bind(part, layer);
  });
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
