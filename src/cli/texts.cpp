// texts.cpp: see texts.h.
#include "cli/texts.h"

#include <filesystem>

#include "ordinal/error.h"
#include "report/text.h"

namespace ordinal::cli {

void TextOptions::add_to(Parser& parser) {
  parser.option("-f,--file", "FILE", files, "a text to measure on, - for standard input; may be given several times");
  parser.option("--documents", "LINE", documents,
                "lines of this text alone end a document: documents are encoded apart, an end token after each");
  parser.flag("--special", special, "names of special tokens in the text, such as <|endoftext|>, become their ids");
}

void TextOptions::check() const {
  if (files.empty()) throw UsageError{"there is no text to measure on", "-f FILE, or -f - for standard input"};
}

std::string default_text_path() {
  for (const std::filesystem::path& folder : model_folders()) {
    std::error_code unknown;
    if (std::filesystem::exists(folder / "story.txt", unknown)) return (folder / "story.txt").string();
  }
  throw Error("there is no text to compare on", "-f FILE, or story.txt beside the default model", "neither");
}

std::vector<TokenStream> read_streams(const TextOptions& options, const OpenedModel& opened, StartToken start,
                                      const Notes& notes) {
  if (opened.tokenizer == nullptr)
    throw Error("the model has no tokenizer, so it cannot read text", "a model with a tokenizer", opened.path,
                "--vocab DIR with a foreign checkpoint");
  std::vector<TokenStream> streams;
  for (const std::string& file : options.files) {
    streams.push_back(
        make_stream(file, read_text(file, notes), *opened.tokenizer, opened.model->config(),
                    {.start = start, .parse_special = options.special, .document_line = options.documents}));
    if (!options.documents.empty() && streams.back().document_lines == 0)
      notes.say("no line of " + file + " is '" + report::escaped(options.documents) +
                "' (--documents), so it counts as one document");
  }
  return streams;
}

}  // namespace ordinal::cli
