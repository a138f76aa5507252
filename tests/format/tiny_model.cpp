// tiny_model.cpp: see tiny_model.h.
#include "tiny_model.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "format/model_opener.h"

namespace tiny {

using ordinal::Dtype;
using ordinal::ModelDraft;

ordinal::TensorSource source(std::string name, std::vector<int64_t> shape, std::vector<float> values, Dtype dtype) {
  const int64_t k_size = shape.back();
  const auto read = [values = std::move(values), k_size](int64_t first, int64_t count, float* out) {
    std::copy_n(values.begin() + first * k_size, count * k_size, out);
  };
  return {std::move(name), std::move(shape), dtype, read};
}

ModelDraft example() {
  ModelDraft draft;
  draft.config.vocab_size = 3;
  draft.config.max_seq_len = 4;
  draft.config.d_model = 2;
  draft.config.n_layers = 1;
  draft.config.n_heads = 1;
  draft.config.n_kv_heads = 1;
  draft.config.head_dim = 2;
  draft.config.d_ff = 8;
  draft.config.attention_scale = {0.70710677f};
  draft.config.eos_ids = {2};
  draft.notes = {"learned", {"learned"}, R"({"source":"the example in README.md"})"};
  draft.tokenizer.kind = "chars";
  draft.tokenizer.pieces = {"a", "b", "\u00e9"};
  draft.tensors.push_back(source("token_embd.weight", {3, 2}, {1, 2, 3, 4, 5, 6}, Dtype::f16));
  draft.tensors.push_back(source("position_embd.weight", {4, 2}, {0, 1, 0, -1, 0.5, 1, 0.5, -1}, Dtype::f16));
  draft.tensors.back().is_table = true;
  draft.tensors.push_back(source("output_norm.weight", {2}, {1, 0.75}));
  return draft;
}

ModelDraft odd_shapes() {
  test::Random random(20261129);
  ModelDraft draft = example();
  draft.config.vocab_size = 5;
  draft.config.n_layers = 3;
  draft.config.n_heads = 6;
  draft.config.n_kv_heads = 2;
  draft.config.norm = ordinal::NormKind::rms_norm;
  draft.config.norm_place = ordinal::NormPlace::post;
  draft.config.activation = ordinal::Activation::silu;
  draft.config.gated_mlp = true;
  draft.config.tied_output = false;
  draft.config.norm_epsilon = 1e-6f;
  draft.config.embedding_scale = 0.1f;
  draft.config.attention_scale = {1.0f / 3.0f, 1e-30f, 1e-45f};
  draft.config.bos_id = 1;
  draft.config.eos_ids = {4, 0};
  draft.notes = {"rope:theta=500000,pairing=half", {"alibi", "rope:theta=500000,pairing=half"}, R"({"a":"é\n"})"};
  draft.tokenizer.kind = "bpe";
  draft.tokenizer.pieces = {"a", "b", "ab", "", std::string("\0\xff\"\n", 4)};
  draft.tokenizer.merges = {{0, 1, 2}, {2, 2, 4}};
  draft.tokenizer.special_ids = {3, 4};
  draft.tokenizer.split = "none";
  draft.tokenizer.add_prefix_space = true;
  draft.tokenizer.adds_bos = true;
  draft.tokenizer.bos_id = 4;
  draft.tokenizer.unknown_id = 2;
  draft.tensors.clear();
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const int64_t n : {1, 31, 32, 33})
      for (const int64_t k : {1, 3, 32, 65}) {
        const std::string name =
            std::string(ordinal::dtype_info(dtype).name) + "." + std::to_string(n) + "." + std::to_string(k);
        draft.tensors.push_back(source(name, {n, k}, random.normals(static_cast<size_t>(n * k)), dtype));
      }
  draft.tensors.push_back(source("bias", {33}, random.normals(33), Dtype::bf16));
  draft.tensors.push_back(source("table", {33, 3}, random.normals(99), Dtype::bf16));
  draft.tensors.back().is_table = true;
  draft.tensors.push_back(source("deep.table", {2, 5, 3}, random.normals(30), Dtype::f16));
  draft.tensors.back().is_table = true;
  return draft;
}

Parts split(const std::string& file) {
  const size_t json_bytes = static_cast<size_t>(number_at<uint64_t>(file, 16));
  const size_t data_start = (64 + json_bytes + 63) / 64 * 64;
  REQUIRE(data_start <= file.size());
  return {file.substr(64, json_bytes), file.substr(data_start)};
}

std::string join(const Parts& parts) {
  const size_t data_start = (64 + parts.json.size() + 63) / 64 * 64;
  std::string file(64, '\0');
  const auto put = [&](size_t at, uint64_t value) { std::memcpy(file.data() + at, &value, sizeof value); };
  std::memcpy(file.data(), "ORDINAL\0\1\0\0\0", 12);
  put(16, parts.json.size());
  put(24, data_start + parts.data.size());
  put(32, naive_checksum(parts.json));
  file += parts.json;
  file.resize(data_start);
  return file + parts.data;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, "no ", from, " in ", text);
  return text.replace(at, from.size(), to);
}

ordinal::ModelFile open_bytes(std::string_view bytes) {
  const int descriptor = memfd_create("test", MFD_CLOEXEC);
  REQUIRE(descriptor >= 0);
  REQUIRE(write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return ordinal::open_model_descriptor(descriptor, "test.ordinal");
}

uint64_t naive_checksum(std::string_view bytes) {
  uint64_t state = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t word) {
    state = (state ^ word) * 1099511628211u;
    state = (state << 29) | (state >> 35);
  };
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
      word += static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * (i - at));
    mix(word);
  }
  mix(bytes.size());
  return state;
}

}  // namespace tiny
