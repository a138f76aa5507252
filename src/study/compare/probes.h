// probes.h: what a comparison looks at beside the loss: order, recall, attention, and the text each scheme goes on
// with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/compare/compare.h"
#include "study/compare/continuations.h"

namespace ordinal {

// A task as windows over made-up tokens: what comes after `scored_from` is what the context tells.
struct ProbeTask {
  std::string name;  // "in order", "shuffled", "copy", "find", "passkey"
  int64_t length = 0;
  std::vector<TokenId> tokens = {};
  std::vector<Window> windows = {};
  int64_t scored_each = 0;           // tokens scored in each window
  std::optional<double> depth = {};  // where in the text the pass key stands
};

struct ProbePlan {
  std::vector<ProbeTask> tasks;
  int64_t tokens = 0;  // scored, in all
  SamplePlan sample = {};
};

// in order, shuffled   windows of the text of the trained length (of the text, if that is shorter); the last quarter is
//                      scored, once as it stands and once with the tokens before it, but for the first, shuffled
// copy                 random tokens of the text, then the same again: the second half is scored
// find                 the text with a key of 4 random tokens after a cue of 6 near its beginning; at the end the cue
//                      comes again, and the key is scored
// passkey              the text with a sentence that names a number, at five depths; at the end the sentence comes
// again,
//                      and the number is scored, right when every token of it is
// copy, find and passkey at the trained length and at the lengths beyond it. Same seed, same tokens. Without a
// tokenizer there is no passkey.
ProbePlan plan_probes(const Model& model, const Tokenizer* tokenizer, const TokenStream& stream,
                      const std::vector<int64_t>& lengths, const CompareOptions& options);

// One task ("copy", "find", "passkey") at one length under the schemes of `result`, to its recall or pass keys. Throws
// Error where the length is too short for it, or the tokenizer has no words for it.
void run_task(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
              std::string_view name, int64_t length, const CompareOptions& options, Compared& result,
              const OnProgress& progress);

// Fills what `result` says of order, recall, attention and continuations.
void run_probes(const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer, const TokenStream& stream,
                const ProbePlan& plan, const CompareOptions& options, Compared& result, const OnProgress& progress);

}  // namespace ordinal
