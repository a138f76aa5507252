// bench.h: how fast a model runs here, beside what the machine can do in the same minute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "results/results.h"

namespace ordinal {

// A model shape to measure without a checkpoint: random weights, no tokenizer.
struct BenchShape {
  std::string_view name;
  std::string_view summary;
  ModelConfig (*config)();
  std::string_view position;
};
std::span<const BenchShape> bench_shapes();

// A random model of a shape (its name as in bench_shapes()), built in memory, or as a model file. Throws Error listing
// the shapes.
std::shared_ptr<const Model> make_bench_model(std::string_view shape, Dtype dtype);
void write_bench_model(std::string_view shape, Dtype dtype, const std::string& path);

struct BenchOptions {
  int64_t prompt = 512;   // tokens of the prefill
  int64_t decode = 128;   // tokens of the decode
  int64_t depth = 0;      // tokens in the cache before either: random keys and values, whose cost is that of real ones
  int64_t sequences = 1;  // decoded side by side, one token of each in a pass
  Dtype kv_dtype = Dtype::f32;
  int n_threads = 1;
  int repeats = 5;
  std::string position = "native";  // tables that the model lacks are made up: what they hold makes no difference
};

// Processors this process may run on.
int available_threads();

// Throws Error when prompt + decode + depth does not fit the scheme's positions, or for counts below 0.
Measured run_bench(const std::shared_ptr<const Model>& model, std::string_view shape, const BenchOptions& options,
                   const std::function<void(const std::string&)>& note);

}  // namespace ordinal
