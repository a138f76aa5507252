// split.cpp: the table of rules for cutting text.
#include "text/split.h"

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

struct NamedSplitter {
  std::string_view name;
  const Splitter& (*get)();
};

constexpr NamedSplitter kSplitters[] = {
    {"gpt2", gpt2_splitter}, {"llama3", llama3_splitter}, {"qwen2", qwen2_splitter}, {"none", whole_text_splitter}};

}  // namespace

const Splitter& splitter_named(const std::string& name) {
  for (const NamedSplitter& row : kSplitters)
    if (row.name == name) return row.get();
  throw Error("the tokenizer cuts text by an unknown rule", joined(kSplitters, ", ", &NamedSplitter::name),
              "'" + name + "'");
}

}  // namespace ordinal
