// json.cpp: see json.h. Keys come in the order in which they are documented.
#include "report/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::report {
namespace {

// Writes a value: a struct that has add_members() as an object, a list of them as an array.
template <class T>
void put(JsonWriter& json, const T& value);

template <class... T>
void add_named(JsonWriter& json, std::string_view names, const T&... values) {
  const auto add = [&](const auto& value) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 2));
    json.key(name.substr(name.rfind('.') + 1));
    put(json, value);
  };
  (add(values), ...);
}
// ADD(json, row.nll, row.ppl) adds the members "nll" and "ppl".
#define ADD(json, ...) add_named(json, #__VA_ARGS__, __VA_ARGS__)

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void add_members(JsonWriter& json, const ScoredToken& token) {
  ADD(json, token.id);
  json.add("piece", escaped(token.piece));
  ADD(json, token.logprob);
}

void add_members(JsonWriter& json, const LogprobRow& row) {
  add_members(json, row.drawn);
  ADD(json, row.best);
}

void add_members(JsonWriter& json, const Timings& t) {
  ADD(json, t.load_ms, t.prefill_tokens, t.prefill_ms, t.decode_tokens, t.decode_ms, t.draft_proposed, t.draft_accepted,
      t.passes);
}

void add_members(JsonWriter& json, const Generated& r) {
  ADD(json, r.model, r.position, r.seed, r.prompt_ids, r.ids, r.text, r.finish);
  json.key("logprobs");
  r.logprobs ? put(json, *r.logprobs) : json.value(nullptr);
  ADD(json, r.timings, r.standing);
}

