// fuzz_tf_gpt2.cpp: OpenAI's folder of hparams.json, index and data, all made of the fuzzer's bytes. The checksums of
// the index's blocks are set right first: they would stop nearly every mutation at the door.
#include <optional>

#include "convert/tensorflow/crc32c.h"
#include "fuzz.h"

namespace {

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    number |= (uint64_t{byte} & 127) << shift;
    if (byte < 128) return number;
  }
  return std::nullopt;
}

// The block that the bytes say where to find, its checksum set right; "" when it is not in the file.
std::string_view mend_block(std::string& file, std::string_view& handle) {
  const auto offset = take_varint(handle), size = take_varint(handle);
  if (!offset || !size || *offset > file.size() || *size > file.size() - *offset || file.size() - *offset - *size < 5)
    return "";
  const uint32_t sum = ordinal::convert::masked_crc32c(std::string_view(file).substr(*offset, *size + 1));
  for (size_t i = 0; i < 4; ++i) file[*offset + *size + 1 + i] = static_cast<char>(sum >> (8 * i));
  return std::string_view(file).substr(*offset, *size);
}

std::string mended(std::string_view index) {
  std::string file(index);
  if (file.size() < 48) return file;
  const std::string footer = file.substr(file.size() - 48);
  std::string_view handles = footer;
  take_varint(handles);
  take_varint(handles);
  const std::string blocks(mend_block(file, handles));
  std::string_view rest = blocks;
  while (true) {
    take_varint(rest);
    const auto unshared = take_varint(rest), value = take_varint(rest);
    if (!unshared || !value || *unshared > rest.size()) return file;
    rest.remove_prefix(*unshared);
    mend_block(file, rest);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parts = fuzz::parts(fuzz::text_of(data, size), 3);
  fuzz::write("hparams.json", parts[0]);
  fuzz::write("model.ckpt.index", mended(parts[1]));
  fuzz::write("model.ckpt.data-00000-of-00001", parts[2]);
  fuzz::import_everything(fuzz::folder());
  return 0;
}
