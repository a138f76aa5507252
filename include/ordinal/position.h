// position.h: where a token stands, as a plug-in: four hooks that do nothing by default.
// src/position/README.md describes every scheme; src/position/scheme.h is what a scheme file includes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ordinal/tensor.h"

namespace ordinal {

// The position of each row, counted from 0 at the start of the text.
using Positions = std::span<const int64_t>;

// What a scheme may know of the model when it is made.
struct AttentionShape {
  int64_t n_layers = 0;
  int64_t d_model = 0;
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t trained_length = 0;  // what the model file says, in tokens
  int64_t length = 0;          // the most positions this session will use; at least 1
};

// One query row of one head, looking at the keys it may see.
struct AttentionSite {
  int64_t layer = 0;
  int64_t head = 0;  // query head, not key/value head
  int64_t query_position = 0;
  Positions key_positions;  // one per score, oldest first
  float scale = 1.0f;       // already applied to the scores
};

// How many forms of every query and key a scheme wants: more than one under which far keys stand elsewhere than near
// ones (the modifiers rerope, dca, sinks, ...).
struct Views {
  static constexpr int kMostQueries = 3, kMostKeys = 2;
  int queries = 1;
  int keys = 1;  // the cache holds each of them

  bool several() const { return queries > 1 || keys > 1; }
};

// Consecutive keys that a row sees in one way, or not at all.
struct KeyRun {
  static constexpr int kMost = 4;  // runs that make up a row
  static constexpr int kUnseen = -1;
  int64_t end = 0;  // keys at positions below this that no earlier run has
  int query = 0;    // the view of the query they are scored with, or kUnseen
  int key = 0;      // the view of the keys
};

// A parameter as a scheme took it, for reports and help.
struct SchemeParam {
  std::string key;
  std::string value;      // in effect, stated or not; "" when it is required and was not stated
  std::string otherwise;  // its default; "" when it is required
  std::string allowed;    // "half, interleaved"; "a number above 0"
};

// A tensor that a scheme reads.
struct SchemeTensor {
  std::string name;            // "attn_rel_b.weight", "blk.0.attn_rel_k.weight"; for a scheme that was only described,
                               // "blk.N.attn_rel_k.weight" where each layer has one or all share "attn_rel_k.weight"
  std::vector<int64_t> shape;  // as it is; as an example of it could be, for a scheme that was only described
  bool is_optional = false;    // read where the model has it
};

// What is known of a scheme that was made: nothing that is in effect is left for a reader to guess.
struct SchemeFacts {
  std::string spec;                        // canonical: in the scheme's order, parameters at their default left out
  std::string kind;                        // as in SchemeInfo
  std::vector<SchemeParam> params = {};    // in the scheme's order
  std::vector<std::string> remarks = {};   // what follows from them: "context 1024 -> 4096"
  std::vector<SchemeTensor> tensors = {};  // those it reads

  // The value of a parameter, or `otherwise` when the scheme has none of that name.
  std::string param(std::string_view key, std::string_view otherwise = "") const;
};

// Why a scheme has a last position, and what goes further; for errors.
struct LimitNote {
  std::string reason;  // "position_embd.weight has 1024 rows"
  std::string remedy;  // "learned:beyond=clamp, ..."
};

// A position scheme is immutable and its hooks are pure: what they do depends on their arguments only, they may be
// called from several threads at once, and they do not allocate or throw. A hook that is not overridden adds nothing,
// so this class is itself the scheme "none" (NoPE, Kazemnejad et al. 2023, arXiv:2305.19466).
// Which positions are valid is checked once before a forward pass: every position given is >= 0 and
// < max_positions().
class PositionScheme {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  PositionScheme() = default;
  // For a scheme that a program brings itself (SessionOptions::scheme): what reports are to say of it.
  explicit PositionScheme(SchemeFacts facts) : facts_(std::move(facts)) {}
  virtual ~PositionScheme() = default;

  // One past the largest position the scheme can express.
  virtual int64_t max_positions() const { return kUnlimited; }
  virtual LimitNote limit_note() const { return {}; }  // both empty when there is no limit

  // x [M, d_model], after the token embedding (and its scale).
  virtual void add_to_embedding(Positions positions, Rows x) const;

  // q [M, n_heads * head_dim] and k [M, n_kv_heads * head_dim] of one layer, before k enters the cache. Rows of either
  // may have no columns: then the other alone is asked for.
  virtual void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const;

