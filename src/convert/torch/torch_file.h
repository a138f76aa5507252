// torch_file.h: files that torch.save writes: pickled values, and storages of numbers that the tensors among them view.
//
//   zip     (since PyTorch 1.6) entries stored as they are: STEM/data.pkl, STEM/data/KEY for each storage,
//   STEM/byteorder legacy  five pickles: a magic number, the version 1001, a dict on the machine, the values, the keys
//   of the storages;
//           then for each key in that order a count in 64 bits and the numbers
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/hugging_face/safetensors.h"
#include "convert/torch/pickle.h"
#include "format/mapped_file.h"

namespace ordinal::convert {

class TorchFile {
 public:
  // Throws Error: damaged, TorchScript, not little-endian, or not read safely (pickle.h).
  explicit TorchFile(std::shared_ptr<const MappedFile> file);

  const PickleValue& root() const { return pickle_->root(); }
  const std::string& path() const { return file_->path(); }

  // The tensors of a dict of names and tensors; other values are passed over. Several may view one storage, and need
  // not lie one number after another. Throws Error, naming the tensor, unless all its numbers lie within its storage.
  std::vector<StoredTensor> tensors(const PickleValue& dict) const;

 private:
  struct Extent {
    int64_t offset, bytes;
  };
  void read_zip_file();
  void read_legacy_file();
  StoredTensor tensor_of(std::string_view name, const PickleValue& value) const;

  std::shared_ptr<const MappedFile> file_;
  std::optional<Pickle> pickle_;
  std::map<std::string_view, Extent, std::less<>> storages_;
};

// Whether the bytes begin as such a file does; a zip archive may still hold something else.
bool is_torch_bytes(std::span<const std::byte> bytes);

// The dict of weights in a file: it itself, or what it calls model or state_dict. Throws Error when there is none.
const PickleValue& weights_in(const TorchFile& file);

}  // namespace ordinal::convert
