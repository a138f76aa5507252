// hf_pattern.h: patterns of tokenizer.json, which are Oniguruma's, written for PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace ordinal::convert {

// A pattern of PCRE2's syntax (with UTF, UCP and multiline on) that matches what Oniguruma's matches. Throws Error for
// what the two do not share and this does not translate. `what` names the pattern in messages.
std::string translate_pattern(std::string_view pattern, const std::string& what);

}  // namespace ordinal::convert
