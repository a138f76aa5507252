// chat_marks.h: which known template a checkpoint's chat template is.
#pragma once

#include <string>
#include <string_view>

namespace ordinal::convert {

// The name (TokenizerData::chat) of the template that this program of Jinja's language writes, told by what stands in
// it; "" for one that is not known. It is never run.
std::string known_chat(std::string_view source);

}  // namespace ordinal::convert
