// fuzz_gguf.cpp: any bytes as a GGUF file.
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::import_everything(fuzz::write("model.gguf", fuzz::text_of(data, size)));
  return 0;
}
