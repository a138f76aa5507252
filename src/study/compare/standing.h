// standing.h: what may be said of a position scheme on given weights at a given length, before anything runs.
#pragma once

#include <memory>
#include <string>

#include "ordinal/model.h"
#include "results/compared.h"

namespace ordinal {

struct Stand {
  Standing standing = Standing::refused;
  Question question = Question::swap;
  std::string reason;                            // a sentence
  std::shared_ptr<const PositionScheme> scheme;  // null when refused
};

// `length`: the positions it is used for. What the scheme can do beyond its last position is not asked here. One that
// was made for longer texts may differ from one that is made for these.
Stand stand_of(const Model& model, const std::string& spec, int64_t length);
Stand stand_of(const Model& model, const PositionScheme& scheme, int64_t length);  // leaves Stand::scheme empty

// Whether the first spec is the second with what carries it past the trained length: "rope:scaling=yarn,factor=4" of
// "rope", "learned:beyond=wrap" of "learned". Both canonical, and not the same.
bool is_extension(const std::string& spec, const std::string& of);

// A spec of one scheme without what carries it further: "rope" of "rope:scaling=yarn,factor=4".
std::string unstretched(const std::string& spec);

}  // namespace ordinal
