// batch_lines.h: the lines of a batch: the prompts that are asked for, and the results that are there already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/generate_command.h"
#include "text/scheduler.h"

namespace ordinal::cli {

struct BatchLine {
  int64_t line;    // of the file, from 1
  std::string id;  // a JSON value
  bool seeded;     // the line says its seed
};

struct BatchInput {
  std::string name;                       // of the file, for messages
  int64_t context = 0;                    // tokens that a text can hold
  std::string weights;                    // a checksum of the model's tensors
  std::vector<BatchLine> lines;           // blank ones left out
  std::vector<GenerateRequest> requests;  // one a line

  // Lines that do not say their seed get this and counting, so that equal prompts have results of their own.
  void seed_from(uint64_t seed);
};

// Throws Error that names line and column for the first line that is not a prompt as the command takes it.
BatchInput parse_batch(std::string_view text, std::string name, const GenerateCommand& command,
                       const OpenedModel& opened, const Session& session);

// What decides what a request gives, beside its prompt, seed and position scheme, as a JSON object; it stands in every
// result.
std::string settings_of(const GenerateRequest& request, const GenerateCommand& command, const BatchInput& input);

// What a file of results holds of those of a batch.
struct BatchDone {
  size_t count = 0;              // the first so many are there
  size_t bytes = 0;              // of these; what follows is half a line
  std::optional<uint64_t> seed;  // the first of the run that wrote them, if any took it from there
  size_t without_settings = 0;   // of those, written before results had settings
};

// Throws Error for a whole line that is not the result of the batch's line, naming what differs: prompt, seed, model,
// position scheme or one of the settings. A line without settings is compared by the others.
BatchDone parse_results(std::string_view text, const std::string& name, const BatchInput& input,
                        const GenerateCommand& command, const std::string& model, const std::string& position);

}  // namespace ordinal::cli
