// json.cpp: see json.h. Keys come in the order in which they are documented.
#include "report/json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "report/text.h"

using Json = nlohmann::ordered_json;

// What is not there is null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(Json& json, const std::optional<T>& value) { value ? json = *value : json = nullptr; }
};

// Adds members of `from` under their own names. nlohmann's macro for whole structs writes its unordered type only, so
// this takes the parts that it is made of, which name an object and a struct so.
#define ADD_FIELDS(to, from, ...)                                            \
  do {                                                                       \
    Json& nlohmann_json_j = to;                                              \
    const auto& nlohmann_json_t = from;                                      \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__)) \
  } while (false)

// nlohmann finds these by the namespace of the structs. Nested initializer lists of its values would take the compiler
// ten seconds where an assignment a key takes none.
namespace ordinal {

static void to_json(Json& json, const ScoredToken& token) {
  json["id"] = token.id;
  json["piece"] = report::escaped(token.piece);
  json["logprob"] = token.logprob;
}

static void to_json(Json& json, const LogprobRow& row) {
  json = row.drawn;
  json["best"] = row.best;
}

static void to_json(Json& json, const Timings& timings) {
  ADD_FIELDS(json, timings, load_ms, prefill_tokens, prefill_ms, decode_tokens, decode_ms, draft_proposed,
             draft_accepted, passes);
}

static void to_json(Json& json, const Generated& result) {
  ADD_FIELDS(json, result, model, position, seed, prompt_ids, ids, text, finish, logprobs, timings);
}

static void to_json(Json& json, const TensorRow& tensor) {
  ADD_FIELDS(json, tensor, name, dtype, layout, shape, bytes, checksum);
}

static void to_json(Json& json, const Fidelity& fidelity) {
  ADD_FIELDS(json, fidelity, text, tokens, ctx, start_token, source_nll, written_nll, change_nll, change_stderr,
             change_ppl_percent, kl, agreement_percent, seconds);
}

static void to_json(Json& json, const Measured& row) {
  ADD_FIELDS(json, row, shape, dtype, threads, isa, prompt, decode, depth, sequences, prefill_tokens_per_s,
             decode_tokens_per_s, weight_bytes, read_gb_per_s, gflops, peak_rss_mb);
  json["machine_read_gb_per_s"] = row.machine.read_gb_per_s;
  json["machine_gflops"] = row.machine.gflops;
  json["machine_read_one_stream_gb_per_s"] = row.machine.read_one_stream_gb_per_s;
  json["machine_int8_gops"] = row.machine.int8_gops;
  ADD_FIELDS(json, row, of_peak, of_read, kv_dtype, cache_bytes, attention_gb_per_s);
}

// The name, which the row of all texts does not have, is added before.
static void add_scores(Json& json, const PerplexityRow& row) {
  ADD_FIELDS(json, row, tokens, nll, ppl, bits_per_byte);
  json["stderr"] = row.std_error;  // <cstdio> has a macro of this name
  ADD_FIELDS(json, row, word_ppl, words, bytes);
}

static void to_json(Json& json, const PerplexityRow& row) {
  json["name"] = row.name;
  add_scores(json, row);
}

static void to_json(Json& json, const DiagnosisRow& row) {
  ADD_FIELDS(json, row, position, fact, tokens, nll);
  json["delta_nll_vs_native"] = row.delta_nll;
  json["delta_stderr"] = row.delta_stderr;
}

static void to_json(Json& json, const SchemeParamRow& param) {
  json["key"] = param.key;
  json["default"] = param.otherwise.empty() ? Json(nullptr) : Json(param.otherwise);
  json["allowed"] = param.allowed;
}

static void to_json(Json& json, const SchemeRow& scheme) {
  ADD_FIELDS(json, scheme, name, kind, summary, acts_on, tensors, source, params);
}

static void to_json(Json& json, const Check& check) {
  ADD_FIELDS(json, check.label, id, what, scheme);
  json["measured"] = check.measured;
  json["expected"] = check.expected.empty() ? Json(nullptr) : Json(check.expected);
  json["tolerance"] = check.tolerance;
  json["pass"] = check.passed();
}

static void to_json(Json& json, const ComparedScheme& scheme) {
  ADD_FIELDS(json, scheme, position, kind);
  json["standing"] = standing_name(scheme.standing);
  ADD_FIELDS(json, scheme, reason, remarks, continuation_ids, differs_at);
  json["nll_in_order"] = scheme.in_order;
  json["nll_shuffled"] = scheme.shuffled;
  ADD_FIELDS(json, scheme, attention_distance, attention, ms_per_token, cache_bytes, table_bytes);
}

static void to_json(Json& json, const ComparedRow& row) {
  const bool ran = row.refused.empty();
  const auto measured = [ran](double value) { return ran ? Json(value) : Json(nullptr); };
  ADD_FIELDS(json, row, position, trained, length, protocol);
  json["nll"] = measured(row.nll);
  json["ppl"] = measured(row.ppl);
  json["bits_per_byte"] = measured(row.bits_per_byte);
  json["stderr"] = measured(row.std_error);
  json["delta_nll_vs_native"] = row.delta_nll;
  json["kl_vs_native"] = row.kl;
  ADD_FIELDS(json, row, top1_agreement, loss_by_position);
  json["continuation"] = "";  // of its scheme: the writer of the whole knows it
  json["ms_per_token"] = measured(row.ms_per_token);
  ADD_FIELDS(json, row, tokens, loss_step, delta_low, delta_high);
  json["refused"] = ran ? Json(nullptr) : Json(row.refused);
}

static void to_json(Json& json, const RecallRow& row) {
  ADD_FIELDS(json, row, position, task, length, accuracy, tokens);
}

}  // namespace ordinal

