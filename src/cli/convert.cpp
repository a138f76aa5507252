// convert.cpp: `ordinal convert`.
#include "convert/convert.h"

#include <chrono>
#include <filesystem>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/parser.h"
#include "cli/terminal.h"
#include "format/model_draft.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"
#include "study/fidelity.h"

namespace ordinal::cli {
namespace {
namespace fs = std::filesystem;

void check_output(const std::string& path, bool force) {
  std::error_code unknown;
  if (!force && fs::exists(fs::symlink_status(path, unknown)))
    throw Error(path + " exists already", "a path that is free", "a file or folder of that name",
                "another name, or --force to replace it");
}

std::string formats() { return joined(importers(), ", ", &Importer::summary); }

// A checkpoint of another program, or a model file, whose damage must not get checksums that fit it.
ModelDraft read_source(const std::string& path, const ImportOptions& options) {
  if (!is_model_file(path)) return import_checkpoint(path, options);
  const ModelFile file = ModelFile::open(path);
  file.verify();
  return draft_of(file);
}

// What -f measures: the weights as they are in the source, and a text for them.
struct Trial {
  std::shared_ptr<const Model> model;
  TokenStream stream;
};

// Throws Error for all that would keep the text from being measured, before anything is written.
Trial prepare_trial(const ModelDraft& draft, const std::string& input, const std::string& name, const std::string& text,
                    bool quiet) {
  if (draft.tokenizer.kind == "none")
    throw Error(input + " has no tokenizer, so its predictions of a text cannot be measured (-f)",
                "a source with a tokenizer", "one of ids only",
                is_model_file(input) ? "leave -f out" : "--vocab DIR, or leave -f out");
  const ModelConfig& config = draft.config;
  Trial trial;
  trial.stream = make_stream(name, text, *make_tokenizer(draft.tokenizer), config, {.start = start_if_any(config)});
  if (const size_t tokens = trial.stream.tokens.size() - (trial.stream.start ? 1 : 0); tokens < 2)
    throw Error("the text is too short to measure on (-f)", "2 tokens or more", std::to_string(tokens));
  // A model file is there to be mapped; anything else is brought into that form, without rounding.
  Progress progress("reading", quiet);
  const WriteOptions unrounded{.progress = [&](int64_t done, int64_t total) {
    throw_if_interrupted();
    progress.update(done, total);
  }};
  trial.model =
      Model::bind(is_model_file(input) ? ModelFile::open(input) : write_model_in_memory(draft, input, unrounded));
  check_memory(config, fidelity_window(*trial.model, trial.stream), Dtype::f32, 2);
  return trial;
}

std::string with_sign(double value, int digits) { return (value < 0 ? "" : "+") + report::fixed(value, digits); }

std::string lines_of(const Fidelity& f) {
  std::string text =
      "ordinal: predictions of " + f.text + ", " + report::grouped(f.tokens) + " tokens in windows of " +
      std::to_string(f.ctx) + ":\n" +
      report::table(
          {{"nats per token", report::fixed(f.source_nll, 5) + " before, " + report::fixed(f.written_nll, 5) +
                                  " after: " + with_sign(f.change_nll, 5) + " +- " + report::fixed(f.change_stderr, 5)},
           {"perplexity", with_sign(f.change_ppl_percent, 3) + " %"},
           {"KL", report::fixed(f.kl, 6) + " nats from the source"},
           {"same best", report::fixed(f.agreement_percent, 2) + " % of tokens"}},
          "ll");
  text.pop_back();  // the end of the last line, which Notes::line writes
  return text;
}

Converted report_of(const ModelFile& file, const std::string& input, const std::string& output) {
  Converted result;
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
  std::optional<std::string> input, output, dtype, head, text_name;
  ModelOptions source;
  ThreadsOption threads;
  bool force = false, json = false, quiet = false;
  Parser parser("convert",
                "Writes a model file from a checkpoint of another program: " + formats() +
                    "; or from a model file, all of which is kept but the kinds of its numbers. The file appears when "
                    "it is whole, or not at all.",
                "ordinal convert gpt2/ gpt2.ordinal --dtype bf16");
  parser.positional("input", input, "the checkpoint or model file: a folder or a file");
  parser.positional("output", output, "the model file to write, model.ordinal");
  std::string kinds;
  for (const DtypeInfo& info : kDtypes) kinds += (kinds.empty() ? "" : "|") + std::string(info.name);
  parser.option("--dtype", kinds, dtype, "how matrices are stored [default: each as it is in the input]");
  parser.option("--head", kinds, head, "how token_embd and output are stored, when it is to be another kind");
  source.add_import_to(parser);
  parser.option("-f,--file", "TEXT", text_name,
                "a text, - for standard input: says what the conversion did to the predictions of it, in nats, "
                "perplexity, KL and agreement, in windows of the trained length");
  threads.add_to(parser, "threads for -f");
  parser.flag("--force", force, "replace the output if it exists");
  parser.flag("--json", json,
              "one JSON object: input, output, bytes, tensors, parameters, seconds, notes; with -f fidelity");
  parser.flag("-q,--quiet", quiet, "no notes and no summary on standard error");
  if (!parser.parse(arguments)) return 0;
  if (!input || !output) throw UsageError{"convert takes an input and an output", "ordinal convert gpt2/ gpt2.ordinal"};

  if (!text_name) parser.idle({"-t"}, "only measuring (-f) has threads");
  const Notes notes = parser.notes(quiet);
  WriteOptions writing;
  if (dtype) {
    writing.keep_dtype = false;
    writing.dtype = dtype_from_name(*dtype);
  }
  if (head) writing.head_dtype = dtype_from_name(*head);
  const int n_threads = threads.count();
  check_output(*output, force);

  watch_signals();
  std::string text;
  if (text_name) text = read_text(*text_name, notes);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> remarks;
  ImportOptions importing = import_options(source, *input, notes);
  importing.note = [&](const std::string& remark) {
    remarks.push_back(remark);
    notes.say(remark);
  };
  const ModelDraft draft = read_source(*input, importing);
  if (!draft.kind.empty()) notes.line("ordinal: " + *input + ": " + draft.kind);
  std::optional<Trial> trial;
  if (text_name) trial = prepare_trial(draft, *input, *text_name, text, quiet);
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

  std::optional<Fidelity> fidelity;
  if (trial) {
    Progress scoring("measuring", quiet);
    fidelity = measure_fidelity(trial->model, Model::open(*output), trial->stream, n_threads,
                                [&](int64_t done, int64_t total) {
                                  throw_if_interrupted();
                                  scoring.update(done, total);
                                });
    scoring.clear();
    notes.line(lines_of(*fidelity));
  }
  Converted result = report_of(ModelFile::open(*output), *input, *output);
  result.notes = std::move(remarks);
  result.fidelity = std::move(fidelity);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (json) write_out(report::to_json(result) + "\n");
  notes.line("ordinal: wrote " + *output + ": " + report::byte_size(result.bytes) + ", " +
             std::to_string(result.tensors) + " tensors, " + report::grouped(result.parameters) +
             " parameters, positions " + draft.notes.position + ", tokenizer " + draft.tokenizer.kind + ", " +
             report::fixed(result.seconds, 1) + " s");
  return 0;
}

}  // namespace ordinal::cli
