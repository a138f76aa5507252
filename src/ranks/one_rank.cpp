// one_rank.cpp: the ranks of a build without MPI: this process alone.
#include "ranks/ranks.h"

namespace ordinal {

Ranks& open_ranks() {
  static Ranks alone;
  return alone;
}

}  // namespace ordinal
