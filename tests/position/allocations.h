// allocations.h: how often this program asked for memory.
#pragma once

#include <cstdint>

namespace test {

// Calls of operator new so far, of all threads; always 0 where a sanitizer has its own.
int64_t allocations();

}  // namespace test
