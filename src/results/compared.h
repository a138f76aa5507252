// compared.h: what a comparison of position schemes found, as plain structs: study fills them, report writes them down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/estimate.h"

namespace ordinal {

// What may be said of a scheme on given weights at a given length.
//   trained        the weights were trained under it, alone or (jointly) among others
//   exact          the same bits as a scheme they were trained under, at every position of this length
//   extrapolating  longer than the trained length: no weights have seen these positions, whatever the scheme
//   untrained      positions that the weights never saw: a measure of how they lean on their own, no verdict on the
//                  scheme
//   refused        it needs a tensor that the model does not have, is not for this model, or ends before
enum class Standing { trained, jointly, exact, extrapolating, untrained, refused };
inline constexpr std::array<std::string_view, 6> kStandingNames = {"trained",       "jointly",   "exact",
                                                                   "extrapolating", "untrained", "refused"};
constexpr std::string_view standing_name(Standing standing) { return kStandingNames[static_cast<size_t>(standing)]; }
// Whether the weights were trained for what was measured.
constexpr bool is_trained(Standing standing) { return standing <= Standing::exact; }

// What is asked when a scheme runs on given weights.
//   own        the scheme of the model file
//   joint      another one that the weights were trained under
//   extension  one of these with what is meant to carry it past the trained length, and is meant to be used untrained
//   ablation   the file's own, with positions taken from some layers or heads
//   swap       another scheme on weights that never saw it
enum class Question { own, joint, extension, ablation, swap };
inline constexpr std::array<std::string_view, 5> kQuestionNames = {"own", "joint", "extension", "ablation", "swap"};
constexpr std::string_view question_name(Question question) { return kQuestionNames[static_cast<size_t>(question)]; }

// How a text was cut.
//   whole    windows side by side
//   sliding  each moves on by half a window, so that a token has at least half of it before it
//   recent   past the trained length: the model stays inside, in windows of the trained length that move on by half
inline constexpr std::string_view kWhole = "whole", kSliding = "sliding", kRecent = "recent";

// A text that a scheme went on with.
struct DrawnText {
  std::vector<int32_t> ids = {};
  std::vector<std::string> pieces = {};
  std::vector<double> surprisal = {};  // -log of each one's probability under the scheme, nats
};

// One scheme, whatever the length.
struct ComparedScheme {
  std::string position;                     // canonical spec, or as asked for when refused
  std::string kind;                         // absolute, relative, lab; "" when refused
  Standing standing = Standing::untrained;  // inside the trained length
  Question question = Question::swap;
  std::string reason;                // a sentence: why it stands so
  std::vector<std::string> remarks;  // what follows from its parameters

  // Greedy continuation of the prompt. `differs_at`: the first of its tokens that is not the native scheme's; -1: none.
  std::vector<int32_t> continuation_ids;
  std::vector<std::string> continuation;  // pieces
  std::vector<double> continuation_surprisal = {};
  int64_t differs_at = -1;
  DrawnText sample = {};  // drawn with the seed that all have, past the trained length; empty where the scheme ends

  // Nats per token of the last quarter of windows of the trained length, as written and with the tokens before
  // shuffled.
  std::optional<double> in_order = {}, shuffled = {};
  std::optional<Estimate> order = {};  // what shuffling adds, paired

  std::vector<std::vector<double>> attention_distance;     // [layers][heads]: mean distance looked back, in tokens
  std::vector<std::vector<std::vector<float>>> attention;  // [layers][T][T], mean of the heads

  double ms_per_token = 0;  // over all text scored at the trained length
  int64_t cache_bytes = 0;  // keys and values at the trained length
  int64_t table_bytes = 0;  // of the model's tensors that the scheme reads
};

// One scheme at one length under one protocol. Differences are paired: on the same tokens.
struct ComparedRow {
  std::string position;
  Standing standing = Standing::untrained;
  int64_t length = 0;    // window, in tokens
  std::string protocol;  // kWhole, kSliding, kRecent
  std::string refused;   // why there are no numbers

  int64_t tokens = 0;  // scored
  double nll = 0, ppl = 0, bits_per_byte = 0, std_error = 0;
  // Against the reference at the same length, or where that cannot go against the model's own scheme on the last
  // tokens, whose row is `recent`.
  std::string against = {};           // position of that row; "" for the reference itself
  std::string against_protocol = {};  // its protocol
  std::optional<double> delta_nll = {}, delta_low = {}, delta_high = {};  // 95 % interval; empty for one window
  std::optional<double> kl = {}, top1_agreement = {};  // the reference's prediction against this one's
  std::optional<Estimate> to_inside = {};              // past the trained length: against `recent`, which stays inside
  std::optional<Estimate> to_trained = {};  // against the same scheme at the longest length inside the trained one
  std::optional<Estimate> over_texts = {};  // the difference, over texts instead of tokens

