// llama2c.cpp: models that llama2.c's export.py writes.
//
//   legacy  seven little-endian int32: width, hidden, layers, heads, kv heads, vocabulary (negative: a separate head
//           follows), context; then f32: embedding, attention norms, q, k, v, o, MLP norms, w1, w2, w3, final norm,
//           cos and sin tables (not needed), head
//   v1      256 bytes: "ak42" as a number, version 1, the seven numbers, a byte that says whether the head is the
//           embedding; then f32: attention norms, MLP norms, final norm, embedding, q, k, v, o, w1, w2, w3, head
//   v2      the same header and the size of groups, a number behind the byte, where it lies; then f32: attention norms,
//           MLP norms, final norm; then embedding, q, k, v, o, w1, w2, w3, head, each matrix as numbers of 8 bits and
//           an f32 factor for every group of them, which may go on over the end of a row
//
// A Llama: RMSNorm with epsilon 1e-5, SwiGLU, grouped heads, rotary positions over neighbouring channels, theta 10000.
// Matrices are [outputs, inputs]; a kind of tensor lies together for all layers.
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "convert/importers.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMagic = 0x616b3432;
constexpr size_t kLegacyHeaderBytes = 28, kV1HeaderBytes = 256;
constexpr int64_t kLlama2cMaxSize = int64_t{1} << 24;  // no number in a header is larger

struct Llama2cHeader {
  int64_t width, hidden, layers, heads, kv_heads, vocab, context;
  int64_t group;  // of version 2
  int version;    // 0: legacy
  bool shared_head;
  int64_t head_dim() const { return width / heads; }
};

bool has_magic(std::span<const std::byte> bytes) { return bytes.size() >= 4 && read_u32(bytes, 0) == kMagic; }

Llama2cHeader read_llama2c_header(const MappedFile& file) {
  const auto bytes = file.bytes();
  const std::string& path = file.path();
  const bool legacy = !has_magic(bytes);
  if (bytes.size() < (legacy ? kLegacyHeaderBytes : kV1HeaderBytes))
    throw Error(path + " is truncated", std::string("a header of ") + (legacy ? "28" : "256") + " bytes (llama2.c)",
                "a size of " + std::to_string(bytes.size()) + " bytes", "copy or download it again");
  const int version = legacy ? 0 : read_i32(bytes, 4);
  if (!legacy && version != 1 && version != 2)
    throw Error(path + " is a llama2.c model of a version that is not supported",
                "a legacy file, version 1 (f32) or 2 (8 bits)", "version " + std::to_string(version),
                "export it again with --version 1");

  size_t at = legacy ? 0 : 8;
  const auto next = [&](const char* name, bool may_be_negative = false) {
    const int64_t value = read_i32(bytes, at);
    at += 4;
    if (const int64_t size = may_be_negative ? std::abs(value) : value; size < 1 || size > kLlama2cMaxSize)
      throw Error("the header of " + path + " has a " + name + " that no model has (read as llama2.c)",
                  "1 to " + grouped(kLlama2cMaxSize), std::to_string(value));
    return value;
  };
  Llama2cHeader header{};
  header.version = version;
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
  if (version == 2) {
    ++at;
    header.group = next("size of groups");
  }
  if (header.width % header.heads != 0 || header.head_dim() % 2 != 0)
    throw Error("the header of " + path + " has heads that do not fit the width",
                "heads that cut " + std::to_string(header.width) + " channels into equal, even parts",
                std::to_string(header.heads) + " heads");
  if (header.heads % header.kv_heads != 0)
    throw Error("the header of " + path + " has kv heads that do not fit the heads",
                "a divisor of " + std::to_string(header.heads), std::to_string(header.kv_heads) + " kv heads");
  return header;
}

// Where the matrices of version 2 lie.
class GroupedMatrices {
 public:
  GroupedMatrices(std::shared_ptr<const MappedFile> file, const ModelConfig& config, int64_t group)
      : file_(std::move(file)), config_(config), group_(group) {}

  // What comes next in the file: this matrix, once or for each layer.
  void next(std::string_view name, NumberLayout& layout) {
    const PlannedTensor tensor = planned_tensor(config_, name);
    const int64_t numbers = capped_product({tensor.shape[0], tensor.shape[1]});
    if (numbers % group_ != 0)
      throw Error("the header of " + file_->path() + " has a size of groups that does not fit " + std::string(name),
                  "a divisor of " + grouped(numbers), std::to_string(group_));
    const int64_t layers = tensor.part->is_in_layers() ? config_.n_layers : 1;
    const int64_t bytes = numbers + 4 * (numbers / group_);  // each size is at most 2^24
    places_[std::string(name)] = {layout.next_bytes(capped_product({layers, bytes})), numbers, bytes};
  }

