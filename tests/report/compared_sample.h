// compared_sample.h: a made-up comparison with every field filled in, for tests of what is made of it.
#pragma once

#include <vector>

#include "results/compared.h"
#include "results/figure.h"

namespace test {

struct SampleSize {
  size_t schemes = 6, layers = 4, heads = 4;
  std::vector<int64_t> lengths = {128, 256, 512, 1024, 2048};
};

// Plausible: trained schemes are close together, untrained ones far above, one is refused.
ordinal::Compared sample_comparison(const SampleSize& size = {});
std::vector<ordinal::SchemePicture> sample_pictures(const ordinal::Compared& result);

}  // namespace test
