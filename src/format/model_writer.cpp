// model_writer.cpp: lays a draft out as a file, then writes it front to back in one pass over the sources.
#include "format/model_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "base/words.h"
#include "format/block_panels.h"
#include "format/checksum.h"
#include "format/model_header.h"
#include "format/model_opener.h"
#include "format/output_file.h"
#include "format/panels.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

// Rows at a time: what read_rows may be asked for, and what fills a panel.
constexpr int64_t kRows = kPanelLanes;
constexpr int64_t kReportEvery = int64_t{1} << 20;  // bytes

std::span<const std::byte> bytes_of(const auto& items) { return std::as_bytes(std::span(items)); }

int64_t row_count(const TensorSource& source) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < source.shape.size(); ++i) rows *= source.shape[i];
  return rows;
}

Dtype stored_dtype(const TensorSource& source, Layout layout, const WriteOptions& options) {
  const bool other_head = options.head_dtype && (source.name == "token_embd.weight" || source.name == "output.weight");
  if (source.stored && source.stored->layout == layout && options.keep_dtype && !other_head)
    return source.stored->dtype;
  if (source.shape.size() == 1) return Dtype::f32;
  const Dtype dtype = other_head ? *options.head_dtype : options.keep_dtype ? source.source_dtype : options.dtype;
  if (static_cast<size_t>(dtype) >= kDtypes.size())
    throw Error(source.name + " is of a kind without a name", "a kind in the table of kinds",
                std::to_string(static_cast<int>(dtype)));
  const int64_t block = dtype_info(dtype).block_items;
  return block > 1 && (layout == Layout::rows || source.shape.back() < block) ? Dtype::f32 : dtype;
}

TensorPart plan_tensor(const TensorSource& source, const WriteOptions& options) {
  check_tensor_name(source.name);
  if (!source.read_rows) throw Error(source.name + " has no source of rows", "a read_rows function", "none");
  TensorPart tensor;
  tensor.name = source.name;
  tensor.shape = source.shape;
  try {
    tensor_bytes(Dtype::f32, Layout::rows, source.shape);  // shape first: the next two lines look at it
    tensor.layout = source.is_table || source.shape.size() == 1 ? Layout::rows : Layout::panels;
    tensor.dtype = stored_dtype(source, tensor.layout, options);
    tensor.part.bytes = tensor_bytes(tensor.dtype, tensor.layout, tensor.shape);
  } catch (const Error& error) {
    throw Error(source.name + ": " + error.summary(), error.expected(), error.found(), error.suggestion());
  }
  return tensor;
}

// The draft as a header in which only the checksums are missing.
ModelHeader plan(const ModelDraft& draft, const WriteOptions& options) {
  draft.config.validate();
  check_notes(draft.notes);
  check_tokenizer(draft.tokenizer, draft.config.vocab_size);

  ModelHeader header;
  header.config = draft.config;
  header.notes = draft.notes;
  header.tokenizer = draft.tokenizer;
  const TokenizerKind& kind = tokenizer_kind(draft.tokenizer.kind);
  std::set<std::string_view> names;
  for (const TensorSource& source : draft.tensors) {
    header.tensors.push_back(plan_tensor(source, options));
    if (!names.insert(source.name).second)
      throw Error("the draft has two tensors of one name", "each name once", source.name);
  }
  for (size_t i = 0; i < kBlobKinds; ++i)
    if (kind.has[i]) {
      const std::vector<std::byte> blob = write_blob(draft.tokenizer, i);
      header.blobs[i] = {blob_count(draft.tokenizer, i), {0, static_cast<int64_t>(blob.size()), checksum_of(blob)}};
    }
  header.tokenizer.pieces.clear();
  header.tokenizer.merges.clear();
  header.tokenizer.scores.clear();
  place_parts(header);
  return header;
}

