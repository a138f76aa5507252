// generate_command.h: what `ordinal generate` was asked for. One prompt is generate.cpp's work, a file of prompts
// generate_batch.cpp's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "results/results.h"
#include "text/generator.h"

namespace ordinal::cli {

struct GenerateCommand {
  ModelOptions model;
  RunOptions run;
  PromptOptions prompt;
  GenerateOptions generate;
  std::optional<uint64_t> seed;
  std::optional<int64_t> keep, logprobs;
  std::vector<std::string> logit_bias;
  std::string overflow = "stop", penalize = "usual";
  std::optional<std::string> draft;
  std::optional<int64_t> draft_tokens;
  bool echo = false, json = false, quiet = false;

  std::optional<std::string> batch, output;
  std::optional<int64_t> parallel;
  bool resume = false;

  GenerateCommand();
};

// Prompts in, results out. Takes a command that has been checked as far as can be without a model.
int run_generate_batch(GenerateCommand& command);

// The tokens that stay when sliding, where --keep does not say.
int64_t default_keep(int64_t capacity);

Generated report_of(const Generation& result, const OpenedModel& opened, const Session& session,
                    const std::vector<TokenId>& prompt, bool with_logprobs);

// "12 tokens in 3.4 ms (3529.4/s)"
std::string rate(int64_t tokens, double ms);

}  // namespace ordinal::cli
