// metrics.cpp: see metrics.h.
#include "serve/metrics.h"

#include <algorithm>

#include "base/number_text.h"

namespace ordinal::serve {
namespace {

std::string head_lines(const std::string& name, const std::string& kind, const std::string& help) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n";
}

}  // namespace

std::string metric_lines(const std::string& name, const std::string& kind, const std::string& help, double value) {
  return head_lines(name, kind, help) + name + " " + significant(value, 15) + "\n";
}

void Metrics::answered(const std::string& path, int status) {
  const std::lock_guard lock(mutex_);
  ++answers_[{path, status}];
}

void Metrics::tokens(int64_t in, int64_t out) {
  const std::lock_guard lock(mutex_);
  in_ += in;
  out_ += out;
}

void Metrics::first_token(double ms) {
  const std::lock_guard lock(mutex_);
  const double seconds = ms * 1e-3;
  first_token_seconds_ += seconds;
  const auto bound = std::ranges::lower_bound(kFirstTokenBounds, seconds) - kFirstTokenBounds.begin();
  ++first_tokens_[static_cast<size_t>(bound)];
}

std::string Metrics::text(const std::string& more) const {
  const std::lock_guard lock(mutex_);
  std::string text = head_lines("ordinal_requests_total", "counter", "Requests answered, by path and status.");
  for (const auto& [key, count] : answers_)
    text += "ordinal_requests_total{path=\"" + key.first + "\",status=\"" + std::to_string(key.second) + "\"} " +
            std::to_string(count) + "\n";
  text += metric_lines("ordinal_prompt_tokens_total", "counter", "Tokens of prompts.", static_cast<double>(in_));
  text += metric_lines("ordinal_new_tokens_total", "counter", "Tokens drawn.", static_cast<double>(out_));
  const std::string name = "ordinal_first_token_seconds";
  text += head_lines(name, "histogram", "Time from a request to its first token.");
  int64_t below = 0;
  for (size_t i = 0; i < first_tokens_.size(); ++i) {
    below += first_tokens_[i];
    const std::string bound = i < kFirstTokenBounds.size() ? significant(kFirstTokenBounds[i], 6) : "+Inf";
    text += name + "_bucket{le=\"" + bound + "\"} " + std::to_string(below) + "\n";
  }
  text +=
      name + "_sum " + significant(first_token_seconds_, 15) + "\n" + name + "_count " + std::to_string(below) + "\n";
  return text + more;
}

}  // namespace ordinal::serve
