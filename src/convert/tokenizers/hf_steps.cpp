// hf_steps.cpp: see hf_steps.h.
#include "convert/tokenizers/hf_steps.h"

#include <algorithm>
#include <vector>

#include "base/words.h"
#include "convert/tokenizers/hf_pattern.h"
#include "convert/tokenizers/hf_template.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

using Change = TokenizerData::Change;
using Cut = TokenizerData::Cut;

// Patterns that are cut by hand, as their publishers write them.
struct HandCut {
  std::string_view rule, pattern;
};
constexpr HandCut kHandCuts[] = {
    {"gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {"llama3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

// Behaviours of a split, by the names that files use: Rust's and Python's.
struct Behaviour {
  std::string_view name, python_name, how;
};
constexpr Behaviour kBehaviours[] = {{"Isolated", "isolated", "isolated"},
                                     {"Removed", "removed", "removed"},
                                     {"MergedWithPrevious", "merged_with_previous", "previous"},
                                     {"MergedWithNext", "merged_with_next", "next"},
                                     {"Contiguous", "contiguous", "contiguous"}};

// One step of a pipeline, with its settings.
class StepReader {
 public:
  StepReader(const Json& step, const std::string& name, const std::string& field)
      : step_(object(step, field + " in " + name)), name_(name), field_(field) {
    const Json* type = find(step_, "type");
    if (type == nullptr) refuse("a step with a type", &step_);
    type_ = text(*type, field_ + ".type in " + name_);
  }

  const std::string& type() const { return type_; }
  const Json* find_setting(const char* key) const { return find(step_, key); }

  bool flag(const char* key, bool otherwise) const {
    const Json* value = find(step_, key);
    return value == nullptr ? otherwise : boolean(*value, where(key));
  }
  std::string word(const char* key, const std::string& otherwise) const {
    const Json* value = find(step_, key);
    return value == nullptr ? otherwise : text(*value, where(key));
  }

  // A pattern: {"String": text} or {"Regex": text}.
  struct Pattern {
    std::string text;
    bool literal;
  };
  Pattern pattern() const {
    const Json* value = find(step_, "pattern");
    const Json* string = value == nullptr ? nullptr : find(object(*value, where("pattern")), "String");
    const Json* regex = value == nullptr ? nullptr : find(*value, "Regex");
    if ((string == nullptr) == (regex == nullptr)) refuse("a pattern: String or Regex", &step_);
    Pattern found{text(string != nullptr ? *string : *regex, where("pattern")), string != nullptr};
    if (found.text.empty()) refuse("a pattern that is not empty", value);
    return found;
  }

  std::string how(const std::string& otherwise) const {
    const std::string given = word("behavior", otherwise);
    for (const Behaviour& row : kBehaviours)
      if (row.name == given || row.python_name == given) return std::string(row.how);
    refuse("isolated, removed, merged_with_previous, merged_with_next or contiguous", find(step_, "behavior"));
  }

  [[noreturn]] void refuse(const std::string& expected, const Json* found) const {
    refuse_field(name_, field_ + (type_.empty() ? "" : " " + type_), expected, found == nullptr ? &step_ : found);
  }

  std::string where(const char* key) const { return field_ + " " + type_ + "." + key + " in " + name_; }

 private:
  const Json& step_;
  const std::string& name_;
  const std::string& field_;
  std::string type_;
};

// Calls `read` for the step, or for each step of a Sequence, which may hold others.
template <class Read>
void for_steps(const Json* step, const char* list_key, const std::string& name, const std::string& field,
               const Read& read, int depth = 0) {
  if (step == nullptr) return;
  const StepReader reader(*step, name, field);
  if (reader.type() != "Sequence") return read(reader);
  const Json* steps = reader.find_setting(list_key);
  if (steps == nullptr || depth > 8) reader.refuse(list_key, step);
  for (const Json& part : array(*steps, field + " in " + name))
    for_steps(&part, list_key, name, field, read, depth + 1);
}

class Steps {
 public:
  Steps(const Json& tokenizer, const std::string& name, TokenizerData& data)
      : tokenizer_(tokenizer), name_(name), data_(data) {}

  PipelineFacts read() {
    data_.split = "none";
    for_steps(find(tokenizer_, "normalizer"), "normalizers", name_, normalizer_member_,
              [&](const StepReader& step) { read_normalizer(step); });
    for_steps(find(tokenizer_, "pre_tokenizer"), "pretokenizers", name_, pre_tokenizer_member_,
              [&](const StepReader& step) { read_pre_tokenizer(step); });
    settle_cuts();
    for_steps(find(tokenizer_, "decoder"), "decoders", name_, decoder_member_,
              [&](const StepReader& step) { read_decoder(step); });
    check_decoder();
    data_.kind = facts_.byte_level ? "bpe" : "char_bpe";
    return facts_;
  }

 private:
  const std::string normalizer_member_ = "normalizer", pre_tokenizer_member_ = "pre_tokenizer",
                    decoder_member_ = "decoder";

  struct Kind {
    std::string_view type;
    void (Steps::*read)(const StepReader& step);
  };
  template <size_t N>
  void read_by(const Kind (&kinds)[N], const StepReader& step) {
    for (const Kind& kind : kinds)
      if (kind.type == step.type()) return (this->*kind.read)(step);
    step.refuse("one of " + joined(kinds, ", ", &Kind::type), nullptr);
  }

  // Normalizers.
  void read_normalizer(const StepReader& step) {
    static constexpr Kind kKinds[] = {{"NFC", &Steps::nfc},         {"NFD", &Steps::nfd},
                                      {"NFKC", &Steps::nfkc},       {"NFKD", &Steps::nfkd},
                                      {"Lowercase", &Steps::lower}, {"Strip", &Steps::strip},
                                      {"Prepend", &Steps::prepend}, {"Replace", &Steps::replace}};
    read_by(kKinds, step);
  }
  void change(std::string_view what, const std::string& pattern = "", const std::string& content = "") {
    data_.changes.push_back({std::string(what), pattern, content});
  }
  void nfc(const StepReader&) { change("nfc"); }
  void nfd(const StepReader&) { change("nfd"); }
  void nfkc(const StepReader&) { change("nfkc"); }
  void nfkd(const StepReader&) { change("nfkd"); }
  void lower(const StepReader&) { change("lowercase"); }
  void strip(const StepReader& step) {
    if (facts_.marks_blanks) step.refuse("Strip before blanks are replaced", nullptr);
    if (step.flag("strip_left", true)) change("strip_left");
    if (step.flag("strip_right", true)) change("strip_right");
  }
  void prepend(const StepReader& step) {
    const std::string content = step.word("prepend", "");
    if (content.empty()) return;
    uses_marks_ = uses_marks_ || with_blanks(content) != content;
    change("prepend", "", with_blanks(content));
  }
  // " " to the mark: pieces are kept with the blank, so it is marks in the text that become blanks.
  void replace(const StepReader& step) {
    const StepReader::Pattern pattern = step.pattern();
    const std::string given = step.word("content", ""), content = with_blanks(given);
    uses_marks_ = uses_marks_ || content != given;
    if (pattern.literal && pattern.text == " " && content == " ") {
      facts_.marks_blanks = true;
      change("replace", std::string(kBlankMark), " ");
    } else if (facts_.marks_blanks && !pattern.literal) {
      step.refuse("patterns before blanks are replaced", nullptr);
    } else if (pattern.literal) {
      change("replace", facts_.marks_blanks ? with_blanks(pattern.text) : pattern.text, content);
    } else {
      change("replace_regex", translate_pattern(pattern.text, normalizer_member_ + " in " + name_), content);
    }
  }

  // Pre-tokenizers.
  void read_pre_tokenizer(const StepReader& step) {
    static constexpr Kind kKinds[] = {{"ByteLevel", &Steps::byte_level},
                                      {"Split", &Steps::split},
                                      {"Digits", &Steps::digits},
                                      {"Punctuation", &Steps::punctuation},
                                      {"Metaspace", &Steps::metaspace},
                                      {"Whitespace", &Steps::whitespace},
                                      {"WhitespaceSplit", &Steps::whitespace_split}};
    read_by(kKinds, step);
  }
  void cut(const StepReader& step, Cut made) {
    if (facts_.marks_blanks && !made.literal) step.refuse("patterns before blanks are replaced", nullptr);
    made.spelled = facts_.byte_level;
    if (made.spelled && made.how == "rule") {
      for (const HandCut& row : kHandCuts)
        if (row.rule == made.pattern) made = {"isolated", translate_pattern(row.pattern, name_), false, false, true};
    }
    data_.cuts.push_back(std::move(made));
  }
  void byte_level(const StepReader& step) {
    const Json* space = step.find_setting("add_prefix_space");
    if (space == nullptr) step.refuse("add_prefix_space, true or false", nullptr);
    if (facts_.byte_level) step.refuse("ByteLevel once", nullptr);
    if (facts_.marks_blanks) step.refuse("ByteLevel, or blanks that are replaced", nullptr);
    if (boolean(*space, step.where("add_prefix_space"))) {
      if (!data_.cuts.empty()) step.refuse("add_prefix_space before any cut", space);
      data_.add_prefix_space = true;
    }
    if (step.flag("use_regex", true)) cut(step, {"rule", "gpt2"});
    facts_.byte_level = true;
  }
  void split(const StepReader& step) {
    const StepReader::Pattern pattern = step.pattern();
    const std::string how = step.how("");
    const bool inverted = step.flag("invert", false);
    for (const HandCut& row : kHandCuts)  // which leave nothing between matches
      if (!pattern.literal && pattern.text == row.pattern && (how == "isolated" || (how == "removed" && inverted)))
        return cut(step, {"rule", std::string(row.rule)});
    if (facts_.marks_blanks && pattern.literal && pattern.text == " ") return;  // there are none any more
    if (pattern.literal)
      return cut(step, {how, facts_.marks_blanks ? with_blanks(pattern.text) : pattern.text, true, inverted});
    cut(step, {how, translate_pattern(pattern.text, pre_tokenizer_member_ + " in " + name_), false, inverted});
  }
  void digits(const StepReader& step) {
    cut(step, {step.flag("individual_digits", false) ? "isolated" : "contiguous", R"(\p{N})"});
  }
  void punctuation(const StepReader& step) { cut(step, {step.how("Isolated"), R"([\p{P}$+<=>^`|~])"}); }
  void whitespace(const StepReader& step) {
    cut(step, {"removed", translate_pattern(R"(\w+|[^\w\s]+)", name_), false, true});
  }
  void whitespace_split(const StepReader& step) { cut(step, {"removed", translate_pattern(R"(\s)", name_)}); }
  void metaspace(const StepReader& step) {
    if (step.word("replacement", std::string(kBlankMark)) != kBlankMark)
      step.refuse("the replacement U+2581", step.find_setting("replacement"));
    if (facts_.byte_level || !data_.cuts.empty()) step.refuse("Metaspace before any cut", nullptr);
    const std::string scheme = prepend_scheme(step);
    if (scheme == "always") data_.add_prefix_space = true;
    if (scheme == "first") data_.prefix = "first";
    // After the names of added tokens are cut out, but no name has a mark that this would change.
    change("replace", std::string(kBlankMark), " ");
    facts_.marks_blanks = true;
    if (step.flag("split", true)) cut(step, {"next", " ", true});
  }
  std::string prepend_scheme(const StepReader& step) {
    const std::string otherwise = step.flag("add_prefix_space", true) ? "always" : "never";
    const std::string scheme = step.word("prepend_scheme", otherwise);
    if (scheme != "always" && scheme != "first" && scheme != "never")
      step.refuse("a prepend_scheme: always, first or never", step.find_setting("prepend_scheme"));
    return scheme;
  }

  // One rule is a split by name; the last cut of bytes that are spelled needs no spelling any more.
  void settle_cuts() {
    if (data_.cuts.size() != 1 || data_.cuts[0].how != "rule") return;
    data_.split = data_.cuts[0].pattern;
    data_.cuts.clear();
  }

  // Decoders.
  void read_decoder(const StepReader& step) {
    static constexpr Kind kKinds[] = {{"ByteLevel", &Steps::decode_bytes},  {"Replace", &Steps::decode_replace},
                                      {"ByteFallback", &Steps::decode_any}, {"Fuse", &Steps::decode_any},
                                      {"Strip", &Steps::decode_strip},      {"Metaspace", &Steps::decode_metaspace}};
    read_by(kKinds, step);
  }
  void decode_any(const StepReader&) {}
  void decode_bytes(const StepReader&) { decodes_bytes_ = true; }
  void decode_replace(const StepReader& step) {
    const StepReader::Pattern pattern = step.pattern();
    if (!pattern.literal || pattern.text != kBlankMark || step.word("content", "") != " ")
      step.refuse("U+2581 replaced by a blank", nullptr);
    decodes_marks_ = true;
  }
  void decode_strip(const StepReader& step) {
    const Json *start = step.find_setting("start"), *stop = step.find_setting("stop");
    const int64_t first = start == nullptr ? 0 : whole_number(*start, step.where("start"));
    if (step.word("content", " ") != " " || (first != 0 && first != 1) ||
        (stop != nullptr && whole_number(*stop, step.where("stop")) != 0))
      step.refuse("one blank stripped at the start, none at the end", nullptr);
    if (first == 1) data_.first_space = "dropped";
  }
  void decode_metaspace(const StepReader& step) {
    decodes_marks_ = true;
    if (prepend_scheme(step) != "never") data_.first_space = "all_dropped";
  }
  void check_decoder() const {
    if (uses_marks_ && !facts_.marks_blanks)
      refuse_field(name_, normalizer_member_, "blanks replaced by U+2581 where it is put in",
                   find(tokenizer_, "normalizer"));
    if (facts_.byte_level ? decodes_bytes_ && !decodes_marks_
                          : decodes_marks_ == facts_.marks_blanks && !decodes_bytes_)
      return;
    if (facts_.byte_level && find(tokenizer_, "decoder") == nullptr) return;
    refuse_field(name_, decoder_member_, "the way back of normalizer and pre_tokenizer", find(tokenizer_, "decoder"));
  }

  const Json& tokenizer_;
  const std::string& name_;
  TokenizerData& data_;
  PipelineFacts facts_;
  bool uses_marks_ = false;  // U+2581 was put in, which only means a blank where all blanks become it
  bool decodes_bytes_ = false, decodes_marks_ = false;
};

}  // namespace

std::string with_blanks(std::string_view text) {
  std::string blanks;
  for (size_t at = 0; at < text.size();) {
    const bool is_mark = text.substr(at).starts_with(kBlankMark);
    blanks += is_mark ? ' ' : text[at];
    at += is_mark ? kBlankMark.size() : 1;
  }
  return blanks;
}

PipelineFacts read_steps(const Json& tokenizer, const std::string& name, TokenizerData& data) {
  return Steps(tokenizer, name, data).read();
}

}  // namespace ordinal::convert
