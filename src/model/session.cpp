// session.cpp: what a session accepts, and how calls become passes of limited size.
#include "ordinal/session.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "model/forward.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

constexpr int kMostThreads = 1024;

void check_options(const SessionOptions& options) {
  if (options.n_threads < 0 || options.n_threads > kMostThreads)
    throw Error("the number of threads makes no sense", "0 (automatic) to " + std::to_string(kMostThreads),
                std::to_string(options.n_threads), "-t 0 uses every processor the process may use");
  if (options.chunk < 1)
    throw Error("a prompt is processed in chunks of rows", "a chunk of 1 or more", std::to_string(options.chunk));
  if (options.first_position < 0 || options.first_position > (int64_t{1} << 40))
    throw Error("the first position is out of range", "0 to 2^40", std::to_string(options.first_position));
  if (options.capacity < 0 || options.capacity > (int64_t{1} << 40))
    throw Error("the context length is out of range", "0 (the trained length) to 2^40",
                std::to_string(options.capacity), "--ctx 2048, say");
  if (options.scheme &&
      (options.scheme->views().queries > Views::kMostQueries || options.scheme->views().keys > Views::kMostKeys))
    throw Error(
        "a position scheme has too many views",
        "at most " + std::to_string(Views::kMostQueries) + " of queries and " + std::to_string(Views::kMostKeys) +
            " of keys",
        std::to_string(options.scheme->views().queries) + " and " + std::to_string(options.scheme->views().keys));
  if (options.scheme && options.position != "native" && options.position != options.scheme->spec())
    throw Error("a session has one position scheme, and was given two", "a scheme, or a spec",
                "a scheme '" + options.scheme->spec() + "' and the spec " + options.position);
  if (dtype_info(options.kv_dtype).block_items != 1)
    throw Error("keys and values are kept number by number", "f32, f16 or bf16",
                std::string(dtype_info(options.kv_dtype).name), "--kv-dtype f16");
}

// A workspace with room for the session's own passes, threads included.
WorkspacePool::Lease workspace_for(const SessionState& state) {
  const SessionOptions& options = state.options;
  WorkspacePool::Lease work(state.model->workspaces());
  work->reserve(state.model->config(), std::min(options.chunk, options.capacity), options.capacity, options.n_threads,
                state.scheme->views());
  work->gathered.reserve(state.model->config(), std::min(options.chunk, options.capacity), state.share.ranks());
  return work;
}

// Takes all memory that the session's own passes need.
std::unique_ptr<SessionState> with_memory(SessionState* made) {
  std::unique_ptr<SessionState> state(made);
  const SessionOptions& options = state->options;
  workspace_for(*state);
  const int64_t rows = std::min({options.chunk, options.capacity, kLogitRows});
  state->logits.reserve(static_cast<size_t>(rows * row_stride(state->model->config().vocab_size)));
  state->given.reserve(1);
  kernels();  // chosen now, and refused now
  with_threads(options.n_threads, [] {});
  return state;
}

std::unique_ptr<SessionState> make_state(std::shared_ptr<const Model> model, SessionOptions options) {
  check_options(options);
  const ModelConfig& c = model->config();
  const bool stated = options.capacity > 0;
  int64_t capacity = stated ? options.capacity : c.max_seq_len;
  std::shared_ptr<const PositionScheme> scheme =
      options.scheme ? options.scheme : model->make_scheme(options.position, options.first_position + capacity);
  const int64_t last = scheme->max_positions();
  if (options.first_position >= last || (stated && capacity > last - options.first_position))
    throw Error("position " + std::to_string(options.first_position + capacity - 1) +
                    " is past the end of the position scheme " + scheme->spec(),
                "positions 0 to " + std::to_string(last - 1) + " (the scheme has " + std::to_string(last) + ")",
                "a context of " + std::to_string(capacity) + " tokens",
                "--ctx " + std::to_string(last) + ", or a scheme without an end: --position none");
  capacity = std::min(capacity, last - options.first_position);
  options.capacity = capacity;
  if (options.n_threads == 0) options.n_threads = usual_threads();
  const ModelShare share(c, ranks());
  const Heads heads = options.observer ? Heads{{0, c.n_heads}, {0, c.n_kv_heads}} : share.heads();
  KvCache cache(c, capacity, options.kv_dtype, scheme->views().keys, heads.kv);
  std::vector<int64_t> positions(static_cast<size_t>(capacity));
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = options.first_position + static_cast<int64_t>(i);
  return with_memory(new SessionState{.model = std::move(model),
                                      .options = std::move(options),
                                      .scheme = std::move(scheme),
                                      .share = share,
                                      .heads = heads,
                                      .cache = std::move(cache),
                                      .length = 0,
                                      .positions = std::move(positions)});
}

