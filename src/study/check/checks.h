// checks.h: what `ordinal positions check` runs: the properties C1 to C16 of position schemes, each measured.
// src/study/README.md says what every one means.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "study/check/check.h"

namespace ordinal {

// Every scheme with its defaults, rope under each of its scalings; lab schemes are left out.
std::vector<std::string> specs_to_check();

// All checks that apply to a spec: formulas in double, the engine's hooks, and a small random model.
// Throws Error for a bad spec, and for "native", which is a model's.
Checks check_scheme(std::string_view spec);

// The checks that make sense on a checkpoint, C4, C8, C10, C13 and C14, under its native scheme or another.
// Throws Error for a bad spec and for a scheme whose tensors the model lacks.
Checks check_checkpoint(const std::shared_ptr<const Model>& model, std::string_view spec);

}  // namespace ordinal
