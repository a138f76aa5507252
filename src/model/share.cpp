// share.cpp: see share.h.
#include "model/share.h"

#include <chrono>
#include <utility>

#include "model/plan.h"

namespace ordinal {
namespace {

constexpr int64_t kAtOnce = int64_t{1} << 19;  // numbers that are put together at once: what stays in a cache

int64_t rows_at_once(int64_t cols) { return std::max<int64_t>(1, kAtOnce / std::max<int64_t>(1, cols)); }

// `units` units of `width` columns, `cols` columns in all, dealt out as evenly as whole units can be.
Split split_of(int64_t units, int64_t width, int64_t cols, const Ranks& among) {
  Split split;
  for (int64_t r = 0; r < among.count(); ++r) {
    const int64_t begin = split.ends.empty() ? 0 : split.ends.back();
    split.ends.push_back(std::min(cols, units * (r + 1) / among.count() * width));
    split.byte_ends.push_back(split.ends.back() * static_cast<int64_t>(sizeof(float)));
    if (r == among.rank()) split.own = {begin, split.ends.back()};
  }
  split.panels = {split.own.first / kPanelLanes, panels_of(split.own.last)};
  if (split.own.count() == 0) split.panels = {};
  return split;
}

Split panels_split(int64_t cols, const Ranks& among) { return split_of(panels_of(cols), kPanelLanes, cols, among); }

}  // namespace

ModelShare::ModelShare(const ModelConfig& c, Ranks& among)
    : d_model(panels_split(c.d_model, among)),
      d_ff(panels_split(c.d_ff, among)),
      embedding(panels_split(c.embedding_width(), among)),
      vocab(panels_split(c.vocab_size, among)),
      query_heads(split_of(c.n_heads, c.head_dim, c.n_heads * c.head_dim, among)),
      kv_heads(split_of(c.n_kv_heads, c.head_dim, c.n_kv_heads * c.head_dim, among)),
      among_(&among),
      head_dim_(c.head_dim) {
  const int64_t group = c.n_heads / c.n_kv_heads;
  heads_.query = {query_heads.own.first / c.head_dim, query_heads.own.last / c.head_dim};
  if (heads_.query.count() == 0) return;
  heads_.kv = {heads_.query.first / group, (heads_.query.last + group - 1) / group};
  kv_panels = {heads_.kv.first * c.head_dim / kPanelLanes, panels_of(heads_.kv.last * c.head_dim)};
}

void ModelShare::gather(float* numbers, std::span<const int64_t> byte_ends) const {
  Ledger& kept = ledger();
  const int64_t before = among_->bytes_sent();
  const auto start = std::chrono::steady_clock::now();
  among_->gather(reinterpret_cast<std::byte*>(numbers), byte_ends);
  kept.gather_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  kept.bytes_sent += among_->bytes_sent() - before;
  ++kept.gathers;
}

void ModelShare::gather(Rows rows, const Split& split, GatherMemory& memory) const {
  if (is_whole()) return;
  if (rows.rows == 1) return gather(rows.data, split.byte_ends);
  // Several rows: what one rank has of them lies together while they are put together.
  const int64_t at_once = rows_at_once(rows.cols);
  for (int64_t first = 0; first < rows.rows; first += at_once) {
    const int64_t count = std::min(at_once, rows.rows - first);
    memory.numbers.resize(static_cast<size_t>(count * rows.cols));
    memory.ends.resize(split.ends.size());
    for (size_t r = 0; r < split.ends.size(); ++r) memory.ends[r] = count * split.byte_ends[r];
    float* part = memory.numbers.data() + count * split.own.first;
    for (int64_t row = 0; row < count; ++row)
      std::copy_n(rows[first + row].data() + split.own.first, split.own.count(), part + row * split.own.count());
    gather(memory.numbers.data(), memory.ends);
    for (int64_t r = 0, begin = 0; r < among_->count(); begin = split.ends[static_cast<size_t>(r++)]) {
      const int64_t width = split.ends[static_cast<size_t>(r)] - begin;
      part = memory.numbers.data() + count * begin;
      if (r == among_->rank()) continue;
      for (int64_t row = 0; row < count; ++row)
        std::copy_n(part + row * width, width, rows[first + row].data() + begin);
    }
  }
}

void ModelShare::gather_embedded(Rows rows, std::span<const TokenId> ids, GatherMemory& memory) const {
  if (is_whole()) return;
  const auto owner_of = [&](TokenId id) {
    return static_cast<size_t>(std::ranges::upper_bound(vocab.ends, int64_t{id}) - vocab.ends.begin());
  };
  const int64_t at_once = rows_at_once(rows.cols);
  for (int64_t first = 0; first < rows.rows; first += at_once) {
    const auto part =
        ids.subspan(static_cast<size_t>(first)).first(static_cast<size_t>(std::min(at_once, rows.rows - first)));
    // Rows by the rank that has them: where the next one of each goes.
    memory.next.assign(vocab.ends.size(), 0);
    memory.ends.assign(vocab.ends.size(), 0);
    for (const TokenId id : part) ++memory.ends[owner_of(id)];
    for (size_t r = 1; r < memory.ends.size(); ++r) {
      memory.next[r] = memory.ends[r - 1];
      memory.ends[r] += memory.ends[r - 1];
    }
    for (int64_t& end : memory.ends) end *= rows.cols * static_cast<int64_t>(sizeof(float));
    memory.numbers.resize(part.size() * static_cast<size_t>(rows.cols));
    const auto for_each_row = [&](const auto& visit) {  // visit(its owner, the row, its place in `numbers`)
      std::vector<int64_t>& next = memory.next;
      for (size_t i = 0; i < part.size(); ++i) {
        const size_t owner = owner_of(part[i]);
        visit(static_cast<int>(owner), rows[first + static_cast<int64_t>(i)].data(),
              memory.numbers.data() + next[owner]++ * rows.cols);
      }
      for (size_t r = next.size() - 1; r > 0; --r) next[r] = next[r - 1];  // back to where they began
      next[0] = 0;
    };
    for_each_row([&](int owner, const float* row, float* place) {
      if (owner == among_->rank()) std::copy_n(row, rows.cols, place);
    });
    gather(memory.numbers.data(), memory.ends);
    for_each_row([&](int, float* row, const float* place) { std::copy_n(place, rows.cols, row); });
  }
}

void ModelShare::clear_other_heads(Rows q, Rows k, Rows v) const {
  if (is_whole()) return;
  const Extent queries = query_heads.own, keys = {heads_.kv.first * head_dim_, heads_.kv.last * head_dim_};
  for (const auto& [rows, own] : {std::pair{q, queries}, {k, keys}, {v, keys}})
    for (int64_t r = 0; r < rows.rows; ++r) {
      std::fill_n(rows[r].data(), own.first, 0.0f);
      std::fill(rows[r].data() + own.last, rows[r].data() + rows.cols, 0.0f);
    }
}

int64_t ModelShare::numbers_of_pass(const ModelConfig& c, int64_t rows, int64_t wanted, int64_t logits,
                                    bool whole_heads) {
  const int64_t heads = c.n_heads * c.head_dim, a_layer = heads + 2 * c.d_model + c.d_ff;
  int64_t numbers = rows * (c.embedding_width() + a_layer * (c.n_layers - 1)) + wanted * a_layer;
  if (whole_heads) numbers += rows * c.n_layers * (heads + 2 * c.n_kv_heads * c.head_dim);
  if (c.d_embedding != 0) numbers += rows * c.d_model + logits * c.d_embedding;
  return numbers + logits * c.vocab_size;
}

Ledger& ledger() {
  thread_local Ledger of_this_thread;
  return of_this_thread;
}

int64_t weight_bytes_of(const Model& model, const ModelShare& share) {
  const ModelConfig& c = model.config();
  const Weights& weights = model.weights();
  int64_t bytes = 0;
  const auto add = [&](const TensorView* matrix, Extent panels) {
    if (matrix != nullptr) bytes += matrix->bytes / panels_of(matrix->shape[0]) * panels.count();
  };
  add(weights.token_embd, share.vocab.panels);
  add(weights.embd_in.weight, share.d_model.panels);
  add(weights.embd_out.weight, share.embedding.panels);
  if (!c.tied_output) add(weights.output.weight, share.vocab.panels);
  for (const LayerWeights& layer : weights.layers) {
    add(layer.attn_q.weight, share.query_heads.panels);
    add(layer.attn_k.weight, share.kv_panels);
    add(layer.attn_v.weight, share.kv_panels);
    add(layer.attn_output.weight, share.d_model.panels);
    add(layer.ffn_gate.weight, share.d_ff.panels);
    add(layer.ffn_up.weight, share.d_ff.panels);
    add(layer.ffn_down.weight, share.d_model.panels);
  }
  return bytes;
}

void GatherMemory::reserve(const ModelConfig& c, int64_t rows, int ranks) {
  if (ranks == 1) return;
  const auto room = [&](int64_t count, int64_t cols) {
    numbers.reserve(static_cast<size_t>(std::min(count, rows_at_once(cols)) * cols));
  };
  room(rows, std::max({c.d_model, c.d_ff, c.n_heads * c.head_dim, c.embedding_width()}));
  room(rows, kAtOnce);
  room(rows, c.vocab_size);
  ends.reserve(static_cast<size_t>(ranks));
  next.reserve(static_cast<size_t>(ranks));
}

}  // namespace ordinal
