// results.h: results as plain structs, so that writing them down needs to know nothing of the engine.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordinal {

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
  std::string standing;  // of the weights to the scheme, over all positions that were used (Standing in compared.h)
  uint64_t seed = 0;
  std::vector<int32_t> prompt_ids, ids;
  std::string text, finish;
  std::optional<std::vector<LogprobRow>> logprobs;
  Timings timings;
};

struct Evaluated {
  std::string model, position;
  std::string standing;  // as in Generated
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
  double change_nll = 0, change_stderr = 0;  // written - source, paired
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

// What a machine gives at most.
struct MachineSpeed {
  double read_gb_per_s = 0;             // a buffer far larger than the caches, eight streams a thread
  double read_one_stream_gb_per_s = 0;  // the same, one stream a thread
  double gflops = 0;                    // fused multiply-adds on registers, counted as two
  double int8_gops = 0;                 // the integer dots of the block kinds on registers; a multiply-add is two
};

// Speed on one number of threads, and what the machine gave in the same run. Medians over the repeats. Rates count
// useful work only: 2 * M * N * K per product, bytes of the weights once a token.
struct Measured {
  std::string shape, dtype, kv_dtype, isa;
  int threads = 0;
  int64_t prompt = 0, decode = 0, depth = 0, sequences = 0;
  double prefill_tokens_per_s = 0, decode_tokens_per_s = 0;  // the decode's of all sequences together
  int64_t weight_bytes = 0;                                  // of the tensors that a pass of the decode reads
  int64_t cache_bytes = 0;        // keys and values that one decoded token reads, the mean over the decode
  double read_gb_per_s = 0;       // all of it, by the passes
  double attention_gb_per_s = 0;  // keys and values a second, of attention alone at the end of the decode
  double gflops = 0;              // multiply-adds of the prefill's products, counted as two
  double peak_rss_mb = 0;         // of the process since this began, where the system can tell; else so far
  MachineSpeed machine;
  double of_peak = 0, of_read = 0;  // shares of the machine's: the prefill's multiply-adds, the decode's reads
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
  std::string standing;  // as in Generated, over a window
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
  double nll = 0, delta_nll = 0, delta_stderr = 0;
};

struct Diagnosed {
  std::string model, native, verdict;
  std::vector<DiagnosisRow> rows;  // best first
};

struct SchemeParamRow {
  std::string key, otherwise, allowed;  // otherwise: the default, "" when it must be stated
};

// A position scheme, or a scaling of rope, as lists show it.
struct SchemeRow {
  std::string name, kind, summary;
  std::string acts_on, tensors, source;
  std::vector<SchemeParamRow> params;
};

struct CheckLabel {
  std::string id;      // C1 .. C15, as in src/study/README.md
  std::string what;    // the property, in a few words
  std::string scheme;  // spec of the scheme it was measured on
};

// A number that was measured, and where it must lie.
struct Check {
  CheckLabel label;
  double measured = 0;
  double low = -std::numeric_limits<double>::infinity();  // passes from low to high, both included
  double high = std::numeric_limits<double>::infinity();
  std::string expected = {};             // low and high as text: "0", "> 0.001", "2 to 3"; "" when it is only shown
  std::optional<double> tolerance = {};  // how far from a single expected number

  // NaN passes nothing.
  bool passed() const { return measured >= low && measured <= high; }
};
using Checks = std::vector<Check>;

}  // namespace ordinal
