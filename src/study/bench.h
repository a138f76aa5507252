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

namespace ordinal {

// A model shape to measure without a checkpoint: random weights, no tokenizer.
struct BenchShape {
  std::string_view name;
  std::string_view summary;
  ModelConfig (*config)();
  std::string_view position;
};
std::span<const BenchShape> bench_shapes();

// A random model of a shape (its name as in bench_shapes()), built in memory. Throws Error listing the shapes.
std::shared_ptr<const Model> make_bench_model(std::string_view shape, Dtype dtype);

struct BenchOptions {
  int64_t prompt = 512;  // tokens of the prefill
  int64_t decode = 128;  // tokens of the decode
  int64_t depth = 0;     // tokens in the cache before either
  int n_threads = 1;
  int repeats = 5;
};

// Medians over the repeats. Rates count useful work only: 2 * M * N * K per product, bytes of the weights once a token.
struct BenchResult {
  std::string shape, dtype, isa;
  int n_threads = 0;
  int64_t prompt = 0, decode = 0, depth = 0;
  double prefill_tokens_per_s = 0, decode_tokens_per_s = 0;
  double prefill_ms = 0, decode_ms_per_token = 0;
  int64_t weight_bytes = 0;          // of the tensors that one decoded token reads
  double read_gb_per_s = 0;          // weight_bytes times decoded tokens a second
  double gflops = 0;                 // multiply-adds of the prefill's products, counted as two
  double peak_rss_mb = 0;            // of the process so far
  double machine_read_gb_per_s = 0;  // sequential reads of a buffer larger than the caches, four streams a thread
  double machine_gflops = 0;         // fused multiply-adds of the kernels in use on registers and the nearest cache
};

// Processors this process may run on.
int available_threads();

// Throws Error when prompt + decode + depth does not fit the scheme's positions, or for counts below 0.
BenchResult run_bench(const std::shared_ptr<const Model>& model, std::string_view shape, const BenchOptions& options,
                      const std::function<void(const std::string&)>& note);

}  // namespace ordinal
