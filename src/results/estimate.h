// estimate.h: a mean with what is known of its error.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace ordinal {

struct Estimate {
  double mean = 0;
  // NaN where fewer than two independent pieces were seen.
  double std_error = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  // 95 %
  int64_t clusters = 0;                                               // independent pieces

  bool has_interval() const { return std::isfinite(low) && std::isfinite(high); }
  // Whether the sign is told: the interval leaves out zero. Equal to the last bit is told too, as equal.
  bool is_above_zero() const { return has_interval() && low > 0; }
  bool is_below_zero() const { return has_interval() && high < 0; }
  bool is_nothing() const { return mean == 0 && (!has_interval() || (low == 0 && high == 0)); }
};

}  // namespace ordinal
