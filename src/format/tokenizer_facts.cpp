// tokenizer_facts.cpp: see tokenizer_facts.h.
#include "format/tokenizer_facts.h"

#include "base/utf8.h"
#include "base/words.h"
#include "format/tokenizer_data.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

using Change = TokenizerData::Change;
using Cut = TokenizerData::Cut;
using Added = TokenizerData::Added;

constexpr size_t kMaxFactWord = 64;
constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxStepText = size_t{64} << 10;

// A fact that came late, or a part of one: the key and where it is kept. The tables below are all there is to know.
template <class Owner, class Value>
struct Fact {
  std::string_view key;
  Value Owner::*place;
};
template <class Owner>
using Words = Fact<Owner, std::string>;
template <class Owner>
using Truths = Fact<Owner, bool>;

constexpr Words<TokenizerData> kWords[] = {
    {"prefix", &TokenizerData::prefix}, {"first_space", &TokenizerData::first_space}, {"chat", &TokenizerData::chat}};
constexpr Truths<TokenizerData> kTruths[] = {{"adds_eos", &TokenizerData::adds_eos},
                                             {"ignore_merges", &TokenizerData::ignore_merges},
                                             {"fuse_unknown", &TokenizerData::fuse_unknown}};
constexpr Words<Change> kChangeWords[] = {
    {"what", &Change::what}, {"pattern", &Change::pattern}, {"content", &Change::content}};
constexpr Words<Cut> kCutWords[] = {{"how", &Cut::how}, {"pattern", &Cut::pattern}};
constexpr Truths<Cut> kCutTruths[] = {
    {"literal", &Cut::literal}, {"inverted", &Cut::inverted}, {"spelled", &Cut::spelled}};
constexpr Words<Added> kAddedWords[] = {{"name", &Added::name}};
constexpr Truths<Added> kAddedTruths[] = {{"always", &Added::always},         {"lstrip", &Added::lstrip},
                                          {"rstrip", &Added::rstrip},         {"single_word", &Added::single_word},
                                          {"normalized", &Added::normalized}, {"named_only", &Added::named_only}};
constexpr std::string_view kOtherFacts[] = {"eos_id", "added", "changes", "cuts", "byte_ids"};

template <class Table, class Owner>
void read_facts(const Json& json, const Table& table, Owner& into) {
  for (const auto& [key, place] : table)
    if (const Json* value = find(json, key)) {
      const std::string what(key);
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(into.*place)>, bool>)
        into.*place = boolean(*value, what);
      else
        into.*place = text(*value, what);
    }
}

template <class Table, class Owner>
void write_facts(JsonWriter& json, const Table& table, const Owner& from) {
  for (const auto& [key, place] : table)
    if (from.*place != std::remove_cvref_t<decltype(from.*place)>()) json.add(key, from.*place);
}

template <class... Tables>
std::vector<std::string_view> keys_of(const Tables&... tables) {
  std::vector<std::string_view> keys;
  const auto add = [&](const auto& table) {
    for (const auto& fact : table) keys.push_back(fact.key);
  };
  (add(tables), ...);
  return keys;
}

// A list of objects, each read by `read`.
template <class Item, class Read>
void read_list(const Json& json, const std::string& key, std::vector<Item>& into, const Read& read) {
  const Json* list = find(json, key);
  if (list == nullptr) return;
  for (const Json& item : array(*list, key)) read(item, into.emplace_back());
}

template <class Item, class Write>
void write_list(JsonWriter& json, std::string_view key, const std::vector<Item>& list, const Write& write) {
  if (list.empty()) return;
  json.key(key);
  json.begin_array();
  for (const Item& item : list) {
    json.value([&] {
      json.begin_object();
      write(item);
      json.end_object();
    });
  }
  json.end_array();
}

void check_step(const char* what, const std::string& name, std::initializer_list<const std::string*> texts) {
  if (!is_plain_word(name, kMaxFactWord))
    throw Error(std::string("a step of a tokenizer's ") + what + " has no proper name",
                "up to 64 characters of ASCII, no blanks", in_quotes(name));
  for (const std::string* part : texts)
    if (part->size() > kMaxStepText || utf8_end(*part, 0) != part->size())
      throw Error(std::string("a step of a tokenizer's ") + what + " has a text that cannot be kept",
                  "at most 65536 bytes of UTF-8", in_quotes(*part));
}

}  // namespace

std::vector<std::string_view> late_tokenizer_facts() {
  std::vector<std::string_view> keys = keys_of(kWords, kTruths);
  keys.insert(keys.end(), std::begin(kOtherFacts), std::end(kOtherFacts));
  return keys;
}

