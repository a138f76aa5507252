// standing.h: what may be said of a position scheme on given weights, before anything runs.
#pragma once

#include <memory>
#include <string>

#include "ordinal/model.h"
#include "results/compared.h"

namespace ordinal {

struct Stand {
  Standing standing = Standing::refused;
  std::string reason;                            // a sentence
  std::shared_ptr<const PositionScheme> scheme;  // null when refused
};

// `length`: the most positions it will be used for; what the scheme can do beyond its last position is not asked here.
Stand stand_of(const Model& model, const std::string& spec, int64_t length);

}  // namespace ordinal
