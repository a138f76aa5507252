// machine.h: what this machine gives at most, measured with the engine's own kernels: the ceilings of `ordinal bench`.
#pragma once

#include "results/results.h"

namespace ordinal {

MachineSpeed measure_machine(int n_threads);

}  // namespace ordinal
