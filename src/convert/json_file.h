// json_file.h: a JSON file of another program.
#pragma once

#include <string>

#include "base/json.h"

namespace ordinal::convert {

// Throws Error as parse_json does.
JsonDocument read_json(const std::string& path);

}  // namespace ordinal::convert
