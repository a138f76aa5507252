// results.h: results as plain structs, so that writing them down needs to know nothing of the engine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordinal::report {

// A token with how likely the model held it.
struct ScoredToken {
  int32_t id = 0;
  std::string piece;  // its bytes
  double logit = 0;
  double logprob = 0;
};

struct LogprobRow {
  ScoredToken drawn;
  std::vector<ScoredToken> best;
};

struct Timings {
  double load_ms = 0;
  int64_t prefill_tokens = 0;
  double prefill_ms = 0;
  int64_t decode_tokens = 0;
  double decode_ms = 0;
  int64_t draft_proposed = 0, draft_accepted = 0, passes = 0;
};

struct Generated {
  std::string model, position;
  uint64_t seed = 0;
  std::vector<int32_t> prompt_ids, ids;
  std::string text, finish;
  std::optional<std::vector<LogprobRow>> logprobs;
  Timings timings;
};

struct Logits {
  std::string model, position;
  std::vector<int32_t> ids;
  std::vector<ScoredToken> best;           // after the last id
  std::vector<std::vector<float>> logits;  // one row, or a row an id
  bool all = false;
};

struct Tokenized {
  struct Token {
    int32_t id;
    std::string piece;
    int64_t begin, end;
  };
  std::vector<Token> tokens;
};

struct TensorRow {
  std::string name, dtype, layout;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::string checksum;
};

using Facts = std::vector<std::pair<std::string, std::string>>;  // name, JSON value

struct Inspected {
  std::string file;
  std::string config_json = "{}";
  std::string position;
  std::vector<std::string> trained_positions;
  std::string tokenizer_kind;
  std::optional<Facts> tokenizer;  // nothing when the kind is none
  std::vector<TensorRow> tensors;
  int64_t bytes = 0;
  std::string provenance_json = "{}";
  std::optional<bool> verified;
};

// Predictions of a text by weights as they were and as they were written; natural logarithms, means over tokens.
struct Fidelity {
  std::string text;
  int64_t tokens = 0;  // scored
  int64_t ctx = 0;     // of the windows
  bool start_token = false;
  double source_nll = 0, written_nll = 0;
  double change_nll = 0, change_std_error = 0;  // written - source, paired
  double change_ppl_percent = 0;
  double kl = 0;                 // of what was written from the source
  double agreement_percent = 0;  // how often both hold the same token likeliest
  double seconds = 0;
};

struct Converted {
  std::string input, output;
  int64_t bytes = 0;
  int64_t tensors = 0;
  int64_t parameters = 0;
  double seconds = 0;
  std::vector<std::string> notes;
  std::optional<Fidelity> fidelity;
};

// Speed on one number of threads, and what the machine gave in the same run.
struct Measured {
  std::string shape, dtype, kv_dtype, isa;
  int threads = 0;
  int64_t prompt = 0, decode = 0, depth = 0, sequences = 0;
  double prefill_tokens_per_s = 0, decode_tokens_per_s = 0;
  int64_t weight_bytes = 0;
  double read_gb_per_s = 0, gflops = 0, peak_rss_mb = 0;
  int64_t cache_bytes = 0;
  double attention_gb_per_s = 0;
  double machine_read_gb_per_s = 0, machine_read_one_stream_gb_per_s = 0, machine_gflops = 0, machine_int8_gops = 0;
  double of_peak = 0, of_read = 0;  // shares of what the machine gave
};

// One text, or all of them. Natural logarithms; NaN where there is nothing to divide by.
struct PerplexityRow {
  std::string name;
  int64_t tokens = 0, bytes = 0, words = 0;  // scored
  double nll = 0, std_error = 0;             // per token, the protocol's weights counted
  double total_nll = 0;                      // over the tokens, unweighted
  double ppl = 0, word_ppl = 0, bits_per_byte = 0;
};

struct Perplexity {
  std::string model, position, protocol;
  int64_t ctx = 0, stride = 0, windows = 0;
  bool start_token = false;
  std::vector<PerplexityRow> texts;
  PerplexityRow all;     // every token counts the same (micro average)
  double macro_nll = 0;  // every text counts the same
  double seconds = 0;
};

// A position spec tried on a checkpoint; differences are paired with the file's own.
struct DiagnosisRow {
  std::string position, fact;
  int64_t tokens = 0;
  double nll = 0, delta_nll = 0, delta_std_error = 0;
};

struct Diagnosed {
  std::string model, native, verdict;
  std::vector<DiagnosisRow> rows;  // best first
};

// A position scheme, or a scaling of rope, as lists show it.
struct SchemeRow {
  std::string name, kind, summary;
  std::string acts_on, tensors, source;
  std::vector<std::array<std::string, 3>> params;  // key, default ("" when it must be stated), what it may be
};

// A number that was measured and where it should lie; `expected` is "" when it is only shown.
struct CheckRow {
  std::string id, what, scheme;
  double measured = 0;
  std::string expected;
  std::optional<double> tolerance;
  bool pass = false;
};

}  // namespace ordinal::report
