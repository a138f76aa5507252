// workspace.cpp: see workspace.h.
#include "model/workspace.h"

#include <algorithm>

namespace ordinal {
namespace {

void grow(std::vector<float>& memory, int64_t count) {
  if (memory.size() < static_cast<size_t>(count)) memory.resize(static_cast<size_t>(count));
}

}  // namespace

std::span<const PassPart> keep_wanted(std::span<const PassPart> parts, std::vector<PassPart>& tails, Rows& x, Rows& q,
                                      Rows& h) {
  int64_t kept = 0;
  tails.clear();
  for (const PassPart& part : parts) {
    const auto count = static_cast<int64_t>(part.tokens.size());
    if (part.wanted <= 0) continue;
    const int64_t wanted = std::min(part.wanted, count), left = count - wanted;
    for (int64_t r = 0, from = part.first_row + left; from != kept && r < wanted; ++r)
      for (const Rows& rows : {x, q, h}) std::copy_n(rows[from + r].data(), rows.stride, rows[kept + r].data());
    tails.push_back({part.session, part.tokens.subspan(static_cast<size_t>(left)), kept, part.past + left});
    kept += wanted;
  }
  for (Rows* rows : {&x, &q, &h}) *rows = rows->slice(0, kept);
  return tails;
}

int64_t row_stride(int64_t cols) { return whole_panels(cols) + kPanelLanes / 2; }

Rows Workspace::rows(Buffer buffer, int64_t m, int64_t cols, int64_t views) {
  const int64_t stride = row_stride(views * whole_panels(cols));
  grow(buffers_[buffer], m * stride);
  return {buffers_[buffer].data(), m, cols, stride};
}

void Workspace::reserve(const ModelConfig& c, int64_t rows, int64_t capacity, int n_threads, Views views) {
  const int64_t all_heads = c.n_heads * c.head_dim, kv_heads = c.n_kv_heads * c.head_dim;
  const auto set_aside = [&](Buffer buffer, int64_t m, int64_t cols) {
    buffers_[buffer].reserve(static_cast<size_t>(m * row_stride(cols)));
  };
  const int64_t logit_rows = std::min(rows, kLogitRows);
  for (const Buffer buffer : {kX, kH, kSub}) set_aside(buffer, rows, c.d_model);
  if (c.residual == Residual::parallel) set_aside(kH2, rows, c.d_model);
  if (c.d_embedding != 0) {
    set_aside(kEmbd, rows, c.d_embedding);
    set_aside(kEmbdOut, logit_rows, c.d_embedding);
  }
  set_aside(kQ, rows, views.queries * whole_panels(all_heads));
  set_aside(kK, rows, views.keys * whole_panels(kv_heads));
  set_aside(kMix, rows, all_heads);
  set_aside(kV, rows, kv_heads);
  set_aside(kUp, rows, c.d_ff);
  if (c.gated_mlp) set_aside(kGate, rows, c.d_ff);
  set_aside(kLastRows, 1, c.d_model);
  set_aside(kNorm, logit_rows, c.d_model);
  rounded.reserve(rows, std::max({c.d_model, c.embedding_width(), all_heads, c.d_ff}));
  if (threads.size() < static_cast<size_t>(n_threads)) threads.resize(static_cast<size_t>(n_threads));
  for (ThreadScratch& thread : threads) thread.reserve(c.head_dim, capacity, views);
  call.reserve(1);
}

void Workspace::ThreadScratch::reserve(int64_t head_dim, int64_t capacity, Views views) {
  q.reserve(static_cast<size_t>(views.queries * kTileRows * head_dim));
  scores.reserve(static_cast<size_t>(kTileRows * row_stride(capacity)));
  if (views.several()) view.reserve(scores.capacity());
  mix.reserve(static_cast<size_t>(kTileRows * whole_panels(head_dim)));
}

int64_t Workspace::ThreadScratch::make_room(int64_t head_dim, int64_t capacity, int64_t keys, Views views) {
  reserve(head_dim, capacity, views);
  grow(q, views.queries * kTileRows * head_dim);
  grow(scores, kTileRows * row_stride(keys));
  if (views.several()) grow(view, kTileRows * row_stride(keys));
  grow(mix, kTileRows * whole_panels(head_dim));
  return row_stride(keys);
}

void Workspace::Call::reserve(size_t parts) {
  named.reserve(parts);
  before.reserve(parts);
  pass.reserve(parts);
  tails.reserve(parts);
}

std::unique_ptr<Workspace> WorkspacePool::take() {
  const std::lock_guard lock(mutex_);
  if (free_ == nullptr) return std::make_unique<Workspace>();
  std::unique_ptr<Workspace> taken = std::move(free_);
  free_ = std::move(taken->next_free_);
  return taken;
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex_);
  workspace->next_free_ = std::move(free_);
  free_ = std::move(workspace);
}

}  // namespace ordinal
