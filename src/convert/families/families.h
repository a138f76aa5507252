// families.h: the families of each file, for the list in list.cpp.
#pragma once

#include "convert/families/common.h"

namespace ordinal::convert {

std::span<const Family> gpt2_families();
std::span<const Family> gpt_j_families();
std::span<const Family> opt_families();
std::span<const Family> bloom_families();
std::span<const Family> phi_families();
std::span<const Family> llama_families();
std::span<const Family> gemma_families();
std::span<const Family> cohere_families();

}  // namespace ordinal::convert
