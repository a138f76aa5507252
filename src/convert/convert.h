// convert.h: reads checkpoints that other programs wrote. One importer per format, one list; src/convert/README.md
// says what each accepts.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/model_writer.h"
#include "ordinal/model_file.h"

namespace ordinal {

struct ImportOptions {
  std::string vocab_dir = {};                         // folder or file with the tokenizer; empty: beside the weights
  std::function<void(const std::string&)> note = {};  // receives remarks for the user, a sentence each; may be empty
  // How matrices are stored that are converted in memory; each as it is by default.
  std::optional<Dtype> dtype = {};
  // What a training file of one's own may leave open; for any other checkpoint they are an error.
  std::optional<int64_t> heads = {};
  std::optional<Activation> activation = {};
};

// Recognises and reads one foreign format.
struct Importer {
  std::string_view name;
  std::string_view summary;
  // Whether the path looks like this format; a damaged file still does, so that `read` can say what is damaged.
  bool (*recognises)(const std::string& path);
  // The draft's tensors read from a mapping that they keep alive: nothing is loaded before it is asked for.
  ModelDraft (*read)(const std::string& path, const ImportOptions& options);
  bool leaves_open = false;  // its checkpoints need not say how many heads they have, or which activation
};
std::span<const Importer> importers();

// Reads `path` with the first importer that recognises it; the draft's `kind` says in a line what it is. Throws Error
// when none does, saying what the file looks like, and when the checkpoint is damaged, incomplete, or asks for
// something the engine would compute differently.
ModelDraft import_checkpoint(const std::string& path, const ImportOptions& options = {});

// An Ordinal model file, mapped; or any foreign checkpoint, converted in memory, with a note on converting it once.
ModelFile open_any_model(const std::string& path, const ImportOptions& options = {});

}  // namespace ordinal
