// checks_engine.h: C4, C6 to C8, C10 and C14 on the engine itself: a model's logits under a scheme.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ordinal/model.h"
#include "study/check/check.h"

namespace ordinal {

// A model under a scheme, and what is claimed of the scheme. The scheme need not be in the list.
struct Subject {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const PositionScheme> scheme;
  std::string name;       // its spec
  bool relative = false;  // moving all positions changes nothing
  bool turns = false;     // by turning q and k, which is exact but for rounding
  bool anchored = false;  // adds nothing to the embedding, and yet depends on where the text starts
};

// C4: the same tokens 100 positions on (less where the scheme ends before): a relative scheme gives the same logits, an
// absolute one others; an anchored one may do either, but leaves the embedding alone.
Checks check_shift(const Subject& subject);
// C6, of one layer or several without positions: the prefix of the last token in another order.
Check check_prefix(const Subject& subject);
// C7, without positions: a token repeated.
Checks check_counting(const Subject& subject);
// C8: "dog bites man" against "man bites dog", read from a fourth token. `seen`: whether the model can tell.
Check check_word_order(const Subject& subject, bool seen);
// C10, on the model's own tokens and the rows that the scheme adds to them.
Checks check_collisions(const Subject& subject);
// C14: the same bits one by one, in pieces, recomputed, beside another text, on three threads.
Check check_same_bits(const Subject& subject);

// C16: how far back the keys of a text stand, at most, that is four times as long as the trained ones: no farther than
// the modifiers of a spec promise. Nothing for a spec without such. `places_of`: places_of_keys of places.h.
using PlacesOf = std::function<std::vector<double>(std::string_view spec, const AttentionShape& shape, int64_t query)>;
Checks check_places(const Subject& subject, const PlacesOf& places_of);

// How many positions to look at: at most 512 of those that the scheme has, of the trained ones when it has no end.
int64_t rows_to_look_at(const Subject& subject);

}  // namespace ordinal
