// chat.h: a message put into the template in which a model was taught to talk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ordinal/tokenizer.h"

namespace ordinal {

// The text around one message of a user, up to where the answer begins, by the tokenizer's TokenizerData::chat. Throws
// Error, saying how to give the text oneself, when that is none that is known.
std::string chat_text(const Tokenizer& tokenizer, std::string_view message);

// Its ids. The template's own start token is the only one.
std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, std::string_view message);

}  // namespace ordinal