// Throws Error when a finite number became infinite on its way to `dtype`.
void check_overflow(const TensorSource& source, Dtype dtype, std::span<const float> values) {
  // Half a step past the largest number of the kind: what rounds to infinity.
  struct Limit {
    Dtype dtype;
    float first_too_large;
    const char* largest;
    const char* suggestion;
  };
  constexpr std::array<Limit, 2> kLimits = {
      {{Dtype::f16, 65520.0f, "65504", "--dtype bf16, which reaches as far as f32"},
       {Dtype::bf16, 0x1.ffp127f, "3.3895e38", "--dtype f32"}}};
  for (const Limit& limit : kLimits) {
    if (limit.dtype != dtype) continue;
    const float largest = std::numeric_limits<float>::max();
    // Two loops: the first is simple enough to be vectorised, and it is the only one that runs in a sound model.
    uint32_t any = 0;
    for (const float value : values)
      any |= static_cast<uint32_t>(std::fabs(value) >= limit.first_too_large) &
             static_cast<uint32_t>(std::fabs(value) <= largest);
    if (any == 0) return;
    for (const float value : values)
      if (std::fabs(value) >= limit.first_too_large && std::isfinite(value))
        throw Error(source.name + " has a number too large for " + std::string(dtype_info(dtype).name),
                    std::string("at most ") + limit.largest + " (the largest " + std::string(dtype_info(dtype).name) +
                        ") either way",
                    shortest(value), limit.suggestion);
  }
}

double squared_error(Dtype dtype, std::span<const float> values, const std::byte* stored) {
  if (dtype == Dtype::f32) return 0;
  std::vector<float> back(values.size());
  widen(dtype, stored, 0, back);
  double sum = 0;
  for (size_t i = 0; i < back.size(); ++i) {
    const double error = static_cast<double>(back[i]) - values[i];
    sum += error * error;
  }
  return sum;
}

class Writer {
 public:
  Writer(const ModelDraft& draft, const WriteOptions& options) : draft_(draft), options_(options) {
    header_ = plan(draft, options);
    json_bytes_ = static_cast<int64_t>(write_model_header(header_).size());
    if (json_bytes_ > kMaxHeaderBytes)
      throw Error("the model's header is too long", std::to_string(kMaxHeaderBytes) + " bytes at most",
                  std::to_string(json_bytes_), "a shorter list of special tokens, or fewer tensors");
    data_start_ = align_file(kFileAlignment + json_bytes_);
    if (header_.data_bytes > INT64_MAX / 2 - data_start_)
      throw Error("the model is too large for a file", "under 2^62 bytes in all", "more");
    file_bytes_ = data_start_ + header_.data_bytes;
  }

  int64_t file_bytes() const { return file_bytes_; }

  void write_to(OutputFile& out) {
    pad(out, data_start_);
    for (size_t i = 0; i < kBlobKinds; ++i)
      if (const FilePart& part = header_.blobs[i].part; part.bytes != 0) {
        out.write(write_blob(draft_.tokenizer, i));
        pad(out, align_file(out.written()));
      }
    for (size_t i = 0; i < draft_.tensors.size(); ++i) {
      write_tensor(out, draft_.tensors[i], header_.tensors[i]);
      pad(out, align_file(out.written()));
    }
    out.overwrite(head());
    if (options_.progress) options_.progress(file_bytes_, file_bytes_);
  }

 private:
  std::vector<std::byte> head() const {
    const std::string json = write_model_header(header_);
    FixedHeader fixed;
    std::copy(kModelMagic.begin(), kModelMagic.end(), fixed.magic.begin());
    fixed.header_bytes = json.size();
    fixed.file_bytes = static_cast<uint64_t>(file_bytes_);
    fixed.header_checksum = checksum_of(bytes_of(json));
    const auto first = std::as_bytes(std::span(&fixed, 1)), rest = bytes_of(json);
    std::vector<std::byte> out(first.begin(), first.end());
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }

  static void pad(OutputFile& out, int64_t end) {
    out.write(std::vector<std::byte>(static_cast<size_t>(end - out.written())));
  }

  void copy_tensor(OutputFile& out, const TensorView& stored, TensorPart& tensor) {
    Checksum checksum;
    for (int64_t first = 0; first < stored.bytes; first += kReportEvery) {
      const std::span<const std::byte> bytes(stored.data + first,
                                             static_cast<size_t>(std::min(kReportEvery, stored.bytes - first)));
      checksum.add(bytes);
      out.write(bytes);
      report(out.written());
    }
    tensor.part.checksum = checksum.value();
  }

