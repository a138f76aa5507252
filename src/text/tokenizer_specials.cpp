// tokenizer_specials.cpp: see tokenizer_specials.h.
#include "text/tokenizer_specials.h"

#include <algorithm>
#include <tuple>

#include "ordinal/error.h"
#include "text/tokenizer_base.h"

namespace ordinal {
namespace {
constexpr size_t kLongestName = 1024;
}  // namespace

SpecialNames::SpecialNames(const TokenizerData& data) {
  for (const TokenId id : data.special_ids) {
    const std::string& name = data.pieces[static_cast<size_t>(id)];
    if (name.empty()) continue;
    if (name.size() > kLongestName) {
      throw Error("the name of a special token is too long", "at most 1024 bytes",
                  name_of_token(data, id) + " of " + std::to_string(name.size()) + " bytes");
    }
    names_.push_back({name, id});
    first_bytes_.set(static_cast<unsigned char>(name[0]));
  }
  std::sort(names_.begin(), names_.end(),
            [](const Name& a, const Name& b) { return std::tie(a.bytes, a.id) < std::tie(b.bytes, b.id); });
  const auto repeated =
      std::unique(names_.begin(), names_.end(), [](const Name& a, const Name& b) { return a.id == b.id; });
  names_.erase(repeated, names_.end());
  const auto twin =
      std::adjacent_find(names_.begin(), names_.end(), [](const Name& a, const Name& b) { return a.bytes == b.bytes; });
  if (twin != names_.end()) {
    throw Error("two special tokens have one name", "a name of its own for each",
                name_of_token(data, twin[0].id) + " and " + name_of_token(data, twin[1].id));
  }
}

SpecialNames::Match SpecialNames::at_front(std::string_view text) const {
  Match match;
  if (text.empty() || !first_bytes_[static_cast<unsigned char>(text[0])]) return match;
  auto first = names_.begin(), last = names_.end();  // the names that share the first `length` bytes with the text
  for (size_t length = 0; first != last; ++length) {
    if (first->bytes.size() == length) match = {first++->id, length};
    if (length == text.size()) break;
    const unsigned next = static_cast<unsigned char>(text[length]);
    const auto byte_of = [length](const Name& name) {
      return unsigned{static_cast<unsigned char>(name.bytes[length])};
    };
    first = std::partition_point(first, last, [&](const Name& name) { return byte_of(name) < next; });
    last = std::partition_point(first, last, [&](const Name& name) { return byte_of(name) == next; });
  }
  return match;
}

}  // namespace ordinal
