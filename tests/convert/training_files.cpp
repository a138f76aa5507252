// training_files.cpp: see training_files.h.
#include "convert/training_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "reference/random_model.h"

using ordinal::ModelDraft, ordinal::TensorSource;

namespace foreign {
namespace {

struct TorchKind {
  std::string storage;
  int64_t bytes;
};
const TorchKind& torch_kind(const std::string& kind) {
  static const std::map<std::string, TorchKind> kinds = {
      {"F64", {"DoubleStorage", 8}},    {"F32", {"FloatStorage", 4}}, {"F16", {"HalfStorage", 2}},
      {"BF16", {"BFloat16Storage", 2}}, {"I64", {"LongStorage", 8}},  {"BOOL", {"BoolStorage", 1}}};
  return kinds.at(kind);
}

std::string le16(int64_t value) { return le32(value).substr(0, 2); }

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}

// Bit by bit, from the definition.
uint32_t slow_masked_crc32c(const std::string& bytes) {
  uint32_t sum = 0xffffffff;
  for (const char byte : bytes) {
    sum ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78 : 0);
  }
  sum = ~sum;
  return (sum >> 15 | sum << 17) + 0xa282ead8;
}

std::string field(int number, uint64_t value) { return varint(static_cast<uint64_t>(number) << 3) + varint(value); }
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}

}  // namespace

std::string pickled(const std::string& text) { return "X" + le32(static_cast<int64_t>(text.size())) + text; }
std::string pickled(int64_t number) { return "J" + le32(number); }

std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string all = "}(";
  for (const auto& [name, value] : members) all += pickled(name) + value;
  return all + "u";
}

std::string pickle_of(const std::string& value) { return "\x80\x02" + value + "."; }

