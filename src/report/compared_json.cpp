// compared_json.cpp: a comparison as JSON; keys in the order in which they are documented.
#include <nlohmann/json.hpp>

#include "report/compared_text.h"
#include "report/text.h"

namespace ordinal::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

Json json_of(const ComparedRow& row, const std::string& continuation) {
  Json json = {
      {"position", row.position}, {"trained", row.trained}, {"length", row.length}, {"protocol", row.protocol}};
  const bool ran = row.refused.empty();
  const auto number = [&](double value) { return ran ? Json(value) : Json(nullptr); };
  json.update({{"nll", number(row.nll)},
               {"ppl", number(row.ppl)},
               {"bits_per_byte", number(row.bits_per_byte)},
               {"stderr", number(row.std_error)},
               {"delta_nll_vs_native", json_of(row.delta_nll)},
               {"kl_vs_native", json_of(row.kl)},
               {"top1_agreement", json_of(row.top1_agreement)},
               {"loss_by_position", row.loss_by_position},
               {"continuation", continuation},
               {"ms_per_token", number(row.ms_per_token)},
               {"tokens", row.tokens},
               {"loss_step", row.loss_step},
               {"delta_low", json_of(row.delta_low)},
               {"delta_high", json_of(row.delta_high)},
               {"refused", ran ? Json(nullptr) : Json(row.refused)}});
  return json;
}

Json json_of(const ComparedScheme& scheme) {
  return {{"position", scheme.position},
          {"kind", scheme.kind},
          {"standing", standing_name(scheme.standing)},
          {"reason", scheme.reason},
          {"remarks", scheme.remarks},
          {"continuation_ids", scheme.continuation_ids},
          {"differs_at", scheme.differs_at},
          {"nll_in_order", json_of(scheme.in_order)},
          {"nll_shuffled", json_of(scheme.shuffled)},
          {"attention_distance", scheme.attention_distance},
          {"attention", scheme.attention},
          {"ms_per_token", scheme.ms_per_token},
          {"cache_bytes", scheme.cache_bytes},
          {"table_bytes", scheme.table_bytes}};
}

}  // namespace

std::string to_json(const Compared& result) {
  Json json = {{"model", result.model}, {"native", result.native}, {"text", result.text}};
  Json& rows = json["rows"] = Json::array();
  for (const ComparedRow& row : result.rows) {
    std::string continuation;
    for (const ComparedScheme& scheme : result.schemes)
      if (scheme.position == row.position) continuation = joined(scheme.continuation);
    rows.push_back(json_of(row, continuation));
  }
  Json& schemes = json["schemes"] = Json::array();
  for (const ComparedScheme& scheme : result.schemes) schemes.push_back(json_of(scheme));
  Json& recall = json["recall"] = Json::array();
  for (const RecallRow& row : result.recall)
    recall.push_back({{"position", row.position},
                      {"task", row.task},
                      {"length", row.length},
                      {"accuracy", json_of(row.accuracy)},
                      {"tokens", row.tokens}});
  json.update(
      {{"matrix",
        {{"length", result.matrix_length}, {"positions", result.matrix}, {"kl", result.kl}, {"top1", result.top1}}},
       {"headlines", result.headlines},
       {"trained_positions", result.trained_positions},
       {"trained_length", result.trained_length},
       {"parameters", result.parameters},
       {"lengths", result.lengths},
       {"text_tokens", result.text_tokens},
       {"text_bytes", result.text_bytes},
       {"unigram_nll", result.unigram_nll},
       {"prompt", result.prompt},
       {"prompt_pieces", result.prompt_pieces},
       {"seed", result.seed},
       {"command", result.command},
       {"version", result.version},
       {"seconds", result.seconds}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ordinal::report
