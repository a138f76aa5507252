// changes.cpp: see changes.h. They do what the normalizers of the `tokenizers` package do.
#include "text/changes.h"

#include <algorithm>

#include "base/utf8.h"
#include "base/words.h"
#include "ordinal/error.h"
#include "text/unicode.h"

namespace ordinal {

// One change at work: the text before it, and what it has made so far.
class ChangeRun {
 public:
  explicit ChangeRun(const ChangedText& before) : before_(before) {}

  std::string_view text() const { return before_.bytes; }

  // The bytes [begin, end) of the text, as they are.
  void copy(size_t begin, size_t end) {
    after_.bytes.append(before_.bytes, begin, end - begin);
    if (before_.origins.empty()) return;
    const auto first = before_.origins.begin();
    after_.origins.insert(after_.origins.end(), first + static_cast<ptrdiff_t>(begin),
                          first + static_cast<ptrdiff_t>(end));
  }

  // `bytes` in place of what begins at `begin`.
  void put(std::string_view bytes, size_t begin) {
    after_.bytes += bytes;
    if (!before_.origins.empty()) after_.origins.insert(after_.origins.end(), bytes.size(), before_.origins[begin]);
  }

  // Bytes that stand for [begin, end); as they are when they are the same.
  void put_for(std::string_view bytes, size_t begin, size_t end) {
    if (text().substr(begin, end - begin) == bytes) {
      copy(begin, end);
    } else {
      put(bytes, begin);
    }
  }

  ChangedText take() {
    if (!before_.origins.empty()) after_.origins.push_back(before_.origins.back());
    return std::move(after_);
  }

 private:
  const ChangedText& before_;
  ChangedText after_;
};

namespace {

using Step = TextChanges::Step;

// Calls `change(begin, end)` for what is well-formed, and copies the rest.
template <class Change>
void for_formed(ChangeRun& run, const Change& change) {
  const std::string_view text = run.text();
  for (size_t at = 0; at < text.size();) {
    const size_t formed = utf8_end(text, at);
    if (formed > at) change(at, formed);
    at = formed;
    if (at == text.size()) break;
    const size_t broken = utf8_broken_end(text, at);
    run.copy(at, broken);
    at = broken;
  }
}

// The end of the bytes from `begin` that no normal form changes: ASCII, but for the last before other characters.
size_t plain_end(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && static_cast<unsigned char>(text[end]) < 0x80) ++end;
  return end == text.size() || end == begin ? end : end - 1;
}

template <NormalForm Form>
void normalize(const Step&, ChangeRun& run) {
  Normalizer normalizer(Form);
  std::string normal;
  for_formed(run, [&](size_t begin, size_t end) {
    const std::string_view text = run.text().substr(0, end);
    while (begin < end) {
      if (const size_t plain = plain_end(text, begin); plain > begin) {
        run.copy(begin, plain);
        begin = plain;
        continue;
      }
      normal.clear();
      const size_t behind = normalizer.append(text, begin, normal);
      run.put_for(normal, begin, behind);
      begin = behind;
    }
  });
}

void lowercase(const Step&, ChangeRun& run) {
  std::string lower;
  for_formed(run, [&](size_t at, size_t end) {
    while (at < end) {
      const size_t begin = at;
      lower.clear();
      append_lowercase(take_character(run.text(), at), lower);
      run.put_for(lower, begin, at);
    }
  });
}

size_t blanks_at_front(std::string_view text) {
  size_t end = 0;
  while (utf8_length(text.substr(end)) > 0) {
    size_t behind = end;
    if (!is_blank(take_character(text, behind))) break;
    end = behind;
  }
  return end;
}

size_t blanks_begin_at_back(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    size_t before = begin - 1;
    while (before > 0 && begin - before < 4 && continues_character(text[before])) --before;
    size_t behind = before;
    if (utf8_length(text.substr(before)) != begin - before || !is_blank(take_character(text, behind))) break;
    begin = before;
  }
  return begin;
}

void strip_left(const Step&, ChangeRun& run) { run.copy(blanks_at_front(run.text()), run.text().size()); }
void strip_right(const Step&, ChangeRun& run) { run.copy(0, blanks_begin_at_back(run.text())); }

void prepend(const Step& step, ChangeRun& run) {
  if (run.text().empty()) return;
  run.put(step.change.content, 0);
  run.copy(0, run.text().size());
}

void replace(const Step& step, ChangeRun& run) {
  const std::string& pattern = step.change.pattern;
  size_t at = 0;
  for (size_t place = run.text().find(pattern); place != std::string_view::npos; place = run.text().find(pattern, at)) {
    run.copy(at, place);
    run.put(step.change.content, place);
    at = place + pattern.size();
  }
  run.copy(at, run.text().size());
}

void replace_regex(const Step& step, ChangeRun& run) {
  Matcher matcher(*step.pattern);
  for_formed(run, [&](size_t begin, size_t end) {
    const std::string_view text = run.text().substr(begin, end - begin);
    size_t at = 0, search = 0;
    for (TextRange found{}; search <= text.size() && matcher.find(text, search, found);) {
      run.copy(begin + at, begin + found.begin);
      run.put(step.change.content, begin + found.begin);
      at = found.end;
      search = found.end > found.begin
                   ? found.end
                   : found.end + (found.end < text.size() ? utf8_length(text.substr(found.end)) : 1);
    }
    run.copy(begin + at, end);
  });
}

struct KnownChange {
  std::string_view name;
  void (*run)(const Step& step, ChangeRun& run);
  bool needs_pattern = false, is_regex = false;
};
constexpr KnownChange kChanges[] = {{"nfc", normalize<NormalForm::nfc>},
                                    {"nfd", normalize<NormalForm::nfd>},
                                    {"nfkc", normalize<NormalForm::nfkc>},
                                    {"nfkd", normalize<NormalForm::nfkd>},
                                    {"lowercase", lowercase},
                                    {"strip_left", strip_left},
                                    {"strip_right", strip_right},
                                    {"prepend", prepend},
                                    {"replace", replace, true},
                                    {"replace_regex", replace_regex, true, true}};

}  // namespace

TextChanges::TextChanges(const std::vector<TokenizerData::Change>& changes) {
  for (const TokenizerData::Change& change : changes) {
    const auto* const known = std::find_if(std::begin(kChanges), std::end(kChanges),
                                           [&](const auto& row) { return row.name == change.what; });
    if (known == std::end(kChanges))
      throw Error("a tokenizer changes text in an unknown way", joined(kChanges, ", ", &KnownChange::name),
                  in_quotes(change.what));
    if (known->needs_pattern && change.pattern.empty())
      throw Error("a tokenizer replaces nothing", "a pattern", "'', " + change.what);
    Step& step = steps_.emplace_back();
    step.change = change;
    step.run = known->run;
    if (known->is_regex) step.pattern.emplace(change.pattern);
  }
}

ChangedText TextChanges::apply(std::string_view text, bool with_origins) const {
  ChangedText changed{std::string(text), {}};
  if (with_origins) {
    changed.origins.resize(text.size() + 1);
    for (size_t i = 0; i <= text.size(); ++i) changed.origins[i] = i;
  }
  for (const Step& step : steps_) {
    ChangeRun run(changed);
    step.run(step, run);
    ChangedText after = run.take();
    changed = std::move(after);
  }
  return changed;
}

}  // namespace ordinal
