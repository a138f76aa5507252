// stored.cpp: see stored.h.
#include "convert/stored.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t capped_sum(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }

// Says at most once for one tensor that it holds something that is no number.
class Watch {
 public:
  Watch(std::string name, Note note) : name_(std::move(name)), note_(std::move(note)) {}

  void look(std::span<const float> values) {
    if (said_ || std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) return;
    said_ = true;
    say(note_, name_ + " holds NaN or infinity; it is kept as it is");
  }

 private:
  std::string name_;
  Note note_;
  bool said_ = false;
};

void widen_at(const Stored& at, int64_t first, std::span<float> out) {
  widen(at.dtype, at.file->bytes().data() + at.offset, first, out);
}

}  // namespace

int64_t capped_product(std::initializer_list<int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product)) return kMost;
  return product;
}

TensorSource vector_source(const std::string& name, const Stored& at, int64_t count, const Note& note) {
  const auto watch = std::make_shared<Watch>(name, note);
  return {name, {count}, at.dtype, [at, count, watch](int64_t, int64_t, float* out) {
            const std::span<float> values(out, static_cast<size_t>(count));
            widen_at(at, 0, values);
            watch->look(values);
          }};
}

TensorSource rows_source(const std::string& name, const Stored& at, int64_t outputs, int64_t inputs, const Note& note) {
  const auto watch = std::make_shared<Watch>(name, note);
  return {name, {outputs, inputs}, at.dtype, [at, inputs, watch](int64_t first, int64_t count, float* out) {
            const std::span<float> values(out, static_cast<size_t>(count * inputs));
            widen_at(at, first * inputs, values);
            watch->look(values);
          }};
}

TensorSource table_source(const std::string& name, const Stored& at, const std::vector<int64_t>& shape,
                          const Note& note) {
  TensorSource source = rows_source(name, at, 1, shape.back(), note);
  source.shape = shape;
  source.is_table = true;
  return source;
}

TensorSource columns_source(const std::string& name, const Stored& at, const Columns& columns, const Note& note) {
  const auto watch = std::make_shared<Watch>(name, note);
  return {name,
          {columns.outputs, columns.inputs},
          at.dtype,
          [at, columns, watch](int64_t first, int64_t count, float* out) {
            std::array<float, kPanelLanes> strip;
            for (int64_t done = 0; done < count; done += kPanelLanes) {
              const std::span<float> part(strip.data(), static_cast<size_t>(std::min(count - done, kPanelLanes)));
              for (int64_t k = 0; k < columns.inputs; ++k) {
                widen_at(at, k * columns.width + columns.first + first + done, part);
                watch->look(part);
                for (size_t n = 0; n < part.size(); ++n)
                  out[(done + static_cast<int64_t>(n)) * columns.inputs + k] = part[n];
              }
            }
          }};
}

NumberLayout::NumberLayout(std::shared_ptr<const MappedFile> file, int64_t header_bytes, Dtype dtype)
    : file_(std::move(file)), end_(header_bytes), dtype_(dtype) {}

Stored NumberLayout::next(std::initializer_list<int64_t> sizes) {
  const Stored block{file_, end_, dtype_};
  end_ = capped_sum(end_, capped_product({capped_product(sizes), dtype_info(dtype_).block_bytes}));
  return block;
}

void NumberLayout::check_size(const std::string& format) const {
  const int64_t size = static_cast<int64_t>(file_->bytes().size());
  if (size == end_) return;
  const std::string expected =
      (end_ == kMost ? "more bytes than any file has" : grouped(end_) + " bytes") + ", from the sizes in its header";
  throw Error(file_->path() + (size < end_ ? " ends before its numbers do: it is truncated, or its header is wrong"
                                           : " is longer than its header says: there are trailing bytes"),
              expected, "a file of " + grouped(size) + " bytes (read as " + format + ")",
              size < end_ ? "copy or download it again" : "");
}

}  // namespace ordinal::convert
