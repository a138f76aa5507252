// bench.cpp: see bench.h.
#include "study/bench/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <type_traits>

#include "base/words.h"
#include "format/model_writer.h"
#include "kernels/kernels.h"
#include "model/forward.h"
#include "model/plan.h"
#include "ordinal/error.h"
#include "ordinal/session.h"
#include "position/tables.h"
#include "study/bench/machine.h"

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
  c.attention_scale.assign(n_layers, 1.0f / std::sqrt(static_cast<float>(c.head_dim)));
  return c;
}

ModelConfig llama_like(int64_t n_layers, int64_t d_model, int64_t n_heads, int64_t d_ff, int64_t max_seq_len) {
  ModelConfig c = gpt2_like(n_layers, d_model, n_heads);
  c.vocab_size = 32000;
  c.max_seq_len = max_seq_len;
  c.n_kv_heads = 4;
  c.d_ff = d_ff;
  c.norm = NormKind::rms_norm;
  c.activation = Activation::silu;
  c.gated_mlp = true;
  c.tied_output = false;
  return c;
}

constexpr BenchShape kShapes[] = {
    {"gpt2", "12 layers of 768, 12 heads: 124 million parameters", [] { return gpt2_like(12, 768, 12); }, "learned"},
    {"gpt2-medium", "24 layers of 1024, 16 heads: 355 million", [] { return gpt2_like(24, 1024, 16); }, "learned"},
    {"llama", "12 layers of 768, 12 heads over 4, gated MLP, rope, head of its own: 126 million",
     [] { return llama_like(12, 768, 12, 2048, 32768); }, "rope"},
    {"llama-1b", "22 layers of 2048, 32 heads over 4, as TinyLlama: 1.1 billion",
     [] { return llama_like(22, 2048, 32, 5632, 2048); }, "rope"},
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

// Calls `visit` with every matrix of the products and its layer, the output matrix last.
void for_each_matrix(const Model& model, const std::function<void(const Linear& linear, int64_t layer)>& visit) {
  for_each_part(model.config(), [&](const PlannedPart& part, int64_t layer) {
    with_member(part, model.weights(), layer, [&](const auto& member) {
      if constexpr (std::is_same_v<decltype(member), const Linear&>)
        if (member.weight != nullptr) visit(member, layer);
    });
  });
}

// Bytes of the matrices that one token's products read.
int64_t bytes_per_token(const Model& model) {
  int64_t bytes = 0;
  for_each_matrix(model, [&](const Linear& linear, int64_t) { bytes += linear.weight->bytes; });
  return bytes;
}

// Of the products of a prompt. The last layer's attention and MLP, and the output matrix, serve the last row only.
double operations_of(const Model& model, int64_t prompt) {
  double multiply_adds = 0;
  const Weights& weights = model.weights();
  const LayerWeights& last = weights.layers.back();
  for_each_matrix(model, [&](const Linear& linear, int64_t layer) {
    const bool in_last = &linear == &weights.output || layer + 1 == model.config().n_layers;
    const bool for_all = !in_last || &linear == &last.attn_q || &linear == &last.attn_k || &linear == &last.attn_v;
    multiply_adds +=
        static_cast<double>(linear.n) * static_cast<double>(linear.k) * static_cast<double>(for_all ? prompt : 1);
  });
  return 2 * multiply_adds;
}

int64_t cache_bytes_per_key(const ModelConfig& c, Dtype kv_dtype) {
  return 2 * c.n_layers * c.n_kv_heads * c.head_dim * dtype_info(kv_dtype).block_bytes;
}

// Puts `depth` tokens into the cache without the hours that evaluating them could take. No step of attention depends on
// what the numbers are; that they are written makes the memory real.
void fill_cache(Session& session, int64_t depth) {
  SessionState& state = SessionInside::of(session);
  const ModelConfig& c = state.model->config();
  const size_t d = static_cast<size_t>(c.head_dim);
  parallel_for(state.options.n_threads, depth, [&](int64_t t, int) {
    std::vector<float> row(2 * d);
    uint64_t random = static_cast<uint64_t>(t) * 2654435761u + 1;
    for (int64_t layer = 0; layer < c.n_layers; ++layer)
      for (int64_t head = state.heads.kv.first; head < state.heads.kv.last; ++head) {
        for (float& number : row) {
          random = random * 6364136223846793005u + 1442695040888963407u;
          number = static_cast<float>(static_cast<int32_t>(random >> 32)) / 2147483648.0f;
        }
        state.cache.store(layer, head, t, row.data(), row.data() + d);
        for (int view = 1; view < state.scheme->views().keys; ++view)
          state.cache.store_view(layer, head, view, t, row.data());
      }
  });
  state.length = depth;
}

// The scheme of a spec over the model's tensors and made-up ones; null for the model's own.
std::shared_ptr<const PositionScheme> scheme_for(const Model& model, const std::string& position, int64_t length) {
  if (position == "native") return nullptr;
  const std::string spec = expand_native(position, model.file().notes().position);
  const AttentionShape shape = attention_shape(model.config(), length);
  const std::vector<SchemeTable> tables = made_up_tables(spec, shape);
  const TensorLookup made_up = lookup_in(tables);
  return make_position_scheme(spec, shape, [&](std::string_view name) {
    const TensorView* own = model.file().find(name);
    return own != nullptr ? own : made_up(name);
  });
}

// Seconds that one token's attention takes in all layers, with `past` tokens before it; its own key is stored.
double measure_attention(Session& session, int64_t past, int repeats) {
  SessionState& state = SessionInside::of(session);
  const ModelConfig& c = state.model->config();
  const TokenId token = 0;
  const PassPart part{&state, {&token, 1}, 0, past};
  const WorkspacePool::Lease work(state.model->workspaces());
  const Views views = state.scheme->views();
  work->reserve(c, 1, session.capacity(), state.options.n_threads, views);
  const Rows q = work->rows(kQ, 1, c.n_heads * c.head_dim, views.queries);
  const Rows mix = work->rows(kMix, 1, c.n_heads * c.head_dim);
  std::fill_n(q.data, q.stride, 0.1f);
  std::vector<double> seconds;
  for (int repeat = 0; repeat < 2 * repeats + 1; ++repeat) {
    const Clock::time_point start = Clock::now();
    with_threads(state.options.n_threads, [&] {
      for (int64_t layer = 0; layer < c.n_layers; ++layer) attend({&part, 1}, layer, q, mix, *work);
    });
    seconds.push_back(seconds_since(start));
  }
  return median(seconds);
}

// From here on the system counts the peak of the memory anew.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

ModelDraft bench_draft(std::string_view shape, Dtype dtype) {
  const auto found = std::ranges::find(kShapes, shape, &BenchShape::name);
  if (found == std::end(kShapes))
    throw Error("there is no shape '" + std::string(shape) + "' to measure", joined(kShapes, ", ", &BenchShape::name),
                std::string(shape));
  ModelDraft draft;
  draft.config = found->config();
  draft.notes.position = found->position;
  draft.notes.trained_positions = {draft.notes.position};
  const ModelConfig& c = draft.config;
  const bool biased = c.norm == NormKind::layer_norm;
  for_each_tensor(c, [&](const PlannedTensor& tensor) {
    const bool is_matrix = tensor.shape.size() == 2, is_norm = !is_matrix && !tensor.is_bias;
    if (tensor.required || (biased && tensor.is_bias && tensor.part->need(c) == Need::required))
      draft.tensors.push_back(
          random_tensor(tensor.name, tensor.shape, is_norm ? 1.0f : 0.0f, is_matrix ? dtype : Dtype::f32));
  });
  if (found->position == "learned") {
    draft.tensors.push_back(random_tensor("position_embd.weight", {c.max_seq_len, c.d_model}, 0.0f, dtype));
    draft.tensors.back().is_table = true;
  }
  return draft;
}

}  // namespace

