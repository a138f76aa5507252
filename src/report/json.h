// json.h: results as one line of JSON. Keys are only ever added. Bytes of a text that are not UTF-8 become U+FFFD, and
// numbers that JSON has no word for become null; ids are always exact.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/compared.h"
#include "results/results.h"

namespace ordinal::report {

std::string to_json(const Generated& result);
std::string to_json(std::span<const Generated> results);  // an array
// One of many, with the line of the input that it answers and that line's id, a JSON value, which is copied as it is.
std::string to_json(const Generated& result, int64_t line, const std::string& id, const std::string& settings);
std::string to_json(const Evaluated& result);
std::string to_json(const Tokenized& result);
std::string to_json(const Inspected& result);
std::string to_json(const Converted& result);
std::string to_json(std::span<const Measured> rows);  // an array
std::string to_json(const Perplexity& result);
std::string to_json(const Diagnosed& result);
std::string to_json(std::span<const SchemeRow> schemes);  // an array
std::string to_json(std::span<const Check> checks);       // an array
std::string to_json(const Compared& result);

// The text that ids stand for.
std::string text_json(std::span<const int32_t> ids, const std::string& text);

// The members of an object: strings as they are, other values as JSON; nothing when it is no object.
std::vector<std::pair<std::string, std::string>> members_of(const std::string& object);

// A string as JSON has it, in quotes; a list of numbers in brackets.
std::string quoted_json(const std::string& text);
std::string numbers_json(std::span<const int32_t> values);

}  // namespace ordinal::report