namespace ordinal::report {
namespace {

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A float as the shortest number that reads back as the same float.
double short_double(float value) {
  const std::string text = shortest(value);
  double result = static_cast<double>(value);  // what is not finite has no such text
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

Json short_doubles(std::span<const float> values) {
  Json numbers = Json::array();
  for (const float value : values) numbers.push_back(short_double(value));
  return numbers;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

template <class Row>
std::string array_of(std::span<const Row> rows) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(row);
  return dump(json);
}

}  // namespace

std::string to_json(const Generated& result) { return dump(result); }

std::string to_json(const Generated& result, int64_t line, const std::string& id) {
  // As text: numbers of any size in an id stay what they are.
  return "{\"line\":" + std::to_string(line) + ",\"id\":" + id + "," + to_json(result).substr(1);
}

std::string to_json(std::span<const Generated> results) { return array_of(results); }
std::string to_json(std::span<const Measured> rows) { return array_of(rows); }
std::string to_json(std::span<const SchemeRow> schemes) { return array_of(schemes); }
std::string to_json(std::span<const Check> checks) { return array_of(checks); }

std::string to_json(const Evaluated& result) {
  Json json;
  ADD_FIELDS(json, result, model, position, ids, best);
  for (size_t i = 0; i < result.best.size(); ++i)
    json["best"][i]["logit"] = short_double(static_cast<float>(result.best[i].logit));
  Json& logits = json["logits"] = Json::array();
  if (result.all)
    for (const std::vector<float>& row : result.logits) logits.push_back(short_doubles(row));
  else if (!result.logits.empty())
    logits = short_doubles(result.logits.front());
  return dump(json);
}

std::string to_json(const Tokenized& result) {
  Json json;
  for (const char* key : {"ids", "pieces", "offsets"}) json[key] = Json::array();
  for (const Tokenized::Token& token : result.tokens) {
    json["ids"].push_back(token.id);
    json["pieces"].push_back(escaped(token.piece));
    json["offsets"].push_back(std::array{token.begin, token.end});
  }
  return dump(json);
}

std::string to_json(const Inspected& result) {
  Json json;
  json["config"] = Json::parse(result.config_json);
  ADD_FIELDS(json, result, position, trained_positions);
  json["tokenizer"]["kind"] = result.tokenizer_kind;
  if (result.tokenizer)
    for (const auto& [name, value] : *result.tokenizer) json["tokenizer"][name] = Json::parse(value);
  ADD_FIELDS(json, result, tensors, bytes);
  json["provenance"] = Json::parse(result.provenance_json, nullptr, false);
  if (json["provenance"].is_discarded()) json["provenance"] = result.provenance_json;
  json["file"] = result.file;
  if (result.verified) json["verified"] = *result.verified;
  return dump(json);
}

std::string to_json(const Converted& result) {
  Json json;
  ADD_FIELDS(json, result, input, output, bytes, tensors, parameters, seconds, notes);
  if (result.fidelity) json["fidelity"] = *result.fidelity;
  return dump(json);
}

std::string to_json(const Perplexity& result) {
  Json json;
  ADD_FIELDS(json, result, model, position);
  add_scores(json, result.all);
  ADD_FIELDS(json, result, ctx, stride, protocol, start_token, windows, macro_nll, seconds, texts);
  return dump(json);
}

std::string to_json(const Diagnosed& result) {
  Json json;
  ADD_FIELDS(json, result, model, native, verdict, rows);
  return dump(json);
}

std::string to_json(const Compared& result) {
  Json json;
  ADD_FIELDS(json, result, model, native, text, rows, schemes, recall);
  for (Json& row : json["rows"])
    for (const ComparedScheme& scheme : result.schemes)
      if (row["position"] == scheme.position) row["continuation"] = joined(scheme.continuation);
  Json& matrix = json["matrix"];
  matrix["length"] = result.matrix_length;
  matrix["positions"] = result.matrix;
  ADD_FIELDS(matrix, result, kl, top1);
  ADD_FIELDS(json, result, headlines, trained_positions, trained_length, parameters, lengths, text_tokens, text_bytes,
             unigram_nll, prompt, prompt_pieces, seed, command, version, seconds);
  return dump(json);
}

std::string text_json(std::span<const int32_t> ids, const std::string& text) {
  Json json;
  json["ids"] = ids;
  json["text"] = text;
  return dump(json);
}

std::vector<std::pair<std::string, std::string>> members_of(const std::string& object) {
  const Json json = Json::parse(object, nullptr, false);
  std::vector<std::pair<std::string, std::string>> members;
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      members.emplace_back(key, value.is_string() ? value.get<std::string>() : dump(value));
  return members;
}

std::string quoted_json(const std::string& text) { return dump(text); }
std::string numbers_json(std::span<const int32_t> values) { return dump(values); }

}  // namespace ordinal::report