int available_threads() { return usual_threads(); }

std::span<const BenchShape> bench_shapes() { return kShapes; }

std::shared_ptr<const Model> make_bench_model(std::string_view shape, Dtype dtype) {
  return Model::bind(write_model_in_memory(bench_draft(shape, dtype), "random " + std::string(shape)));
}

void write_bench_model(std::string_view shape, Dtype dtype, const std::string& path) {
  write_model_file(bench_draft(shape, dtype), path);
}

Measured run_bench(const std::shared_ptr<const Model>& model, std::string_view shape, const BenchOptions& options,
                   const std::function<void(const std::string&)>& note) {
  if (options.prompt < 1 || options.decode < 1 || options.depth < 0 || options.sequences < 1 || options.repeats < 1)
    throw Error("there is nothing to measure",
                "a prompt, a decode and a number of sequences of 1 or more, a depth of 0 or more",
                "prompt " + std::to_string(options.prompt) + ", decode " + std::to_string(options.decode) + ", depth " +
                    std::to_string(options.depth));
  reset_peak();
  const int64_t capacity = options.depth + std::max(options.prompt, options.decode);
  Session session(model, {.scheme = scheme_for(*model, options.position, capacity),
                          .capacity = capacity,
                          .n_threads = options.n_threads,
                          .kv_dtype = options.kv_dtype});
  const ModelConfig& c = model->config();
  const auto tokens = [&](int64_t count) {
    std::vector<TokenId> ids;
    for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>((i * 7919 + 13) % c.vocab_size));
    return ids;
  };
  fill_cache(session, options.depth);
  std::vector<Session> others;
  while (static_cast<int64_t>(others.size()) + 1 < options.sequences) others.push_back(session.fork());

  Measured result;
  result.shape = std::string(shape) + (options.position == "native" ? "" : ", " + session.scheme().spec());
  const DtypeInfo& kind = dtype_info(model->weights().layers.front().ffn_up.weight->dtype);
  result.dtype = kind.name;
  result.kv_dtype = dtype_info(options.kv_dtype).name;
  result.isa = kernels().name;
  result.threads = session.options().n_threads;
  result.prompt = options.prompt;
  result.decode = options.decode;
  result.depth = options.depth;
  result.sequences = options.sequences;
  const std::vector<TokenId> prompt = tokens(options.prompt), steps = tokens(options.decode);
  std::vector<Session::Part> parts(options.sequences);
  std::vector<double> prefill_s, decode_s;
  for (int repeat = 0; repeat < options.repeats + 1; ++repeat) {  // the first warms caches and pages, uncounted
    session.rewind(options.depth);
    Clock::time_point start = Clock::now();
    session.evaluate(prompt);
    const double prefill = seconds_since(start);
    session.rewind(options.depth);
    for (Session& other : others) other.rewind(options.depth);
    start = Clock::now();
    with_threads(session.options().n_threads, [&] {
      for (const TokenId& step : steps) {
        std::ranges::fill(parts, Session::Part{&session, {&step, 1}});
        for (size_t i = 0; i < others.size(); ++i) parts[i + 1].session = &others[i];
        Session::evaluate_together(parts);
      }
    });
    const double decode = seconds_since(start);
    if (repeat == 0) continue;
    prefill_s.push_back(prefill);
    decode_s.push_back(decode);
    if (note) note("run " + std::to_string(repeat) + " of " + std::to_string(options.repeats));
  }
  const double prefill = median(prefill_s), decode = median(decode_s) / static_cast<double>(options.decode);
  result.prefill_tokens_per_s = static_cast<double>(options.prompt) / prefill;
  result.decode_tokens_per_s = static_cast<double>(options.sequences) / decode;
  result.weight_bytes = bytes_per_token(*model);
  const int64_t key_bytes = cache_bytes_per_key(c, options.kv_dtype), last = options.depth + options.decode - 1;
  result.cache_bytes = key_bytes * (2 * options.depth + options.decode + 1) / 2;
  result.read_gb_per_s =
      static_cast<double>(result.weight_bytes + options.sequences * result.cache_bytes) / decode / 1e9;
  result.attention_gb_per_s =
      static_cast<double>(key_bytes * (last + 1)) / measure_attention(session, last, options.repeats) / 1e9;
  result.gflops = operations_of(*model, options.prompt) / prefill / 1e9;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  const MachineSpeed& machine = result.machine = measure_machine(result.threads);
  result.of_peak = result.gflops / (kind.block_items > 1 ? machine.int8_gops : machine.gflops);
  result.of_read = result.read_gb_per_s / std::max(machine.read_gb_per_s, machine.read_one_stream_gb_per_s);
  return result;
}

}  // namespace ordinal
