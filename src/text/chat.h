// chat.h: messages put into the template in which a model was taught to talk.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/tokenizer.h"

namespace ordinal {

struct ChatMessage {
  std::string role;  // system (or developer), user, assistant
  std::string content;
};

// The text of a conversation, up to where the next answer begins, by the tokenizer's TokenizerData::chat. Throws Error
// when that is none that is known, for no messages, a role that the template has not, or a system message that is not
// the first.
std::string chat_text(const Tokenizer& tokenizer, std::span<const ChatMessage> messages);

// The text around one message of a user, up to where the answer begins, by the tokenizer's TokenizerData::chat. Throws
// Error, saying how to give the text oneself, when that is none that is known.
std::string chat_text(const Tokenizer& tokenizer, std::string_view message);

// Its ids. The template's own start token is the only one.
std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, std::string_view message);
std::vector<TokenId> chat_ids(const Tokenizer& tokenizer, std::span<const ChatMessage> messages);

}  // namespace ordinal