// A float as the shortest number that reads back as the same float.
double short_double(float value) {
  const std::string text = shortest(value);
  double result = static_cast<double>(value);  // what is not finite has no such text
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

std::vector<double> short_doubles(std::span<const float> values) {
  std::vector<double> numbers;
  std::ranges::transform(values, std::back_inserter(numbers), short_double);
  return numbers;
}

void add_members(JsonWriter& json, const Evaluated& r) {
  ADD(json, r.model, r.position, r.ids);
  json.key("best");
  json.begin_array();
  for (const ScoredToken& token : r.best) {
    json.begin_object();
    add_members(json, token);
    json.add("logit", short_double(static_cast<float>(token.logit)));
    json.end_object();
  }
  json.end_array();
  std::vector<std::vector<double>> logits;
  for (const std::vector<float>& row : r.logits) logits.push_back(short_doubles(row));
  if (r.all || logits.empty())
    ADD(json, logits);
  else
    json.add("logits", logits.front());
  ADD(json, r.standing);
}

void add_members(JsonWriter& json, const Tokenized& r) {
  std::vector<int32_t> ids;
  std::vector<std::string> pieces;
  std::vector<std::vector<int64_t>> offsets;
  for (const Tokenized::Token& token : r.tokens) {
    ids.push_back(token.id);
    pieces.push_back(escaped(token.piece));
    offsets.push_back({token.begin, token.end});
  }
  ADD(json, ids, pieces, offsets);
}

void add_members(JsonWriter& json, const TensorRow& row) {
  ADD(json, row.name, row.dtype, row.layout, row.shape, row.bytes, row.checksum);
}

// A value as it was read, on one line.
void put(JsonWriter& json, const Json& value) {
  if (value.is_object()) {
    json.begin_object();
    for (const auto& [key, member] : value.items()) json.key(key), put(json, member);
    json.end_object();
  } else if (value.is_array()) {
    json.begin_array();
    for (const Json& item : value) put(json, item);
    json.end_array();
  } else if (value.is_string()) {
    json.value(value.view());
  } else {
    json.raw(value.raw());
  }
}

// Nothing for text that is not JSON.
std::optional<JsonDocument> tree_of(const std::string& text) try {
  return parse_json(text, "a value");
} catch (const Error&) {
  return std::nullopt;
}

void add_members(JsonWriter& json, const Inspected& r) {
  json.key("config");
  json.raw(r.config_json);
  ADD(json, r.position, r.trained_positions);
  json.key("tokenizer");
  json.begin_object();
  json.add("kind", r.tokenizer_kind);
  if (r.tokenizer)
    for (const auto& [name, value] : *r.tokenizer) json.key(name), json.raw(value);
  json.end_object();
  ADD(json, r.tensors, r.bytes);
  json.key("provenance");
  if (const auto provenance = tree_of(r.provenance_json))
    put(json, provenance->root());
  else
    json.value(r.provenance_json);
  ADD(json, r.file);
  if (r.verified) json.add("verified", *r.verified);
}

void add_members(JsonWriter& json, const Fidelity& f) {
  ADD(json, f.text, f.tokens, f.ctx, f.start_token, f.source_nll, f.written_nll, f.change_nll, f.change_stderr,
      f.change_ppl_percent, f.kl, f.agreement_percent, f.seconds);
}

void add_members(JsonWriter& json, const Converted& r) {
  ADD(json, r.input, r.output, r.bytes, r.tensors, r.parameters, r.seconds, r.notes);
  if (r.fidelity) json.key("fidelity"), put(json, *r.fidelity);
}

void add_members(JsonWriter& json, const Measured& row) {
  ADD(json, row.shape, row.dtype, row.threads, row.isa, row.prompt, row.decode, row.depth, row.sequences,
      row.prefill_tokens_per_s, row.decode_tokens_per_s, row.weight_bytes, row.read_gb_per_s, row.gflops,
      row.peak_rss_mb);
  json.add("machine_read_gb_per_s", row.machine.read_gb_per_s);
  json.add("machine_gflops", row.machine.gflops);
  json.add("machine_read_one_stream_gb_per_s", row.machine.read_one_stream_gb_per_s);
  json.add("machine_int8_gops", row.machine.int8_gops);
  ADD(json, row.of_peak, row.of_read, row.kv_dtype, row.cache_bytes, row.attention_gb_per_s);
}

// The row of all texts has no name.
void add_scores(JsonWriter& json, const PerplexityRow& row) {
  ADD(json, row.tokens, row.nll, row.ppl, row.bits_per_byte);
  json.add("stderr", row.std_error);  // <cstdio> has a macro of this name
  ADD(json, row.word_ppl, row.words, row.bytes);
}

void add_members(JsonWriter& json, const PerplexityRow& row) {
  ADD(json, row.name);
  add_scores(json, row);
}

void add_members(JsonWriter& json, const Perplexity& r) {
  ADD(json, r.model, r.position);
  add_scores(json, r.all);
  ADD(json, r.ctx, r.stride, r.protocol, r.start_token, r.windows, r.macro_nll, r.seconds, r.texts, r.standing);
}

void add_members(JsonWriter& json, const DiagnosisRow& row) {
  ADD(json, row.position, row.fact, row.tokens, row.nll);
  json.add("delta_nll_vs_native", row.delta_nll);
  ADD(json, row.delta_stderr);
}

void add_members(JsonWriter& json, const Diagnosed& r) { ADD(json, r.model, r.native, r.verdict, r.rows); }

void add_members(JsonWriter& json, const SchemeParamRow& param) {
  ADD(json, param.key);
  json.add("default", unless_empty(param.otherwise));
  ADD(json, param.allowed);
}

void add_members(JsonWriter& json, const SchemeRow& row) {
  ADD(json, row.name, row.kind, row.summary, row.acts_on, row.tensors, row.source, row.params);
}

void add_members(JsonWriter& json, const Check& check) {
  ADD(json, check.label.id, check.label.what, check.label.scheme, check.measured);
  json.add("expected", unless_empty(check.expected));
  ADD(json, check.tolerance);
  json.add("pass", check.passed());
}

void add_members(JsonWriter& json, const DrawnText& text) {
  ADD(json, text.ids);
  json.add("text", joined(text.pieces, ""));
  ADD(json, text.pieces, text.surprisal);
}

void add_members(JsonWriter& json, const ComparedScheme& s) {
  ADD(json, s.position, s.kind);
  json.add("standing", standing_name(s.standing));
  json.add("question", question_name(s.question));
  ADD(json, s.reason, s.remarks, s.continuation_ids, s.differs_at);
  json.add("nll_in_order", s.in_order);
  json.add("nll_shuffled", s.shuffled);
  ADD(json, s.order);
  std::vector<std::vector<std::vector<double>>> attention;
  for (const auto& layer : s.attention)
    for (auto& rows = attention.emplace_back(); const std::vector<float>& row : layer)
      std::ranges::transform(row, std::back_inserter(rows.emplace_back()),
                             [](float weight) { return std::round(static_cast<double>(weight) * 1e6) / 1e6; });
  ADD(json, s.attention_distance, attention, s.ms_per_token, s.cache_bytes, s.table_bytes, s.continuation_surprisal,
      s.sample);
}

void add_members(JsonWriter& json, const RecallRow& row) {
  ADD(json, row.position, row.task, row.length, row.accuracy, row.tokens);
  json.add("low", row.accuracy ? std::optional(row.low) : std::nullopt);
  json.add("high", row.accuracy ? std::optional(row.high) : std::nullopt);
  if (row.depth) ADD(json, row.depth);
}

void add_members(JsonWriter& json, const Estimate& e) {
  ADD(json, e.mean);
  json.add("stderr", e.std_error);  // <cstdio> has a macro of this name
  ADD(json, e.low, e.high, e.clusters);
}

void add_members(JsonWriter& json, const Finding& f) {
  ADD(json, f.kind, f.position);
  json.add("against", unless_empty(f.against));
  ADD(json, f.length, f.protocol, f.delta, f.low, f.high, f.text, f.detail);
}

void add_members(JsonWriter& json, const ComparedText& text) { ADD(json, text.name, text.tokens, text.bytes); }

void add_members(JsonWriter& json, const PairedLosses& paired) {
  ADD(json, paired.length, paired.protocol, paired.positions);
  const auto table = [&](std::string_view name, double Estimate::*what) {
    std::vector<std::vector<double>> rows;
    for (const std::vector<Estimate>& row : paired.differences)
      std::ranges::transform(row, std::back_inserter(rows.emplace_back()), what);
    json.add(name, rows);
  };
  table("delta", &Estimate::mean);
  table("low", &Estimate::low);
  table("high", &Estimate::high);
}

void add_members(JsonWriter& json, const ComparedRow& row, const Compared& r, const std::string& continuation) {
  const bool ran = row.refused.empty(), to_native = row.against == r.native && row.against_protocol == row.protocol;
  const auto add_measured = [&](std::string_view name, double value) {
    json.add(name, ran ? std::optional(value) : std::nullopt);
  };
  const auto if_native = [&](const std::optional<double>& value) { return to_native ? value : std::nullopt; };
  ADD(json, row.position);
  json.add("trained", row.is_trained());
  ADD(json, row.length, row.protocol);
  add_measured("nll", row.nll);
  add_measured("ppl", row.ppl);
  add_measured("bits_per_byte", row.bits_per_byte);
  add_measured("stderr", row.std_error);
  json.add("delta_nll_vs_native", if_native(row.delta_nll));
  json.add("kl_vs_native", if_native(row.kl));
  ADD(json, row.top1_agreement, row.loss_by_position, continuation);
  add_measured("ms_per_token", row.ms_per_token);
  ADD(json, row.tokens, row.loss_step, row.delta_low, row.delta_high);
  json.add("refused", unless_empty(row.refused));
  json.add("standing", standing_name(row.standing));
  json.add("against", unless_empty(row.against));
  json.add("against_protocol", unless_empty(row.against_protocol));
  json.add("delta_nll", row.delta_nll);
  ADD(json, row.kl, row.to_inside, row.to_trained, row.over_texts, row.delta_by_position);
}

void add_members(JsonWriter& json, const Compared& r) {
  ADD(json, r.model, r.native, r.text);
  json.key("rows");
  json.begin_array();
  for (const ComparedRow& row : r.rows) {
    const auto scheme = std::ranges::find(r.schemes, row.position, &ComparedScheme::position);
    json.begin_object();
    add_members(json, row, r, scheme == r.schemes.end() ? "" : joined(scheme->continuation, ""));
    json.end_object();
  }
  json.end_array();
  ADD(json, r.schemes, r.recall);
  json.key("matrix");
  json.begin_object();
  json.add("length", r.matrix_length);
  json.add("positions", r.matrix);
  ADD(json, r.kl, r.top1);
  json.end_object();
  ADD(json, r.headlines, r.trained_positions, r.trained_length, r.parameters, r.lengths, r.text_tokens, r.text_bytes,
      r.unigram_nll, r.prompt, r.prompt_pieces, r.seed, r.command, r.version, r.seconds, r.findings, r.reference,
      r.texts, r.passkey, r.recall_chance, r.paired, r.attention_pieces, r.sample_begins, r.sample_before,
      r.sample_temperature, r.checksum, r.date);
}

// Behind all add_members(), which it has to see.
template <class T>
void put(JsonWriter& json, const T& value) {
  if constexpr (requires { add_members(json, value); }) {
    json.begin_object();
    add_members(json, value);
    json.end_object();
  } else if constexpr (requires { add_members(json, *value); }) {
    value ? put(json, *value) : json.value(nullptr);
  } else if constexpr (requires { add_members(json, value[0]); }) {
    json.begin_array();
    for (const auto& item : value) put(json, item);
    json.end_array();
  } else {
    json.value(value);
  }
}

template <class T>
std::string text_of(const T& value) {
  JsonWriter json;
  put(json, value);
  return json.take();
}

}  // namespace

