// llmc.cpp: models that llm.c writes, in C or in Python.
//
//   256 little-endian int32: 20240326, version, context, vocabulary, layers, heads, width, padded vocabulary, zeros
//   then the tensors in one kind: f32 in version 3, bf16 in version 5
//
// A GPT-2: learned positions, LayerNorm with epsilon 1e-5, tanh GELU, the head tied to the embedding. Matrices are
// [outputs, inputs]; a kind of tensor lies together for all layers.
#include <cmath>
#include <filesystem>

#include "convert/importers.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLlmcMagic = 20240326;
constexpr int64_t kHeaderBytes = 1024;
constexpr TokenId kEndOfText = 50256;

struct LlmcHeader {
  int64_t context, vocab, layers, heads, width, padded_vocab;
  Dtype dtype;
};

Dtype dtype_of_version(uint32_t version, const std::string& path) {
  if (version == 3) return Dtype::f32;
  if (version == 5) return Dtype::bf16;
  throw Error(path + " is an llm.c model of a version that is not supported",
              "version 3 (f32) or 5 (bf16), both with a padded vocabulary", "version " + std::to_string(version),
              version < 3 ? "write it again with a newer llm.c" : "");
}

LlmcHeader read_llmc_header(const MappedFile& file) {
  const auto bytes = file.bytes();
  const std::string& path = file.path();
  if (static_cast<int64_t>(bytes.size()) < kHeaderBytes)
    throw Error(path + " is truncated", "a header of 1,024 bytes (llm.c)",
                "a size of " + grouped(static_cast<int64_t>(bytes.size())) + " bytes", "copy or download it again");
  LlmcHeader header{};
  header.dtype = dtype_of_version(read_u32(bytes, 4), path);
  size_t at = 8;
  const auto next = [&](const char* name) {
    const int32_t value = read_i32(bytes, at);
    at += 4;
    if (value < 1)
      throw Error("the header of " + path + " has a " + name + " that no model has", "1 or more",
                  std::to_string(value));
    return int64_t{value};
  };
  header.context = next("context");
  header.vocab = next("vocabulary");
  header.layers = next("number of layers");
  header.heads = next("number of heads");
  header.width = next("width");
  header.padded_vocab = next("padded vocabulary");
  if (header.width % header.heads != 0)
    throw Error("the header of " + path + " has heads that do not divide the width",
                "a divisor of " + std::to_string(header.width), std::to_string(header.heads) + " heads");
  if (header.padded_vocab < header.vocab)
    throw Error("the header of " + path + " has a padded vocabulary below the real one",
                std::to_string(header.vocab) + " or more", std::to_string(header.padded_vocab));
  return header;
}

std::optional<TokenizerData> find_gpt2_tokenizer_beside(const std::string& path, const Vocabulary& wanted) {
  const std::string beside = (fs::path(path).parent_path() / "gpt2_tokenizer.bin").string();
  std::error_code ignored;
  if (!fs::exists(beside, ignored)) return std::nullopt;
  const auto file = MappedFile::open(beside);
  // One tokenizer lies beside models of any vocabulary that were written in the same folder.
  if (file->bytes().size() >= 12 && read_u32(file->bytes(), 8) != wanted.vocab_size) {
    say(wanted.note, beside + " has " + std::to_string(read_u32(file->bytes(), 8)) + " pieces, the model " +
                         std::to_string(wanted.vocab_size) + ": it is another model's");
    return std::nullopt;
  }
  return read_llmc_tokenizer(file->bytes(), beside, wanted);
}

}  // namespace

bool is_llmc(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const auto file = MappedFile::open(path);
  return file->bytes().size() >= 8 && read_u32(file->bytes(), 0) == kLlmcMagic;
}

ModelDraft read_llmc(const std::string& path, const ImportOptions& options) {
  const auto file = MappedFile::open(path);
  const LlmcHeader header = read_llmc_header(*file);

  ModelDraft draft;
  draft.kind = "GPT-2";
  ModelConfig& config = draft.config;
  config.vocab_size = header.vocab;
  config.max_seq_len = header.context;
  config.d_model = header.width;
  config.n_layers = header.layers;
  config.n_heads = config.n_kv_heads = header.heads;
  config.head_dim = header.width / header.heads;
  config.d_ff = 4 * header.width;
  if (config.vocab_size > kEndOfText) {
    config.bos_id = kEndOfText;
    config.eos_ids = {kEndOfText};
    say(options.note, "llm.c does not store which token starts and ends a text; GPT-2's 50256 is taken");
  }
  draft.notes.position = "learned";
  draft.notes.trained_positions = {"learned"};

  // The rows that pad the vocabulary stand for nothing and are left out.
  ModelConfig padded = config;
  padded.vocab_size = header.padded_vocab;
  NumberLayout layout(file, kHeaderBytes, header.dtype);
  PlanBlocks blocks(padded, layout);
  blocks.next({"token_embd.weight"});
  const Stored position_embd = layout.next({header.context, header.width});
  blocks.next({"attn_norm.weight"});
  blocks.next({"attn_norm.bias"});
  blocks.next({"attn_q.weight", "attn_k.weight", "attn_v.weight"});
  blocks.next({"attn_q.bias", "attn_k.bias", "attn_v.bias"});
  for (const char* part : {"attn_output", "ffn_norm", "ffn_up", "ffn_down", "output_norm"})
    for (const char* which : {".weight", ".bias"}) blocks.next({std::string(part) + which});
  layout.check_size("llm.c, version " + std::string(header.dtype == Dtype::f32 ? "3" : "5"));

  draft.tensors.push_back(
      table_source("position_embd.weight", {header.context, header.width}, position_embd, options.note));
  add_planned(draft, options.note, [&](const PlannedTensor& tensor) { return blocks.find(tensor); });
  config.attention_scale.assign(static_cast<size_t>(header.layers),
                                static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))));
  const Vocabulary wanted{config.vocab_size, config.bos_id, options.note};
  draft.tokenizer = choose_tokenizer(path, wanted, options, [&] { return find_gpt2_tokenizer_beside(path, wanted); });
  return draft;
}

}  // namespace ordinal::convert
