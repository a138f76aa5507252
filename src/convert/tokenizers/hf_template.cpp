// hf_template.cpp: see hf_template.h.
#include "convert/tokenizers/hf_template.h"

#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

const std::string kField = "post_processor";
constexpr const char* kWanted = "ByteLevel, or a template with one start token and one end token at most";

// The one id of a special token that a template names.
int64_t id_in_template(const Json& step, const std::string& token, const std::string& name) {
  const Json* tokens = find(step, "special_tokens");
  const Json* entry = tokens == nullptr ? nullptr : find(object(*tokens, "special_tokens in " + name), token);
  const Json* ids = entry == nullptr ? nullptr : find(object(*entry, in_quotes(token) + " in " + name), "ids");
  if (ids == nullptr || array(*ids, "ids in " + name).size() != 1)
    refuse_field(name, kField, "one id for " + in_quotes(token), ids == nullptr ? &step : ids);
  return whole_number((*ids)[0], "the id of " + in_quotes(token) + " in " + name, 0, INT32_MAX);
}

TextFrame read_template(const Json& step, const std::string& name) {
  const Json* single = find(step, "single");
  if (single == nullptr) refuse_field(name, kField, "a template for single texts", &step);
  TextFrame frame;
  bool behind_text = false;
  for (const Json& item : array(*single, "single in " + name)) {
    if (const Json* token = find(object(item, "single in " + name), "SpecialToken"); token != nullptr) {
      const Json* id = find(object(*token, "SpecialToken in " + name), "id");
      int64_t& place = behind_text ? frame.end : frame.start;
      if (id == nullptr || place != -1) refuse_field(name, kField, kWanted, single);
      place = id_in_template(step, text(*id, "SpecialToken in " + name), name);
    } else {
      if (behind_text || find(item, "Sequence") == nullptr) refuse_field(name, kField, kWanted, single);
      behind_text = true;
    }
  }
  if (!behind_text) refuse_field(name, kField, "a template with the text in it", single);
  return frame;
}

}  // namespace

void refuse_field(const std::string& name, const std::string& field, const std::string& expected, const Json* found) {
  throw Error(name + " asks for something the engine's tokenizer does not do: " + field, expected,
              found == nullptr ? "nothing" : shown(*found));
}

// ByteLevel, as a post-processor, moves offsets only.
TextFrame read_post_processor(const Json* step, const std::string& name) {
  if (step == nullptr) return {};
  const Json* type = find(object(*step, kField + " in " + name), "type");
  const auto is = [&](const char* wanted) { return type != nullptr && *type == wanted; };
  if (is("ByteLevel")) return {};
  if (is("TemplateProcessing")) return read_template(*step, name);
  if (is("RobertaProcessing") || is("BertProcessing")) {
    const auto id = [&](const char* key) {
      const Json* pair = find(*step, key);
      if (pair == nullptr || array(*pair, key).size() != 2) refuse_field(name, kField, "a token and its id", step);
      return whole_number((*pair)[1], std::string(key) + " in " + name, 0, INT32_MAX);
    };
    return {id("cls"), id("sep")};
  }
  const Json* steps = is("Sequence") ? find(*step, "processors") : nullptr;
  if (steps == nullptr) refuse_field(name, kField, kWanted, type == nullptr ? step : type);
  TextFrame frame;
  for (const Json& part : array(*steps, kField + " in " + name)) {
    const TextFrame added = read_post_processor(&part, name);
    if ((added.start != -1 && frame.start != -1) || (added.end != -1 && frame.end != -1))
      refuse_field(name, kField, kWanted, steps);
    if (added.start != -1) frame.start = added.start;
    if (added.end != -1) frame.end = added.end;
  }
  return frame;
}

void set_frame(TokenizerData& data, const TextFrame& frame, const std::string& name, const Vocabulary& wanted) {
  for (const int64_t id : {frame.start, frame.end})
    if (id >= wanted.vocab_size)
      throw Error(name + " puts a token before or after texts that the model has no row for",
                  "an id up to " + std::to_string(wanted.vocab_size - 1), std::to_string(id));
  if (frame.start != -1) data.adds_bos = true, data.bos_id = static_cast<TokenId>(frame.start);
  if (frame.end != -1) data.adds_eos = true, data.eos_id = static_cast<TokenId>(frame.end);
}

}  // namespace ordinal::convert
