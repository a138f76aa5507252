// per_layer.cpp: one scheme for a model and others for some of its layers or heads: "rope:theta=1e6;layers=3,7-9:none".
//
//   BASE;layers=LIST:PART;heads=LIST:PART...      BASE, PART: specs; LIST: layers from 0, "3" or "7-9", with commas, or
//                                                 heads of a layer, "3.0" or "3.4-7"
// BASE acts on the embedding, and on every layer and head that no LIST names. A PART acts on its layers or heads only,
// so it must be a scheme, modifiers included, that adds nothing to the embedding: that belongs to no layer. Where keys
// are turned, query heads that share a key head share a scheme too; modifiers are for whole layers.
#include <algorithm>
#include <map>

#include "position/scheme.h"

namespace ordinal {
namespace {

using Shared = std::shared_ptr<const PositionScheme>;
using Table = std::vector<std::vector<Shared>>;  // [n_layers][n_heads]

class PerLayer final : public PositionScheme {
 public:
  PerLayer(Shared base, Table heads, const AttentionShape& shape)
      : base_(std::move(base)),
        heads_(std::move(heads)),
        head_dim_(shape.head_dim),
        shared_by_(shape.n_heads / shape.n_kv_heads) {
    shortest_ = base_.get();
    for (const std::vector<Shared>& layer : heads_) {
      for (const Shared& scheme : layer) {
        if (scheme->max_positions() < shortest_->max_positions()) shortest_ = scheme.get();
        views_.queries = std::max(views_.queries, scheme->views().queries);
        views_.keys = std::max(views_.keys, scheme->views().keys);
      }
      alike_.push_back(std::ranges::count(layer, layer.front()) == std::ssize(layer));
    }
  }

  int64_t max_positions() const override { return shortest_->max_positions(); }
  LimitNote limit_note() const override { return shortest_->limit_note(); }

  void add_to_embedding(Positions positions, Rows x) const override { base_->add_to_embedding(positions, x); }
  void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const override {
    if (alike_[static_cast<size_t>(layer)]) return at(layer, 0).transform_query_key(layer, positions, q, k);
    const int64_t q_width = shared_by_ * head_dim_;
    for (int64_t key_head = 0; key_head * head_dim_ < k.cols; ++key_head)
      at(layer, key_head * shared_by_)
          .transform_query_key(layer, positions, {q.data + key_head * q_width, q.rows, q_width, q.stride},
                               {k.data + key_head * head_dim_, k.rows, head_dim_, k.stride});
  }
  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    at(site.layer, site.head).add_to_scores(site, q, scores);
  }
  void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const override {
    at(site.layer, site.head).add_to_values(site, weights, out);
  }
  Views views() const override { return views_; }
  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const override {
    at(layer, 0).transform_view(layer, view, positions, q, k);
  }
  int key_runs(int64_t layer, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    return at(layer, 0).key_runs(layer, query_position, runs);
  }

 private:
  const PositionScheme& at(int64_t layer, int64_t head) const {
    return *heads_[static_cast<size_t>(layer)][static_cast<size_t>(head)];
  }

