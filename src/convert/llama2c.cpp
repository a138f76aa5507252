// llama2c.cpp: models that llama2.c's export.py writes.
//
//   legacy  seven little-endian int32: width, hidden, layers, heads, kv heads, vocabulary (negative: a separate head
//           follows), context; then f32: embedding, attention norms, q, k, v, o, MLP norms, w1, w2, w3, final norm,
//           cos and sin tables (not needed), head
//   v1      256 bytes: "ak42" as a number, version 1, the seven numbers, a byte that says whether the head is the
//           embedding; then f32: attention norms, MLP norms, final norm, embedding, q, k, v, o, w1, w2, w3, head
//
// A Llama: RMSNorm with epsilon 1e-5, SwiGLU, grouped heads, rotary positions over neighbouring channels, theta 10000.
// Matrices are [outputs, inputs]; a kind of tensor lies together for all layers.
#include <array>
#include <cmath>
#include <filesystem>

#include "convert/importers.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMagic = 0x616b3432;
constexpr size_t kLegacyHeaderBytes = 28, kV1HeaderBytes = 256;
constexpr int64_t kMaxSize = int64_t{1} << 24;  // no number in a header is larger

struct Header {
  int64_t width, hidden, layers, heads, kv_heads, vocab, context;
  bool legacy, shared_head;
  int64_t head_dim() const { return width / heads; }
  int64_t kv_width() const { return head_dim() * kv_heads; }
};

bool has_magic(std::span<const std::byte> bytes) { return bytes.size() >= 4 && read_u32(bytes, 0) == kMagic; }

Header read_header(const MappedFile& file) {
  const auto bytes = file.bytes();
  const std::string& path = file.path();
  const bool legacy = !has_magic(bytes);
  if (bytes.size() < (legacy ? kLegacyHeaderBytes : kV1HeaderBytes))
    throw Error(path + " is truncated", std::string("a header of ") + (legacy ? "28" : "256") + " bytes (llama2.c)",
                "a size of " + std::to_string(bytes.size()) + " bytes", "copy or download it again");
  if (!legacy && read_u32(bytes, 4) != 1)
    throw Error(path + " is a llama2.c model of a version that is not supported", "a legacy file, or version 1 (f32)",
                "version " + std::to_string(read_i32(bytes, 4)) +
                    (read_u32(bytes, 4) == 2 ? ", whose weights are rounded to 8 bits" : ""),
                "export it again with --version 1");

  size_t at = legacy ? 0 : 8;
  const auto next = [&](const char* name, bool may_be_negative = false) {
    const int64_t value = read_i32(bytes, at);
    at += 4;
    if (const int64_t size = may_be_negative ? std::abs(value) : value; size < 1 || size > kMaxSize)
      throw Error("the header of " + path + " has a " + name + " that no model has (read as llama2.c)",
                  "1 to " + grouped(kMaxSize), std::to_string(value));
    return value;
  };
  Header header{};
  header.legacy = legacy;
  header.width = next("width");
  header.hidden = next("hidden width");
  header.layers = next("number of layers");
  header.heads = next("number of heads");
  header.kv_heads = next("number of kv heads");
  header.vocab = next("vocabulary", legacy);
  header.context = next("context");
  header.shared_head = legacy ? header.vocab > 0 : bytes[at] != std::byte{0};
  header.vocab = std::abs(header.vocab);
  if (!legacy && static_cast<uint8_t>(bytes[at]) > 1)
    throw Error("the header of " + path + " has a flag that is neither 0 nor 1", "0 or 1",
                std::to_string(static_cast<int>(bytes[at])));
  if (header.width % header.heads != 0 || header.head_dim() % 2 != 0)
    throw Error("the header of " + path + " has heads that do not fit the width",
                "heads that cut " + std::to_string(header.width) + " channels into equal, even parts",
                std::to_string(header.heads) + " heads");
  if (header.heads % header.kv_heads != 0)
    throw Error("the header of " + path + " has kv heads that do not fit the heads",
                "a divisor of " + std::to_string(header.heads), std::to_string(header.kv_heads) + " kv heads");
  return header;
}

struct Blocks {
  Stored token_embd, attn_norm, q, k, v, o, ffn_norm, gate, down, up, output_norm, output;
};

Blocks find_blocks(const std::shared_ptr<const MappedFile>& file, const Header& header) {
  const int64_t l = header.layers, d = header.width, f = header.hidden, kv = header.kv_width();
  NumberLayout layout(file, header.legacy ? kLegacyHeaderBytes : kV1HeaderBytes, Dtype::f32);
  Blocks blocks;
  const auto norms = [&] { return layout.next({l, d}); };
  const auto attention = [&] {
    blocks.q = layout.next({l, d, d});
    blocks.k = layout.next({l, kv, d});
    blocks.v = layout.next({l, kv, d});
    blocks.o = layout.next({l, d, d});
  };
  const auto mlp = [&] {
    blocks.gate = layout.next({l, f, d});
    blocks.down = layout.next({l, d, f});
    blocks.up = layout.next({l, f, d});
  };
  if (header.legacy) {
    blocks.token_embd = layout.next({header.vocab, d});
    blocks.attn_norm = norms();
    attention();
    blocks.ffn_norm = norms();
    mlp();
    blocks.output_norm = layout.next({d});
    layout.next({2, header.context, header.head_dim() / 2});
  } else {
    blocks.attn_norm = norms();
    blocks.ffn_norm = norms();
    blocks.output_norm = layout.next({d});
    blocks.token_embd = layout.next({header.vocab, d});
    attention();
    mlp();
  }
  if (!header.shared_head) blocks.output = layout.next({header.vocab, d});
  layout.check_size(header.legacy ? "llama2.c, legacy" : "llama2.c, version 1");
  return blocks;
}

