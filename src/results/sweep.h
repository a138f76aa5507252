// sweep.h: what a sweep measured, as plain structs: study fills them, the journal keeps them, report writes them down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/compared.h"

namespace ordinal {

// One scheme in one unit of a sweep.
struct SweepRow {
  std::string position;
  Standing standing = Standing::refused;
  std::string refused;  // why there are no numbers
  int64_t tokens = 0;   // scored; of a pass key, numbers
  // Nats per token with their standard error; of a task, the share that was right with Wilson's interval.
  double value = 0;
  std::optional<double> std_error = {}, low = {}, high = {};
  std::optional<double> delta = {}, delta_low = {}, delta_high = {};  // from the reference, on the same tokens
};

// What is measured in one go.
struct SweepUnit {
  std::string model, text;
  std::string work;  // how the text is cut ("whole", "sliding"), or a task ("copy", "find", "passkey")
  bool is_task = false;
  int64_t length = 0;  // of the windows
  uint64_t seed = 0;   // of a task
  std::vector<std::string> positions;
  std::string reference;  // "" for a task

  // What came of it: rows, or why there are none. Neither where it is yet to be done.
  std::vector<SweepRow> rows = {};
  std::string error = {};
  bool is_done = false;
  double seconds = 0;
};

struct Sweep {
  std::string plan;  // a checksum of all that is to be done
  std::vector<SweepUnit> units;
};

}  // namespace ordinal
