// machine.h: what this machine gives at most, measured with the engine's own kernels: the ceilings of `ordinal bench`.
#pragma once

namespace ordinal {

struct MachineSpeed {
  double read_gb_per_s = 0;             // a buffer far larger than the caches, eight streams a thread
  double read_one_stream_gb_per_s = 0;  // the same, one stream a thread
  double gflops = 0;                    // fused multiply-adds on registers, counted as two
  double int8_gops = 0;                 // the integer dots of the block kinds on registers; a multiply-add is two
};
MachineSpeed measure_machine(int n_threads);

}  // namespace ordinal
