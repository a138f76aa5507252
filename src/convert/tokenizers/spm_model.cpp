// spm_model.cpp: SentencePiece's own file, tokenizer.model: a protobuf message, of which these fields count:
//
//   1 pieces, each     1 text, 2 score (float), 3 type (PieceType)
//   2 trainer_spec     3 model_type (2 is BPE), 24 treat_whitespace_as_suffix, 41 bos_id, 42 eos_id
//   3 normalizer_spec  1 name, 2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces
//
// Read by hand: a message is a list of numbered fields, each a number, four or eight bytes, or bytes with their length.
// A library for this much would be another package to install.
#include <bit>
#include <filesystem>

#include "base/utf8.h"
#include "convert/sniff.h"
#include "convert/tokenizers/hf_tokenizer_folder.h"
#include "convert/tokenizers/scored_pieces.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

// One field: a number in `number` (kinds 0, 1 and 5), or bytes.
struct Field {
  uint64_t tag, kind, number;
  std::string_view bytes;
};

class MessageReader {
 public:
  MessageReader(std::string_view message, const std::string& name) : rest_(message), name_(name) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field = {key >> 3, key & 7, 0, {}};
    if (field.tag == 0) fail("a field without a number");
    if (field.kind == 0) {
      field.number = varint();
    } else if (field.kind == 1 || field.kind == 5) {
      const std::string_view bytes = take(field.kind == 1 ? 8 : 4);
      for (size_t i = bytes.size(); i > 0; --i) field.number = field.number << 8 | static_cast<uint8_t>(bytes[i - 1]);
    } else if (field.kind == 2) {
      field.bytes = take(varint());
    } else {
      fail("a field of kind " + std::to_string(field.kind));
    }
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& found) const {
    throw Error(name_ + " is damaged, or no SentencePiece model", "a message of numbered fields", found);
  }
  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size())
      fail("a field of " + std::to_string(bytes) + " bytes with " + std::to_string(rest_.size()) + " left");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  uint64_t varint() {
    if (const auto number = read_varint([this] { return take(1)[0]; })) return *number;
    fail("a number of more than 64 bits");
  }

  std::string_view rest_;
  const std::string& name_;
};

struct SpmModel {
  std::vector<std::string> pieces;
  std::vector<float> scores;
  std::vector<int32_t> types;
  uint64_t model_type = 1;
  bool suffix = false, dummy_prefix = true, removes_blanks = true;
  int64_t bos = 1, eos = 2;
  std::string normalizer;
  bool has_map = false;
};

void read_piece(std::string_view message, const std::string& name, SpmModel& model) {
  MessageReader reader(message, name);
  model.pieces.emplace_back();
  model.scores.push_back(0);
  model.types.push_back(static_cast<int32_t>(PieceType::normal));
  for (Field field{}; reader.next(field);) {
    if (field.tag == 1) model.pieces.back() = field.bytes;
    if (field.tag == 2) model.scores.back() = std::bit_cast<float>(static_cast<uint32_t>(field.number));
    if (field.tag == 3) model.types.back() = static_cast<int32_t>(std::min<uint64_t>(field.number, INT32_MAX));
  }
}

void read_trainer(std::string_view message, const std::string& name, SpmModel& model) {
  MessageReader reader(message, name);
  // Ids are 32 bits; negative ones are written as 64.
  const auto id = [](uint64_t number) {
    return static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(number)));
  };
  for (Field field{}; reader.next(field);) {
    if (field.tag == 3) model.model_type = field.number;
    if (field.tag == 24) model.suffix = field.number != 0;
    if (field.tag == 41) model.bos = id(field.number);
    if (field.tag == 42) model.eos = id(field.number);
  }
}

void read_normalizer_spec(std::string_view message, const std::string& name, SpmModel& model) {
  MessageReader reader(message, name);
  for (Field field{}; reader.next(field);) {
    if (field.tag == 1) model.normalizer = field.bytes;
    if (field.tag == 2) model.has_map = !field.bytes.empty();
    if (field.tag == 3) model.dummy_prefix = field.number != 0;
    if (field.tag == 4) model.removes_blanks = field.number != 0;
  }
}

void check_supported(const SpmModel& model, const std::string& name) {
  constexpr std::string_view kModelTypes[] = {"", "Unigram", "BPE", "word", "char"};
  const auto refuse = [&](const std::string& what, const std::string& expected, const std::string& found) {
    throw Error(name + " asks for something the engine's tokenizer does not do: " + what, expected, found);
  };
  if (model.model_type != 2)
    refuse("model_type", "BPE",
           model.model_type < 5 ? std::string(kModelTypes[model.model_type]) : std::to_string(model.model_type));
  if (model.suffix) refuse("treat_whitespace_as_suffix", "false", "true");
  if (model.has_map) refuse("normalizer_spec", "identity", in_quotes(model.normalizer));
  if (model.removes_blanks) refuse("remove_extra_whitespaces", "false", "true");
}

}  // namespace

TokenizerData read_spm_model(std::span<const std::byte> bytes, const std::string& name, const std::string& folder,
                             const Vocabulary& wanted) {
  const std::string_view message = as_text(bytes);
  if (message.starts_with("IQ== 0"))
    throw Error(name + " is tiktoken's list of pieces, not a SentencePiece model", "a SentencePiece model",
                "text that begins IQ== 0", "the tokenizer.json of the same model");
  MessageReader reader(message, name);
  SpmModel model;
  for (Field field{}; reader.next(field);) {
    if (field.tag == 1) read_piece(field.bytes, name, model);
    if (field.tag == 2) read_trainer(field.bytes, name, model);
    if (field.tag == 3) read_normalizer_spec(field.bytes, name, model);
  }
  check_supported(model, name);
  for (const std::string& piece : model.pieces)
    if (utf8_end(piece, 0) != piece.size())
      throw Error(name + " has a piece that is no text", "UTF-8", in_quotes(piece));
  TokenizerData data = read_scored_pieces(model.pieces, model.scores, model.types, name, wanted);
  for (TokenizerData::Added& added : data.added) added.normalized = true;  // found where blanks are replaced already
  data.prefix = model.dummy_prefix ? "first" : "none";
  data.first_space = model.dummy_prefix ? "dropped" : "kept";
  const FolderSettings settings = read_folder_settings(folder);
  set_token(data.bos_id, model.bos, "bos_id", data, name);
  set_token(data.eos_id, model.eos, "eos_id", data, name);
  // As in transformers, whose tokenizers of such files put the start token there unless they are told not to.
  data.adds_bos = data.bos_id >= 0 && (settings.add_start || !settings.says_add_start);
  data.adds_eos = data.eos_id >= 0 && settings.add_end;
  data.chat = settings.chat;
  return data;
}

}  // namespace ordinal::convert
