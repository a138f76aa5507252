// list.cpp: all families.
#include "convert/families/families.h"

namespace ordinal::convert {

std::span<const Family> families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list;
    for (const auto of_a_file : {gpt2_families, gpt_j_families, opt_families, bloom_families, phi_families,
                                 llama_families, gemma_families, cohere_families})
      list.insert(list.end(), of_a_file().begin(), of_a_file().end());
    return list;
  }();
  return all;
}

}  // namespace ordinal::convert
