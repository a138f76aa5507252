// pickle_globals.h: what a pickle may name: the parts of Python and PyTorch that checkpoints are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ordinal::convert {

struct PickleGlobal {
  // What calling it gives. `opaque` and names of storages are never called for a value that counts.
  enum class Makes : uint8_t { opaque, dict, tuple, tensor, parameter, storage };
  std::string_view module, name;  // name "*": any of the module
  Makes makes = Makes::opaque;
  std::string_view kind = {};  // of a storage's numbers, as safetensors names them
  int64_t bytes = 0;           // of one number

  std::string full_name() const { return std::string(module) + "." + std::string(name); }
};

// nullptr for what is not known.
const PickleGlobal* find_pickle_global(std::string_view module, std::string_view name);

}  // namespace ordinal::convert
