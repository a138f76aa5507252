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
#include "study/bench/machine.h"

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
  int64_t prompt = 512;   // tokens of the prefill
  int64_t decode = 128;   // tokens of the decode
  int64_t depth = 0;      // tokens in the cache before either: random keys and values, whose cost is that of real ones
  int64_t sequences = 1;  // decoded side by side, one token of each in a pass
  Dtype kv_dtype = Dtype::f32;
  int n_threads = 1;
  int repeats = 5;
};

// Medians over the repeats. Rates count useful work only: 2 * M * N * K per product, bytes of the weights once a token.
struct BenchResult {
  std::string shape, dtype, kv_dtype, isa;
  int n_threads = 0;
  int64_t prompt = 0, decode = 0, depth = 0, sequences = 0;
  double prefill_tokens_per_s = 0, decode_tokens_per_s = 0;  // the decode's of all sequences together
  double prefill_ms = 0, decode_ms_per_pass = 0;
  int64_t weight_bytes = 0;       // of the tensors that a pass of the decode reads
  int64_t cache_bytes = 0;        // keys and values that one decoded token reads, the mean over the decode
  double read_gb_per_s = 0;       // all of it, by the passes
  double attention_gb_per_s = 0;  // keys and values a second, of attention alone at the end of the decode
  double gflops = 0;              // multiply-adds of the prefill's products, counted as two
  double peak_rss_mb = 0;         // of the process since this began, where the system can tell; else so far
  MachineSpeed machine;

  // Of what the machine gives: of the prefill's multiply-adds, of the decode's reads.
  double of_peak() const;
  double of_read() const;
};

// Processors this process may run on.
int available_threads();

// Throws Error when prompt + decode + depth does not fit the scheme's positions, or for counts below 0.
BenchResult run_bench(const std::shared_ptr<const Model>& model, std::string_view shape, const BenchOptions& options,
                      const std::function<void(const std::string&)>& note);

}  // namespace ordinal
