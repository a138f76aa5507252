// foreign_files.cpp: see foreign_files.h.
#include "convert/foreign_files.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ordinal/error.h"
#include "reference/random_model.h"

namespace foreign {

using ordinal::Dtype;
using ordinal::ModelDraft;
using ordinal::TensorSource;
using test::mentions, test::same_bits, test::write_file;
using test::RandomModel, test::small_config, test::random_model, test::scale_by_head_dim;

const TensorSource* find_tensor(const ModelDraft& draft, const std::string& name) {
  const auto place = std::find_if(draft.tensors.begin(), draft.tensors.end(),
                                  [&](const TensorSource& tensor) { return tensor.name == name; });
  return place == draft.tensors.end() ? nullptr : &*place;
}

std::vector<float> numbers_of(const ModelDraft& draft, const std::string& name) {
  const TensorSource* tensor = find_tensor(draft, name);
  REQUIRE_MESSAGE(tensor != nullptr, "no tensor ", name);
  const int64_t rows = tensor->shape.size() == 2 ? tensor->shape[0] : 1, cols = tensor->shape.back();
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (int64_t first = 0; first < rows; first += 32)
    tensor->read_rows(first, std::min<int64_t>(32, rows - first), values.data() + first * cols);
  return values;
}

void check_same_tensors(const ModelDraft& found, const ModelDraft& expected) {
  CHECK_EQ(found.tensors.size(), expected.tensors.size());
  for (const TensorSource& tensor : expected.tensors) {
    const TensorSource* other = find_tensor(found, tensor.name);
    REQUIRE_MESSAGE(other != nullptr, "no tensor ", tensor.name);
    CHECK_MESSAGE(other->shape == tensor.shape, tensor.name);
    CHECK_MESSAGE(same_bits(numbers_of(found, tensor.name), numbers_of(expected, tensor.name)), tensor.name);
  }
}

std::string le32(int64_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return bytes;
}

std::string le64(uint64_t value) {
  return le32(static_cast<int64_t>(value & 0xffffffffu)) + le32(static_cast<int64_t>(value >> 32));
}

std::string bytes_of(const std::vector<float>& values, Dtype dtype) {
  std::string bytes(values.size() * static_cast<size_t>(ordinal::dtype_info(dtype).block_bytes), '\0');
  if (!values.empty()) ordinal::narrow(dtype, values, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

std::string transposed_bytes_of(const std::vector<float>& values, int64_t rows, Dtype dtype) {
  const size_t n = static_cast<size_t>(rows), k = values.size() / n;
  std::vector<float> turned(values.size());
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < k; ++j) turned[j * n + i] = values[i * k + j];
  return bytes_of(turned, dtype);
}

std::string safetensors(const std::vector<SafeTensor>& tensors, const std::string& metadata) {
  std::string header = "{" + metadata, data;
  for (const SafeTensor& tensor : tensors) {
    std::string shape;
    for (const int64_t size : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += (header.size() > 1 ? ",\"" : "\"") + tensor.name + "\":{\"dtype\":\"" + tensor.kind + "\",\"shape\":[" +
              shape + "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    data += tensor.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  header += "}";
  return le64(header.size()) + header + data;
}

std::vector<SafeTensor> gpt2_tensors(const ModelDraft& draft, const FolderOptions& options) {
  const std::string kind = options.dtype == Dtype::f32 ? "F32" : options.dtype == Dtype::f16 ? "F16" : "BF16";
  const int64_t d = draft.config.d_model, f = draft.config.d_ff;
  std::vector<SafeTensor> tensors;
  const auto as_is = [&](const std::string& to, const std::string& from, std::vector<int64_t> shape) {
    tensors.push_back({options.prefix + to, kind, std::move(shape), bytes_of(numbers_of(draft, from), options.dtype)});
  };
  const auto turned = [&](const std::string& to, const std::string& from, int64_t inputs, int64_t outputs) {
    tensors.push_back({options.prefix + to,
                       kind,
                       {inputs, outputs},
                       transposed_bytes_of(numbers_of(draft, from), outputs, options.dtype)});
  };
  as_is("wte.weight", "token_embd.weight", {draft.config.vocab_size, d});
  if (find_tensor(draft, "position_embd.weight") != nullptr)
    as_is("wpe.weight", "position_embd.weight", {draft.config.max_seq_len, d});
  for (int64_t layer = 0; layer < draft.config.n_layers; ++layer) {
    const std::string to = "h." + std::to_string(layer) + ".", from = "blk." + std::to_string(layer) + ".";
    for (const char* part : {".weight", ".bias"}) {
      as_is(to + "ln_1" + part, from + "attn_norm" + part, {d});
      as_is(to + "ln_2" + part, from + "ffn_norm" + part, {d});
    }
    std::vector<float> qkv, qkv_bias;
    for (const char* name : {"attn_q", "attn_k", "attn_v"}) {
      const std::vector<float> weight = numbers_of(draft, from + name + ".weight");
      const std::vector<float> bias = numbers_of(draft, from + name + ".bias");
      qkv.insert(qkv.end(), weight.begin(), weight.end());
      qkv_bias.insert(qkv_bias.end(), bias.begin(), bias.end());
    }
    tensors.push_back(
        {options.prefix + to + "attn.c_attn.weight", kind, {d, 3 * d}, transposed_bytes_of(qkv, 3 * d, options.dtype)});
    tensors.push_back({options.prefix + to + "attn.c_attn.bias", kind, {3 * d}, bytes_of(qkv_bias, options.dtype)});
    turned(to + "attn.c_proj.weight", from + "attn_output.weight", d, d);
    as_is(to + "attn.c_proj.bias", from + "attn_output.bias", {d});
    turned(to + "mlp.c_fc.weight", from + "ffn_up.weight", d, f);
    as_is(to + "mlp.c_fc.bias", from + "ffn_up.bias", {f});
    turned(to + "mlp.c_proj.weight", from + "ffn_down.weight", f, d);
    as_is(to + "mlp.c_proj.bias", from + "ffn_down.bias", {d});
  }
  as_is("ln_f.weight", "output_norm.weight", {d});
  as_is("ln_f.bias", "output_norm.bias", {d});
  return tensors;
}

std::string gpt2_config(const ModelDraft& draft, const std::string& more) {
  const ordinal::ModelConfig& config = draft.config;
  return R"({"model_type": "gpt2", "vocab_size": )" + std::to_string(config.vocab_size) + R"(, "n_positions": )" +
         std::to_string(config.max_seq_len) + R"(, "n_embd": )" + std::to_string(config.d_model) + R"(, "n_layer": )" +
         std::to_string(config.n_layers) + R"(, "n_head": )" + std::to_string(config.n_heads) + R"(, "n_inner": )" +
         std::to_string(config.d_ff) + more + "}";
}

void write_gpt2_folder(const ModelDraft& draft, const std::string& folder, const std::string& more_config,
                       const FolderOptions& options) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/config.json", gpt2_config(draft, more_config));
  write_file(folder + "/model.safetensors", safetensors(gpt2_tensors(draft, options)));
}

std::string llmc_file(const ModelDraft& draft, int version, int64_t padded_vocab) {
  const ordinal::ModelConfig& config = draft.config;
  const Dtype dtype = version == 5 ? Dtype::bf16 : Dtype::f32;
  const int64_t padded = padded_vocab == 0 ? config.vocab_size : padded_vocab;
  std::string file;
  for (const int64_t value : {int64_t{20240326}, int64_t{version}, config.max_seq_len, config.vocab_size,
                              config.n_layers, config.n_heads, config.d_model, padded})
    file += le32(value);
  file.resize(1024, '\0');
  file += bytes_of(numbers_of(draft, "token_embd.weight"), dtype);
  file +=
      bytes_of(std::vector<float>(static_cast<size_t>((padded - config.vocab_size) * config.d_model), -1.0f), dtype);
  file += bytes_of(numbers_of(draft, "position_embd.weight"), dtype);
  using Names = std::vector<std::string>;
  for (const Names& names :
       {Names{"attn_norm.weight"}, Names{"attn_norm.bias"}, Names{"attn_q.weight", "attn_k.weight", "attn_v.weight"},
        Names{"attn_q.bias", "attn_k.bias", "attn_v.bias"}, Names{"attn_output.weight"}, Names{"attn_output.bias"},
        Names{"ffn_norm.weight"}, Names{"ffn_norm.bias"}, Names{"ffn_up.weight"}, Names{"ffn_up.bias"},
        Names{"ffn_down.weight"}, Names{"ffn_down.bias"}})
    for (int64_t layer = 0; layer < config.n_layers; ++layer)
      for (const std::string& name : names)
        file += bytes_of(numbers_of(draft, "blk." + std::to_string(layer) + "." + name), dtype);
  file += bytes_of(numbers_of(draft, "output_norm.weight"), dtype);
  return file + bytes_of(numbers_of(draft, "output_norm.bias"), dtype);
}

std::string llama2c_file(const ModelDraft& draft, int version) {
  const ordinal::ModelConfig& config = draft.config;
  std::string file = version == 1 ? le32(0x616b3432) + le32(1) : "";
  for (const int64_t value :
       {config.d_model, config.d_ff, config.n_layers, config.n_heads, config.n_kv_heads,
        version == 0 && !config.tied_output ? -config.vocab_size : config.vocab_size, config.max_seq_len})
    file += le32(value);
  if (version == 1) {
    file += config.tied_output ? '\1' : '\0';
    file.resize(256, '\0');
  }
  const auto one = [&](const std::string& name) { file += bytes_of(numbers_of(draft, name)); };
  const auto layers = [&](const std::string& name) {
    for (int64_t layer = 0; layer < config.n_layers; ++layer) one("blk." + std::to_string(layer) + "." + name);
  };
  const auto attention = [&] {
    for (const char* name : {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight"}) layers(name);
  };
  const auto mlp = [&] {
    for (const char* name : {"ffn_gate.weight", "ffn_down.weight", "ffn_up.weight"}) layers(name);
  };
  if (version == 0) {
    one("token_embd.weight");
    layers("attn_norm.weight");
    attention();
    layers("ffn_norm.weight");
    mlp();
    one("output_norm.weight");
    file.append(static_cast<size_t>(config.max_seq_len * config.head_dim * 4), '\7');  // cos and sin: not read
  } else {
    layers("attn_norm.weight");
    layers("ffn_norm.weight");
    one("output_norm.weight");
    one("token_embd.weight");
    attention();
    mlp();
  }
  if (!config.tied_output) one("output.weight");
  return file;
}

namespace {
std::string gguf_string(const std::string& text) { return le64(text.size()) + text; }
}  // namespace

std::string gguf_key(const std::string& name, int64_t value) { return gguf_string(name) + le32(4) + le32(value); }
std::string gguf_text_key(const std::string& name, const std::string& value) {
  return gguf_string(name) + le32(8) + gguf_string(value);
}

std::string gguf_file(const ModelDraft& draft, const GgufOptions& options) {
  const ordinal::ModelConfig& config = draft.config;
  std::vector<std::string> keys = {
      gguf_text_key("general.architecture", "llama"),
      gguf_key("llama.block_count", config.n_layers),
      gguf_key("llama.context_length", config.max_seq_len),
      gguf_key("llama.embedding_length", config.d_model),
      gguf_key("llama.feed_forward_length", config.d_ff),
      gguf_key("llama.attention.head_count", config.n_heads),
      gguf_key("llama.attention.head_count_kv", config.n_kv_heads),
      gguf_key("llama.attention.key_length", config.head_dim),
      gguf_string("llama.attention.layer_norm_rms_epsilon") + le32(6) + bytes_of({config.norm_epsilon})};
  keys.insert(keys.end(), options.more_keys.begin(), options.more_keys.end());

  std::string directory, data;
  const size_t last = std::min(draft.tensors.size(), options.first_tensor + std::min(options.n_tensors, SIZE_MAX / 2));
  for (size_t i = options.first_tensor; i < last; ++i) {
    const ordinal::TensorSource& tensor = draft.tensors[i];
    data.resize((data.size() + 31) / 32 * 32, '\0');
    directory += gguf_string(tensor.name) + le32(static_cast<int64_t>(tensor.shape.size()));
    for (size_t d = tensor.shape.size(); d-- > 0;) directory += le64(static_cast<uint64_t>(tensor.shape[d]));
    directory += le32(0) + le64(data.size());
    data += bytes_of(numbers_of(draft, tensor.name));
  }
  std::string file = "GGUF" + le32(options.version) + le64(last - options.first_tensor) + le64(keys.size());
  for (const std::string& key : keys) file += key;
  file += directory;
  file.resize((file.size() + 31) / 32 * 32, '\0');
  return file + data;
}

ModelDraft small_gpt2() {
  RandomModel model;
  model.config = small_config();
  model.config.d_ff = 4 * model.config.d_model;
  model.position_rows = model.config.max_seq_len;
  model.position = "learned";
  model.coarse = true;
  return random_model(model);
}

ModelDraft small_llama() {
  RandomModel model;
  model.config = small_config();
  model.config.vocab_size = 263;
  model.config.n_heads = 6;
  model.config.n_kv_heads = 2;
  model.config.head_dim = 6;
  model.config.norm = ordinal::NormKind::rms_norm;
  model.config.activation = ordinal::Activation::silu;
  model.config.gated_mlp = true;
  scale_by_head_dim(model.config);
  model.norm_bias = model.attn_bias = model.attn_output_bias = model.ffn_bias = false;
  model.position = "rope:pairing=interleaved";
  return random_model(model);
}

std::string llmc_tokenizer_file(const std::vector<std::string>& pieces, int64_t end_of_text, int version) {
  std::string file = le32(20240328) + le32(version) + le32(static_cast<int64_t>(pieces.size()));
  if (version == 2) file += le32(end_of_text);
  file.resize(1024, '\0');
  for (const std::string& piece : pieces) file += static_cast<char>(piece.size()) + piece;
  return file;
}

std::string llama2c_tokenizer_file(const std::vector<ScoredPiece>& pieces) {
  size_t longest = 0;
  for (const ScoredPiece& piece : pieces) longest = std::max(longest, piece.piece.size());
  std::string file = le32(static_cast<int64_t>(longest));
  for (const ScoredPiece& piece : pieces)
    file += le32(std::bit_cast<int32_t>(piece.score)) + le32(static_cast<int64_t>(piece.piece.size())) + piece.piece;
  return file;
}

std::vector<ScoredPiece> small_scored_pieces(int64_t count) {
  std::vector<ScoredPiece> pieces = {{"<unk>", 0}, {"\n<s>\n", 0}, {"\n</s>\n", 0}};
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte)
    pieces.push_back({std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", 0});
  for (const char* piece : {" ", "a", "b", "ab", " ab", "c"})
    pieces.push_back({piece, -static_cast<float>(pieces.size())});
  pieces.resize(static_cast<size_t>(count), {"z", -1e9f});
  return pieces;
}

bool Imported::noted(const std::string& word) const {
  return std::any_of(notes->begin(), notes->end(), [&](const std::string& note) { return mentions(note, {word}); });
}

Imported import_noting(const std::string& path, const std::string& vocab_dir) {
  Imported imported;
  imported.notes = std::make_shared<std::vector<std::string>>();
  ordinal::ImportOptions options;
  options.vocab_dir = vocab_dir;
  options.note = [notes = imported.notes](const std::string& note) { notes->push_back(note); };
  imported.draft = ordinal::import_checkpoint(path, options);
  for (TensorSource& tensor : imported.draft.tensors)  // so that remarks made while reading are heard here
    numbers_of(imported.draft, tensor.name);
  return imported;
}

SafeTensor& Gpt2Folder::at(const std::string& name) {
  for (SafeTensor& tensor : tensors)
    if (tensor.name == name) return tensor;
  FAIL("no tensor ", name);
  return tensors.front();
}

void Gpt2Folder::write() const {
  write_file(scratch.path("config.json"), config);
  write_file(scratch.path("model.safetensors"), safetensors(tensors));
}

Imported Gpt2Folder::import() const {
  write();
  return import_noting(path());
}

std::string Gpt2Folder::error() const {
  write();
  return test::error_of([&] { ordinal::import_checkpoint(path()); });
}

bool imports_or_refuses(const std::string& path) {
  try {
    const ModelDraft draft = ordinal::import_checkpoint(path);
    for (const TensorSource& tensor : draft.tensors) numbers_of(draft, tensor.name);
    return true;
  } catch (const ordinal::Error& error) {
    CHECK_FALSE(error.summary().empty());
    return false;
  }
}

}  // namespace foreign
