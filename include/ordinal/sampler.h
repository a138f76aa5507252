// sampler.h: from logits to the next token.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ordinal/tensor.h"

namespace ordinal {

// Which tokens the penalties count as seen. `usual` is what most programs do: repetition counts the prompt and the new
// tokens (Hugging Face, vLLM, llama.cpp), presence and frequency the new ones alone (OpenAI, vLLM).
enum class Penalize : uint8_t { usual, all, new_only };

// Applied in the order of the fields. Defaults change nothing.
struct SamplerOptions {
  std::vector<std::pair<TokenId, float>> logit_bias = {};  // added first
  float repetition_penalty = 1.0f;  // > 0: seen tokens' logits divided by it when positive, multiplied when negative
                                    // (Keskar et al. 2019, arXiv:1909.05858); once a token, however often seen
  float presence_penalty = 0.0f;    // subtracted once from every seen token
  float frequency_penalty = 0.0f;   // subtracted as often as a token was seen
  Penalize penalize = Penalize::usual;
  int64_t penalty_window = -1;  // how many of the last tokens count as seen, -1 for all
  float temperature = 1.0f;     // >= 0; 0 is greedy, ties to the lowest id
  int64_t top_k = 0;            // keep the k best, 0 for all
  float typical_p = 1.0f;       // locally typical sampling (Meister et al. 2022, arXiv:2202.00666)
  float top_p = 1.0f;           // keep the smallest set reaching p (Holtzman et al. 2019, arXiv:1904.09751)
  float min_p = 0.0f;           // drop what is below p times the best (Nguyen et al. 2024, arXiv:2407.01082)
  uint64_t seed = 0;
};

struct Candidate {
  TokenId id;
  double probability;
};

// One stream of random draws and the tokens seen so far. The same options and the same history give the same tokens
// on any machine.
class Sampler {
 public:
  // Throws Error naming the option that is out of range (NaN included) or the biased id outside the vocabulary.
  Sampler(SamplerOptions options, int64_t vocab_size);

  // Counts tokens of the prompt as seen; sample() does this, as new ones, for what it returns.
  void observe(std::span<const TokenId> tokens);

  // Draws the next token. Throws Error when logits hold NaN or +infinity, or leave nothing to choose.
  TokenId sample(std::span<const float> logits);

  // What sample() would draw from: kept tokens by falling probability, then rising id. Draws nothing.
  std::vector<Candidate> candidates(std::span<const float> logits) const;

  // The logits after bias and penalties, before temperature.
  std::vector<float> adjusted(std::span<const float> logits) const;

  // The kept token at which the running sum of probabilities first exceeds u, 0 <= u < 1; the last one when rounding
  // leaves the sum below u.
  static TokenId pick(std::span<const Candidate> kept, double u);

  const SamplerOptions& options() const { return options_; }

 private:
  double next_uniform();  // [0, 1), 53 bits

  SamplerOptions options_;
  int64_t vocab_size_;
  uint64_t state_;
  std::vector<TokenId> seen_;
  size_t n_prompt_ = 0;  // of seen_, the first so many
};

// log p of every token, natural logarithm, without any option applied; accumulated in double.
double log_probability(std::span<const float> logits, TokenId id);

}  // namespace ordinal