// For reports: what a pass moved between ranks, as it should be.
void note_pass(const SessionState& session, int64_t rows, int64_t wanted, int64_t logits) {
  if (session.share.is_whole()) return;
  const ModelConfig& c = session.model->config();
  const bool observed = session.options.observer != nullptr;
  ledger().tokens += rows;
  ledger().numbers +=
      ModelShare::numbers_of_pass(c, rows, observed ? rows : wanted, logits, observed || c.qk_norm == QkNorm::width);
}

void check_tokens(const SessionState& session, std::span<const TokenId> tokens) {
  if (tokens.empty()) throw Error("there are no tokens to evaluate", "1 token or more", "0");
  const int64_t vocab_size = session.model->config().vocab_size;
  for (const TokenId id : tokens)
    if (id < 0 || id >= vocab_size)
      throw Error("a token id is outside the vocabulary", "0 to " + std::to_string(vocab_size - 1), std::to_string(id));
  const int64_t count = static_cast<int64_t>(tokens.size()), room = session.options.capacity - session.length;
  if (count > room)
    throw Error("the tokens do not fit into the context",
                "at most " + std::to_string(room) + " more (context " + std::to_string(session.options.capacity) +
                    ", " + std::to_string(session.length) + " used)",
                std::to_string(count) + " tokens",
                "a shorter text, or a larger --ctx where the position scheme allows");
}

}  // namespace

Rows SessionState::logits_rows(int64_t rows) {
  const int64_t cols = model->config().vocab_size, stride = row_stride(cols);
  const auto size = static_cast<size_t>(rows * stride);
  if (logits.size() < size) logits.resize(size);
  return {logits.data(), rows, cols, stride};
}

Session::Session(std::shared_ptr<const Model> model, SessionOptions options)
    : state_(make_state(std::move(model), std::move(options))) {}
