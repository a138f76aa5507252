// compared.h: what a comparison of position schemes found, as plain structs: study fills them, report writes them down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ordinal {

// What may be said of a scheme on given weights.
//   trained   the weights were trained under it, alone or (jointly) among others
//   exact     the same bits as a scheme they were trained under, at every position below the trained length
//   untrained positions that the weights never saw: a measure of how they lean on their own, no verdict on the scheme
//   refused   it needs a tensor that the model does not have, or is not for this model
enum class Standing { trained, jointly, exact, untrained, refused };
inline constexpr std::array<std::string_view, 5> kStandingNames = {"trained", "jointly", "exact", "untrained",
                                                                   "refused"};
constexpr std::string_view standing_name(Standing standing) { return kStandingNames[static_cast<size_t>(standing)]; }

// One scheme, whatever the length.
struct ComparedScheme {
  std::string position;  // canonical spec, or as asked for when refused
  std::string kind;      // absolute, relative, lab; "" when refused
  Standing standing = Standing::untrained;
  std::string reason;                // a sentence: why it stands so
  std::vector<std::string> remarks;  // what follows from its parameters

  // Greedy continuation of the prompt. `differs_at`: the first of its tokens that is not the native scheme's; -1: none.
  std::vector<int32_t> continuation_ids;
  std::vector<std::string> continuation;  // pieces
  int64_t differs_at = -1;

  // Nats per token of the last quarter of windows of the trained length, as written and with the tokens before
  // shuffled.
  std::optional<double> in_order = {}, shuffled = {};

  std::vector<std::vector<double>> attention_distance;     // [layers][heads]: mean distance looked back, in tokens
  std::vector<std::vector<std::vector<float>>> attention;  // [layers][T][T] on the prompt, mean of the heads

  double ms_per_token = 0;  // over all text scored at the trained length
  int64_t cache_bytes = 0;  // keys and values at the trained length
  int64_t table_bytes = 0;  // of the model's tensors that the scheme reads
};

// One scheme at one length under one protocol. Differences are to the native scheme, on the same tokens.
struct ComparedRow {
  std::string position;
  bool trained = false;  // trained, jointly, or exact and no longer than the trained length
  int64_t length = 0;    // window, in tokens
  std::string protocol;  // "whole": windows side by side; "sliding": each moves on by half a window
  std::string refused;   // why there are no numbers

  int64_t tokens = 0;  // scored
  double nll = 0, ppl = 0, bits_per_byte = 0, std_error = 0;
  std::optional<double> delta_nll = {}, delta_low = {},
                        delta_high = {};               // mean and 95 % interval of the paired differences
  std::optional<double> kl = {}, top1_agreement = {};  // native's prediction against this one's
  std::vector<double> loss_by_position = {};           // nats; place i: targets of positions [i * step, (i+1) * step)
  int64_t loss_step = 1;
  double ms_per_token = 0;
};

// How often the right token was the best, of those that the context alone can tell.
struct RecallRow {
  std::string position;
  std::string task;  // "copy": random tokens, then the same again; "find": a key after its cue, far back
  int64_t length = 0;
  std::optional<double> accuracy = {};  // none where the scheme ends before
  int64_t tokens = 0;
};

struct Compared {
  std::string model, native, text;
  std::vector<std::string> trained_positions;
  int64_t parameters = 0, trained_length = 0;
  int64_t text_tokens = 0, text_bytes = 0;
  std::vector<int64_t> lengths;
  std::string prompt;
  std::vector<std::string> prompt_pieces;
  uint64_t seed = 0;
  std::string command;  // that gives this result again
  std::string version;
  double seconds = 0;

  std::vector<std::string> headlines;
  double unigram_nll = 0;  // predicting by the frequencies of this very text: the floor of usefulness
  std::vector<ComparedScheme> schemes;
  std::vector<ComparedRow> rows;
  std::vector<RecallRow> recall;

  // At the longest length inside the trained one, between the schemes that ran there, in the order of `matrix`.
  int64_t matrix_length = 0;
  std::vector<std::string> matrix;
  std::vector<std::vector<double>> kl;    // [p][q]: divergence of q from p, nats
  std::vector<std::vector<double>> top1;  // [p][q]: share of tokens where both hold the same token best
};

}  // namespace ordinal
