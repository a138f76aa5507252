// tokenizer_ids.cpp: the ids of many texts, for tools/tokenizer_parity.py.
//
//   tokenizer_ids TOKENIZER      texts from standard input, a line each, in hexadecimal
//
// A line each on standard output: ids with special tokens and what the template adds; ids of the text as it stands; the
// text of the first without what the template adds, in hexadecimal.
#include <iostream>
#include <string>

#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/error.h"
#include "ordinal/tokenizer.h"

namespace {

std::string from_hex_line(const std::string& line) {
  std::string bytes;
  for (size_t i = 0; i + 1 < line.size(); i += 2) bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string hex_line(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  for (const char byte : bytes) {
    line += kDigits[static_cast<unsigned char>(byte) >> 4];
    line += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return line;
}

std::string ids_line(const std::vector<ordinal::TokenId>& ids) {
  std::string line;
  for (const ordinal::TokenId id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto tokenizer = ordinal::make_tokenizer(ordinal::convert::read_given_tokenizer(argv[1], {}));
    for (std::string line; std::getline(std::cin, line);) {
      const std::string text = from_hex_line(line);
      const auto plain = tokenizer->encode(text, {.parse_special = true, .add_bos = false});
      std::cout << ids_line(tokenizer->encode(text, {.parse_special = true})) << '\t'
                << ids_line(tokenizer->encode(text, {.add_bos = false})) << '\t'
                << hex_line(tokenizer->decode(plain, true)) << '\n';
    }
  } catch (const ordinal::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