  std::optional<Origin> find(const PlannedTensor& tensor) const {
    const auto found = places_.find(std::string(tensor.part->name) + ".weight");
    if (tensor.is_bias || found == places_.end()) return std::nullopt;
    const auto& [begin, numbers, bytes] = found->second;
    Origin origin;
    origin.at.file = file_;
    origin.at.offset = begin + tensor.layer * bytes;
    origin.at.group = group_;
    origin.at.factors = origin.at.offset + numbers;
    return origin;
  }

 private:
  struct Place {
    int64_t begin, numbers, bytes;
  };
  std::shared_ptr<const MappedFile> file_;
  const ModelConfig& config_;
  int64_t group_;
  std::map<std::string, Place, std::less<>> places_;  // by the name in a layer
};

constexpr std::string_view kNorms[] = {"attn_norm.weight", "ffn_norm.weight", "output_norm.weight"};
constexpr std::string_view kMatrices[] = {"token_embd.weight",  "attn_q.weight",   "attn_k.weight",   "attn_v.weight",
                                          "attn_output.weight", "ffn_gate.weight", "ffn_down.weight", "ffn_up.weight"};

void find_blocks(PlanBlocks& blocks, GroupedMatrices& matrices, NumberLayout& layout, const Llama2cHeader& header) {
  const auto each = [&](std::span<const std::string_view> names) {
    for (const std::string_view name : names) blocks.next({name});
  };
  if (header.version == 0) {
    constexpr std::string_view kLegacyOrder[] = {"token_embd.weight", "attn_norm.weight",  "attn_q.weight",
                                                 "attn_k.weight",     "attn_v.weight",     "attn_output.weight",
                                                 "ffn_norm.weight",   "ffn_gate.weight",   "ffn_down.weight",
                                                 "ffn_up.weight",     "output_norm.weight"};
    each(kLegacyOrder);
    layout.next({2, header.context, header.head_dim() / 2});  // cos and sin
  } else {
    each(kNorms);
    if (header.version == 1) each(kMatrices);
  }
  constexpr std::string_view kHead = "output.weight";
  if (header.version == 2) {
    for (const std::string_view name : kMatrices) matrices.next(name, layout);
    if (!header.shared_head) matrices.next(kHead, layout);
  } else if (!header.shared_head) {
    blocks.next({kHead});
  }
  layout.check_size("llama2.c, " + (header.version == 0 ? "legacy" : "version " + std::to_string(header.version)));
}

std::optional<TokenizerData> find_tokenizer_beside(const std::string& path, const Vocabulary& wanted) {
  const std::string stem = fs::path(path).stem().string();
  const std::string candidates[] = {stem + ".tokenizer.bin", stem + "_tokenizer.bin", "tokenizer.bin",
                                    "tok" + std::to_string(wanted.vocab_size) + ".bin"};
  return find_llama2c_tokenizer(fs::path(path).parent_path().string(), candidates, wanted);
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
    plausible += size >= 1 && size <= kLlama2cMaxSize;
  }
  return plausible >= 5 && !as_text(bytes).starts_with("PK");
}

ModelDraft read_llama2c(const std::string& path, const ImportOptions& options) {
  const auto file = MappedFile::open(path);
  const Llama2cHeader header = read_llama2c_header(*file);

  ModelDraft draft;
  draft.kind = "Llama";
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
  // llama2.c stops at 1, which its training data puts between texts; 2 is the end of a text for Llama itself.
  if (config.vocab_size > 2) {
    config.bos_id = 1;
    config.eos_ids = {1, 2};
  }
  draft.notes.position = "rope:pairing=interleaved";
  draft.notes.trained_positions = {draft.notes.position};

  NumberLayout layout(file, header.version == 0 ? kLegacyHeaderBytes : kV1HeaderBytes, Dtype::f32);
  PlanBlocks blocks(config, layout);
  GroupedMatrices matrices(file, config, header.group);
  find_blocks(blocks, matrices, layout, header);
  if (header.version == 2)
    say(options.note, "the numbers of 8 bits in " + path +
                          " and their factors make f32 weights; --dtype q8_0 in "
                          "ordinal convert takes a quarter of the memory, rounded once more");
  add_planned(draft, options.note, [&](const PlannedTensor& tensor) {
    const std::optional<Origin> matrix = matrices.find(tensor);
    return matrix ? matrix : blocks.find(tensor);
  });
  config.attention_scale.assign(static_cast<size_t>(header.layers),
                                static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))));
  const Vocabulary wanted{config.vocab_size, config.bos_id, options.note};
  draft.tokenizer = choose_tokenizer(path, wanted, options, [&] { return find_tokenizer_beside(path, wanted); });
  return draft;
}

}  // namespace ordinal::convert
