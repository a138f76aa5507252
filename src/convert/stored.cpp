// stored.cpp: see stored.h.
#include "convert/stored.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t capped_sum(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }

// Reads numbers of one tensor, and says at most once that some are no numbers.
class Reader {
 public:
  Reader(std::string name, Stored at, Note note) : name_(std::move(name)), at_(std::move(at)), note_(std::move(note)) {}

  // Whether the numbers are of 16 bits and lie one after another.
  bool has_words() const { return !at_.doubles && at_.steps.empty() && dtype_info(at_.dtype).block_bytes == 2; }

  void read_words(int64_t first, int64_t count, std::byte* out) {
    const std::byte* from = at_.file->bytes().data() + at_.offset + 2 * first;
    std::memcpy(out, from, static_cast<size_t>(2 * count));
    const uint16_t exponent = at_.dtype == Dtype::bf16 ? 0x7f80 : 0x7c00;  // all ones: NaN or infinity
    bool all_finite = true;
    for (int64_t i = 0; i < count; ++i) {
      uint16_t word;
      std::memcpy(&word, out + 2 * i, 2);
      all_finite &= (word & exponent) != exponent;
    }
    if (!all_finite) say_not_finite();
  }

  void read(int64_t first, std::span<float> out) {
    if (at_.steps.empty())
      read_together(first, out);
    else
      gather(first, out);
    if (!std::ranges::all_of(out, [](float x) { return std::isfinite(x); })) say_not_finite();
  }

 private:
  void say_not_finite() {
    if (!said_) say(note_, name_ + " holds NaN or infinity; it is kept as it is");
    said_ = true;
  }

  // Stretches of the last dimension that lie together, or number by number.
  void gather(int64_t first, std::span<float> out) const {
    const int64_t length = at_.steps.back() == 1 ? at_.sizes.back() : 1;
    while (!out.empty()) {
      const auto count = static_cast<size_t>(length - first % length);
      const std::span<float> stretch = out.first(std::min(count, out.size()));
      read_together(place_of(first), stretch);
      first += static_cast<int64_t>(stretch.size());
      out = out.subspan(stretch.size());
    }
  }

  // How far behind the first the number lies that is at `index` in order.
  int64_t place_of(int64_t index) const {
    int64_t place = 0;
    for (size_t i = at_.sizes.size(); i-- > 0; index /= at_.sizes[i]) place += index % at_.sizes[i] * at_.steps[i];
    return place;
  }

  void read_together(int64_t first, std::span<float> out) const {
    if (at_.group > 0)
      scale(first, out);
    else if (at_.doubles)
      round(first, out);
    else
      widen(at_.dtype, at_.file->bytes().data() + at_.offset, first, out);
  }

  void scale(int64_t first, std::span<float> out) const {
    for (float& value : out) {
      const auto code = static_cast<int8_t>(at_.file->bytes()[static_cast<size_t>(at_.offset + first)]);
      value = read_f32(at_.file->bytes(), static_cast<size_t>(at_.factors + 4 * (first / at_.group))) * code;
      ++first;
    }
  }

  void round(int64_t first, std::span<float> out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      double value;
      std::memcpy(&value, at_.file->bytes().data() + at_.offset + 8 * (first + static_cast<int64_t>(i)), 8);
      out[i] = static_cast<float>(value);
      if (std::isinf(out[i]) && !std::isinf(value))
        throw Error(name_ + " holds a number that f32 cannot", "at most 3.4e38", std::to_string(value));
    }
  }

  std::string name_;
  Stored at_;
  Note note_;
  bool said_ = false;
};

}  // namespace

int64_t capped_product(std::initializer_list<int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product)) return kMost;
  return product;
}

