// per_layer.cpp: one scheme for a model and others for some of its layers: "rope:theta=1e6;layers=3,7-9:none".
//
//   BASE;layers=LIST:PART;layers=LIST:PART...      BASE, PART: specs; LIST: layers from 0, "3" or "7-9", with commas
// BASE acts on the embedding, and on every layer that no LIST names. A PART acts on its layers only, so it must be a
// scheme, modifiers included, that adds nothing to the embedding: that belongs to no layer.
#include <algorithm>

#include "position/scheme.h"

namespace ordinal {
namespace {

using Shared = std::shared_ptr<const PositionScheme>;

class PerLayer final : public PositionScheme {
 public:
  PerLayer(Shared base, std::vector<Shared> layers) : base_(std::move(base)), layers_(std::move(layers)) {
    shortest_ = base_.get();
    for (const Shared& scheme : layers_)
      if (scheme->max_positions() < shortest_->max_positions()) shortest_ = scheme.get();
    for (const Shared& scheme : layers_) {
      const Views of_layer = scheme->views();
      views_.queries = std::max(views_.queries, of_layer.queries);
      views_.keys = std::max(views_.keys, of_layer.keys);
    }
  }

  int64_t max_positions() const override { return shortest_->max_positions(); }
  LimitNote limit_note() const override { return shortest_->limit_note(); }

  void add_to_embedding(Positions positions, Rows x) const override { base_->add_to_embedding(positions, x); }
  void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const override {
    at(layer).transform_query_key(layer, positions, q, k);
  }
  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    at(site.layer).add_to_scores(site, q, scores);
  }
  void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const override {
    at(site.layer).add_to_values(site, weights, out);
  }
  Views views() const override { return views_; }
  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const override {
    at(layer).transform_view(layer, view, positions, q, k);
  }
  int key_runs(int64_t layer, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    return at(layer).key_runs(layer, query_position, runs);
  }

 private:
  const PositionScheme& at(int64_t layer) const { return *layers_[static_cast<size_t>(layer)]; }

  const Shared base_;
  const std::vector<Shared> layers_;  // [n_layers]
  const PositionScheme* shortest_;    // of these, the one with the fewest positions
  Views views_;                       // as many as any layer has
};

// "3,7-9" of the layers that `chosen` marks.
std::string list_text(const std::vector<bool>& chosen) {
  std::string text;
  for (size_t first = 0; first < chosen.size(); ++first) {
    if (!chosen[first]) continue;
    size_t last = first;
    while (last + 1 < chosen.size() && chosen[last + 1]) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += (last == first + 1 ? "," : "-") + std::to_string(last);
    first = last;
  }
  return text;
}

}  // namespace

std::pair<SchemePtr, SchemeFacts> make_per_layer(std::string_view spec, const AttentionShape& shape,
                                                 const SchemeMaker& make) {
  const LayeredSpec parsed = parse_layered_spec(spec);
  const Shared base = make(parsed.base);
  std::vector<Shared> layers(static_cast<size_t>(shape.n_layers));
  for (const LayeredSpec::Part& part : parsed.parts) {
    const Shared scheme = make(part.spec);
    const std::string& kind = scheme->facts().kind;
    if (kind != "relative" && kind != "anchored")
      throw Error(scheme->spec() + " acts on the embedding, which belongs to no layer",
                  "a relative scheme, or an anchored one, for a layer", std::string(spec),
                  "put it first: " + scheme->spec() + ";layers=...");
    for (const auto& [first, last] : part.ranges) {
      if (last >= shape.n_layers)
        throw Error("the model has no layer " + std::to_string(last),
                    "layers 0 to " + std::to_string(shape.n_layers - 1), std::string(spec));
      for (int64_t layer = first; layer <= last; ++layer) {
        Shared& place = layers[static_cast<size_t>(layer)];
        if (place)
          throw Error("layer " + std::to_string(layer) + " has two position schemes", "each layer named once",
                      std::string(spec));
        place = scheme;
      }
    }
  }

  SchemeFacts facts = base->facts();
  const std::string base_spec = base->spec();
  for (Shared& scheme : layers)
    if (!scheme || scheme->spec() == base_spec) scheme = base;
  for (size_t first = 0; first < layers.size(); ++first) {
    const auto same = [&](const Shared& other) { return other->spec() == layers[first]->spec(); };
    if (layers[first] == base ||
        std::find_if(layers.begin(), layers.end(), same) - layers.begin() < static_cast<ptrdiff_t>(first))
      continue;
    std::vector<bool> chosen;
    std::ranges::transform(layers, std::back_inserter(chosen), same);
    const SchemeFacts& part = layers[first]->facts();
    facts.spec += ";layers=" + list_text(chosen) + ":" + part.spec;
    if (facts.kind == "relative") facts.kind = part.kind;
    facts.remarks.push_back("layers " + list_text(chosen) + ": " + part.spec);
    for (const std::string& remark : part.remarks) facts.remarks.push_back(part.spec + ": " + remark);
    for (const SchemeTensor& tensor : part.tensors)
      if (std::ranges::find(facts.tensors, tensor.name, &SchemeTensor::name) == facts.tensors.end())
        facts.tensors.push_back(tensor);
  }
  return {std::make_unique<PerLayer>(base, std::move(layers)), std::move(facts)};
}

}  // namespace ordinal
