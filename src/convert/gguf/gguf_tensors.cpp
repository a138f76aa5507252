// gguf_tensors.cpp: see gguf_tensors.h.
#include "convert/gguf/gguf_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace ordinal::convert {
namespace {

// Reads one tensor, and says at most once that some of its numbers are none.
class BlockReader {
 public:
  BlockReader(std::string name, const GgufTensor& tensor, Note note)
      : name_(std::move(name)),
        kind_(*tensor.kind),
        file_(tensor.file),
        data_(tensor.file->bytes().data() + tensor.offset),
        note_(std::move(note)) {}

  // Numbers from `first` on, which is where a block begins.
  void weights(int64_t first, std::span<float> out) {
    if (kind_.is_plain()) {
      widen(kind_.dtype, data_, first, out);
    } else {
      const std::byte* block = data_ + first / kind_.items * kind_.bytes;
      for (size_t i = 0; i < out.size(); i += static_cast<size_t>(kind_.items), block += kind_.bytes)
        block_weights(kind_.take_apart(block), std::min(kind_.items, static_cast<int64_t>(out.size() - i)), &out[i]);
    }
    if (!said_ && !std::ranges::all_of(out, [](float x) { return std::isfinite(x); })) say_once();
  }

  // The same as blocks of the model file's kind.
  void blocks(int64_t first, int64_t count, std::byte* out) {
    const std::byte* block = data_ + first / kind_.items * kind_.bytes;
    const int64_t blocks = count / kind_.items, bytes = dtype_info(kind_.dtype).block_bytes;
    if (kind_.is_same_bytes()) std::memcpy(out, block, static_cast<size_t>(blocks * bytes));
    for (int64_t b = 0; b < blocks; ++b, block += kind_.bytes, out += bytes) {
      if (!kind_.is_same_bytes()) write_block(kind_.dtype, kind_.take_apart(block), out);
      uint16_t scale = 0;
      std::memcpy(&scale, out, 2);
      if (!said_ && !std::isfinite(f16_to_f32(scale))) say_once();
    }
  }

 private:
  void say_once() {
    said_ = true;
    say(note_, name_ + " holds NaN or infinity; it is kept as it is");
  }

  std::string name_;
  const GgufKind& kind_;
  std::shared_ptr<const MappedFile> file_;
  const std::byte* data_;
  Note note_;
  bool said_ = false;
};

}  // namespace

TensorSource gguf_source(const std::string& name, std::vector<int64_t> shape, const GgufTensor& tensor,
                         int64_t first_row, const Note& note) {
  const auto reader = std::make_shared<BlockReader>(name, tensor, note);
  TensorSource source{.name = name, .shape = shape, .source_dtype = tensor.kind->dtype, .read_rows = {}};
  if (shape.size() == 1) {
    source.read_rows = [=, n = shape[0], stored = tensor.shape.back()](int64_t, int64_t, float* out) {
      const int64_t once = std::min(n, stored - first_row);
      reader->weights(first_row, {out, static_cast<size_t>(once)});
      for (int64_t i = once; i < n; ++i) out[i] = out[i - once];
    };
    return source;
  }
  const int64_t k = shape.back();
  source.read_rows = [=](int64_t first, int64_t count, float* out) {
    reader->weights((first_row + first) * k, {out, static_cast<size_t>(count * k)});
  };
  if (dtype_info(tensor.kind->dtype).block_items > 1)
    source.read_blocks = [=](int64_t first, int64_t count, std::byte* out) {
      reader->blocks((first_row + first) * k, count * k, out);
    };
  return source;
}

}  // namespace ordinal::convert