  const Shared base_;
  const Table heads_;
  const int64_t head_dim_, shared_by_;  // by so many query heads is a key head shared
  std::vector<bool> alike_;             // layers whose heads have one scheme
  const PositionScheme* shortest_;      // of these, the one with the fewest positions
  Views views_;                         // as many as any layer has
};

// "3,7-9" of the places that `chosen` marks, each after `before`.
std::string list_text(const std::vector<bool>& chosen, const std::string& before = "") {
  std::string text;
  for (size_t first = 0; first < chosen.size(); ++first) {
    if (!chosen[first]) continue;
    size_t last = first;
    while (last + 1 < chosen.size() && chosen[last + 1]) ++last;
    text += (text.empty() ? "" : ",") + before + std::to_string(first);
    if (last > first) text += (last == first + 1 ? "," + before : "-") + std::to_string(last);
    first = last;
  }
  return text;
}

// Puts a part into the places that its list names. Throws Error for one that is not there or is taken.
void place(const LayeredSpec::Part& part, const Shared& scheme, const AttentionShape& shape, std::string_view spec,
           Table& table) {
  const auto take = [&](Shared& at, const std::string& name) {
    if (at) throw Error(name + " has two position schemes", "each layer and head named once", std::string(spec));
    at = scheme;
  };
  for (size_t i = 0; i < part.ranges.size(); ++i) {
    const auto& [first, last] = part.ranges[i];
    if (last >= shape.n_layers)
      throw Error("the model has no layer " + std::to_string(last), "layers 0 to " + std::to_string(shape.n_layers - 1),
                  std::string(spec));
    const int64_t first_head = part.of_heads ? part.heads[i].first : 0;
    const int64_t last_head = part.of_heads ? part.heads[i].second : shape.n_heads - 1;
    if (last_head >= shape.n_heads)
      throw Error("the model has no head " + std::to_string(last_head),
                  "heads 0 to " + std::to_string(shape.n_heads - 1) + " in each layer", std::string(spec));
    for (int64_t layer = first; layer <= last; ++layer)
      for (int64_t head = first_head; head <= last_head; ++head)
        take(table[static_cast<size_t>(layer)][static_cast<size_t>(head)],
             part.of_heads ? "head " + std::to_string(layer) + "." + std::to_string(head)
                           : "layer " + std::to_string(layer));
  }
}

// Throws Error where heads of one layer are told apart that cannot be.
void check_heads(const std::vector<Shared>& layer, const AttentionShape& shape, std::string_view spec) {
  if (std::ranges::count(layer, layer.front()) == std::ssize(layer)) return;
  bool turns_keys = false;
  for (const Shared& scheme : layer) {
    const std::string_view acts_on = scheme_info(parse_first_scheme(scheme->spec()).name).acts_on;
    turns_keys = turns_keys || acts_on == "q and k";
    if (acts_on.starts_with("q,") || !parse_modified_spec(scheme->spec()).modifiers.empty())
      throw Error(scheme->spec() + " needs all heads of a layer together", "a scheme that acts head by head",
                  std::string(spec), "layers= in place of heads=");
  }
  if (!turns_keys) return;
  const int64_t together = shape.n_heads / shape.n_kv_heads;
  for (int64_t head = 0; head < shape.n_heads; ++head)
    if (const int64_t first = head - head % together;
        layer[static_cast<size_t>(head)] != layer[static_cast<size_t>(first)])
      throw Error("heads that share keys cannot have different position schemes where keys are turned",
                  "heads " + std::to_string(first) + "-" + std::to_string(first + together - 1) + " together",
                  std::string(spec));
}

// The heads that have a scheme other than their layer, and the layers that have one other than the base, as text and in
// the facts.
void describe(const Table& table, const std::vector<Shared>& of_layer, const Shared& base, SchemeFacts& facts) {
  std::vector<std::pair<std::string, std::string>> parts;  // "layers" or "heads" with a scheme, and its list
  std::map<std::string, const SchemeFacts*> known;
  const auto list_of = [&](const std::string& what, const Shared& scheme) -> std::string& {
    known[scheme->spec()] = &scheme->facts();
    const std::string name = what + "\n" + scheme->spec();
    const auto found = std::ranges::find(parts, name, &std::pair<std::string, std::string>::first);
    return found != parts.end() ? found->second : parts.emplace_back(name, "").second;
  };
  for (size_t layer = 0; layer < table.size(); ++layer) {
    if (of_layer[layer] == base) continue;
    std::string& list = list_of("layers", of_layer[layer]);
    if (!list.empty()) continue;
    std::vector<bool> chosen;
    for (const Shared& other : of_layer) chosen.push_back(other->spec() == of_layer[layer]->spec());
    list = list_text(chosen);
  }
  for (size_t layer = 0; layer < table.size(); ++layer) {
    std::vector<std::string> done;
    for (const Shared& scheme : table[layer]) {
      if (scheme == of_layer[layer] || std::ranges::find(done, scheme->spec()) != done.end()) continue;
      done.push_back(scheme->spec());
      std::vector<bool> chosen;
      for (const Shared& other : table[layer]) chosen.push_back(other->spec() == scheme->spec());
      std::string& list = list_of("heads", scheme);
      list += (list.empty() ? "" : ",") + list_text(chosen, std::to_string(layer) + ".");
    }
  }
  for (const auto& [name, list] : parts) {
    const size_t end = name.find('\n');
    const std::string what = name.substr(0, end), spec = name.substr(end + 1);
    const SchemeFacts& part = *known[spec];
    facts.spec += ";" + what + "=" + list + ":" + spec;
    if (facts.kind == "relative") facts.kind = part.kind;
    facts.remarks.push_back(what + " " + list + ": " + spec);
    for (const std::string& remark : part.remarks) facts.remarks.push_back(spec + ": " + remark);
    for (const SchemeTensor& tensor : part.tensors)
      if (std::ranges::find(facts.tensors, tensor.name, &SchemeTensor::name) == facts.tensors.end())
        facts.tensors.push_back(tensor);
  }
}

}  // namespace

std::pair<SchemePtr, SchemeFacts> make_per_layer(std::string_view spec, const AttentionShape& shape,
                                                 const SchemeMaker& make) {
  const LayeredSpec parsed = parse_layered_spec(spec);
  const Shared base = make(parsed.base);
  const std::string base_spec = base->spec();
  const Table empty(static_cast<size_t>(shape.n_layers), std::vector<Shared>(static_cast<size_t>(shape.n_heads)));
  Table layers = empty, heads = empty;
  std::map<std::string, Shared> made = {{base_spec, base}};  // equal parts are one scheme
  for (const LayeredSpec::Part& part : parsed.parts) {
    Shared scheme = make(part.spec);
    const std::string& kind = scheme->facts().kind;
    if (kind != "relative" && kind != "anchored")
      throw Error(scheme->spec() + " acts on the embedding, which belongs to no layer",
                  "a relative scheme, or an anchored one, for a layer", std::string(spec),
                  "put it first: " + scheme->spec() + part.head() + "...");
    scheme = made.emplace(scheme->spec(), scheme).first->second;
    place(part, scheme, shape, spec, part.of_heads ? heads : layers);
  }

  std::vector<Shared> of_layer;
  for (size_t layer = 0; layer < heads.size(); ++layer) {
    of_layer.push_back(layers[layer].front() ? layers[layer].front() : base);
    for (Shared& scheme : heads[layer])
      if (!scheme) scheme = of_layer.back();
    check_heads(heads[layer], shape, spec);
  }
  SchemeFacts facts = base->facts();
  describe(heads, of_layer, base, facts);
  return {std::make_unique<PerLayer>(base, std::move(heads), shape), std::move(facts)};
}

}  // namespace ordinal
