// chat_marks.cpp: see chat_marks.h.
#include "convert/chat_marks.h"

namespace ordinal::convert {
std::string known_chat(std::string_view) { return ""; }
}  // namespace ordinal::convert
