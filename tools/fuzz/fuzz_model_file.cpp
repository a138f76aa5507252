// fuzz_model_file.cpp: model files of any bytes are a model or an Error. README.md beside this file says how to run it.
//
// An input is one of two things. Bytes that begin with the magic are a whole file. Anything else is the JSON text of a
// header, a zero byte, and a data area. In both, checksums are set right before the file is opened: a checksum would
// stop nearly every mutation at the door, and all behind it would go untested.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/checksum.h"
#include "format/model_header.h"
#include "format/model_opener.h"
#include "format/model_writer.h"
#include "format/tokenizer_data.h"
#include "ordinal/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);

namespace {

using Bytes = std::vector<std::byte>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_model_file: broken promise: %s\n", what);
  std::abort();
}

void append(Bytes& bytes, std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

ordinal::ModelFile open_bytes(const Bytes& bytes) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  require(descriptor >= 0, "memory for a file");
  require(write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a whole write");
  return ordinal::open_model_descriptor(descriptor, "fuzz.ordinal");
}

// Looks at everything that an opened model offers.
void use(const ordinal::ModelFile& file) {
  uintptr_t end = 0;
  for (const ordinal::TensorView& tensor : file.tensors()) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(tensor.data);
    require(first % 64 == 0, "tensors are aligned");
    require(first >= end, "tensors do not overlap");
    end = first + static_cast<uintptr_t>(tensor.bytes);
    require(tensor.bytes == ordinal::tensor_bytes(tensor.dtype, tensor.layout, tensor.shape), "sizes follow shapes");
    require(file.find(tensor.name) == &tensor, "tensors are found by name");
    require(file.recorded_checksum(tensor.name).size() == 16, "checksums are recorded");
  }
  if (!file.tensors().empty()) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(file.tensors()[0].data);
    require(end - first <= static_cast<uintptr_t>(file.bytes()), "tensors lie in the file");
  }
  try {
    const ordinal::TokenizerData data = file.tokenizer();
    if (data.kind != "none")
      require(static_cast<int64_t>(data.pieces.size()) == file.config().vocab_size, "a piece for each id");
  } catch (const ordinal::Error&) {
  }
  file.verify();
}

void try_whole_file(std::span<const std::byte> input) {
  Bytes bytes(input.begin(), input.end());
  ordinal::FixedHeader fixed;
  if (bytes.size() >= sizeof fixed) {
    std::memcpy(&fixed, bytes.data(), sizeof fixed);
    if (fixed.header_bytes <= bytes.size() - sizeof fixed)
      fixed.header_checksum = ordinal::checksum_of(std::span(bytes).subspan(sizeof fixed, fixed.header_bytes));
    std::memcpy(bytes.data(), &fixed, sizeof fixed);
  }
  use(open_bytes(bytes));
}

// The data with what it lacks of `size` filled up with zeros, and what lies between parts cleared.
void seal(ordinal::ModelHeader& header, Bytes& data) {
  data.resize(static_cast<size_t>(header.data_bytes));
  const auto seal_part = [&](ordinal::FilePart& part) {
    if (part.bytes == 0) return;
    const size_t first = static_cast<size_t>(part.offset), stop = first + static_cast<size_t>(part.bytes);
    part.checksum = ordinal::checksum_of(std::span(data).subspan(first, stop - first));
    std::memset(data.data() + stop, 0, static_cast<size_t>(ordinal::align_file(static_cast<int64_t>(stop))) - stop);
  };
  for (ordinal::BlobPart& blob : header.blobs) seal_part(blob.part);
  for (ordinal::TensorPart& tensor : header.tensors) seal_part(tensor.part);
}

void try_header(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  // Vectors of exactly these sizes, so that the address sanitizer sees a read past their end.
  const std::vector<char> json(text.begin(),
                               text.begin() + static_cast<ptrdiff_t>(std::min(text.find('\0'), text.size())));
  Bytes data;
  if (json.size() < input.size()) append(data, input.subspan(json.size() + 1));

  ordinal::ModelHeader header = ordinal::parse_model_header({json.data(), json.size()}, "fuzz.ordinal");
  for (size_t i = 0; i < ordinal::kBlobKinds; ++i) try {
      ordinal::TokenizerData lists;
      if (header.blobs[i].part.bytes != 0)
        ordinal::read_blob(data, i, header.blobs[i].count, header.config.vocab_size, lists);
    } catch (const ordinal::Error&) {
    }

  if (header.data_bytes > (int64_t{1} << 20)) return;
  seal(header, data);
  const std::string sealed = ordinal::write_model_header(header);
  ordinal::FixedHeader fixed;
  std::memcpy(fixed.magic.data(), ordinal::kModelMagic.data(), fixed.magic.size());
  fixed.header_bytes = sealed.size();
  fixed.header_checksum = ordinal::checksum_of(std::as_bytes(std::span(sealed)));
  const int64_t start = ordinal::align_file(static_cast<int64_t>(sizeof fixed + sealed.size()));
  fixed.file_bytes = static_cast<uint64_t>(start + header.data_bytes);
  Bytes file;
  append(file, std::as_bytes(std::span(&fixed, 1)));
  append(file, std::as_bytes(std::span(sealed)));
  file.resize(static_cast<size_t>(start));
  append(file, data);
  try {
    use(open_bytes(file));
  } catch (const ordinal::Error& error) {
    // What was accepted once must be accepted again; only the contents of parts can still be wrong.
    require(std::string_view(error.what()).find("unused lanes") != std::string_view::npos ||
                std::string_view(error.what()).find("the tokenizer's") != std::string_view::npos ||
                std::string_view(error.what()).find("a tokenizer's score") != std::string_view::npos,
            error.what());
  }
}

