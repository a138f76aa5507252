// spec.cpp: specs as text: the parts of one, of one with layers of their own, and of a list.
#include <algorithm>
#include <charconv>

#include "base/words.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

// A spec is a line on a screen; model files keep as much.
constexpr size_t kMostText = 1024;

constexpr std::string_view kLayers = "layers=", kHeads = "heads=", kWith = "with=";

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t end; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1))
    pieces.push_back(text.substr(0, end));
  pieces.push_back(text);
  return pieces;
}

Error not_layered(std::string_view text, const std::string& found) {
  return Error(
      "'" + std::string(text) + "' is not a position spec with layers or heads of their own",
      "base;layers=LIST:spec, with layers such as 3,7-9, or base;heads=LIST:spec, with heads such as 3.0,3.4-7 "
      "of layer 3",
      found, "rope;layers=3,7,11:none");
}

int64_t read_number(std::string_view text, std::string_view number, std::string_view what) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.starts_with('-') || error != std::errc() || end != number.data() + number.size())
    throw not_layered(text, "'" + std::string(number) + "' where a " + std::string(what) + " should be");
  return value;
}

// "7-9", or "7" for 7-7.
std::pair<int64_t, int64_t> read_range(std::string_view text, std::string_view item, std::string_view what) {
  const size_t dash = item.find('-');
  const int64_t first = read_number(text, item.substr(0, dash), what);
  const int64_t last = dash == std::string_view::npos ? first : read_number(text, item.substr(dash + 1), what);
  if (last < first) throw not_layered(text, "the range " + std::string(item));
  return {first, last};
}

void check_size(std::string_view text) {
  if (text.size() <= kMostText) return;
  throw Error("a position spec is too long", "at most " + std::to_string(kMostText) + " characters",
              std::to_string(text.size()), see_list());
}

// One spec, modifiers included.
void check_part(const std::string& part) {
  const ModifiedSpec cut = parse_modified_spec(part);
  for (const std::string& modifier : cut.modifiers) modifier_info(parse_position_spec(modifier).name);
  const std::string name = parse_position_spec(cut.base).name;
  if (name == "native" || std::ranges::find(position_schemes(), name, &SchemeInfo::name) != position_schemes().end())
    return;
  const std::string near = nearest_word(name, position_schemes(), &SchemeInfo::name);
  throw Error("there is no position scheme '" + escaped(name) + "'",
              "native, " + joined(position_schemes(), ", ", &SchemeInfo::name), escaped(part),
              near.empty() ? see_list() : near + " (" + see_list() + ")");
}

}  // namespace

std::string see_list() { return "`ordinal positions list` shows every scheme with its parameters"; }

PositionSpec parse_position_spec(std::string_view text) {
  check_size(text);
  const auto malformed = [&](const std::string& found) {
    return Error("'" + std::string(text) + "' is not a position spec", "name or name:key=value,key=value", found,
                 "rope:theta=10000,pairing=half (" + see_list() + ")");
  };
  PositionSpec spec;
  const size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  if (!is_word(spec.name)) throw malformed("the name '" + spec.name + "'");
  if (colon == std::string_view::npos) return spec;
  for (const std::string_view pair : pieces_of(text.substr(colon + 1), ',')) {
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !is_word(pair.substr(0, equals)) || equals + 1 == pair.size())
      throw malformed("'" + std::string(pair) + "' where key=value should be");
    std::string key(pair.substr(0, equals));
    for (const auto& [other, value] : spec.params)
      if (other == key) throw malformed("the key '" + key + "' twice");
    spec.params.emplace_back(std::move(key), pair.substr(equals + 1));
  }
  return spec;
}

std::vector<std::string> split_position_list(std::string_view text) {
  const auto malformed = [&](const std::string& found) {
    return Error("'" + std::string(text.substr(0, 100)) + "' is not a list of position specs",
                 "specs with commas between them: native,rope:theta=10000,factor=2,alibi", found, see_list());
  };
  std::vector<std::string> specs;
  for (const std::string_view untrimmed : pieces_of(text, ',')) {
    const std::string piece(trimmed(untrimmed));
    if (piece.empty()) throw malformed("an empty piece");
    const bool key_first = is_word(piece.substr(0, piece.find_first_of("=:;"))) &&
                           piece.find('=') != std::string::npos && piece.find('=') == piece.find_first_of("=:;");
    const bool layer_first = piece.front() >= '0' && piece.front() <= '9';
    if (!key_first && !layer_first)
      specs.push_back(piece);
    else if (specs.empty())
      throw malformed("'" + piece + "' with no spec before it");
    else
      specs.back() += "," + piece;
  }
  for (const std::string& spec : specs) check_position_spec(spec);
  return specs;
}