TensorSource source_of(const std::string& name, std::vector<int64_t> shape, const Origin& origin, const Note& note) {
  const int64_t outputs = shape[0], inputs = shape.size() == 2 ? shape[1] : 1;
  const Share share = origin.share;
  const int64_t width = share.outputs_in_all(outputs);
  const auto reader = std::make_shared<Reader>(name, origin.at, note);

  // Outputs `from` .. `from + count`, which lie together in the file from output `place` on.
  const auto read_together = [=](int64_t place, int64_t count, float* out) {
    if (!origin.turned) return reader->read(place * inputs, {out, static_cast<size_t>(count * inputs)});
    std::array<float, kPanelLanes> strip;
    for (int64_t k = 0; k < inputs; ++k) {
      reader->read(k * width + place, std::span(strip).first(static_cast<size_t>(count)));
      for (int64_t n = 0; n < count; ++n) out[n * inputs + k] = strip[static_cast<size_t>(n)];
    }
  };
  // Calls visit(place, count) for the stretches that lie together in the file, and make up the outputs.
  const bool is_vector = shape.size() == 1;
  const auto for_stretches = [=](int64_t first, int64_t count, const auto& visit) {
    if (is_vector) count = outputs;
    for (const int64_t stop = first + count; first < stop;) {
      const int64_t within = first % share.count, place = first / share.count * share.every + share.first + within;
      const int64_t together = std::min({stop - first, share.count - within, is_vector ? outputs : kPanelLanes});
      visit(place, together);
      first += together;
    }
  };
  TensorSource source;
  source.name = name;
  source.shape = std::move(shape);
  source.source_dtype = origin.at.dtype;
  source.read_rows = [=](int64_t first, int64_t count, float* out) {
    for_stretches(first, count, [&](int64_t place, int64_t together) {
      read_together(place, together, out);
      out += together * inputs;
    });
  };
  if (reader->has_words() && !origin.turned && !is_vector)
    source.read_blocks = [=](int64_t first, int64_t count, std::byte* out) {
      for_stretches(first, count, [&](int64_t place, int64_t together) {
        reader->read_words(place * inputs, together * inputs, out);
        out += together * inputs * 2;
      });
    };
  return source;
}

TensorSource table_source(const std::string& name, std::vector<int64_t> shape, const Stored& at, const Note& note) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  TensorSource source = source_of(name, shape.size() == 1 ? shape : std::vector{rows, shape.back()}, {at}, note);
  source.shape = std::move(shape);
  source.is_table = true;
  return source;
}

void add_planned(ModelDraft& draft, const Note& note,
                 const std::function<std::optional<Origin>(const PlannedTensor& tensor)>& find) {
  for_each_tensor(draft.config, [&](const PlannedTensor& tensor) {
    if (const std::optional<Origin> origin = find(tensor))
      draft.tensors.push_back(source_of(tensor.name, tensor.shape, *origin, note));
  });
}

NumberLayout::NumberLayout(std::shared_ptr<const MappedFile> file, int64_t header_bytes, Dtype dtype)
    : file_(std::move(file)), end_(header_bytes), dtype_(dtype) {}

Stored NumberLayout::next(std::initializer_list<int64_t> sizes) {
  const Stored block{.file = file_, .offset = end_, .dtype = dtype_};
  next_bytes(capped_product({capped_product(sizes), dtype_info(dtype_).block_bytes}));
  return block;
}

int64_t NumberLayout::next_bytes(int64_t bytes) { return std::exchange(end_, capped_sum(end_, bytes)); }

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

void PlanBlocks::next(std::initializer_list<std::string_view> names) {
  int64_t per_layer = 0;
  bool in_layers = false;
  std::vector<Place*> added;
  for (const std::string_view name : names) {
    const PlannedTensor tensor = planned_tensor(config_, name);
    in_layers = tensor.part->is_in_layers();
    added.push_back(&(places_[std::string(name)] = {{}, per_layer, 0}));
    const auto& shape = tensor.shape;
    per_layer = capped_sum(per_layer, capped_product({shape[0], shape.size() == 2 ? shape[1] : 1}));
  }
  const Stored block = layout_.next({in_layers ? config_.n_layers : 1, per_layer});
  for (Place* place : added) place->block = block, place->per_layer = per_layer;
}

std::optional<Origin> PlanBlocks::find(const PlannedTensor& tensor) const {
  const auto found = places_.find(std::string(tensor.part->name) + (tensor.is_bias ? ".bias" : ".weight"));
  if (found == places_.end()) return std::nullopt;
  const Place& place = found->second;
  return Origin{.at = place.block.skip(tensor.layer * place.per_layer + place.offset)};
}

}  // namespace ordinal::convert
