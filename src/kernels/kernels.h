// kernels.h: the table of numeric kernels, one per instruction set, and the loop over threads.
//
// Every table gives the same bits: one lane is one output, sums over K run in order, one fused multiply-add a step;
// other sums use 32 lanes and one tree (src/kernels/README.md).
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "ordinal/tensor.h"

namespace ordinal {

// y [m, n_panels * 32] = x [m, k] · panels [n_panels][k][32], or y += when `accumulate` (the sum goes on from y, as if
// it had never stopped). Rows of y have room for whole panels. For the block kinds the rows of x come rounded, as
// Kernels::quantize leaves them: B = ceil(k / 32) blocks a row, x_stride a multiple of 32.
struct PanelProduct {
  const float* x = nullptr;
  int64_t x_stride = 0;             // numbers from one row of x, or of x_bytes, to the next
  const int8_t* x_bytes = nullptr;  // [m, B * 32], block kinds only
  const int8_t* x_words = nullptr;  // the same as words of 16 bits, where Kernels::words
  const float* x_scales = nullptr;  // [m, B], x_stride / 32 from one row to the next
  const int32_t* x_sums = nullptr;  // [m, B, 2]: sums of the bytes of each half of a block
  int64_t m = 0;
  const std::byte* panels = nullptr;
  int64_t panel_stride = 0;  // bytes from one panel to the next
  int64_t n_panels = 0;
  int64_t k = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  bool accumulate = false;
};

struct Kernels {
  const char* name;                                      // as ORDINAL_ISA names it
  bool (*runs_here)();                                   // whether this processor has the instructions
  void (*product[kDtypes.size()])(const PanelProduct&);  // by Dtype

  // Rounds x [k] to 8 bits a number, one scale for every 32 of them, the sum of the bytes for every 16; and writes them
  // once more as words of 16 bits, in an order of its own, where `words` says that a product reads those.
  void (*quantize)(const float* x, int64_t k, int8_t* bytes, int8_t* words, float* scales, int32_t* sums);
  bool words;

  // For `ordinal bench`: f32 multiply-adds, and the integer dots of the block kinds, on registers alone. They return
  // how many multiply-adds those were; `sum` is what one lane came to, which makes sure that they were done.
  int64_t (*multiply_add_peak)(int64_t rounds, float* sum);
  int64_t (*integer_peak)(int64_t rounds, float* sum);

  // y [n] = (x - mean) / sqrt(variance + epsilon) * weight + bias (bias may be null). Ba et al. 2016, arXiv:1607.06450.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float epsilon, float* y, int64_t n);
  // y [n] = x / sqrt(mean of squares + epsilon) * weight + bias. Zhang, Sennrich 2019, arXiv:1910.07467.
  void (*rms_norm)(const float* x, const float* weight, const float* bias, float epsilon, float* y, int64_t n);

  void (*softmax)(float* x, int64_t n);  // in place; the largest is subtracted first

  // In place, element by element.
  void (*gelu_tanh)(float* x, int64_t n);  // Hendrycks, Gimpel 2016, arXiv:1606.08415: the tanh form
  void (*gelu_erf)(float* x, int64_t n);   // and the exact one
  void (*relu)(float* x, int64_t n);
  void (*silu)(float* x, int64_t n);
  void (*relu_squared)(float* x, int64_t n);              // So et al. 2021, arXiv:2109.08668
  void (*exponential)(float* x, int64_t n);               // e^x; below -87.33 gives 0
  void (*scale)(float* x, float factor, int64_t n);       // x *= factor
  void (*soft_cap)(float* x, float cap, int64_t n);       // x = cap tanh(x / cap)
  void (*clip)(float* x, float bound, int64_t n);         // x within -bound .. bound
  void (*add)(float* y, const float* x, int64_t n);       // y += x
  void (*multiply)(float* y, const float* x, int64_t n);  // y *= x
};

// The table in use: the best that this processor has, or the one ORDINAL_ISA names. Throws Error, listing what the
// machine has, when ORDINAL_ISA names another.
const Kernels& kernels();

// Those that run on this processor, best first.
std::span<const Kernels* const> available_kernels();

// Makes kernels() return another table from now on; for tests, while no session is at work.
void use_kernels_for_test(const Kernels& table);

// Processors that this process may run on, and threads it uses when nobody says how many: as OpenMP's variables say
// (OMP_NUM_THREADS), no more than there are processors.
int available_processors();
int usual_threads();

// Runs program() on the calling thread. Up to n_threads - 1 other threads stand by and share its parallel loops: one
// parallel region of OpenMP's. All regions of the process together use no more threads than there are processors, so
// there may be fewer, or none. Within a region this is a plain call: a pass has a region of its own, and who runs many
// passes puts one around them all, since every region ends with a wait for its threads (a tenth of the time of decoding
// beside a busy process). What the program throws is thrown on.
using RegionBody = void (*)(void* context);
void parallel_region(int n_threads, RegionBody program, void* context);

template <class Program>
void with_threads(int n_threads, Program&& program) {
  parallel_region(
      n_threads, [](void* context) { (*static_cast<std::remove_reference_t<Program>*>(context))(); }, &program);
}

// Calls body(context, i, thread) for i in [0, count), thread in [0, n_threads), each i once, on up to n_threads of the
// region's threads; outside any region, in one of its own. A loop inside a loop runs on its thread alone. The first
// exception is thrown on.
using LoopBody = void (*)(void* context, int64_t i, int thread);
void parallel_loop(int n_threads, int64_t count, LoopBody body, void* context);

template <class Body>
void parallel_for(int n_threads, int64_t count, Body&& body) {
  parallel_loop(
      n_threads, count,
      [](void* context, int64_t i, int thread) { (*static_cast<std::remove_reference_t<Body>*>(context))(i, thread); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace ordinal
