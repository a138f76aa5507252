// json_tree.h: JSON of foreign files as a tree, for text that nobody vouches for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ordinal::convert {

using Json = nlohmann::json;

// Nesting and size that no checkpoint needs more of.
inline constexpr size_t kMaxJsonDepth = 32;
inline constexpr size_t kMaxJsonBytes = 100'000'000;

// Throws Error for text that is not JSON, is nested deeper than kMaxJsonDepth, is longer than kMaxJsonBytes, or has a
// key twice in one object. `name` is the document in messages.
Json parse_json(std::string_view text, const std::string& name);
Json read_json(const std::string& path);

// The member, or nullptr when it is absent or null.
const Json* find(const Json& object, const std::string& key);

// The value as what it should be. Throws Error naming `what`.
int64_t whole_number(const Json& value, const std::string& what, int64_t low, int64_t high);
double number(const Json& value, const std::string& what);
bool boolean(const Json& value, const std::string& what);
const std::string& text(const Json& value, const std::string& what);
const Json& object(const Json& value, const std::string& what);
const Json& array(const Json& value, const std::string& what);

// A value for a message: short, and nothing that could upset a terminal.
std::string shown(const Json& value);

}  // namespace ordinal::convert
