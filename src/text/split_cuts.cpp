// split_cuts.cpp: cuts one after another, each of the pieces of the one before, as pre-tokenizers of tokenizer.json
// are sequences of. A cut is a pattern and what is done with its matches, or a rule by name.
#include <array>
#include <deque>
#include <optional>

#include "base/byte_spelling.h"
#include "base/utf8.h"
#include "base/words.h"
#include "ordinal/error.h"
#include "text/split.h"

namespace ordinal {
namespace {

// A stretch of a piece: what a pattern matches, or what stands between two matches.
struct Stretch {
  TextRange range;
  bool is_match;
};

// The words for what becomes of matches. A match may join a neighbour, or be left out.
struct How {
  std::string_view name;
  bool keeps_matches;
  bool (*joins)(bool match, bool next_match);  // whether a stretch and the next are one piece
};
constexpr How kHows[] = {
    {"isolated", true, [](bool, bool) { return false; }},
    {"removed", false, [](bool, bool) { return false; }},
    {"previous", true, [](bool match, bool next) { return !match && next; }},
    {"next", true, [](bool match, bool next) { return match && !next; }},
    {"contiguous", true, [](bool match, bool next) { return match == next; }},
};
constexpr std::string_view kByRule = "rule";

// A cut made ready: its pattern, or its text, or the rule it names.
struct ReadyCut {
  const How* how = nullptr;
  TokenizerData::Cut cut;
  std::optional<Pattern> pattern;
  const Splitter* rule = nullptr;
};

class MatchCursor final : public SplitCursor {
 public:
  explicit MatchCursor(const ReadyCut& cut) : cut_(cut) {
    if (cut.pattern) matcher_.emplace(*cut.pattern);
  }

  // A piece that is not UTF-8, which is so as a whole, stays whole.
  void start(std::string_view text) override {
    if (cut_.cut.spelled) {
      spelling_ = spelling_of_bytes(text);
      text_ = spelling_;
    } else {
      text_ = text;
    }
    is_whole_ = !text_.empty() && utf8_length(text_) == 0;
    at_ = search_ = 0;
    spelled_at_ = bytes_at_ = 0;
    last_match_end_.reset();
    match_.reset();
    has_next_ = pull(next_);
  }

  size_t next(std::span<TextRange> pieces) override {
    size_t count = 0;
    while (count < pieces.size() && has_next_) {
      Stretch piece = next_;
      has_next_ = pull(next_);
      const How& how = *cut_.how;
      if (piece.is_match && !how.keeps_matches) continue;
      for (bool match = piece.is_match; has_next_ && how.joins(match, next_.is_match); has_next_ = pull(next_)) {
        piece.range.end = next_.range.end;
        match = next_.is_match;
      }
      if (piece.range.begin < piece.range.end) pieces[count++] = in_bytes(piece.range);
    }
    return count;
  }

 private:
  bool pull(Stretch& stretch) {
    if (match_) {
      stretch = {*match_, !cut_.cut.inverted};
      match_.reset();
      return true;
    }
    if (at_ >= text_.size() && search_ > text_.size()) return false;
    TextRange found{text_.size(), text_.size()};
    const bool has_match = !is_whole_ && find(found);
    if (has_match) {
      last_match_end_ = search_ = found.end;
      const TextRange before{at_, found.begin};
      at_ = found.end;
      if (before.begin == before.end) {
        stretch = {found, !cut_.cut.inverted};
      } else {
        stretch = {before, cut_.cut.inverted};
        match_ = found;
      }
      return true;
    }
    stretch = {{at_, text_.size()}, cut_.cut.inverted};
    const bool is_left = at_ < text_.size();
    at_ = text_.size();
    search_ = at_ + 1;
    return is_left;
  }

  // The next match; an empty one where the last match ended is none.
  bool find(TextRange& found) {
    while (search_ <= text_.size()) {
      if (cut_.pattern) {
        if (!matcher_->find(text_, search_, found)) return false;
      } else {
        const size_t place = text_.find(cut_.cut.pattern, search_);
        if (place == std::string_view::npos) return false;
        found = {place, place + cut_.cut.pattern.size()};
      }
      if (found.begin < found.end || last_match_end_ != found.end) return true;
      search_ = found.end + (found.end < text_.size() ? utf8_length(text_.substr(found.end)) : 1);
    }
    return false;
  }

