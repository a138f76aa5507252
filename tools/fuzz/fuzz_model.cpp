// fuzz_model.cpp: model files with weights bound and two tokens evaluated, as far as the file allows.
#include <cstring>
#include <span>

#include "format/checksum.h"
#include "format/model_header.h"
#include "format/model_opener.h"
#include "fuzz.h"
#include "ordinal/model.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"

namespace {

// Sizes and checksum of the header are set right, so that what lies behind them is reached.
std::string repaired(std::string_view bytes) {
  std::string file(bytes);
  ordinal::FixedHeader header;
  if (file.size() < sizeof header) return file;
  std::memcpy(&header, file.data(), sizeof header);
  header.header_bytes = std::min<uint64_t>(header.header_bytes, file.size() - sizeof header);
  header.file_bytes = file.size();
  header.header_checksum =
      ordinal::checksum_of(std::as_bytes(std::span(file)).subspan(sizeof header, header.header_bytes));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

ordinal::ModelFile open(const std::string& file) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0 || write(descriptor, file.data(), file.size()) != static_cast<ssize_t>(file.size())) std::abort();
  return ordinal::open_model_descriptor(descriptor, "fuzz.ordinal");
}

void use(const ordinal::ModelFile& file) {
  fuzz::allow_error([&] {
    const auto tokenizer = ordinal::make_tokenizer(file.tokenizer());
    const std::vector<ordinal::TokenId> ids = tokenizer->encode("ab \xc3\xa9 abba", {.parse_special = true});
    (void)tokenizer->decode(ids, true);
  });
  fuzz::allow_error([&] {
    ordinal::Session session(ordinal::Model::bind(file), {.capacity = 2, .n_threads = 1});
    const std::vector<ordinal::TokenId> ids = {0, static_cast<ordinal::TokenId>(file.config().vocab_size - 1)};
    (void)session.evaluate(ids);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::allow_error([&] { use(open(repaired(fuzz::text_of(data, size)))); });
  return 0;
}