  std::vector<double> loss_by_position = {};  // nats; place i: targets of positions [i * step, (i+1) * step)
  std::vector<Estimate> delta_by_position = {};
  int64_t loss_step = 1;
  double ms_per_token = 0;

  bool is_trained() const { return ordinal::is_trained(standing); }
};

// How often the right token was the best, of those that the context alone can tell.
struct RecallRow {
  std::string position;
  std::string task;  // "copy": random tokens, then the same again; "find": a key after its cue, far back
  int64_t length = 0;
  std::optional<double> accuracy = {};  // none where the scheme ends before
  int64_t tokens = 0;
  double low = 0, high = 1;          // Wilson's interval
  std::optional<double> depth = {};  // "passkey": where in the text the number stands, 0 the beginning, 1 the end
};

// Paired differences between all that ran at one length under one protocol: what row p loses more than row q.
struct PairedLosses {
  int64_t length = 0;
  std::string protocol;
  std::vector<std::string> positions;
  std::vector<std::vector<Estimate>> differences;  // [p][q]: loss of p minus loss of q, nats

  // None unless both ran.
  const Estimate* between(std::string_view p, std::string_view q) const;
};

// One thing that was found, as numbers and as a sentence. Differences are of `position` from `against`, in nats.
//   worthless   the weights predict worse than token frequencies: nothing else is worth saying
//   misstated   a scheme that the file does not name reads clearly better than the one it names
//   best        which of the schemes that the weights were trained under reads best inside the trained length
//   worst, own  the last of these; the only one
//   nearest     of the schemes they never saw, the one that costs least; "ablation": the same of layers or heads
//   reach       past the trained length: the best of all that ran
//   inside      and what it costs against staying inside
//   length      what a longer window does to one scheme
//   order       what shuffling the tokens before costs
//   recall      what only the context tells
//   scheme      one scheme against the reference, at the longest length inside the trained one, or past it
struct Finding {
  std::string kind = {}, position = {}, against = {};
  int64_t length = 0;
  std::string protocol = std::string(kWhole);
  std::optional<double> delta = {}, low = {}, high = {};
  std::string text = {};
  bool detail = false;  // of one scheme, where others are said first
};

// The loss of every scored token under every scheme, for who wants to do the statistics again.
struct TokenLosses {
  struct Pass {
    int64_t length = 0;
    std::string protocol;
    std::vector<std::string> positions;            // that ran
    std::vector<int32_t> text, target, place, id;  // which text, which token of it, position in its window, its id
    std::vector<std::vector<float>> nll;           // [positions][tokens]
  };
  std::vector<Pass> passes;
};

struct ComparedText {
  std::string name;
  int64_t tokens = 0, bytes = 0;
};

struct Compared {
  std::string model, native, text;
  std::string reference;  // the spec that differences are from
  std::vector<ComparedText> texts;
  std::vector<std::string> trained_positions;
  int64_t parameters = 0, trained_length = 0;
  int64_t text_tokens = 0, text_bytes = 0;
  std::vector<int64_t> lengths;
  std::string prompt;
  std::vector<std::string> prompt_pieces;
  std::vector<std::string> attention_pieces;  // the tokens that attention maps are of
  int64_t sample_begins = 0;                  // so many tokens of the text stand before every scheme's sample
  std::vector<std::string> sample_before;     // the last of these
  double sample_temperature = 1;
  uint64_t seed = 0;
  std::string command;        // that gives this result again
  std::string command_shown;  // the same with the base names of files
  std::string checksum;       // of the weights
  std::string date;
  std::string version;
  double seconds = 0;

  std::vector<Finding> findings;
  std::vector<std::string> headlines;  // their texts
  double unigram_nll = 0;              // predicting by the frequencies of this very text: the floor of usefulness
  double unigram_slack = 0;            // how much these flatter themselves, as they were counted on what they predict
  std::vector<ComparedScheme> schemes;
  std::vector<ComparedRow> rows;
  std::vector<RecallRow> recall, passkey;
  double recall_chance = 0;  // right by always naming the text's commonest token
  std::vector<PairedLosses> paired;
  TokenLosses token_losses;  // only where asked for

  // At the longest length inside the trained one, between the schemes that ran there, in the order of `matrix`.
  int64_t matrix_length = 0;
  std::vector<std::string> matrix;
  std::vector<std::vector<double>> kl;    // [p][q]: divergence of q from p, nats
  std::vector<std::vector<double>> top1;  // [p][q]: share of tokens where both hold the same token best
};

inline const Estimate* PairedLosses::between(std::string_view p, std::string_view q) const {
  const auto place = [&](std::string_view name) {
    size_t i = 0;
    while (i < positions.size() && positions[i] != name) ++i;
    return i;
  };
  const size_t a = place(p), b = place(q);
  return a < positions.size() && b < positions.size() ? &differences[a][b] : nullptr;
}

}  // namespace ordinal
