// family.h: what a family of models is: a table of the names that it gives to the parts of the plan, and a function
// from config.json to facts. Adding one: a file in families/ and a line in families/list.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/hugging_face/hf_weights.h"
#include "convert/hugging_face/settings.h"
#include "convert/stored.h"
#include "model/plan.h"

namespace ordinal::convert {

// The outputs of a part in a tensor that holds several. All of q, then all of k, then all of v:
Share q_of_qkv(const ModelConfig& config);
Share k_of_qkv(const ModelConfig& config);
Share v_of_qkv(const ModelConfig& config);
// For every key/value head in turn: the query heads that share it, then k, then v.
Share q_of_groups(const ModelConfig& config);
Share k_of_groups(const ModelConfig& config);
Share v_of_groups(const ModelConfig& config);
// Gate, then up.
Share gate_of_both(const ModelConfig& config);
Share up_of_both(const ModelConfig& config);

struct FamilyPart {
  std::string_view part;  // "attn_q", a name of the plan; or "position_embd", which a scheme reads
  std::string_view name;  // "h.#.attn.c_attn": # stands for the layer, a @ for each head, whose rows come in turn
  Share (*share)(const ModelConfig&) = nullptr;  // of a tensor that holds several parts
  bool turned = false;                           // the weight is [inputs, outputs], as Conv1D keeps it
  bool plus_one = false;                         // 1 is added to the weight: it is kept as what differs from 1
};

enum class Bias : uint8_t { no, yes, if_there };

// What config.json says, as facts.
struct FamilyFacts {
  ModelConfig model;  // all but tied_output, which depends on the weights
  bool tie_head = true;
  // Which parts have biases.
  Bias qkv_bias = Bias::no, output_bias = Bias::no, mlp_bias = Bias::no, norm_bias = Bias::no, head_bias = Bias::no;
  bool norm_weights = true;  // without them the norms' weights are 1

  std::string position = "none";               // native spec
  std::vector<std::string> trained_positions;  // empty: native alone
  int64_t position_rows = 0;                   // of position_embd.weight, where the family has one
  // Numbers of config.json that a scheme reads as tensors of one dimension.
  struct Table {
    std::string name;
    std::vector<float> values;
  };
  std::vector<Table> tables;

  void set_biases(bool there) { qkv_bias = output_bias = mlp_bias = there ? Bias::yes : Bias::no; }
};

struct Family {
  std::string_view model_type;             // as config.json says it
  std::string_view name;                   // as people say it
  std::span<const FamilyPart> parts = {};  // a part may stand in several rows; the first whose tensor is there counts
  // Throws Error for a setting that is missing, out of range, or asks for what the engine does not do.
  void (*read)(Settings& settings, FamilyFacts& facts) = nullptr;
};

std::span<const Family> families();
// nullptr when there is none of that model_type.
const Family* find_family(std::string_view model_type);

// The source of a tensor of the plan, or nothing where the model need not have it. Throws Error when it must be there
// and is not, or has another shape.
std::optional<TensorSource> find_in_family(const Family& family, const FamilyFacts& facts, HfWeights& weights,
                                           const PlannedTensor& tensor, const Note& note);

// Adds what there is of the plan of draft.config, for files without a config.json: all biases are there but the head's,
// or none is.
void add_family_tensors(ModelDraft& draft, const Family& family, bool has_biases, HfWeights& weights, const Note& note);

// The name of a part's weight that is there, or the first that it may have.
std::string weight_name(const Family& family, std::string_view part, const HfWeights& weights);

}  // namespace ordinal::convert
