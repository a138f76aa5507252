// scheme_probe.h: calls a scheme's hooks by hand, as the forward pass does, and gives it tensors from memory.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ordinal/position.h"
#include "support.h"

namespace test {

using Scheme = std::shared_ptr<const ordinal::PositionScheme>;

// Tensors that a test makes up, as a scheme looks them up.
class Tables {
 public:
  Tables& add(const std::string& name, std::vector<int64_t> shape, const std::vector<float>& values,
              ordinal::Dtype dtype = ordinal::Dtype::f32, ordinal::Layout layout = ordinal::Layout::rows);
  // Reproducible numbers spread over center - spread .. center + spread (uniform_numbers).
  Tables& add_random(const std::string& name, std::vector<int64_t> shape, uint64_t seed = 1, double center = 0,
                     double spread = 1);
  ordinal::TensorLookup lookup() const;

 private:
  struct Held {
    std::vector<std::byte> bytes;
    ordinal::TensorView view;
  };
  std::map<std::string, std::shared_ptr<const Held>, std::less<>> held_;
};

// Two layers, two heads of 4 and as many for keys, d_model 8, trained at 16, for 16 positions.
ordinal::AttentionShape small_shape();

Scheme make(const std::string& spec, const ordinal::AttentionShape& shape = small_shape(), const Tables& tables = {});
std::string spec_of(const std::string& spec, const ordinal::AttentionShape& shape = small_shape(),
                    const Tables& tables = {});
std::string make_error(const std::string& spec, const ordinal::AttentionShape& shape = small_shape(),
                       const Tables& tables = {});

// What add_to_embedding adds to a row of zeros.
std::vector<float> embedded(const Scheme& scheme, int64_t position, int64_t d_model);

// A query row after transform_query_key; the key row beside it holds one head, `key`, and is handed back in it.
std::vector<float> turned(const Scheme& scheme, int64_t position, std::vector<float> query,
                          std::vector<float>* key = nullptr, int64_t layer = 0);

// Where a query stands.
struct Stand {
  int64_t layer = 0;
  int64_t head = 0;
  int64_t position = 0;
  std::vector<int64_t> keys;
  float scale = 1.0f;
};

// What add_to_scores makes of `scores` (zeros when empty), what add_to_values makes of a mix of zeros.
std::vector<float> scored(const Scheme& scheme, const Stand& stand, const std::vector<float>& query,
                          std::vector<float> scores = {});
std::vector<float> mixed(const Scheme& scheme, const Stand& stand, const std::vector<float>& weights, int64_t head_dim);

// The scaled products of a query of one head at a position with keys at these positions, as attention comes to them:
// each in the views that its run of keys has, -infinity for what is not seen.
std::vector<double> seen_scores(const Scheme& scheme, const Stand& stand, const std::vector<float>& query,
                                const std::vector<float>& key);

// The score of the test's head of 8, q = 1 .. 8 and k = 8 .. 1 turned by rope (theta 10000, interleaved), a distance
// apart: from the formula, in double, divided by sqrt(8).
double score_at_distance(double distance);
// Checks that `scheme` gives such a query at `position` these distances from the keys 0, 1, ... position; a negative
// one is not seen.
void check_distances(const std::string& spec, int64_t position, const std::vector<double>& distances,
                     int64_t trained = 16);

std::vector<double> softmax(const std::vector<float>& scores);

// Every number within `tolerance` of what is expected, and as many of them.
void check_near(const std::vector<float>& found, const std::vector<double>& expected, double tolerance);

// tests/goldens/positions.json: tools/make_position_goldens.py.
const nlohmann::json& position_goldens();

// The numbers that a golden names as [shape, center, spread] under `name`.
std::vector<float> golden_numbers(const nlohmann::json& about, uint64_t seed, const std::string& name);

// 0, 1, ... count - 1.
std::vector<int64_t> first_positions(int64_t count);

}  // namespace test