  // scores [site.key_positions.size()], already scaled, -infinity for keys that the row does not see; q [head_dim] as
  // it left transform_query_key.
  virtual void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const;

  // weights [site.key_positions.size()] after softmax; out [head_dim], the mix of values so far.
  virtual void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const;

  // Whether add_to_scores must be given all keys of a row at once: what it adds to one depends on the scores of others.
  virtual bool reads_whole_rows() const { return false; }

  // For a scheme under which keys look different from near and from afar; one that leaves views() alone pays nothing.
  // View 0 of q and k is what transform_query_key makes of them. For every other, transform_view gets copies as they
  // were before that; rows of a view that was not asked for have no columns. key_runs cuts the keys of a row, oldest
  // first, into runs, at most KeyRun::kMost, and says how many: the last ends past the query.
  virtual Views views() const { return {}; }
  virtual void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const;
  virtual int key_runs(int64_t layer, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const;

  // The spec in canonical form: the same scheme for any session of the same model. Of a scheme that a program brings
  // itself, what its constructor was told, so perhaps nothing.
  const std::string& spec() const { return facts_.spec; }
  const SchemeFacts& facts() const { return facts_; }

 private:
  SchemeFacts facts_;
  friend std::shared_ptr<const PositionScheme> make_position_scheme(
      std::string_view spec, const AttentionShape& shape,
      const std::function<const TensorView*(std::string_view)>& lookup);
};

// Finds a scheme's own tensors by name; nullptr when the model has no such tensor.
using TensorLookup = std::function<const TensorView*(std::string_view)>;

// Makes a scheme from a spec, "name" or "name:key=value,key=value". Modifiers may follow it, "rope;with=logn", and some
// layers may have a scheme of their own: "rope:theta=1e6;layers=3,7-9:none;with=steps". Throws Error, naming what
// exists, for an unknown name, key or value, a layer the model does not have, and a tensor that is missing or has
// another shape.
std::shared_ptr<const PositionScheme> make_position_scheme(std::string_view spec, const AttentionShape& shape,
                                                           const TensorLookup& lookup);

// What the scheme of this spec can be told, without a model: value and default of every parameter, remarks and the
// tensors it reads. A parameter that is required may be missing. Throws Error for a bad spec.
SchemeFacts describe_position_scheme(std::string_view spec, const AttentionShape& shape);

// Whether two schemes do the same to a model of this shape, bit for bit, at all positions below `length`, found by
// trying their hooks on a spread of positions. False when one of them ends before.
bool schemes_agree(const PositionScheme& a, const PositionScheme& b, const AttentionShape& shape, int64_t length);

// The parts of a spec for one scheme. Throws Error for text that has not the form above or names a key twice.
struct PositionSpec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> params;
};
PositionSpec parse_position_spec(std::string_view text);

// The specs of a list with commas: "rope:theta=10000,factor=2,alibi" holds two. A piece "key=value", or one that begins
// with a digit (a layer), goes on with the spec before it. Throws Error where a piece is empty, or begins no known
// spec.
std::vector<std::string> split_position_list(std::string_view text);

// `spec` with every "native" in it, first or for some layers, replaced by the native spec. Throws Error when that
// would put layers into layers.
std::string expand_native(std::string_view spec, std::string_view native);

// A registered scheme, for lists and help.
struct SchemeInfo {
  std::string_view name;
  std::string_view kind;  // "absolute": something enters the embedding; "lab": one of these that is known to be a bad
                          // idea; "relative": distances alone count; "anchored": nothing enters the embedding, yet it
                          // counts where the text begins
  std::string_view acts_on;  // the hooks it has: "embedding", "q and k", "scores", "values"
  std::string_view source;   // where it was published
  std::string_view summary;  // one line
};
std::span<const SchemeInfo> position_schemes();

// What may follow a scheme as ";with=NAME:key=value", for lists and help. The kind is that of a relative scheme with
// it.
std::span<const SchemeInfo> position_modifiers();

// What a modifier, "name" or "name:key=value", can be told: as describe_position_scheme().
SchemeFacts describe_position_modifier(std::string_view modifier, const AttentionShape& shape);

// The values of rope's parameter `scaling`, for lists and help.
std::span<const SchemeInfo> rope_scalings();

// The names of those that run in any model, lab ones left out. What others need says describe_position_scheme().
std::vector<std::string> schemes_without_tensors();

}  // namespace ordinal
