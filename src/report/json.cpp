// json.cpp: see json.h. Keys come in the order in which they are documented.
#include "report/json.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "report/text.h"

namespace ordinal::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A float as the shortest number that reads back as the same float.
double short_double(float value) {
  const std::string text = shortest(value);
  double result = static_cast<double>(value);  // what is not finite has no such text
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

Json json_of(const ScoredToken& token) {
  return {{"id", token.id}, {"piece", escaped(token.piece)}, {"logprob", token.logprob}};
}

Json json_of(const Generated& result) {
  Json json = {{"model", result.model},           {"position", result.position}, {"seed", result.seed},
               {"prompt_ids", result.prompt_ids}, {"ids", result.ids},           {"text", result.text},
               {"finish", result.finish}};
  json["logprobs"] = nullptr;
  if (result.logprobs) {
    Json& rows = json["logprobs"] = Json::array();
    for (const LogprobRow& row : *result.logprobs) {
      Json entry = json_of(row.drawn);
      entry["best"] = Json::array();
      for (const ScoredToken& token : row.best) entry["best"].push_back(json_of(token));
      rows.push_back(std::move(entry));
    }
  }
  json["timings"] = {{"load_ms", result.timings.load_ms},
                     {"prefill_tokens", result.timings.prefill_tokens},
                     {"prefill_ms", result.timings.prefill_ms},
                     {"decode_tokens", result.timings.decode_tokens},
                     {"decode_ms", result.timings.decode_ms},
                     {"draft_proposed", result.timings.draft_proposed},
                     {"draft_accepted", result.timings.draft_accepted},
                     {"passes", result.timings.passes}};
  return json;
}

Json json_of(std::span<const float> values) {
  Json numbers = Json::array();
  for (const float value : values) numbers.push_back(short_double(value));
  return numbers;
}

Json json_of(const Facts& facts) {
  Json json = Json::object();
  for (const auto& [name, value] : facts) json[name] = Json::parse(value);
  return json;
}

}  // namespace

std::string to_json(const Generated& result) { return dump(json_of(result)); }

std::string to_json(std::span<const Generated> results) {
  Json json = Json::array();
  for (const Generated& result : results) json.push_back(json_of(result));
  return dump(json);
}

std::string to_json(const Generated& result, int64_t line, const std::string& id) {
  // As text: numbers of any size in an id stay what they are.
  return "{\"line\":" + std::to_string(line) + ",\"id\":" + id + "," + to_json(result).substr(1);
}

std::string to_json(const Logits& result) {
  Json json = {{"model", result.model}, {"position", result.position}, {"ids", result.ids}};
  json["best"] = Json::array();
  for (const ScoredToken& token : result.best) {
    Json entry = json_of(token);
    entry["logit"] = short_double(static_cast<float>(token.logit));
    json["best"].push_back(std::move(entry));
  }
  Json& logits = json["logits"] = Json::array();
  if (result.all)
    for (const std::vector<float>& row : result.logits) logits.push_back(json_of(row));
  else if (!result.logits.empty())
    logits = json_of(result.logits.front());
  return dump(json);
}

std::string to_json(const Tokenized& result) {
  Json json = {{"ids", Json::array()}, {"pieces", Json::array()}, {"offsets", Json::array()}};
  for (const Tokenized::Token& token : result.tokens) {
    json["ids"].push_back(token.id);
    json["pieces"].push_back(escaped(token.piece));
    json["offsets"].push_back({token.begin, token.end});
  }
  return dump(json);
}

std::string to_json(const Inspected& result) {
  Json json = {{"config", Json::parse(result.config_json)},
               {"position", result.position},
               {"trained_positions", result.trained_positions}};
  json["tokenizer"] = {{"kind", result.tokenizer_kind}};
  if (result.tokenizer) json["tokenizer"].update(json_of(*result.tokenizer));
  json["tensors"] = Json::array();
  for (const TensorRow& tensor : result.tensors)
    json["tensors"].push_back({{"name", tensor.name},
                               {"dtype", tensor.dtype},
                               {"layout", tensor.layout},
                               {"shape", tensor.shape},
                               {"bytes", tensor.bytes},
                               {"checksum", tensor.checksum}});
  json["bytes"] = result.bytes;
  json["provenance"] = Json::parse(result.provenance_json, nullptr, false);
  if (json["provenance"].is_discarded()) json["provenance"] = result.provenance_json;
  json["file"] = result.file;
  if (result.verified) json["verified"] = *result.verified;
  return dump(json);
}