  // A range of the spelling as one of the bytes that it spells, a character each; ranges come in order.
  TextRange in_bytes(TextRange range) {
    if (!cut_.cut.spelled) return range;
    const auto bytes_until = [&](size_t end) {
      for (; spelled_at_ < end; ++spelled_at_) bytes_at_ += continues_character(spelling_[spelled_at_]) ? 0 : 1;
      return bytes_at_;
    };
    const size_t begin = bytes_until(range.begin);
    return {begin, bytes_until(range.end)};
  }

  const ReadyCut& cut_;
  std::optional<Matcher> matcher_;
  std::string spelling_;
  std::string_view text_;
  bool is_whole_ = false, has_next_ = false;
  Stretch next_{};                  // looked at, not yet used
  std::optional<TextRange> match_;  // found, behind the stretch before it
  std::optional<size_t> last_match_end_;
  size_t at_ = 0, search_ = 0;  // what comes next; where to look for a match
  size_t spelled_at_ = 0, bytes_at_ = 0;
};

// Stretches that are well-formed UTF-8, and those that are not.
class FormedCursor final : public SplitCursor {
 public:
  void start(std::string_view text) override {
    text_ = text;
    at_ = 0;
  }
  size_t next(std::span<TextRange> pieces) override {
    size_t count = 0;
    while (count < pieces.size() && at_ < text_.size()) {
      const size_t begin = at_, formed = utf8_end(text_, at_);
      at_ = formed > begin ? formed : utf8_broken_end(text_, begin);
      pieces[count++] = {begin, at_};
    }
    return count;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Two cuts, the second of the pieces of the first.
class ChainCursor final : public SplitCursor {
 public:
  ChainCursor(std::unique_ptr<SplitCursor> first, std::unique_ptr<SplitCursor> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void start(std::string_view text) override {
    text_ = text;
    first_->start(text);
    at_ = count_ = 0;
    is_open_ = false;
  }

  size_t next(std::span<TextRange> pieces) override {
    for (;;) {
      if (is_open_) {
        const size_t count = second_->next(pieces);
        for (TextRange& piece : pieces.first(count)) piece = {piece.begin + begin_, piece.end + begin_};
        if (count > 0) return count;
        is_open_ = false;
      }
      if (at_ == count_) {
        count_ = first_->next(firsts_);
        at_ = 0;
        if (count_ == 0) return 0;
      }
      const TextRange piece = firsts_[at_++];
      begin_ = piece.begin;
      second_->start(text_.substr(piece.begin, piece.end - piece.begin));
      is_open_ = true;
    }
  }

 private:
  std::unique_ptr<SplitCursor> first_, second_;
  std::string_view text_;
  std::array<TextRange, 32> firsts_;
  size_t at_ = 0, count_ = 0;  // in firsts_
  size_t begin_ = 0;           // of the piece that the second cuts
  bool is_open_ = false;
};

class CutsSplitter final : public Splitter {
 public:
  explicit CutsSplitter(const std::vector<TokenizerData::Cut>& cuts) {
    for (const TokenizerData::Cut& cut : cuts) {
      ReadyCut& ready = cuts_.emplace_back();
      ready.cut = cut;
      if (cut.how == kByRule) {
        ready.rule = &splitter_named(cut.pattern);
        continue;
      }
      for (const How& how : kHows)
        if (how.name == cut.how) ready.how = &how;
      if (ready.how == nullptr)
        throw Error("a tokenizer cuts text in an unknown way", joined(kHows, ", ", &How::name) + ", rule",
                    in_quotes(cut.how));
      if (cut.pattern.empty()) throw Error("a tokenizer cuts text at nothing", "a pattern", "'', " + cut.how);
      if (!cut.literal) ready.pattern.emplace(cut.pattern);
    }
  }

  std::unique_ptr<SplitCursor> open() const override {
    std::unique_ptr<SplitCursor> cursor = std::make_unique<FormedCursor>();
    for (const ReadyCut& cut : cuts_) {
      std::unique_ptr<SplitCursor> next = cut.rule != nullptr ? cut.rule->open() : std::make_unique<MatchCursor>(cut);
      cursor = std::make_unique<ChainCursor>(std::move(cursor), std::move(next));
    }
    return cursor;
  }

 private:
  std::deque<ReadyCut> cuts_;  // patterns stay where they are
};

}  // namespace

std::unique_ptr<const Splitter> make_cuts_splitter(const std::vector<TokenizerData::Cut>& cuts) {
  return std::make_unique<CutsSplitter>(cuts);
}

}  // namespace ordinal
