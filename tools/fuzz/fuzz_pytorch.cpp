// fuzz_pytorch.cpp: any bytes as a file of torch.save that holds a nanoGPT or a minGPT.
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ordinal::ImportOptions options;
  options.heads = 2;  // files that do not say it get further
  fuzz::import_everything(fuzz::write("model.pt", fuzz::text_of(data, size)), options);
  return 0;
}
