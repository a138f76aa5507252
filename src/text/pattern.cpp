// pattern.cpp: see pattern.h.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include <pcre2.h>

#include <array>
#include <new>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

// Machine code keeps its stack in memory of its own, which grows up to this.
constexpr size_t kFirstStack = size_t{32} << 10, kLargestStack = size_t{8} << 20;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

[[noreturn]] void fail_in_pcre2(const std::string& what, int code, const std::string& place = "") {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(code, message.data(), message.size());
  throw Error(what, "", "PCRE2: " + std::string(reinterpret_cast<const char*>(message.data())) + place);
}

template <class T>
T* made(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

// Not in the namespace without a name: types with members of these are seen by others where a folder compiles as one.
template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};

struct Pattern::Compiled {
  std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code;
  bool is_machine_code = false;
};

Pattern::Pattern(const std::string& text, At at) {
  const std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>> context(
      made(pcre2_compile_context_create(nullptr)));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                           (at == At::front ? PCRE2_ANCHORED : 0);
  int error = 0;
  size_t offset = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code.reset(pcre2_compile(units(text), text.size(), options, &error, &offset, context.get()));
  if (compiled->code == nullptr)
    fail_in_pcre2("the pattern " + in_quotes(text) + " does not compile", error, ", at byte " + std::to_string(offset));
  compiled->is_machine_code = pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE) == 0;
  compiled_ = std::move(compiled);
}

Pattern::~Pattern() = default;

struct Matcher::Scratch {
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context;
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack;
};

Matcher::Matcher(const Pattern& pattern) : pattern_(pattern), scratch_(std::make_unique<Scratch>()) {
  scratch_->data.reset(made(pcre2_match_data_create(1, nullptr)));
  scratch_->context.reset(made(pcre2_match_context_create(nullptr)));
  if (!pattern.compiled_->is_machine_code) return;
  scratch_->stack.reset(made(pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr)));
  pcre2_jit_stack_assign(scratch_->context.get(), nullptr, scratch_->stack.get());
}

Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;

bool Matcher::find(std::string_view text, size_t begin, TextRange& found) {
  const auto match = pattern_.compiled_->is_machine_code ? pcre2_jit_match : pcre2_match;
  const int matched = match(pattern_.compiled_->code.get(), units(text), text.size(), begin, PCRE2_NO_UTF_CHECK,
                            scratch_->data.get(), scratch_->context.get());
  if (matched == PCRE2_ERROR_NOMATCH) return false;
  if (matched < 0) fail_in_pcre2("a text could not be cut by the tokenizer's pattern", matched);
  const size_t* const ends = pcre2_get_ovector_pointer(scratch_->data.get());
  found = {ends[0], ends[1]};
  return true;
}

}  // namespace ordinal
