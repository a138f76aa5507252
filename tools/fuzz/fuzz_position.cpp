// fuzz_position.cpp: any text as a position spec; a scheme that is made names itself by a spec that makes it again.
#include "fuzz.h"
#include "ordinal/position.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ordinal::AttentionShape shape = {
      .n_layers = 2, .d_model = 24, .n_heads = 3, .n_kv_heads = 1, .head_dim = 8, .trained_length = 16, .length = 16};
  const ordinal::TensorLookup nothing = [](std::string_view) { return nullptr; };
  fuzz::allow_error([&] {
    const auto scheme = ordinal::make_position_scheme(fuzz::text_of(data, size), shape, nothing);
    if (ordinal::make_position_scheme(scheme->spec(), shape, nothing)->spec() != scheme->spec()) std::abort();
  });
  return 0;
}
