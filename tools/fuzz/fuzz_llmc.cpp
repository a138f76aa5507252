// fuzz_llmc.cpp: any bytes as an llm.c model.
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::import_everything(fuzz::write("model.bin", fuzz::text_of(data, size)));
  return 0;
}
