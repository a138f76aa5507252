// convert.cpp: `ordinal convert`.
#include "convert/convert.h"

#include <chrono>
#include <filesystem>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/parser.h"
#include "cli/terminal.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {
namespace fs = std::filesystem;

void check_output(const std::string& path, bool force) {
  std::error_code unknown;
  if (!force && fs::exists(fs::symlink_status(path, unknown)))
    throw Error(path + " exists already", "a path that is free", "a file or folder of that name",
                "another name, or --force to replace it");
}

std::string formats() {
  std::string text;
  for (const Importer& importer : importers()) text += (text.empty() ? "" : ", ") + std::string(importer.summary);
  return text;
}

report::Converted report_of(const ModelFile& file, const std::string& input, const std::string& output) {
  report::Converted result;
  result.input = input;
  result.output = output;
  result.bytes = file.bytes();
  for (const TensorView& tensor : file.tensors()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    result.parameters += count;
    ++result.tensors;
  }
  return result;
}

}  // namespace

int run_convert(Arguments arguments) {
  std::optional<std::string> input, output, dtype, head;
  std::string vocab;
  bool force = false, json = false, quiet = false;
  Parser parser("convert",
                "Writes a model file from a checkpoint of another program: " + formats() +
                    ". The file appears when it is whole, or not at all.",
                "ordinal convert gpt2/ gpt2.ordinal --dtype bf16");
  parser.positional("input", input, "the checkpoint: a folder or a file");
  parser.positional("output", output, "the model file to write, model.ordinal");
  std::string kinds;
  for (const DtypeInfo& info : kDtypes) kinds += (kinds.empty() ? "" : "|") + std::string(info.name);
  parser.option("--dtype", kinds, dtype, "how matrices are stored [default: each as it is in the checkpoint]");
  parser.option("--head", kinds, head, "how token_embd and output are stored, when it is to be another kind");
  parser.option("--vocab", "DIR", vocab, "folder or file with the tokenizer [default: beside the weights]");
  parser.flag("--force", force, "replace the output if it exists");
  parser.flag("--json", json, "one JSON object: input, output, bytes, tensors, parameters, seconds, notes");
  parser.flag("-q,--quiet", quiet, "no notes and no summary on standard error");
  if (!parser.parse(arguments)) return 0;
  if (!input || !output) throw UsageError{"convert takes an input and an output", "ordinal convert gpt2/ gpt2.ordinal"};

  const Notes notes(quiet);
  WriteOptions writing;
  if (dtype) {
    writing.keep_dtype = false;
    writing.dtype = dtype_from_name(*dtype);
  }
  if (head) writing.head_dtype = dtype_from_name(*head);
  check_output(*output, force);
  if (is_model_file(*input))
    throw Error(*input + " is a model file of Ordinal already", formats(), "an Ordinal model file",
                "ordinal inspect " + *input);

  watch_signals();
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> remarks;
  const ModelDraft draft = import_checkpoint(*input, {.vocab_dir = vocab, .note = [&](const std::string& remark) {
                                                        remarks.push_back(remark);
                                                        notes.say(remark);
                                                      }});
  Progress progress("converting", quiet);
  writing.progress = [&](int64_t done, int64_t total) {
    throw_if_interrupted();
    progress.update(done, total);
  };
  std::vector<std::vector<std::string>> errors = {{"tensor", "kind", "relative error"}};
  if (dtype || head)
    writing.rounded = [&](const std::string& name, Dtype kind, double error) {
      errors.push_back({name, std::string(dtype_info(kind).name), report::fixed(error, 6)});
    };
  write_model_file(draft, *output, writing);
  progress.clear();
  if (errors.size() > 1) notes.line(report::table(errors, "llr"));

  report::Converted result = report_of(ModelFile::open(*output), *input, *output);
  result.notes = std::move(remarks);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (json) write_out(report::to_json(result) + "\n");
  notes.line("ordinal: wrote " + *output + ": " + report::byte_size(result.bytes) + ", " +
             std::to_string(result.tensors) + " tensors, " + report::grouped(result.parameters) +
             " parameters, positions " + draft.notes.position + ", tokenizer " + draft.tokenizer.kind + ", " +
             report::fixed(result.seconds, 1) + " s");
  return 0;
}

}  // namespace ordinal::cli
