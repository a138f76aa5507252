// lab.h: the lab: one page of HTML, CSS and JavaScript, put into the program when it is built.
#pragma once

#include <string_view>

namespace ordinal::serve {

std::string_view lab_page();

// Its Content-Security-Policy: nothing from elsewhere, and only the page's own style and script, by their checksums.
std::string_view lab_policy();

}  // namespace ordinal::serve
