// run_options.cpp: how a model is run, checked before anything long is done, and the session that follows.
#include <unistd.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/ranks_report.h"
#include "model/kv_cache.h"
#include "ordinal/error.h"
#include "position/scheme.h"
#include "report/text.h"
#include "study/compare/standing.h"

namespace ordinal::cli {
namespace {

constexpr int64_t kLongest = int64_t{1} << 40;
constexpr int64_t kMuchMemory = int64_t{256} << 20;
// What a prompt gets unasked: a context so many times the trained length, or longer where it takes less memory.
constexpr int64_t kFar = 4, kMostUnasked = int64_t{1} << 30;

// Of the heads that this rank holds.
int64_t cache_bytes(const ModelConfig& config, int64_t capacity, Dtype kv_dtype, int64_t key_views = 1) {
  return KvCache::bytes_of(config, capacity, kv_dtype, key_views, ModelShare(config, ranks()).heads().kv.count());
}

[[noreturn]] void refuse_prompt(const OpenedModel& opened, const RunOptions& options, const SessionNeeds& needs,
                                const Session& session) {
  const std::string length = std::to_string(needs.prompt_length);
  const bool longer_helps = options.ctx && session.scheme().max_positions() >= needs.prompt_length;
  throw Error("the prompt is longer than the context",
              "at most " + std::to_string(session.capacity()) + " tokens, " +
                  (options.ctx ? "as --ctx says" : "the length " + opened.path + " was trained for"),
              length + " tokens",
              std::string("a shorter prompt, ") + (needs.can_slide ? "--overflow slide, " : "") +
                  (longer_helps ? "or --ctx " + length : "or a position scheme without an end: --position alibi"));
}

// A prompt that was meant to be shorter would fill the memory of the machine before anybody saw why.
void check_unasked(const ModelConfig& config, int64_t capacity, Dtype kv_dtype, const SessionNeeds& needs) {
  const int64_t length = kFar * config.max_seq_len;
  const int64_t bytes = cache_bytes(config, capacity, kv_dtype);
  if (capacity <= length || bytes <= kMostUnasked / std::max<int64_t>(1, needs.n_sessions)) return;
  throw Error(
      "the prompt is far longer than the " + std::to_string(config.max_seq_len) +
          " tokens that the model was trained on, and no context was asked for (--ctx)",
      "at most " + std::to_string(length) + " tokens, or keys and values of at most " + report::byte_size(kMostUnasked),
      std::to_string(needs.prompt_length) + " tokens, whose keys and values take " + report::byte_size(bytes) +
          (needs.n_sessions > 1 ? " in each of " + std::to_string(needs.n_sessions) + " samples" : ""),
      "--ctx " + std::to_string(capacity) + " if that is meant, a shorter prompt" +
          (needs.can_slide ? ", or --overflow slide" : ""));
}

}  // namespace

void check_range(const std::string& what, int64_t value, int64_t low, int64_t high, const std::string& meaning) {
  if (value < low || value > high)
    throw Error(what + " is out of range", std::to_string(low) + " to " + std::to_string(high) + meaning,
                std::to_string(value));
}

void ThreadsOption::add_to(Parser& parser, const std::string& what) {
  parser.option("-t,--threads", "N", wanted,
                what + "; 0: OMP_NUM_THREADS, or every processor that the process may use [default: 0]");
}

int ThreadsOption::count() const {
  check_range("the number of threads (-t)", wanted, 0, kMostThreads, "; 0 uses every processor");
  return static_cast<int>(wanted);
}

void RunOptions::add_to(Parser& parser) {
  parser.option("--position", "SPEC", position,
                "the position scheme; `ordinal positions` lists them [default: native, the model's own]");
  parser.option("--ctx", "N", ctx, "the context: most tokens held at once [default: the trained length]");
  threads.add_to(parser);
  parser.option("--chunk", "N", chunk, "tokens of a prompt in one pass; changes no result [default: 256]");
  parser.option("--kv-dtype", "KIND", kv_dtype,
                "kind that keys and values are kept in: f32, or f16, bf16, which take half the memory [default: f32]");
}

void RunOptions::check() const {
  threads.count();
  check_range("the chunk", chunk, 1, kLongest, " tokens");
  if (ctx) check_range("the context (--ctx)", *ctx, 1, kLongest, " tokens");
  kv_dtype_from_name(kv_dtype);
  check_position_spec(position);
}

Dtype kv_dtype_from_name(const std::string& name) {
  std::string names;
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i].block_items != 1) continue;
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
    names += (names.empty() ? "" : ", ") + std::string(kDtypes[i].name);
  }
  throw Error("keys and values cannot be kept in that kind of number (--kv-dtype)", names, report::escaped(name));
}