size_t end_of_modified(std::string_view text) {
  size_t end = text.find(';');
  while (end < text.size() && text.substr(end + 1).starts_with(kWith)) end = text.find(';', end + 1);
  return std::min(end, text.size());
}

ModifiedSpec parse_modified_spec(std::string_view text) {
  std::vector<std::string_view> pieces = pieces_of(text, ';');
  ModifiedSpec spec{.base = std::string(pieces.front()), .modifiers = {}};
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (!pieces[i].starts_with(kWith))
      throw Error("'" + std::string(text) + "' is not a position spec with modifiers", "spec;with=NAME:key=value",
                  "'" + std::string(pieces[i]) + "'", "rope;with=logn (" + see_list() + ")");
    spec.modifiers.emplace_back(pieces[i].substr(kWith.size()));
  }
  return spec;
}

std::string ModifiedSpec::text() const {
  std::string text = base;
  for (const std::string& modifier : modifiers) text.append(";").append(kWith).append(modifier);
  return text;
}

PositionSpec parse_first_scheme(std::string_view text) { return parse_position_spec(text.substr(0, text.find(';'))); }

LayeredSpec parse_layered_spec(std::string_view text) {
  check_size(text);
  const std::vector<std::string_view> pieces = pieces_of(text, ';');
  LayeredSpec spec{.base = std::string(pieces.front()), .parts = {}};
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].starts_with(kWith)) {  // a modifier belongs to the spec before it
      (spec.parts.empty() ? spec.base : spec.parts.back().spec).append(";").append(pieces[i]);
      continue;
    }
    const size_t colon = pieces[i].find(':');
    const bool of_heads = pieces[i].starts_with(kHeads);
    if (!(of_heads || pieces[i].starts_with(kLayers)) || colon == std::string_view::npos)
      throw not_layered(text, "'" + std::string(pieces[i]) + "'");
    const size_t start = of_heads ? kHeads.size() : kLayers.size();
    LayeredSpec::Part part{.of_heads = of_heads, .list = std::string(pieces[i].substr(start, colon - start))};
    part.spec = pieces[i].substr(colon + 1);
    for (const std::string_view item : pieces_of(part.list, ',')) {
      if (!of_heads) {
        part.ranges.push_back(read_range(text, item, "layer"));
        continue;
      }
      const size_t dot = item.find('.');
      if (dot == std::string_view::npos)
        throw not_layered(text, "'" + std::string(item) + "' where LAYER.HEAD should be");
      const int64_t layer = read_number(text, item.substr(0, dot), "layer");
      part.ranges.emplace_back(layer, layer);
      part.heads.push_back(read_range(text, item.substr(dot + 1), "head"));
    }
    spec.parts.push_back(std::move(part));
  }
  return spec;
}

void check_position_spec(std::string_view text) {
  const LayeredSpec spec = parse_layered_spec(text);
  check_part(spec.base);
  for (const LayeredSpec::Part& part : spec.parts) check_part(part.spec);
}

std::string expand_native(std::string_view text, std::string_view native) {
  if (text.find("native") == std::string_view::npos) return std::string(text);
  const LayeredSpec spec = parse_layered_spec(text);
  // "native;with=..." modifies the model's first spec, not one of some layers.
  const size_t first = end_of_modified(native);
  const auto replaced = [&](const std::string& part) {
    const size_t name = std::min(part.find(';'), part.size());
    if (part.substr(0, name) != "native") return part;
    return std::string(native.substr(0, first)) + part.substr(name) + std::string(native.substr(first));
  };
  std::string expanded = replaced(spec.base);
  for (const LayeredSpec::Part& part : spec.parts) {
    const std::string own = replaced(part.spec);
    if (own != part.spec && first < native.size())
      throw Error("the model's own positions differ by layer, so they cannot be those of a layer",
                  "native first, as in native;layers=0:none", std::string(text), "the scheme meant, by its name");
    expanded += part.head() + own;
  }
  return expanded;
}

}  // namespace ordinal
