// stored.h: tensors as they lie in a foreign file, made into sources of rows; and files of numbers in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/mapped_file.h"
#include "format/model_writer.h"
#include "model/plan.h"

namespace ordinal::convert {

using Note = std::function<void(const std::string&)>;

inline void say(const Note& note, const std::string& remark) {
  if (note) note(remark);
}

// The product, or the largest number when it does not fit. Sizes from headers meet a file's size only in this form.
int64_t capped_product(std::initializer_list<int64_t> sizes);

// Numbers of one kind in a mapped file, from `offset` on, one after another; alignment does not matter.
struct Stored {
  std::shared_ptr<const MappedFile> file;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;
  bool doubles = false;  // 64 bits a number, rounded to f32 as they are read
  // Of views that PyTorch kept: how many numbers lie from one to the next in each dimension of `sizes`. Empty: they lie
  // one after another.
  std::vector<int64_t> sizes = {}, steps = {};
  // Of 8-bit numbers: how many share a factor, and where in the file the factors lie, in f32. 0: there are none.
  int64_t group = 0, factors = 0;

  int64_t bytes_per_number() const { return group > 0 ? 1 : doubles ? 8 : dtype_info(dtype).block_bytes; }
  Stored skip(int64_t numbers) const { return {file, offset + numbers * bytes_per_number(), dtype, doubles}; }
};

// Which outputs of a fused tensor are one part's: `count` from `first` on in every `every`. By default all are.
struct Share {
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  int64_t first = 0, count = kAll, every = kAll;

  // Of a fused tensor that holds this share of `outputs`.
  int64_t outputs_in_all(int64_t outputs) const { return count == kAll ? outputs : outputs / count * every; }
};

// Where a tensor lies in a foreign file.
struct Origin {
  Stored at;
  Share share = {};
  bool turned = false;  // [inputs, outputs]
};

// Reads a tensor of this shape, [outputs, inputs] or [outputs], from where it lies. The source keeps the mapping alive,
// reads only when asked, and notes (once a tensor) a NaN or an infinity. All numbers must lie within the file.
TensorSource source_of(const std::string& name, std::vector<int64_t> shape, const Origin& origin, const Note& note);

// A table that a position scheme reads, of one to three dimensions.
TensorSource table_source(const std::string& name, std::vector<int64_t> shape, const Stored& at, const Note& note);

// Adds each tensor of the plan that `find` has a place for.
void add_planned(ModelDraft& draft, const Note& note,
                 const std::function<std::optional<Origin>(const PlannedTensor& tensor)>& find);

// A file of a header and then blocks of numbers, one after another, whose sizes follow from the header.
class NumberLayout {
 public:
  NumberLayout(std::shared_ptr<const MappedFile> file, int64_t header_bytes, Dtype dtype);

  // The place of the next block, of as many numbers as the product of `sizes`. Valid once check_size has returned.
  Stored next(std::initializer_list<int64_t> sizes);

  // The same for so many bytes of any kind: where they begin.
  int64_t next_bytes(int64_t bytes);

  // Throws Error unless the blocks end where the file does. `format` names the format in the message.
  void check_size(const std::string& format) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  int64_t end_;  // capped
  Dtype dtype_;
};

// A file that keeps a tensor of all layers together, layer by layer, and so for each tensor of the plan.
class PlanBlocks {
 public:
  PlanBlocks(const ModelConfig& config, NumberLayout& layout) : config_(config), layout_(layout) {}

  // What comes next in the file: these tensors ("attn_q.weight"), one after another, once or for each layer.
  void next(std::initializer_list<std::string_view> names);

  // Nothing when the file has no such tensor. Valid once the layout's check_size has returned.
  std::optional<Origin> find(const PlannedTensor& tensor) const;

 private:
  struct Place {
    Stored block;
    int64_t offset, per_layer;  // numbers
  };
  const ModelConfig& config_;
  NumberLayout& layout_;
  std::map<std::string, Place, std::less<>> places_;  // by the name in a layer
};

}  // namespace ordinal::convert