void add_layer(ModelDraft& draft, const Blocks& blocks, int64_t layer, const Note& note) {
  const int64_t d = draft.config.d_model, f = draft.config.d_ff;
  const int64_t kv = draft.config.n_kv_heads * draft.config.head_dim;
  const std::string to = "blk." + std::to_string(layer) + ".";
  const auto vector = [&](const char* name, const Stored& all) {
    draft.tensors.push_back(vector_source(to + name, all.skip(layer * d), d, note));
  };
  const auto matrix = [&](const char* name, const Stored& all, int64_t outputs, int64_t inputs) {
    draft.tensors.push_back(rows_source(to + name, all.skip(layer * outputs * inputs), outputs, inputs, note));
  };
  vector("attn_norm.weight", blocks.attn_norm);
  matrix("attn_q.weight", blocks.q, d, d);
  matrix("attn_k.weight", blocks.k, kv, d);
  matrix("attn_v.weight", blocks.v, kv, d);
  matrix("attn_output.weight", blocks.o, d, d);
  vector("ffn_norm.weight", blocks.ffn_norm);
  matrix("ffn_gate.weight", blocks.gate, f, d);
  matrix("ffn_up.weight", blocks.up, f, d);
  matrix("ffn_down.weight", blocks.down, d, f);
}

TokenizerData tokenizer_beside(const std::string& path, const Vocabulary& wanted, const ImportOptions& options) {
  if (!options.vocab_dir.empty()) return read_given_tokenizer(options.vocab_dir, wanted);
  const std::string stem = fs::path(path).stem().string();
  const std::string candidates[] = {stem + ".tokenizer.bin", stem + "_tokenizer.bin", "tokenizer.bin",
                                    "tok" + std::to_string(wanted.vocab_size) + ".bin"};
  std::optional<TokenizerData> found =
      find_llama2c_tokenizer(fs::path(path).parent_path().string(), candidates, wanted);
  return found ? *std::move(found) : no_tokenizer(path, options);
}

}  // namespace

bool is_llama2c(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (has_magic(bytes)) return true;
  // Legacy files have no magic number: most of their first numbers must be sizes that a model can have.
  if (bytes.size() < kLegacyHeaderBytes) return false;
  int plausible = 0;
  for (size_t at = 0; at < kLegacyHeaderBytes; at += 4) {
    const int64_t size = std::abs(int64_t{read_i32(bytes, at)});
    plausible += size >= 1 && size <= kMaxSize;
  }
  return plausible >= 5 && !as_text(bytes).starts_with("PK");
}

ModelDraft read_llama2c(const std::string& path, const ImportOptions& options) {
  const auto file = MappedFile::open(path);
  const Header header = read_header(*file);
  const Blocks blocks = find_blocks(file, header);

  ModelDraft draft;
  ModelConfig& config = draft.config;
  config.vocab_size = header.vocab;
  config.max_seq_len = header.context;
  config.d_model = header.width;
  config.n_layers = header.layers;
  config.n_heads = header.heads;
  config.n_kv_heads = header.kv_heads;
  config.head_dim = header.head_dim();
  config.d_ff = header.hidden;
  config.norm = NormKind::rms_norm;
  config.activation = Activation::silu;
  config.gated_mlp = true;
  config.tied_output = header.shared_head;
  config.attention_scale.assign(static_cast<size_t>(header.layers),
                                static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))));
  // llama2.c stops at 1, which its training data puts between texts; 2 is the end of a text for Llama itself.
  if (config.vocab_size > 2) {
    config.bos_id = 1;
    config.eos_ids = {1, 2};
  }
  draft.notes.position = "rope:pairing=interleaved";
  draft.notes.trained_positions = {draft.notes.position};

  draft.tensors.push_back(
      rows_source("token_embd.weight", blocks.token_embd, header.vocab, header.width, options.note));
  for (int64_t layer = 0; layer < header.layers; ++layer) add_layer(draft, blocks, layer, options.note);
  draft.tensors.push_back(vector_source("output_norm.weight", blocks.output_norm, header.width, options.note));
  if (!header.shared_head)
    draft.tensors.push_back(rows_source("output.weight", blocks.output, header.vocab, header.width, options.note));
  draft.tokenizer = tokenizer_beside(path, {config.vocab_size, config.bos_id, options.note}, options);
  return draft;
}

}  // namespace ordinal::convert
