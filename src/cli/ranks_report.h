// ranks_report.h: what every rank of a run holds, and what they sent each other beside what the formula says.
#pragma once

#include <memory>
#include <string>

#include "cli/terminal.h"
#include "ordinal/model.h"

namespace ordinal::cli {

// What --ranks-report means; `watch` is called with every model that a command opens.
class RanksReport {
 public:
  static inline bool wanted = false;

  static void watch(std::shared_ptr<const Model> model);
  // Writes the report to standard error, where it is wanted and there was a model. On all ranks, or on none.
  static void write();
};

// Says which ranks have no part of a model that they share, since there are more of them than heads or panels.
void note_idle_ranks(const ModelConfig& config, const Notes& notes);

}  // namespace ordinal::cli
