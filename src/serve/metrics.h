// metrics.h: what the server has done so far, for GET /metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ordinal::serve {

// Bounds of the histogram of times to the first token, in seconds.
inline constexpr std::array<double, 10> kFirstTokenBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

// Safe to use from any thread.
class Metrics {
 public:
  // `path` is one of the routes, so that there are few.
  void answered(const std::string& path, int status);
  void tokens(int64_t in, int64_t out);
  void first_token(double ms);

  // Prometheus text format 0.0.4; `more` is lines of gauges.
  std::string text(const std::string& more) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
  int64_t in_ = 0, out_ = 0;
  std::array<int64_t, kFirstTokenBounds.size() + 1> first_tokens_{};  // by bound, the last beyond all
  double first_token_seconds_ = 0;
};

// Lines of one metric: "# HELP", "# TYPE" and a sample without labels.
std::string metric_lines(const std::string& name, const std::string& kind, const std::string& help, double value);

}  // namespace ordinal::serve
