// stored.h: tensors as they lie in a foreign file, made into sources of rows; and files of numbers in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "format/mapped_file.h"
#include "format/model_writer.h"

namespace ordinal::convert {

using Note = std::function<void(const std::string&)>;

inline void say(const Note& note, const std::string& remark) {
  if (note) note(remark);
}

// The product, or the largest number when it does not fit. Sizes from headers meet a file's size only in this form.
int64_t capped_product(std::initializer_list<int64_t> sizes);

// Numbers of one kind in a mapped file, from `offset` on; alignment does not matter.
struct Stored {
  std::shared_ptr<const MappedFile> file;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;

  Stored skip(int64_t numbers) const { return {file, offset + numbers * dtype_info(dtype).block_bytes, dtype}; }
};

// Sources keep the mapping alive, read only when asked, and note (once a tensor) a NaN or an infinity among the
// numbers. All numbers must lie within the file.

// [count]
TensorSource vector_source(const std::string& name, const Stored& at, int64_t count, const Note& note);

// [outputs, inputs] stored in that order.
TensorSource rows_source(const std::string& name, const Stored& at, int64_t outputs, int64_t inputs, const Note& note);

// A table that a position scheme reads, of one to three dimensions.
TensorSource table_source(const std::string& name, const Stored& at, const std::vector<int64_t>& shape,
                          const Note& note);

// [outputs, inputs] stored as columns: output n is column `first` + n of `inputs` rows of `width` numbers each.
struct Columns {
  int64_t inputs, width, first, outputs;
};
TensorSource columns_source(const std::string& name, const Stored& at, const Columns& columns, const Note& note);

// A file of a header and then blocks of numbers, one after another, whose sizes follow from the header.
class NumberLayout {
 public:
  NumberLayout(std::shared_ptr<const MappedFile> file, int64_t header_bytes, Dtype dtype);

  // The place of the next block, of as many numbers as the product of `sizes`. Valid once check_size has returned.
  Stored next(std::initializer_list<int64_t> sizes);

  // Throws Error unless the blocks end where the file does. `format` names the format in the message.
  void check_size(const std::string& format) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  int64_t end_;  // capped
  Dtype dtype_;
};

}  // namespace ordinal::convert
