// inspect.cpp: `ordinal inspect`.
#include <algorithm>
#include <map>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "format/config_fields.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

int64_t count_of(const TensorView& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  return count;
}

Facts facts_of(const TokenizerData& data) {
  const auto yes_no = [](bool value) { return value ? "true" : "false"; };
  return {{"pieces", std::to_string(data.pieces.size())},
          {"merges", std::to_string(data.merges.size())},
          {"scores", std::to_string(data.scores.size())},
          {"special_ids", report::numbers_json(data.special_ids)},
          {"split", report::quoted_json(data.split)},
          {"add_prefix_space", yes_no(data.add_prefix_space)},
          {"adds_bos", yes_no(data.adds_bos)},
          {"adds_eos", yes_no(data.adds_eos)},
          {"bos_id", std::to_string(data.bos_id)},
          {"eos_id", std::to_string(data.eos_id)},
          {"unknown_id", std::to_string(data.unknown_id)}};
}

Inspected inspect(const ModelFile& file, const std::string& path) {
  Inspected result;
  result.file = path;
  result.config_json = config_json(file.config());
  result.position = file.notes().position;
  result.trained_positions = file.notes().trained_positions;
  result.tokenizer_kind = file.tokenizer_kind();
  if (file.tokenizer_kind() != "none") result.tokenizer = facts_of(file.tokenizer());
  for (const TensorView& tensor : file.tensors())
    result.tensors.push_back({tensor.name, std::string(dtype_info(tensor.dtype).name),
                              std::string(kLayouts[static_cast<size_t>(tensor.layout)]), tensor.shape, tensor.bytes,
                              file.recorded_checksum(tensor.name)});
  result.bytes = file.bytes();
  result.provenance_json = file.notes().provenance_json;
  return result;
}

// "1,234,567 in 29 tensors: 1,230,000 bf16, 4,567 f32"
std::string parameters_text(const ModelFile& file) {
  int64_t all = 0;
  std::map<Dtype, int64_t> by_kind;
  for (const TensorView& tensor : file.tensors()) all += count_of(tensor), by_kind[tensor.dtype] += count_of(tensor);
  std::string kinds;
  for (const auto& [dtype, count] : by_kind)
    kinds += (kinds.empty() ? ": " : ", ") + report::grouped(count) + " " + std::string(dtype_info(dtype).name);
  return report::grouped(all) + " in " + std::to_string(file.tensors().size()) + " tensors" + kinds;
}

std::string ids_text(const std::vector<TokenId>& ids) { return ids.empty() ? "none" : joined(ids); }

std::string summary(const ModelFile& file, const Inspected& result) {
  const ModelConfig& c = file.config();
  const auto n = [](int64_t value) { return report::grouped(value); };
  const std::string trained = joined(result.trained_positions);
  std::vector<std::vector<std::string>> rows = {
      {"file", result.file + ", " + n(result.bytes) + " bytes"},
      {"parameters", parameters_text(file)},
      {"layers", n(c.n_layers) + ", width " + n(c.d_model)},
      {"attention", n(c.n_heads) + " heads of " + n(c.head_dim) +
                        (c.n_kv_heads == c.n_heads ? "" : ", " + n(c.n_kv_heads) + " for keys and values")},
      {"mlp", n(c.d_ff) + ", " + std::string(kActivations[static_cast<size_t>(c.activation)]) +
                  (c.gated_mlp ? ", gated" : "")},
      {"norm", std::string(kNormKinds[static_cast<size_t>(c.norm)]) + ", " +
                   std::string(kNormPlaces[static_cast<size_t>(c.norm_place)]) + ", epsilon " +
                   report::shortest(c.norm_epsilon)},
      {"output", c.tied_output ? "tied to the token embedding" : "a matrix of its own"},
      {"positions", result.position + (trained == result.position ? "" : "; trained under " + trained)},
      {"context", n(c.max_seq_len) + " tokens"},
      {"vocabulary", n(c.vocab_size) + " tokens; tokenizer " + result.tokenizer_kind},
      {"start, end", (c.bos_id < 0 ? "none" : std::to_string(c.bos_id)) + "; " + ids_text(c.eos_ids)},
  };
  for (const auto& [key, value] : report::members_of(result.provenance_json))
    rows.push_back({report::escaped(key), report::escaped(value)});
  if (result.verified) rows.push_back({"checksums", "all as recorded"});
  return report::table(rows, "ll");
}

std::string tensor_table(const Inspected& result) {
  std::vector<std::vector<std::string>> rows = {{"tensor", "kind", "shape", "layout", "bytes", "checksum"}};
  for (const TensorRow& tensor : result.tensors)
    rows.push_back({report::escaped(tensor.name), tensor.dtype, shape_text(tensor.shape), tensor.layout,
                    report::grouped(tensor.bytes), tensor.checksum});
  return report::table(rows, "llllrl");
}

}  // namespace

int run_inspect(Arguments arguments) {
  std::optional<std::string> given;
  ModelOptions model;
  bool tensors = false, verify = false, json = false, quiet = false;
  Parser parser("inspect",
                "Shows what a model file holds. A checkpoint of another program is shown as it would be converted.",
                "ordinal inspect model.ordinal --tensors --verify");
  parser.positional("model", given, "the model file [default: the default model]");
  model.add_to(parser);
  parser.flag("--tensors", tensors, "a table of the tensors");
  parser.flag("--verify", verify, "read everything and compare the checksums");
  parser.flag("--json", json, "one JSON object: config, position, tokenizer, tensors, bytes, provenance");
  parser.flag("-q,--quiet", quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  if (given && model.model) throw UsageError{"the model is given twice\n  expected: one of an argument and -m", ""};
  if (given) model.model = given;

  if (json) parser.idle({"--tensors"}, "--json has them");
  const Notes notes = parser.notes(quiet);
  const std::string path = model_path(model);
  const ModelFile file = open_model_file(model, path, notes);
  if (verify) file.verify();
  Inspected result = inspect(file, path);
  if (verify) result.verified = true;
  if (json)
    write_out(report::to_json(result) + "\n");
  else
    write_out(summary(file, result) + (tensors ? "\n" + tensor_table(result) : ""));
  return 0;
}

}  // namespace ordinal::cli
