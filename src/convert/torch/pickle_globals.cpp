// pickle_globals.cpp: see pickle_globals.h.
#include "convert/torch/pickle_globals.h"

#include <algorithm>
#include <iterator>

namespace ordinal::convert {
namespace {

using Makes = PickleGlobal::Makes;

constexpr PickleGlobal kPickleGlobals[] = {
    {"collections", "OrderedDict", Makes::dict},
    {"torch", "Size", Makes::tuple},
    {"torch._utils", "_rebuild_tensor_v2", Makes::tensor},
    {"torch._utils", "_rebuild_parameter", Makes::parameter},
    {"torch", "DoubleStorage", Makes::storage, "F64", 8},
    {"torch", "FloatStorage", Makes::storage, "F32", 4},
    {"torch", "HalfStorage", Makes::storage, "F16", 2},
    {"torch", "BFloat16Storage", Makes::storage, "BF16", 2},
    {"torch", "LongStorage", Makes::storage, "I64", 8},
    {"torch", "IntStorage", Makes::storage, "I32", 4},
    {"torch", "ShortStorage", Makes::storage, "I16", 2},
    {"torch", "CharStorage", Makes::storage, "I8", 1},
    {"torch", "ByteStorage", Makes::storage, "U8", 1},
    {"torch", "BoolStorage", Makes::storage, "BOOL", 1},
    {"torch", "ComplexFloatStorage", Makes::storage, "C64", 8},
    {"torch.storage", "UntypedStorage", Makes::storage, "U8", 1},

    // Harmless company of weights: settings, counters, states of optimizers. None of it is read.
    {"__main__", "*"},
    {"argparse", "Namespace"},
    {"builtins", "set"},
    {"_codecs", "encode"},
    {"collections", "defaultdict"},
    {"numpy", "dtype"},
    {"numpy", "ndarray"},
    {"numpy._core.multiarray", "scalar"},
    {"numpy._core.multiarray", "_reconstruct"},
    {"numpy.core.multiarray", "scalar"},
    {"numpy.core.multiarray", "_reconstruct"},
    {"pathlib", "PosixPath"},
    {"pathlib", "WindowsPath"},
    {"torch", "bfloat16"},
    {"torch", "device"},
    {"torch", "float16"},
    {"torch", "float32"},
    {"torch", "float64"},
    {"torch", "int64"},
    {"torch._utils", "_rebuild_parameter_with_state"},
    {"torch._utils", "_rebuild_qtensor"},
    {"torch._utils", "_rebuild_sparse_tensor"},
    {"torch._utils", "_rebuild_tensor"},
    {"torch._utils", "_rebuild_tensor_v3"},
};

}  // namespace

const PickleGlobal* find_pickle_global(std::string_view module, std::string_view name) {
  const auto* const found = std::ranges::find_if(kPickleGlobals, [&](const PickleGlobal& known) {
    return known.module == module && (known.name == name || known.name == "*");
  });
  return found == std::end(kPickleGlobals) ? nullptr : found;
}

}  // namespace ordinal::convert
