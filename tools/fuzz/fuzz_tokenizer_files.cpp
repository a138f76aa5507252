// fuzz_tokenizer_files.cpp: the tokenizer files of other programs; what is read then cuts and joins a text.
#include <span>

#include "convert/tokenizers/tokenizer_files.h"
#include "fuzz.h"
#include "ordinal/tokenizer.h"

namespace {

using ordinal::TokenizerData;
using ordinal::convert::Vocabulary;

const Vocabulary& wanted() {
  static const Vocabulary vocabulary = {.vocab_size = 263, .bos_id = 1, .note = {}};
  return vocabulary;
}

// One reader per number in the first byte.
using Reader = TokenizerData (*)(std::string_view);
constexpr Reader kReaders[] = {
    [](std::string_view text) { return ordinal::convert::read_tokenizer_json(text, "tokenizer.json", "", wanted()); },
    [](std::string_view text) {
      const auto parts = fuzz::parts(text, 2);
      return ordinal::convert::read_bpe_files({parts[0], parts[1], "vocab.json", "merges.txt", ""}, wanted());
    },
    [](std::string_view text) {
      return ordinal::convert::read_llmc_tokenizer(std::as_bytes(std::span(text)), "tokenizer.bin", wanted());
    },
    [](std::string_view text) {
      return ordinal::convert::read_llama2c_tokenizer(std::as_bytes(std::span(text)), "tokenizer.bin", wanted());
    },
    [](std::string_view text) {
      return ordinal::convert::read_meta_pickle(std::as_bytes(std::span(text)), "meta.pkl", wanted());
    },
    [](std::string_view text) {
      return ordinal::convert::read_spm_model(std::as_bytes(std::span(text)), "tokenizer.model", "", {});
    },
    [](std::string_view text) { return ordinal::convert::read_tokenizer_json(text, "tokenizer.json", "", {}); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  fuzz::allow_error([&] {
    const TokenizerData read = kReaders[data[0] % std::size(kReaders)](fuzz::text_of(data + 1, size - 1));
    const auto tokenizer = ordinal::make_tokenizer(read);
    const auto ids = tokenizer->encode("abba <s> caf\xc3\xa9 \xff 12", {.parse_special = true});
    (void)tokenizer->decode(ids, true);
  });
  return 0;
}
