// perplexity.h: how well a model predicts texts, by a stated protocol.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/session.h"
#include "ordinal/tokenizer.h"
#include "results/results.h"
#include "study/scoring.h"

namespace ordinal {

// Whether a start token (the model's bos_id, else its first eos_id) stands before a text, so that the first token of
// the text is predicted too. `tokenizer`: where the tokenizer itself puts one.
enum class StartToken { always, never, tokenizer };

// always, for a model that has such a token; otherwise never.
StartToken start_if_any(const ModelConfig& config);

// A way to count that others use, by name. A stride of 0 is the window.
struct Protocol {
  std::string_view name;
  Cut cut;
  int64_t stride;  // tokens; 0: the window; -1: half of it
  StartToken start;
  bool start_in_each;  // the start token replaces the first token of every window
  std::string_view summary;
};
std::span<const Protocol> protocols();
// Throws Error, listing them.
const Protocol& protocol_from_name(std::string_view name);

// A text as a stream of tokens, with what each stands for.
struct TokenStream {
  std::string name;
  std::vector<TokenId> tokens;
  std::vector<int32_t> bytes;    // of each token; 0 for start and end tokens
  std::vector<int32_t> words;    // that begin in each token: runs of anything but white space
  std::optional<TokenId> start;  // the start token, when the protocol has one
  int64_t document_lines = 0;    // lines that ended a document

  // Drops all tokens but the first `count`; 0 keeps all.
  void keep_first(int64_t count);
};

struct StreamOptions {
  StartToken start = StartToken::always;
  bool parse_special = false;
  // A line of this text alone, with any line end, ends a document; documents are encoded apart, and the end token
  // stands after each.
  std::string document_line = {};
};
// Throws Error for a text of no tokens, and for a start token asked of a model that has none.
TokenStream make_stream(std::string name, std::string_view text, const Tokenizer& tokenizer, const ModelConfig& config,
                        const StreamOptions& options);

// Scores each stream on its own. The session needs room for a window of ctx tokens. Fills all but the model's name.
Perplexity measure_perplexity(Session session, std::span<const TokenStream> streams, const Protocol& protocol,
                              int64_t ctx, int64_t stride, const OnProgress& progress);

}  // namespace ordinal
