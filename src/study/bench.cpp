// bench.cpp: see bench.h.
#include "study/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "format/model_writer.h"
#include "kernels/kernels.h"
#include "ordinal/error.h"
#include "ordinal/session.h"

namespace ordinal {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ModelConfig gpt2_like(int64_t n_layers, int64_t d_model, int64_t n_heads) {
  ModelConfig c;
  c.vocab_size = 50257;
  c.max_seq_len = 1024;
  c.d_model = d_model;
  c.n_layers = n_layers;
  c.n_heads = c.n_kv_heads = n_heads;
  c.head_dim = d_model / n_heads;
  c.d_ff = 4 * d_model;
  c.attention_scale.assign(static_cast<size_t>(n_layers), 1.0f / std::sqrt(static_cast<float>(c.head_dim)));
  return c;
}

ModelConfig llama_like() {
  ModelConfig c = gpt2_like(12, 768, 12);
  c.vocab_size = 32000;
  c.max_seq_len = 32768;
  c.n_kv_heads = 4;
  c.d_ff = 2048;
  c.norm = NormKind::rms_norm;
  c.activation = Activation::silu;
  c.gated_mlp = true;
  c.tied_output = false;
  return c;
}

constexpr BenchShape kShapes[] = {
    {"gpt2", "12 layers of 768, 12 heads: 124 million parameters", [] { return gpt2_like(12, 768, 12); }, "learned"},
    {"gpt2-medium", "24 layers of 1024, 16 heads: 355 million", [] { return gpt2_like(24, 1024, 16); }, "learned"},
    {"llama", "12 layers of 768, 12 heads over 4, gated MLP, rope, head of its own: 126 million", llama_like, "rope"},
    {"tiny", "2 layers of 128, 2 heads, for a quick look", [] { return gpt2_like(2, 128, 2); }, "learned"},
};

// A tensor of numbers spread like those of a trained model: about 0.02 wide, norms about 1.
TensorSource random_tensor(std::string name, std::vector<int64_t> shape, float centre, Dtype dtype) {
  const int64_t cols = shape.back();
  uint64_t state = std::hash<std::string>()(name) | 1;
  const auto read = [cols, centre, state](int64_t, int64_t count, float* out) mutable {
    for (int64_t i = 0; i < count * cols; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      out[i] = centre + static_cast<float>(static_cast<int32_t>(state >> 32)) * (0.035f / 2147483648.0f);
    }
  };
  return {std::move(name), std::move(shape), dtype, read};
}

// Bytes of the matrices that one token's products read.
int64_t bytes_per_token(const Weights& weights) {
  int64_t bytes = weights.output.weight->bytes;
  for (const LayerWeights& w : weights.layers)
    for (const Linear* linear : {&w.attn_q, &w.attn_k, &w.attn_v, &w.attn_output, &w.ffn_gate, &w.ffn_up, &w.ffn_down})
      if (linear->weight != nullptr) bytes += linear->weight->bytes;
  return bytes;
}

double operations_per_token(const Weights& weights) {
  double operations = 0;
  for (const LayerWeights& w : weights.layers)
    for (const Linear* linear : {&w.attn_q, &w.attn_k, &w.attn_v, &w.attn_output, &w.ffn_gate, &w.ffn_up, &w.ffn_down})
      operations += 2.0 * static_cast<double>(linear->n) * static_cast<double>(linear->k);
  return operations;
}

// The one-row product over panels far larger than the caches, kept so small in arithmetic that memory bounds it.
double measure_read_gb_per_s(int n_threads) {
  constexpr int64_t k = 1024, panels = 2048;  // 256 MiB
  static const std::vector<float> buffer(static_cast<size_t>(k * panels * kPanelLanes), 0.5f);
  const std::vector<float> x(static_cast<size_t>(k), 0.25f);
  std::vector<float> y(static_cast<size_t>(panels * kPanelLanes));
  std::vector<double> rates;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Clock::time_point start = Clock::now();
    parallel_for(n_threads, panels / 4, [&](int64_t group, int) {
      kernels().product[0]({.x = x.data(),
                            .x_stride = k,
                            .m = 1,
                            .panels = reinterpret_cast<const std::byte*>(buffer.data() + group * 4 * k * kPanelLanes),
                            .panel_stride = k * kPanelLanes * 4,
                            .n_panels = 4,
                            .k = k,
                            .y = y.data() + group * 4 * kPanelLanes,
                            .y_stride = panels * kPanelLanes});
    });
    rates.push_back(static_cast<double>(buffer.size() * sizeof(float)) / seconds_since(start) / 1e9);
  }
  return median(rates);
}

// The widest register tile over one panel that stays in the nearest cache.
double measure_gflops(int n_threads) {
  constexpr int64_t k = 64, rounds = 20000;
  const int64_t m = kernels().tile_rows, rounds_each = rounds / n_threads;
  std::vector<double> rates;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Clock::time_point start = Clock::now();
    parallel_for(n_threads, n_threads, [&](int64_t, int) {
      const std::vector<float> x(static_cast<size_t>(m * k), 0.25f), panel(static_cast<size_t>(k * kPanelLanes), 0.5f);
      std::vector<float> y(static_cast<size_t>(m * kPanelLanes));
      for (int64_t round = 0; round < rounds_each; ++round)
        kernels().product[0]({.x = x.data(),
                              .x_stride = k,
                              .m = m,
                              .panels = reinterpret_cast<const std::byte*>(panel.data()),
                              .panel_stride = k * kPanelLanes * 4,
                              .n_panels = 1,
                              .k = k,
                              .y = y.data(),
                              .y_stride = kPanelLanes});
    });
    const double operations = 2.0 * static_cast<double>(m * k * kPanelLanes) * static_cast<double>(rounds_each) *
                              static_cast<double>(n_threads);
    rates.push_back(operations / seconds_since(start) / 1e9);
  }
  return median(rates);
}

}  // namespace