void read_tokenizer_facts(const Json& json, TokenizerData& data) {
  data.kind = text(member(json, "kind"), "kind");
  data.split = text(member(json, "split"), "split");
  data.add_prefix_space = boolean(member(json, "add_prefix_space"), "add_prefix_space");
  data.adds_bos = boolean(member(json, "adds_bos"), "adds_bos");
  data.bos_id = whole_number_32(member(json, "bos_id"), "bos_id");
  if (const Json* id = find(json, "eos_id")) data.eos_id = whole_number_32(*id, "eos_id");
  data.unknown_id = whole_number_32(member(json, "unknown_id"), "unknown_id");
  for (const Json& id : array(member(json, "special_ids"), "special_ids"))
    data.special_ids.push_back(whole_number_32(id, "special_ids"));
  read_facts(json, kWords, data);
  read_facts(json, kTruths, data);
  read_list(json, "changes", data.changes, [](const Json& item, Change& change) {
    check_members(item, "changes", {"what"}, keys_of(kChangeWords));
    read_facts(item, kChangeWords, change);
  });
  read_list(json, "cuts", data.cuts, [](const Json& item, Cut& cut) {
    check_members(item, "cuts", {"how"}, keys_of(kCutWords, kCutTruths));
    read_facts(item, kCutWords, cut);
    read_facts(item, kCutTruths, cut);
  });
  read_list(json, "added", data.added, [](const Json& item, Added& added) {
    check_members(item, "added", {"id"}, keys_of(kAddedWords, kAddedTruths));
    added.id = whole_number_32(member(item, "id"), "added");
    read_facts(item, kAddedWords, added);
    read_facts(item, kAddedTruths, added);
  });
  if (const Json* ids = find(json, "byte_ids"))
    for (const Json& id : array(*ids, "byte_ids")) data.byte_ids.push_back(whole_number_32(id, "byte_ids"));
}

void write_tokenizer_facts(JsonWriter& json, const TokenizerData& data) {
  json.add("kind", data.kind);
  json.add("split", data.split);
  json.add("add_prefix_space", data.add_prefix_space);
  json.add("adds_bos", data.adds_bos);
  write_facts(json, kTruths, data);
  json.add("bos_id", data.bos_id);
  if (data.eos_id != -1) json.add("eos_id", data.eos_id);
  json.add("unknown_id", data.unknown_id);
  json.add("special_ids", data.special_ids);
  write_facts(json, kWords, data);
  write_list(json, "changes", data.changes, [&](const Change& change) { write_facts(json, kChangeWords, change); });
  write_list(json, "cuts", data.cuts, [&](const Cut& cut) {
    write_facts(json, kCutWords, cut);
    write_facts(json, kCutTruths, cut);
  });
  write_list(json, "added", data.added, [&](const Added& added) {
    json.add("id", added.id);
    write_facts(json, kAddedWords, added);
    write_facts(json, kAddedTruths, added);
  });
  if (!data.byte_ids.empty()) json.add("byte_ids", data.byte_ids);
}

void check_tokenizer_id(const char* what, TokenId id, TokenId lowest, int64_t vocab_size) {
  if (id < lowest || id >= vocab_size)
    throw Error(std::string("the tokenizer's ") + what + " is not in the vocabulary",
                std::to_string(lowest) + " to " + std::to_string(vocab_size - 1), std::to_string(id));
}

void check_tokenizer_facts(const TokenizerData& data, int64_t vocab_size) {
  tokenizer_kind(data.kind);
  if (!is_plain_word(data.split, kMaxFactWord))
    throw Error("a tokenizer's split has no proper name", "up to 64 characters of ASCII, no blanks",
                in_quotes(data.split));
  for (const auto& [key, place] : kWords)
    if (!(data.*place).empty() && !is_plain_word(data.*place, kMaxFactWord))
      throw Error("a tokenizer's " + std::string(key) + " has no proper name",
                  "up to 64 characters of ASCII, no blanks", in_quotes(data.*place));
  check_tokenizer_id("bos_id", data.bos_id, -1, vocab_size);
  check_tokenizer_id("eos_id", data.eos_id, -1, vocab_size);
  check_tokenizer_id("unknown_id", data.unknown_id, -1, vocab_size);
  for (const TokenId id : data.special_ids) check_tokenizer_id("special_ids", id, 0, vocab_size);
  for (const TokenId id : data.byte_ids) check_tokenizer_id("byte_ids", id, -1, vocab_size);
  for (const Added& added : data.added) check_tokenizer_id("added", added.id, 0, vocab_size);
  if (!data.byte_ids.empty() && data.byte_ids.size() != 256)
    throw Error("the tokenizer's byte_ids are not those of all bytes", "256 of them, or none",
                std::to_string(data.byte_ids.size()));
  if (data.changes.size() > kMaxSteps || data.cuts.size() > kMaxSteps)
    throw Error("a tokenizer has too many steps", "at most 64 changes and 64 cuts",
                std::to_string(data.changes.size()) + " and " + std::to_string(data.cuts.size()));
  for (const Added& added : data.added)
    if (added.name.size() > kMaxStepText || utf8_end(added.name, 0) != added.name.size())
      throw Error("the name of an added token cannot be kept", "at most 65536 bytes of UTF-8", in_quotes(added.name));
  for (const Change& change : data.changes) check_step("changes", change.what, {&change.pattern, &change.content});
  for (const Cut& cut : data.cuts) check_step("cuts", cut.how, {&cut.pattern});
}

}  // namespace ordinal
