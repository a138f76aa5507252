// texts.cpp: see texts.h.
#include "cli/texts.h"

#include <algorithm>
#include <filesystem>

#include "ordinal/error.h"

namespace ordinal::cli {

void TextOptions::add_to(Parser& parser) {
  parser.option("-f,--file", "FILE", files, "a text to measure on, - for standard input; may be given several times");
  parser.option("--documents", "LINE", documents,
                "lines of this text alone end a document: documents are encoded apart, an end token after each");
  parser.flag("--special", special, "names of special tokens in the text, such as <|endoftext|>, become their ids");
}

void TextOptions::check() const {
  if (files.empty()) throw UsageError{"there is no text to measure on", "-f FILE, or -f - for standard input"};
  if (std::ranges::count(files, "-") > 1) throw UsageError{"standard input can be read once\n  expected: one -f -", ""};
}

std::string default_text_path() {
  for (const std::filesystem::path& folder : model_folders()) {
    std::error_code unknown;
    if (std::filesystem::exists(folder / "story.txt", unknown)) return (folder / "story.txt").string();
  }
  throw Error("there is no text to compare on", "-f FILE, or story.txt beside the default model", "neither");
}

std::vector<TokenStream> read_streams(const TextOptions& options, const OpenedModel& opened, StartToken start) {
  if (opened.tokenizer == nullptr)
    throw Error("the model has no tokenizer, so it cannot read text", "a model with a tokenizer", opened.path,
                "--vocab DIR with a foreign checkpoint");
  std::vector<TokenStream> streams;
  for (const std::string& file : options.files) {
    const std::string text = file == "-" ? read_input() : read_text_file(file);
    streams.push_back(
        make_stream(file, text, *opened.tokenizer, opened.model->config(),
                    {.start = start, .parse_special = options.special, .document_line = options.documents}));
  }
  return streams;
}

}  // namespace ordinal::cli