  void write_tensor(OutputFile& out, const TensorSource& source, TensorPart& tensor) {
    if (source.stored && source.stored->dtype == tensor.dtype && source.stored->layout == tensor.layout)
      return copy_tensor(out, *source.stored, tensor);
    const int64_t rows = row_count(source), k_size = source.shape.back();
    const bool in_panels = tensor.layout == Layout::panels;
    const bool moved = source.read_blocks && in_panels && source.source_dtype == tensor.dtype;
    const size_t chunk = static_cast<size_t>((in_panels ? kRows : std::min(rows, kRows)) * k_size);
    std::vector<float> values(moved ? 0 : chunk), panel(in_panels && !moved ? chunk : 0);
    const int64_t panel_bytes = in_panels ? tensor.part.bytes / panels_of(rows) : 0;
    std::vector<std::byte> stored(std::max(static_cast<size_t>(panel_bytes), moved ? 0 : chunk * sizeof(float)));
    std::vector<std::byte> blocks(moved ? static_cast<size_t>(panel_bytes) : 0);
    Checksum checksum;
    double squares = 0, squared_errors = 0;
    for (int64_t first = 0; first < rows; first += kRows) {
      const int64_t count = std::min(kRows, rows - first);
      const auto read = std::span(values).first(moved ? 0 : static_cast<size_t>(count * k_size));
      std::span<const std::byte> bytes = std::span(stored).first(static_cast<size_t>(panel_bytes));
      if (moved) {
        source.read_blocks(first, count, blocks.data());
        if (dtype_info(tensor.dtype).block_items > 1)
          join_block_panel(tensor.dtype, blocks.data(), count, k_size, stored.data());
        else
          pack_panel(reinterpret_cast<const uint16_t*>(blocks.data()), count, k_size,
                     reinterpret_cast<uint16_t*>(stored.data()));
      } else {
        source.read_rows(first, count, values.data());
        check_overflow(source, tensor.dtype, read);
        if (dtype_info(tensor.dtype).block_items > 1) {
          squared_errors += pack_block_panel(tensor.dtype, values.data(), count, k_size, stored.data());
        } else {
          if (in_panels) pack_panel(values.data(), count, k_size, panel.data());
          const std::span<const float> ready = in_panels ? std::span<const float>(panel) : read;
          narrow(tensor.dtype, ready, stored.data());
          bytes = std::span<const std::byte>(stored).first(ready.size() *
                                                           static_cast<size_t>(dtype_info(tensor.dtype).block_bytes));
          if (options_.rounded) squared_errors += squared_error(tensor.dtype, ready, stored.data());
        }
      }
      if (options_.rounded)
        for (const float value : read) squares += static_cast<double>(value) * value;
      checksum.add(bytes);
      out.write(bytes);
      report(out.written());
    }
    tensor.part.checksum = checksum.value();
    if (options_.rounded && squared_errors > 0)
      options_.rounded(source.name, tensor.dtype, std::sqrt(squared_errors / squares));
  }

  void report(int64_t done) {
    if (!options_.progress || done - reported_ < kReportEvery) return;
    reported_ = done;
    options_.progress(done, file_bytes_);
  }

  const ModelDraft& draft_;
  const WriteOptions& options_;
  ModelHeader header_;
  int64_t json_bytes_ = 0;
  int64_t data_start_ = 0;
  int64_t file_bytes_ = 0;
  int64_t reported_ = 0;
};

}  // namespace

void write_model_file(const ModelDraft& draft, const std::string& path, const WriteOptions& options) {
  Writer writer(draft, options);
  OutputFile out = OutputFile::on_disk(path);
  out.reserve(writer.file_bytes());
  writer.write_to(out);
  out.commit();
}

ModelFile write_model_in_memory(const ModelDraft& draft, const std::string& name, const WriteOptions& options) {
  Writer writer(draft, options);
  OutputFile out = OutputFile::in_memory(name);
  writer.write_to(out);
  return open_model_descriptor(out.release(), name);
}

}  // namespace ordinal
