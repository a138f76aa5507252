// fuzz_gpt2_folder.cpp: a Hugging Face folder of config.json and model.safetensors, both made of the fuzzer's bytes.
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parts = fuzz::parts(fuzz::text_of(data, size), 2);
  fuzz::write("config.json", parts[0]);
  fuzz::write("model.safetensors", parts[1]);
  fuzz::import_everything(fuzz::folder());
  return 0;
}