double machine_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// A cache that the machine's memory cannot hold would end the program long after it had seemed to work.
void check_memory(const ModelConfig& config, int64_t capacity, Dtype kv_dtype, int64_t n_sessions, int64_t key_views) {
  const double needed = (static_cast<double>(cache_bytes(config, capacity, kv_dtype, key_views)) +
                         static_cast<double>(capacity) * sizeof(int64_t)) *
                        static_cast<double>(n_sessions);
  const double memory = machine_memory();
  if (memory > 0 && needed > memory)
    throw Error("a context of " + std::to_string(capacity) + " tokens does not fit into memory",
                "at most " + report::byte_size(static_cast<int64_t>(memory)) + ", what this machine has",
                report::fixed(needed / 1e9, 1) + " GB for keys and values",
                kv_dtype == Dtype::f32 ? "a smaller --ctx, or --kv-dtype f16" : "a smaller --ctx");
}

void announce_memory(const ModelConfig& config, int64_t capacity, Dtype kv_dtype, int64_t n_sessions,
                     const Notes& notes, int64_t key_views) {
  const int64_t bytes = cache_bytes(config, capacity, kv_dtype, key_views);
  if (bytes <= kMuchMemory / std::max<int64_t>(1, n_sessions)) return;
  notes.say("the cache of keys and values for " + std::to_string(capacity) + " tokens takes " +
            report::byte_size(bytes) +
            (n_sessions > 1 ? " for each of " + std::to_string(n_sessions) + " samples" : "") +
            (kv_dtype == Dtype::f32 ? " (--kv-dtype f16 halves it)" : ""));
}

std::string standing_word(const Session& session, int64_t length) {
  return std::string(standing_name(stand_of(session.model(), session.scheme(), std::max<int64_t>(1, length)).standing));
}

namespace {

void note_standing(const Session& session, const Notes& notes) {
  const int64_t inside = std::min(session.capacity(), session.model().config().max_seq_len);
  const Stand stand = stand_of(session.model(), session.scheme(), inside);
  if (stand.standing == Standing::untrained) notes.say(session.scheme().spec() + ": " + stand.reason);
}

}  // namespace

Session open_session(const OpenedModel& opened, const RunOptions& options, const SessionNeeds& needs,
                     const Notes& notes) {
  const ModelConfig& config = opened.model->config();
  note_idle_ranks(config, notes);
  SessionOptions wanted;
  wanted.position = options.position;
  wanted.capacity = options.ctx.value_or(0);
  wanted.n_threads = options.threads.count();
  wanted.chunk = options.chunk;
  wanted.kv_dtype = kv_dtype_from_name(options.kv_dtype);
  check_memory(config, options.ctx.value_or(config.max_seq_len), wanted.kv_dtype, needs.n_sessions);
  Session session(opened.model, wanted);  // takes memory for keys and values as they come, none yet
  const int64_t key_views = session.scheme().views().keys;
  check_memory(config, session.capacity(), wanted.kv_dtype, needs.n_sessions, key_views);
  note_standing(session, notes);
  if (needs.prompt_length <= session.capacity() || needs.slides) {
    announce_memory(config, session.capacity(), wanted.kv_dtype, needs.n_sessions, notes, key_views);
    return session;
  }

  const int64_t last = session.scheme().max_positions();
  if (options.ctx || last < needs.prompt_length) refuse_prompt(opened, options, needs, session);
  const int64_t more = std::clamp<int64_t>(needs.new_tokens - 1, 0, kLongest);
  wanted.capacity = std::min(needs.prompt_length + more, last);
  check_memory(config, wanted.capacity, wanted.kv_dtype, needs.n_sessions, key_views);
  check_unasked(config, wanted.capacity, wanted.kv_dtype, needs);
  notes.say("the prompt has " + std::to_string(needs.prompt_length) + " tokens, the model was trained on " +
            std::to_string(config.max_seq_len) + "; " + session.scheme().spec() + " has positions for all of them");
  announce_memory(config, wanted.capacity, wanted.kv_dtype, needs.n_sessions, notes, key_views);
  return Session(opened.model, wanted);
}

}  // namespace ordinal::cli
