// crc32c.h: the checksum of LevelDB and TensorFlow: CRC-32 by Castagnoli's polynomial (RFC 3720, appendix B.4).
#pragma once

#include <cstdint>
#include <string_view>

namespace ordinal::convert {

uint32_t crc32c(std::string_view bytes);

// As both store it: turned by 15 bits, plus a constant, so that sums of data that holds sums stay good.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace ordinal::convert
