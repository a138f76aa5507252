// error.cpp: how an Error reads.
#include "ordinal/error.h"

#include <utility>

namespace ordinal {

Error::Error(std::string summary, std::string expected, std::string found, std::string suggestion)
    : summary_(std::move(summary)),
      expected_(std::move(expected)),
      found_(std::move(found)),
      suggestion_(std::move(suggestion)),
      text_(summary_) {
  if (!expected_.empty()) text_ += "\n  expected: " + expected_;
  if (!found_.empty()) text_ += "\n  found:    " + found_;
  if (!suggestion_.empty()) text_ += "\n  try:      " + suggestion_;
}

}  // namespace ordinal
