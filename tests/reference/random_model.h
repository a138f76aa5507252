// random_model.h: seeded random models of any shape, as drafts that the writer turns into model files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/model_writer.h"

namespace test {

class Random;

// Numbers spread evenly over center - spread .. center + spread; the same for one seed and name on every machine and in
// tools/make_goldens.py. `coarse` keeps 8 significant bits, so that f32, f16 and bf16 hold the same numbers.
std::vector<float> uniform_numbers(uint64_t seed, const std::string& name, int64_t count, double center, double spread,
                                   bool coarse = false);

// A tensor that is held in memory.
ordinal::TensorSource tensor_of(const std::string& name, std::vector<int64_t> shape, std::vector<float> values);

// What a random model is made of besides its config.
struct RandomModel {
  ordinal::ModelConfig config;
  bool norm_bias = true;
  bool attn_bias = true;  // of q, k and v
  bool attn_output_bias = true;
  bool ffn_bias = true;
  bool output_norm = true;
  bool output_bias = false;
  int64_t position_rows = 0;  // rows of position_embd.weight, 0 for no table
  std::string position = "none";
  bool coarse = false;
  uint64_t seed = 1;
};

// A config with every field set to something small and odd: 3 heads of 12, d_model 36, d_ff 50, 77 tokens, 2 layers.
ordinal::ModelConfig small_config();

// Sets attention_scale to 1 / sqrt(head_dim) in every layer.
void scale_by_head_dim(ordinal::ModelConfig& config);

// Sets the facts beyond GPT-2's at random, but for the heads; `narrow` is what the width of the embedding may be.
void set_random_facts(ordinal::ModelConfig& config, Random& random, int64_t narrow);

// Weights that make every part count: scores of a deviation near 2 before the softmax, logits of several units.
ordinal::ModelDraft random_model(const RandomModel& model);

// The 256 bytes, and <|end|> as id 256.
ordinal::TokenizerData byte_tokenizer();

// Token ids drawn from the vocabulary.
std::vector<ordinal::TokenId> random_ids(uint64_t seed, int64_t count, int64_t vocab_size);

}  // namespace test
