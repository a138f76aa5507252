// hf_config.cpp: see hf_config.h.
#include "convert/hugging_face/hf_config.h"

#include <algorithm>
#include <array>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr size_t kMostTrained = 256;  // position specs, as a model file holds

// Kinds of models that are no plain decoders, by a setting that only they have.
struct OtherModel {
  std::string_view key, name;
};
constexpr OtherModel kOtherModels[] = {
    {"num_experts", "a mixture of experts"},       {"num_local_experts", "a mixture of experts"},
    {"n_routed_experts", "a mixture of experts"},  {"moe_num_experts", "a mixture of experts"},
    {"state_size", "a state-space model"},         {"ssm_cfg", "a state-space model"},
    {"mamba_d_state", "a state-space model"},      {"rwkv_version", "a recurrent model"},
    {"linear_num_key_heads", "a recurrent model"},
};

// Encoders have tensors and settings of their own; the commonest are told apart by name.
constexpr std::string_view kEncoders[] = {"albert",     "bart",       "bert",  "camembert", "deberta",     "deberta-v2",
                                          "distilbert", "electra",    "ernie", "esm",       "ibert",       "longformer",
                                          "marian",     "mbart",      "mpnet", "mt5",       "nomic_bert",  "pegasus",
                                          "roberta",    "modernbert", "t5",    "umt5",      "xlm-roberta", "whisper"};

// Keys that only GPT-2 and what is built like it have; other families that share them have tensors of other names.
constexpr const char* kGpt2Sizes[] = {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"};

bool names_gpt2(const Json* architectures) {
  if (architectures == nullptr) return true;
  return architectures->is_array() && std::ranges::any_of(*architectures, [](const Json& name) {
           return name.is_string() && text(name, "").starts_with("GPT2");
         });
}

const Family& family_of(Settings& settings, const Json& config) {
  const std::string& name = settings.document();
  const Json* type = settings.take("model_type");
  for (const OtherModel& kind : kOtherModels)
    if (const Json* value = find(config, kind.key); value != nullptr && value->raw() != "0")
      throw Error("the model in " + name + " is " + std::string(kind.name) + ", which the engine does not run",
                  "a decoder-only Transformer", std::string(kind.key) + ": " + shown(*value));
  const Json* both = find(config, "is_encoder_decoder");
  const bool has_encoder = both != nullptr && both->raw() == "true";
  if (has_encoder || (type != nullptr && type->is_string() && std::ranges::count(kEncoders, type->view()) > 0))
    throw Error("the model in " + name + " is or has an encoder, which the engine does not run",
                "a decoder-only Transformer", has_encoder ? "is_encoder_decoder: true" : "model_type: " + shown(*type));
  if (type != nullptr && type->is_string())
    if (const Family* family = find_family(type->view()); family != nullptr) return *family;
  const bool has_sizes = std::ranges::all_of(kGpt2Sizes, [&](const char* key) { return settings.states(key); });
  if (type == nullptr && has_sizes && names_gpt2(settings.take("architectures"))) {
    say(settings.note(), name + " does not say its model_type; its settings are GPT-2's, so it is read as one");
    return *find_family("gpt2");
  }
  throw Error("the model in " + name + " is of a kind that cannot be converted",
              "a model_type that is known: " + joined(families(), ", ", &Family::model_type),
              type == nullptr ? "no model_type" : "model_type: " + shown(*type));
}

// tools/train.py writes these keys for models trained under another scheme than their family's, or under several.
void read_trained_positions(Settings& settings, FamilyFacts& facts) {
  facts.position = settings.word("ordinal_position", facts.position);
  const Json* trained = settings.take("ordinal_trained_positions");
  facts.trained_positions = {facts.position};
  if (trained == nullptr) return;
  const std::string what = settings.what("ordinal_trained_positions");
  if (!trained->is_array() || trained->empty() || trained->size() > kMostTrained)
    throw Error(what + " is not a list of position specs", "1 to " + std::to_string(kMostTrained) + " specs",
                shown(*trained));
  facts.trained_positions.clear();
  for (const Json& spec : *trained) facts.trained_positions.push_back(text(spec, "a spec of " + what));
}

}  // namespace

HfConfig read_hf_config(const Json& config, const std::string& name, const Note& note) {
  // A model that also sees pictures keeps the settings of its decoder apart.
  if (const Json* inner = find(object(config, name), "text_config"); inner != nullptr) {
    say(note, name + " is of a model for more than text: what is not of its text model is left out");
    return read_hf_config(*inner, "text_config of " + name, note);
  }
  Settings settings(config, name, note);
  HfConfig result{.family = &family_of(settings, config), .facts = {}};
  FamilyFacts& facts = result.facts;
  result.family->read(settings, facts);
  const ModelConfig& model = facts.model;
  if (model.head_dim < 1 || (!settings.states("head_dim") && model.d_model % model.n_heads != 0))
    throw Error("the heads in " + name + " do not divide its width", "a divisor of " + std::to_string(model.d_model),
                std::to_string(model.n_heads));
  read_trained_positions(settings, facts);
  settings.refuse_rest();
  return result;
}

void read_generation_config(const Json& generation, const std::string& name, FamilyFacts& facts, const Note& note) {
  const Json* value = find(object(generation, name), "eos_token_id");
  const std::vector<TokenId> ids = ids_of(value, "eos_token_id in " + name, facts.model.vocab_size, note);
  if (ids.empty() || ids == facts.model.eos_ids) return;
  const auto listed = [](const std::vector<TokenId>& list) { return list.empty() ? "nothing" : joined(list); };
  say(note, "texts end at " + listed(ids) + ", as " + name + " says; config.json says " + listed(facts.model.eos_ids));
  facts.model.eos_ids = ids;
}

}  // namespace ordinal::convert
