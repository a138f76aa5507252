// compared_html.h: a comparison of schemes as one HTML page that needs nothing else: no network, no fonts, no script.
#pragma once

#include <span>
#include <string>

#include "results/compared.h"
#include "results/figure.h"

namespace ordinal::report {

// `pictures`: what the schemes look like, each by its spec; their ids differ.
std::string to_html(const Compared& result, std::span<const SchemePicture> pictures);

}  // namespace ordinal::report
