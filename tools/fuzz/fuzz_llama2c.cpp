// fuzz_llama2c.cpp: any bytes as a llama2.c model, the legacy layout and version 1.
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::import_everything(fuzz::write("model.bin", fuzz::text_of(data, size)));
  return 0;
}
