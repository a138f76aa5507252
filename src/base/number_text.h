// number_text.h: numbers as text, the same in every locale.
#pragma once

#include <string>

namespace ordinal {

// With so many digits after the point; with so many digits at most, powers of ten where they are shorter; with as many
// as it takes to read the same float back.
std::string fixed(double value, int digits);
std::string significant(double value, int digits);
std::string shortest(float value);

}  // namespace ordinal
