// meta_pickle.cpp: meta.pkl, where nanoGPT's prepare.py keeps the characters of a text: a pickled dict of vocab_size,
// stoi and itos, the character of each id.
#include "base/utf8.h"
#include "convert/sniff.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "convert/torch/pickle.h"
#include "ordinal/error.h"

namespace ordinal::convert {

TokenizerData read_meta_pickle(std::span<const std::byte> bytes, const std::string& name, const Vocabulary& wanted) {
  using Kind = PickleValue::Kind;
  const Pickle pickle(as_text(bytes), name);
  const PickleValue* itos = pickle.root().find("itos");
  if (itos == nullptr || !itos->is(Kind::dict))
    throw Error(name + " is no meta.pkl of nanoGPT", "a dict with itos: the characters by their ids",
                itos == nullptr ? description(pickle.root()) + " without it" : description(*itos),
                "--vocab with the tokenizer of the model");
  TokenizerData data;
  data.kind = "chars";
  data.pieces.resize(static_cast<size_t>(wanted.vocab_size));
  for (size_t i = 0; i + 1 < itos->items.size(); i += 2) {
    const PickleValue &id = *itos->items[i], &character = *itos->items[i + 1];
    if (!id.is(Kind::integer) || id.integer < 0 || id.integer >= wanted.vocab_size)
      throw Error(name + " has an id that the model does not have", "0 to " + std::to_string(wanted.vocab_size - 1),
                  description(id), "--vocab with the tokenizer of the model");
    if (!character.is(Kind::text) || character.text.empty() || utf8_length(character.text) != character.text.size())
      throw Error(name + " has an id that stands for something else than a character",
                  "a character for " + std::to_string(id.integer), description(character));
    std::string& piece = data.pieces[static_cast<size_t>(id.integer)];
    if (!piece.empty()) throw Error(name + " has an id twice", "each id once", description(id));
    piece = character.text;
  }
  return data;
}

}  // namespace ordinal::convert