std::string pickled(const TorchView& view) {
  const auto tuple = [](const std::vector<int64_t>& numbers) {
    std::string all = "(";
    for (const int64_t number : numbers) all += pickled(number);
    return all + "t";
  };
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled("storage") + "ctorch\n" + torch_kind(view.kind).storage +
         "\n" + pickled(view.key) + pickled("cpu") + pickled(view.count) + "tQ" + pickled(view.offset) +
         tuple(view.sizes) + tuple(view.strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

std::string zip_of(const std::vector<ZipFile>& files, const ZipOptions& options) {
  std::string all, directory;
  for (const auto& [name, bytes] : files) {
    const int64_t header = static_cast<int64_t>(all.size()), size = static_cast<int64_t>(bytes.size());
    // As torch.save does it: sizes behind the data, which begins at a multiple of 64.
    std::string padding = "FB" + le16(0);
    padding.resize(4 + (64 - (all.size() + 30 + name.size() + 4) % 64) % 64, 'Z');
    padding.replace(2, 2, le16(static_cast<int64_t>(padding.size()) - 4));
    const std::string start = le16(0) + le16(0x0808) + le16(options.method) + le32(0) + le32(0);
    all += "PK\3\4" + start + le32(0) + le32(0) + le16(static_cast<int64_t>(name.size())) +
           le16(static_cast<int64_t>(padding.size())) + name + padding + bytes;
    all += "PK\7\x08" + le32(0) + le32(size) + le32(size);
    const int64_t shown = options.in_64_bits ? -1 : size;
    const std::string more = options.in_64_bits
                                 ? le16(1) + le16(24) + le64(static_cast<uint64_t>(size)) +
                                       le64(static_cast<uint64_t>(size)) + le64(static_cast<uint64_t>(header))
                                 : "";
    directory += "PK\1\2" + le16(0) + start + le32(shown) + le32(shown) + le16(static_cast<int64_t>(name.size())) +
                 le16(static_cast<int64_t>(more.size())) + le16(0) + le16(0) + le16(0) + le32(0) +
                 le32(options.in_64_bits ? -1 : header) + name + more;
  }
  const uint64_t at = all.size(), count = files.size();
  all += directory;
  if (options.in_64_bits) {
    const uint64_t end = all.size();
    all += "PK\6\6" + le64(44) + le16(0) + le16(0) + le32(0) + le32(0) + le64(count) + le64(count) +
           le64(directory.size()) + le64(at);
    all += "PK\6\7" + le32(0) + le64(end) + le32(1);
  }
  const auto end16 = le16(options.in_64_bits ? -1 : static_cast<int64_t>(count));
  const auto end32 = [&](uint64_t number) { return le32(options.in_64_bits ? -1 : static_cast<int64_t>(number)); };
  return all + "PK\5\6" + le16(0) + le16(0) + end16 + end16 + end32(directory.size()) + end32(at) + le16(0);
}

std::string torch_zip(const std::string& values, const std::vector<TorchStorage>& storages) {
  std::vector<ZipFile> files = {{"m/data.pkl", pickle_of(values)}, {"m/byteorder", "little"}};
  for (const TorchStorage& storage : storages) files.push_back({"m/data/" + storage.key, storage.bytes});
  files.push_back({"m/version", "3\n"});
  return zip_of(files);
}

std::string torch_legacy(const std::string& values, const std::vector<TorchStorage>& storages) {
  std::string keys = "](", numbers;
  for (const TorchStorage& storage : storages) {
    keys += pickled(storage.key);
    numbers += le64(storage.bytes.size() / static_cast<size_t>(torch_kind(storage.kind).bytes)) + storage.bytes;
  }
  return "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19." + pickle_of(pickled(1001)) +
         pickle_of(pickled_dict({{"protocol_version", pickled(1001)}, {"little_endian", "\x88"}})) + pickle_of(values) +
         pickle_of(keys + "e") + numbers;
}

std::string torch_file(const std::vector<SafeTensor>& tensors, bool legacy) {
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<TorchStorage> storages;
  for (const SafeTensor& tensor : tensors) {
    TorchView view{tensor.kind, std::to_string(storages.size()), 1, 0, tensor.shape, tensor.shape};
    for (size_t i = tensor.shape.size(); i-- > 0; view.count *= tensor.shape[i]) view.strides[i] = view.count;
    members.emplace_back(tensor.name, pickled(view));
    storages.push_back({view.key, tensor.kind, tensor.bytes});
  }
  return legacy ? torch_legacy(pickled_dict(members), storages) : torch_zip(pickled_dict(members), storages);
}

std::vector<SafeTensor> nanogpt_tensors(const ModelDraft& draft) {
  std::vector<SafeTensor> tensors = gpt2_tensors(draft);
  for (SafeTensor& tensor : tensors) {
    if (tensor.shape.size() != 2 || tensor.name.find(".h.") == std::string::npos) continue;
    std::vector<float> numbers(tensor.bytes.size() / 4);
    std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
    tensor.bytes = transposed_bytes_of(numbers, tensor.shape[0], ordinal::Dtype::f32);
    std::swap(tensor.shape[0], tensor.shape[1]);
  }
  return tensors;
}

std::string tf_index(const std::vector<std::pair<std::string, std::string>>& entries) {
  // Two data blocks, so that the block about blocks has a choice; names are shared from the one before.
  std::string file, about;
  const auto add_block = [&](std::string block, const std::string& restarts) {
    block += restarts;
    const std::string handle = varint(file.size()) + varint(block.size());
    file += block + '\0' + le32(slow_masked_crc32c(block + '\0'));
    return handle;
  };
  for (size_t first = 0; first < entries.size();) {
    const size_t end = first == 0 ? (entries.size() + 1) / 2 : entries.size();
    std::string block, last;
    for (; first < end; ++first) {
      const auto& [name, value] = entries[first];
      const size_t shared = static_cast<size_t>(std::ranges::mismatch(last, name).in1 - last.begin());
      block += varint(shared) + varint(name.size() - shared) + varint(value.size()) + name.substr(shared) + value;
      last = name;
    }
    const std::string handle = add_block(block, le32(0) + le32(1));
    about += varint(0) + varint(last.size()) + varint(handle.size()) + last + handle;
  }
  std::string footer = add_block("", le32(0) + le32(1)) + add_block(about, le32(0) + le32(1));
  footer.resize(40, '\0');
  return file + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

TfFiles tf_files(const ModelDraft& draft) {
  std::map<std::string, SafeTensor> variables;
  for (SafeTensor& tensor : gpt2_tensors(draft, {""})) {
    // h.0.attn.c_attn.weight is called model/h0/attn/c_attn/w, ln_1.weight model/h0/ln_1/g.
    std::string name = tensor.name;
    const size_t dot = name.rfind('.');
    const bool is_norm = name.find("ln_") != std::string::npos, is_table = name.starts_with("w");
    name = name.substr(0, dot) + (name.substr(dot) == ".bias" ? "/b" : is_table ? "" : is_norm ? "/g" : "/w");
    if (name.starts_with("h.")) name.erase(1, 1);
    std::ranges::replace(name, '.', '/');
    if (name.ends_with("/w")) tensor.shape.insert(tensor.shape.begin(), 1);
    variables["model/" + name] = std::move(tensor);
  }
  TfFiles files;
  std::vector<std::pair<std::string, std::string>> entries = {{"", field(1, 1) + field(3, field(1, 1))}};
  for (const auto& [name, tensor] : variables) {
    std::string shape;
    for (const int64_t size : tensor.shape) shape += field(2, field(1, static_cast<uint64_t>(size)));
    std::string entry = field(1, 1) + field(2, shape);
    if (!files.data.empty()) entry += field(4, files.data.size());
    entry += field(5, tensor.bytes.size()) + varint(6 << 3 | 5) + le32(slow_masked_crc32c(tensor.bytes));
    entries.emplace_back(name, entry);
    files.data += tensor.bytes;
  }
  files.index = tf_index(entries);
  const auto& c = draft.config;
  files.sizes = "{\"n_vocab\": " + std::to_string(c.vocab_size) + ", \"n_ctx\": " + std::to_string(c.max_seq_len) +
                ", \"n_embd\": " + std::to_string(c.d_model) + ", \"n_head\": " + std::to_string(c.n_heads) +
                ", \"n_layer\": " + std::to_string(c.n_layers) + "}";
  return files;
}

void write_tf_folder(const TfFiles& files, const std::string& folder) {
  std::filesystem::create_directories(folder);
  test::write_file(folder + "/hparams.json", files.sizes);
  test::write_file(folder + "/checkpoint", "model_checkpoint_path: \"model.ckpt\"\n");
  test::write_file(folder + "/model.ckpt.index", files.index);
  test::write_file(folder + "/model.ckpt.data-00000-of-00001", files.data);
}

std::string llama2c_8bit_file(ModelDraft& draft, int64_t group) {
  const ordinal::ModelConfig& config = draft.config;
  std::string file = le32(0x616b3432) + le32(2);
  for (const int64_t value : {config.d_model, config.d_ff, config.n_layers, config.n_heads, config.n_kv_heads,
                              config.vocab_size, config.max_seq_len})
    file += le32(value);
  file += (config.tied_output ? '\1' : '\0') + le32(group);
  file.resize(256, '\0');
  const auto each = [&](const std::string& name, const auto& add) {
    if (find_tensor(draft, name) != nullptr) return add(name);
    for (int64_t layer = 0; layer < config.n_layers; ++layer) add("blk." + std::to_string(layer) + "." + name);
  };
  for (const char* name : {"attn_norm.weight", "ffn_norm.weight", "output_norm.weight"})
    each(name, [&](const std::string& norm) { file += bytes_of(numbers_of(draft, norm)); });
  const auto add_rounded = [&](const std::string& name) {
    std::vector<float> numbers = numbers_of(draft, name), factors;
    REQUIRE_EQ(static_cast<int64_t>(numbers.size()) % group, 0);
    for (size_t first = 0; first < numbers.size(); first += static_cast<size_t>(group)) {
      const std::span<float> some = std::span(numbers).subspan(first, static_cast<size_t>(group));
      float most = 1e-3f;
      for (const float number : some) most = std::max(most, std::abs(number));
      factors.push_back(most / 127);
      for (float& number : some) {
        const float code = std::round(number / factors.back());
        file += static_cast<char>(static_cast<int8_t>(code));
        number = static_cast<float>(static_cast<int>(code)) * factors.back();  // 8 bits have no -0
      }
    }
    file += bytes_of(factors);
    for (TensorSource& tensor : draft.tensors)
      if (tensor.name == name) tensor = test::tensor_of(name, tensor.shape, numbers);
  };
  for (const char* name : {"token_embd.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight",
                           "ffn_gate.weight", "ffn_down.weight", "ffn_up.weight"})
    each(name, add_rounded);
  if (!config.tied_output) add_rounded("output.weight");
  return file;
}

}  // namespace foreign