int available_threads() { return available_processors(); }

std::span<const BenchShape> bench_shapes() { return kShapes; }

std::shared_ptr<const Model> make_bench_model(std::string_view shape, Dtype dtype) {
  const auto found =
      std::find_if(std::begin(kShapes), std::end(kShapes), [&](const BenchShape& s) { return s.name == shape; });
  if (found == std::end(kShapes)) {
    std::string names;
    for (const BenchShape& s : kShapes) names += (names.empty() ? "" : ", ") + std::string(s.name);
    throw Error("there is no shape '" + std::string(shape) + "' to measure", names, std::string(shape));
  }
  ModelDraft draft;
  draft.config = found->config();
  draft.notes.position = found->position;
  draft.notes.trained_positions = {draft.notes.position};
  const ModelConfig& c = draft.config;
  const bool biased = c.norm == NormKind::layer_norm;
  const auto matrix = [&](const std::string& name, int64_t n, int64_t k) {
    draft.tensors.push_back(random_tensor(name + ".weight", {n, k}, 0.0f, dtype));
    if (biased && name != "token_embd" && name != "position_embd")
      draft.tensors.push_back(random_tensor(name + ".bias", {n}, 0.0f, Dtype::f32));
  };
  const auto norm = [&](const std::string& name) {
    draft.tensors.push_back(random_tensor(name + ".weight", {c.d_model}, 1.0f, Dtype::f32));
    if (biased) draft.tensors.push_back(random_tensor(name + ".bias", {c.d_model}, 0.0f, Dtype::f32));
  };
  matrix("token_embd", c.vocab_size, c.d_model);
  if (found->position == "learned") matrix("position_embd", c.max_seq_len, c.d_model);
  for (int64_t layer = 0; layer < c.n_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    norm(block + "attn_norm");
    matrix(block + "attn_q", c.n_heads * c.head_dim, c.d_model);
    matrix(block + "attn_k", c.n_kv_heads * c.head_dim, c.d_model);
    matrix(block + "attn_v", c.n_kv_heads * c.head_dim, c.d_model);
    matrix(block + "attn_output", c.d_model, c.n_heads * c.head_dim);
    norm(block + "ffn_norm");
    if (c.gated_mlp) matrix(block + "ffn_gate", c.d_ff, c.d_model);
    matrix(block + "ffn_up", c.d_ff, c.d_model);
    matrix(block + "ffn_down", c.d_model, c.d_ff);
  }
  norm("output_norm");
  if (!c.tied_output) matrix("output", c.vocab_size, c.d_model);
  return Model::bind(write_model_in_memory(draft, "random " + std::string(shape)));
}

BenchResult run_bench(const std::shared_ptr<const Model>& model, std::string_view shape, const BenchOptions& options,
                      const std::function<void(const std::string&)>& note) {
  if (options.prompt < 1 || options.decode < 1 || options.depth < 0 || options.repeats < 1)
    throw Error("there is nothing to measure", "a prompt and a decode of 1 token or more, a depth of 0 or more",
                "prompt " + std::to_string(options.prompt) + ", decode " + std::to_string(options.decode) + ", depth " +
                    std::to_string(options.depth));
  Session session(
      model, {.capacity = options.depth + std::max(options.prompt, options.decode), .n_threads = options.n_threads});
  const ModelConfig& c = model->config();
  const auto tokens = [&](int64_t count) {
    std::vector<TokenId> ids;
    for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>((i * 7919 + 13) % c.vocab_size));
    return ids;
  };
  if (options.depth > 0) session.evaluate(tokens(options.depth));

  BenchResult result;
  result.shape = shape;
  result.dtype = dtype_info(model->weights().layers.front().ffn_up.weight->dtype).name;
  result.isa = kernels().name;
  result.n_threads = session.options().n_threads;
  result.prompt = options.prompt;
  result.decode = options.decode;
  result.depth = options.depth;
  const std::vector<TokenId> prompt = tokens(options.prompt), steps = tokens(options.decode);
  std::vector<double> prefill_s, decode_s;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // the first warms caches and pages, uncounted
    session.rewind(options.depth);
    Clock::time_point start = Clock::now();
    session.evaluate(prompt);
    const double prefill = seconds_since(start);
    session.rewind(options.depth);
    start = Clock::now();
    for (size_t i = 0; i < steps.size(); ++i) session.evaluate({&steps[i], 1});
    const double decode = seconds_since(start);
    if (repeat == 0) continue;
    prefill_s.push_back(prefill);
    decode_s.push_back(decode);
    if (note) note("run " + std::to_string(repeat) + " of " + std::to_string(options.repeats));
  }
  const double prefill = median(prefill_s), decode = median(decode_s) / static_cast<double>(options.decode);
  result.prefill_ms = prefill * 1e3;
  result.decode_ms_per_token = decode * 1e3;
  result.prefill_tokens_per_s = static_cast<double>(options.prompt) / prefill;
  result.decode_tokens_per_s = 1 / decode;
  result.weight_bytes = bytes_per_token(model->weights());
  result.read_gb_per_s = static_cast<double>(result.weight_bytes) / decode / 1e9;
  // The output matrix serves the last row only.
  const Linear& head = model->weights().output;
  result.gflops = (operations_per_token(model->weights()) * static_cast<double>(options.prompt) +
                   2.0 * static_cast<double>(head.n) * static_cast<double>(head.k)) /
                  prefill / 1e9;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  result.machine_read_gb_per_s = measure_read_gb_per_s(result.n_threads);
  result.machine_gflops = measure_gflops(result.n_threads);
  return result;
}

}  // namespace ordinal