std::string to_json(const Converted& result) {
  Json json = {{"input", result.input},     {"output", result.output},         {"bytes", result.bytes},
               {"tensors", result.tensors}, {"parameters", result.parameters}, {"seconds", result.seconds},
               {"notes", result.notes}};
  if (const std::optional<Fidelity>& f = result.fidelity)
    json["fidelity"] = {{"text", f->text},
                        {"tokens", f->tokens},
                        {"ctx", f->ctx},
                        {"start_token", f->start_token},
                        {"source_nll", f->source_nll},
                        {"written_nll", f->written_nll},
                        {"change_nll", f->change_nll},
                        {"change_stderr", f->change_std_error},
                        {"change_ppl_percent", f->change_ppl_percent},
                        {"kl", f->kl},
                        {"agreement_percent", f->agreement_percent},
                        {"seconds", f->seconds}};
  return dump(json);
}

std::string to_json(std::span<const Measured> rows) {
  Json array = Json::array();
  for (const Measured& r : rows)
    array.push_back({{"shape", r.shape},
                     {"dtype", r.dtype},
                     {"threads", r.threads},
                     {"isa", r.isa},
                     {"prompt", r.prompt},
                     {"decode", r.decode},
                     {"depth", r.depth},
                     {"sequences", r.sequences},
                     {"prefill_tokens_per_s", r.prefill_tokens_per_s},
                     {"decode_tokens_per_s", r.decode_tokens_per_s},
                     {"weight_bytes", r.weight_bytes},
                     {"read_gb_per_s", r.read_gb_per_s},
                     {"gflops", r.gflops},
                     {"peak_rss_mb", r.peak_rss_mb},
                     {"machine_read_gb_per_s", r.machine_read_gb_per_s},
                     {"machine_gflops", r.machine_gflops},
                     {"machine_read_one_stream_gb_per_s", r.machine_read_one_stream_gb_per_s},
                     {"machine_int8_gops", r.machine_int8_gops},
                     {"of_peak", r.of_peak},
                     {"of_read", r.of_read},
                     {"kv_dtype", r.kv_dtype},
                     {"cache_bytes", r.cache_bytes},
                     {"attention_gb_per_s", r.attention_gb_per_s}});
  return dump(array);
}

std::string to_json(const Perplexity& result) {
  const auto row = [](const PerplexityRow& r) {
    return Json{
        {"tokens", r.tokens},    {"nll", r.nll},           {"ppl", r.ppl},     {"bits_per_byte", r.bits_per_byte},
        {"stderr", r.std_error}, {"word_ppl", r.word_ppl}, {"words", r.words}, {"bytes", r.bytes}};
  };
  Json json = {{"model", result.model}, {"position", result.position}};
  json.update(row(result.all));
  json.update({{"ctx", result.ctx},
               {"stride", result.stride},
               {"protocol", result.protocol},
               {"start_token", result.start_token},
               {"windows", result.windows},
               {"macro_nll", result.macro_nll},
               {"seconds", result.seconds}});
  Json& texts = json["texts"] = Json::array();
  for (const PerplexityRow& r : result.texts) {
    Json text = {{"name", r.name}};
    text.update(row(r));
    texts.push_back(std::move(text));
  }
  return dump(json);
}

std::string to_json(const Diagnosed& result) {
  Json json = {{"model", result.model}, {"native", result.native}, {"verdict", result.verdict}};
  Json& rows = json["rows"] = Json::array();
  for (const DiagnosisRow& r : result.rows)
    rows.push_back({{"position", r.position},
                    {"fact", r.fact},
                    {"tokens", r.tokens},
                    {"nll", r.nll},
                    {"delta_nll_vs_native", r.delta_nll},
                    {"delta_stderr", r.delta_std_error}});
  return dump(json);
}

std::string to_json(std::span<const SchemeRow> schemes) {
  Json json = Json::array();
  for (const SchemeRow& scheme : schemes) {
    Json params = Json::array();
    for (const auto& [key, otherwise, allowed] : scheme.params)
      params.push_back(
          {{"key", key}, {"default", otherwise.empty() ? Json(nullptr) : Json(otherwise)}, {"allowed", allowed}});
    json.push_back({{"name", scheme.name},
                    {"kind", scheme.kind},
                    {"summary", scheme.summary},
                    {"acts_on", scheme.acts_on},
                    {"tensors", scheme.tensors},
                    {"source", scheme.source},
                    {"params", std::move(params)}});
  }
  return dump(json);
}

std::string to_json(std::span<const CheckRow> checks) {
  Json array = Json::array();
  for (const CheckRow& check : checks) {
    Json row = {{"id", check.id}, {"what", check.what}, {"scheme", check.scheme}, {"measured", check.measured}};
    row["expected"] = check.expected.empty() ? Json(nullptr) : Json(check.expected);
    row["tolerance"] = check.tolerance ? Json(*check.tolerance) : Json(nullptr);
    row["pass"] = check.pass;
    array.push_back(std::move(row));
  }
  return dump(array);
}

std::string text_json(std::span<const int32_t> ids, const std::string& text) {
  return dump({{"ids", std::vector<int32_t>(ids.begin(), ids.end())}, {"text", text}});
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
std::string numbers_json(std::span<const int32_t> values) {
  return dump(std::vector<int32_t>(values.begin(), values.end()));
}

}  // namespace ordinal::report