std::string to_json(const Generated& result) { return text_of(result); }
std::string to_json(std::span<const Generated> results) { return text_of(results); }
std::string to_json(const Evaluated& result) { return text_of(result); }
std::string to_json(const Tokenized& result) { return text_of(result); }
std::string to_json(const Inspected& result) { return text_of(result); }
std::string to_json(const Converted& result) { return text_of(result); }
std::string to_json(std::span<const Measured> rows) { return text_of(rows); }
std::string to_json(const Perplexity& result) { return text_of(result); }
std::string to_json(const Diagnosed& result) { return text_of(result); }
std::string to_json(std::span<const SchemeRow> schemes) { return text_of(schemes); }
std::string to_json(std::span<const Check> checks) { return text_of(checks); }
std::string to_json(const Compared& result) { return text_of(result); }

std::string to_json(const Generated& result, int64_t line, const std::string& id, const std::string& settings) {
  // As text: numbers of any size in an id stay what they are.
  return "{\"line\":" + std::to_string(line) + ",\"id\":" + id + ",\"settings\":" + settings + "," +
         to_json(result).substr(1);
}

std::string text_json(std::span<const int32_t> ids, const std::string& text) {
  JsonWriter json;
  json.begin_object();
  ADD(json, ids, text);
  json.end_object();
  return json.take();
}

std::vector<std::pair<std::string, std::string>> members_of(const std::string& object) {
  std::vector<std::pair<std::string, std::string>> members;
  if (const auto tree = tree_of(object); tree && tree->root().is_object())
    for (const auto& [key, value] : tree->root().items())
      members.emplace_back(key, value.is_string() ? std::string(value.view()) : text_of(value));
  return members;
}

std::string quoted_json(const std::string& text) { return text_of(text); }
std::string numbers_json(std::span<const int32_t> values) { return text_of(values); }

}  // namespace ordinal::report
