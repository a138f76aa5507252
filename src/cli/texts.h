// texts.h: options of commands that measure on texts, and the streams of tokens that the texts become.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/parser.h"
#include "study/perplexity.h"

namespace ordinal::cli {

struct TextOptions {
  std::vector<std::string> files;
  std::string documents;
  bool special = false;

  void add_to(Parser& parser);
  // Throws UsageError without a file; a command that has a text of its own does not call it.
  void check() const;
};

// The story that comes with the default model, which no model here was trained on. Throws Error when it is not there.
std::string default_text_path();

// Says where --documents found none. Throws Error for a model without a tokenizer and for a text that cannot be read or
// has no tokens.
std::vector<TokenStream> read_streams(const TextOptions& options, const OpenedModel& opened, StartToken start,
                                      const Notes& notes);

}  // namespace ordinal::cli
