// bench_tokenizer.cpp: times the byte pair encoding of a text, one pass for every line it is sent.
// tools/bench_tokenizers.py builds and runs it, turn by turn with other tokenizers.
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "ordinal/tokenizer.h"
#include "text/gpt2_vocabulary.h"

namespace {

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The documents of a corpus file: each is followed by a line that marks its end.
std::vector<std::string> documents(const std::string& text) {
  const std::string mark = "<|endoftext|>\n";
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(mark, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + mark.size();
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) {
    std::cerr << "usage: bench_tokenizer FOLDER_OF_GPT2_VOCABULARY TEXT_FILE [SPLIT]\n";
    return 2;
  }
  const double start = now(CLOCK_MONOTONIC);
  ordinal::TokenizerData data = test::load_gpt2_vocabulary(argv[1]);
  if (argc == 4) data.split = argv[3];
  const double loaded = now(CLOCK_MONOTONIC);
  const auto tokenizer = ordinal::make_tokenizer(std::move(data));
  std::cerr << "vocabulary read in " << 1e3 * (loaded - start) << " ms, tokenizer made in "
            << 1e3 * (now(CLOCK_MONOTONIC) - loaded) << " ms\n";
  std::ifstream file(argv[2], std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const std::vector<std::string> parts = documents(text.str());
  for (std::string line; std::getline(std::cin, line);) {
    const double wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    size_t tokens = 0;
    for (const std::string& part : parts) tokens += tokenizer->encode(part).size();
    std::cout << now(CLOCK_PROCESS_CPUTIME_ID) - processor << " " << now(CLOCK_MONOTONIC) - wall << " " << tokens
              << std::endl;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "bench_tokenizer: " << error.what() << "\n";
  return 1;
}
