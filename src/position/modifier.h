// modifier.h: what a modifier's file includes: a scheme that wraps another, "SPEC;with=NAME:key=value".
//
// Adding a modifier is one file here with a function make_with_<name>, one line in modifiers.def, and one test. As for
// a scheme, the function asks for all parameters first and for tensors after them.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "position/scheme.h"

namespace ordinal {

using SharedScheme = std::shared_ptr<const PositionScheme>;

// Does what the scheme in it does. A modifier overrides what it changes, and calls these for the rest.
class ModifiedScheme : public PositionScheme {
 public:
  explicit ModifiedScheme(SharedScheme base) : base_(std::move(base)) {}

  int64_t max_positions() const override { return base_->max_positions(); }
  LimitNote limit_note() const override { return base_->limit_note(); }
  void add_to_embedding(Positions positions, Rows x) const override { base_->add_to_embedding(positions, x); }
  void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const override {
    base_->transform_query_key(layer, positions, q, k);
  }
  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const override {
    base_->add_to_scores(site, q, scores);
  }
  void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const override {
    base_->add_to_values(site, weights, out);
  }
  bool reads_whole_rows() const override { return base_->reads_whole_rows(); }
  Views views() const override { return base_->views(); }
  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const override {
    base_->transform_view(layer, view, positions, q, k);
  }
  int key_runs(int64_t layer, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const override {
    return base_->key_runs(layer, query_position, runs);
  }

 protected:
  const PositionScheme& base() const { return *base_; }

 private:
  const SharedScheme base_;
};

// A modifier that multiplies every query, in all its views, by a factor of its own at its position.
class ScaledQueries : public ModifiedScheme {
 public:
  using ModifiedScheme::ModifiedScheme;
  void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const final;
  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const final;

 private:
  virtual void scale(int64_t layer, int64_t position, std::span<float> query) const = 0;
};

// A modifier under which keys and queries of a scheme that turns them stand elsewhere: views that differ in nothing but
// the place they are turned to.
class MovedKeys : public ModifiedScheme {
 public:
  // Throws Error when the scheme has views already, or does not turn q and k.
  MovedKeys(const ParamReader& params, SharedScheme moved, Views views);
  Views views() const final { return views_; }
  void transform_query_key(int64_t layer, Positions positions, Rows q, Rows k) const final;
  void transform_view(int64_t layer, int view, Positions positions, Rows q, Rows k) const final;

 private:
  // Where a query and a key of a position stand in a view; each is asked for its own views only.
  virtual double query_place(int view, int64_t position) const = 0;
  virtual double key_place(int view, int64_t position) const = 0;

  const TurningScheme* turning_;
  const Views views_;
};

// Of these, one with a near view (0) and a far one (1) of queries and keys: keys `window` back and more are far.
class FarKeys : public MovedKeys {
 public:
  FarKeys(const ParamReader& params, SharedScheme base, int64_t window)
      : MovedKeys(params, std::move(base), {.queries = 2, .keys = 2}), window_(window) {}
  int key_runs(int64_t layer, int64_t query_position, std::span<KeyRun, KeyRun::kMost> runs) const final;

 protected:
  int64_t window() const { return window_; }

 private:
  const int64_t window_;
};

// A modifier under which a row sees its newest keys and the first ones of the text, which need not stand as far from it
// as they are: what the scheme adds to scores and values it is asked for each end by itself.
class BothEnds : public ModifiedScheme {
 public:
  using ModifiedScheme::ModifiedScheme;
  void add_to_scores(const AttentionSite& site, std::span<const float> q, std::span<float> scores) const final;
  void add_to_values(const AttentionSite& site, std::span<const float> weights, std::span<float> out) const final;

 protected:
  // Where the far keys of a row end and its near ones begin, and where a query and its far keys stand for these.
  struct Ends {
    int64_t far_end, near_begin, query_place;
    Positions far_places;  // none: where they are
  };

 private:
  // Nothing for a row that sees all keys, where they are.
  virtual std::optional<Ends> ends_of(int64_t query_position) const = 0;
  // Calls hook(site, numbers) for the near keys of a row and for the far ones, each with its part of the numbers.
  template <class Numbers, class Hook>
  void for_each_end(AttentionSite site, Numbers numbers, const Hook& hook) const;
};

// Throws Error when the scheme has several views already: one modifier only may give it some.
void refuse_views(const ParamReader& params, const PositionScheme& base);

#define MODIFIER(name, kind, acts_on, source, summary) \
  SchemePtr make_with_##name(ParamReader& params, const AttentionShape& shape, TableReader& tables, SharedScheme base);
#include "position/modifiers.def"
#undef MODIFIER

}  // namespace ordinal
