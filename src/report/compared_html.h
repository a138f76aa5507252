// compared_html.h: a comparison of schemes as one HTML page that needs nothing else: no network, no fonts, no script.
#pragma once

#include <span>
#include <string>

#include "results/compared.h"

namespace ordinal::report {

// What a scheme looks like. `svg` is made for a place in a page (SvgPlace::page), its ids unlike those of the others.
struct SchemePicture {
  std::string position, svg, caption;
};

std::string to_html(const Compared& result, std::span<const SchemePicture> pictures);

}  // namespace ordinal::report