// A sound file to start from, as a whole or as a header with data.
Bytes seed(unsigned choice) {
  ordinal::ModelDraft draft;
  draft.config.vocab_size = 3;
  draft.config.max_seq_len = draft.config.d_model = draft.config.d_ff = draft.config.head_dim = 2;
  draft.config.n_layers = draft.config.n_heads = draft.config.n_kv_heads = 1;
  draft.config.attention_scale = {0.5f};
  draft.notes = {"learned", {"learned"}, R"({"source":"fuzz"})"};
  const char* const kinds[] = {"none", "bpe", "chars", "scores"};
  draft.tokenizer.kind = kinds[choice / 2 % 4];
  if (draft.tokenizer.kind != "none") draft.tokenizer.pieces = {"a", "b", "ab"};
  if (draft.tokenizer.kind == "bpe") draft.tokenizer.merges = {{0, 1, 2}};
  if (draft.tokenizer.kind == "scores") draft.tokenizer.scores = {1, 2, 3};
  const auto ones = [](int64_t, int64_t count, float* out) { std::fill_n(out, 2 * count, 1.0f); };
  draft.tensors.push_back({"token_embd.weight", {3, 2}, ordinal::Dtype::f16, ones});
  draft.tensors.push_back({"position_embd.weight", {2, 2}, ordinal::Dtype::f32, ones});
  const ordinal::ModelFile file = write_model_in_memory(draft, "seed");
  const ordinal::TensorView& last = file.tensors().back();
  const std::byte* const end = last.data + ordinal::align_file(last.bytes);
  const Bytes whole(end - file.bytes(), end);
  if (choice % 2 == 0) return whole;

  ordinal::FixedHeader fixed;
  std::memcpy(&fixed, whole.data(), sizeof fixed);
  const size_t stop = sizeof fixed + fixed.header_bytes;
  Bytes parts(whole.begin() + sizeof fixed, whole.begin() + static_cast<ptrdiff_t>(stop));
  parts.push_back(std::byte{0});
  append(parts, std::span(whole).subspan(static_cast<size_t>(ordinal::align_file(static_cast<int64_t>(stop)))));
  return parts;
}

// One number in the text replaced by one that tends to break things.
void change_number(std::string& text, std::minstd_rand& random) {
  const char* const numbers[] = {"0",
                                 "-1",
                                 "1",
                                 "32",
                                 "33",
                                 "63",
                                 "64",
                                 "65",
                                 "128",
                                 "2147483647",
                                 "2147483648",
                                 "4294967295",
                                 "4294967296",
                                 "9223372036854775807",
                                 "9223372036854775744",
                                 "9223372036854775808",
                                 "18446744073709551615",
                                 "1e400",
                                 "-0.0",
                                 "0.5"};
  const size_t from = text.empty() ? 0 : random() % text.size();
  const size_t at = text.find_first_of("0123456789", from);
  if (at == std::string::npos) return;
  const size_t stop = std::min(text.find_first_not_of("0123456789.e-", at), text.size());
  text.replace(at, stop - at, numbers[random() % std::size(numbers)]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto input = std::as_bytes(std::span(bytes, size));
  const bool is_file = size >= ordinal::kModelMagic.size() &&
                       std::memcmp(bytes, ordinal::kModelMagic.data(), ordinal::kModelMagic.size()) == 0;
  try {
    is_file ? try_whole_file(input) : try_header(input);
  } catch (const ordinal::Error& error) {
    require(!error.summary().empty() && !error.expected().empty(), "an Error says what was expected");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned random_seed) {
  std::minstd_rand random(random_seed);
  if (size < 64 || random() % 1000 == 0) {
    const Bytes start = seed(static_cast<unsigned>(random()));
    if (start.size() <= limit) {
      std::memcpy(data, start.data(), start.size());
      size = start.size();
    }
  }
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, limit);
  std::string text(reinterpret_cast<const char*>(data), size);
  change_number(text, random);
  if (text.size() > limit) return LLVMFuzzerMutate(data, size, limit);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