Session::Session(std::unique_ptr<SessionState> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Model& Session::model() const { return *state_->model; }
std::shared_ptr<const Model> Session::share_model() const { return state_->model; }
const PositionScheme& Session::scheme() const { return *state_->scheme; }
const SessionOptions& Session::options() const { return state_->options; }
int64_t Session::length() const { return state_->length; }
int64_t Session::capacity() const { return state_->options.capacity; }
int64_t Session::cache_bytes() const {  // of all heads, whoever holds them: a report is the same on any number of ranks
  return KvCache::bytes_of(state_->model->config(), capacity(), state_->options.kv_dtype, state_->scheme->views().keys);
}

std::span<const float> Session::evaluate(std::span<const TokenId> tokens) {
  const Part part{this, tokens};
  return evaluate_together({&part, 1}).front();
}

void Session::evaluate_all(std::span<const TokenId> tokens, const LogitsSink& sink) {
  check_tokens(*state_, tokens);
  const int64_t before = state_->length;
  const WorkspacePool::Lease work = workspace_for(*state_);
  try {
    for (size_t done = 0; done < tokens.size();) {
      const auto chunk =
          tokens.subspan(done, std::min(tokens.size() - done, static_cast<size_t>(state_->options.chunk)));
      const PassPart part{state_.get(), chunk, 0, state_->length};
      with_threads(state_->options.n_threads, [&] {
        const Rows x = forward({&part, 1}, *work);
        for (int64_t row = 0; row < x.rows; row += kLogitRows) {
          const Rows logits = logits_of(*state_, x.slice(row, std::min(kLogitRows, x.rows - row)), *work);
          for (int64_t r = 0; r < logits.rows; ++r) sink(static_cast<int64_t>(done) + row + r, logits[r]);
        }
      });
      const auto rows = static_cast<int64_t>(chunk.size());
      note_pass(*state_, rows, rows, rows);
      state_->length += rows;
      done += chunk.size();
    }
  } catch (...) {
    state_->length = before;
    throw;
  }
}

void Session::rewind(int64_t length) {
  if (length < 0 || length > state_->length)
    throw Error("a session can only go back to a length it had", "0 to " + std::to_string(state_->length),
                std::to_string(length));
  state_->length = length;
}

Session Session::fork() const {
  const SessionState& s = *state_;
  std::unique_ptr<SessionState> copy = with_memory(new SessionState{
      .model = s.model,
      .options = s.options,
      .scheme = s.scheme,
      .share = s.share,
      .heads = s.heads,
      .cache = KvCache(s.model->config(), s.options.capacity, s.options.kv_dtype, s.scheme->views().keys, s.heads.kv),
      .length = s.length,
      .positions = s.positions});
  copy->cache.copy_from(s.cache, s.length);
  return Session(std::move(copy));
}

void SessionInside::take_over(Session& to, const Session& from, int64_t length) {
  if (&to == &from) return to.rewind(length);
  const SessionState& source = *from.state_;
  SessionState& state = *to.state_;
  const SessionOptions &a = source.options, &b = state.options;
  if (source.model != state.model || source.scheme->spec() != state.scheme->spec() || a.capacity != b.capacity ||
      a.first_position != b.first_position || a.kv_dtype != b.kv_dtype || length < 0 || length > source.length)
    throw Error("a session cannot take over what this one holds",
                "one model, position scheme, capacity and kind of number, and tokens that are there",
                source.scheme->spec() + ", " + std::to_string(length) + " of " + std::to_string(source.length) +
                    " tokens, for " + state.scheme->spec());
  state.cache.copy_from(source.cache, length);
  state.length = length;
}

std::span<const std::span<const float>> Session::evaluate_together(std::span<const Part> parts) {
  if (parts.empty()) return {};
  SessionState& lead = *parts.front().session->state_;
  const WorkspacePool::Lease work = workspace_for(lead);
  Workspace::Call& call = work->call;
  call.reserve(parts.size());
  call.named.clear();
  call.before.clear();
  int64_t n_wanted = 0;
  for (const Part& part : parts) {
    const SessionState& session = *part.session->state_;
    if (session.model != lead.model)
      throw Error("sessions of different models cannot share a pass", "one model for all sessions", "two models");
    check_tokens(session, part.tokens);
    if (part.wanted < 1 || part.wanted > static_cast<int64_t>(part.tokens.size()))
      throw Error("a pass cannot give that many logits", "1 to " + std::to_string(part.tokens.size()) + ", the tokens",
                  std::to_string(part.wanted));
    n_wanted += part.wanted;
    call.named.push_back(&session);
    call.before.push_back(session.length);
  }
  std::ranges::sort(call.named);
  if (std::ranges::adjacent_find(call.named) != call.named.end())
    throw Error("a session is named twice in one pass", "each session once", "the same session again");

  // Passes of at most `chunk` rows; each takes what is left of the parts in order, and gives the last x of wanted rows.
  size_t done = 0;   // tokens of parts[at] that earlier passes took
  int64_t kept = 0;  // wanted rows so far
  const Rows last = work->rows(kLastRows, n_wanted, lead.model->config().d_model);
  Rows logits;
  try {
    for (size_t at = 0; at < parts.size();) {
      call.pass.clear();
      int64_t rows = 0;
      while (at < parts.size() && rows < lead.options.chunk) {
        SessionState& session = *parts[at].session->state_;
        const auto rest = parts[at].tokens.subspan(done);
        const auto taken = rest.first(std::min(rest.size(), static_cast<size_t>(lead.options.chunk - rows)));
        const auto count = static_cast<int64_t>(taken.size()), left = static_cast<int64_t>(rest.size()) - count;
        const int64_t wanted = std::clamp<int64_t>(parts[at].wanted - left, 0, count);
        call.pass.push_back({&session, taken, rows, session.length, wanted});
        rows += count;
        done = left > 0 ? done + taken.size() : 0;
        if (left > 0) break;
        ++at;
      }
      with_threads(lead.options.n_threads, [&] {
        const Rows x = forward(call.pass, *work);
        const bool all_rows = x.rows == rows;
        int64_t given = 0;
        for (const PassPart& part : call.pass) {
          const int64_t first = part.first_row + static_cast<int64_t>(part.tokens.size()) - part.wanted;
          for (int64_t r = 0; r < part.wanted; ++r)
            std::ranges::copy(x[all_rows ? first + r : given++], last[kept++].begin());
        }
        if (at == parts.size()) logits = logits_of(lead, last, *work);
      });
      int64_t wanted = 0;
      for (const PassPart& part : call.pass) wanted += part.wanted;
      note_pass(lead, rows, wanted, logits.rows);
      for (const PassPart& part : call.pass) part.session->length += static_cast<int64_t>(part.tokens.size());
    }
    lead.given.clear();
    for (int64_t r = 0; r < logits.rows; ++r) lead.given.emplace_back(logits[r]);
    return lead.given;
  } catch (...) {
    for (size_t i = 0; i < parts.size(); ++i) parts[i].session->state_->length = call.before[i];
    throw;
  }
}

}  // namespace ordinal
