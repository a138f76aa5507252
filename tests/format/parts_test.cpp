// parts_test.cpp: the checksum, the config as JSON, and files mapped.
#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "base/json.h"
#include "format/checksum.h"
#include "format/config_fields.h"
#include "format/mapped_file.h"
#include "ordinal/error.h"
#include "support.h"
#include "tiny_model.h"

TEST_CASE("checksum: in one piece or in many, with any length") {
  test::Random random(3);
  std::string bytes(100, '\0');
  for (char& c : bytes) c = static_cast<char>(random.bits());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view text = std::string_view(bytes).substr(0, size);
    ordinal::Checksum checksum;
    for (size_t at = 0; at < size;) {
      const size_t step = std::min(size - at, static_cast<size_t>(random.below(20)));
      checksum.add(std::as_bytes(std::span(text.substr(at, step))));
      at += step;
    }
    CHECK(checksum.value() == tiny::naive_checksum(text));
    CHECK(ordinal::checksum_of(std::as_bytes(std::span(text))) == checksum.value());
  }
  // One step by hand, for nothing at all: (0xcbf29ce484222325 * 0x100000001b3) mod 2^64 is 0xaf63bd4c8601b7df, turned
  // left by 29 bits.
  CHECK(ordinal::checksum_of({}) == ((0xaf63bd4c8601b7dfu << 29) | (0xaf63bd4c8601b7dfu >> 35)));
  CHECK(ordinal::checksum_text(0x0123456789abcdef) == "0123456789abcdef");
}

TEST_CASE("checksum: zeros count") {
  const std::array<std::byte, 24> zeros{};
  CHECK(ordinal::checksum_of(std::span(zeros).first(8)) != ordinal::checksum_of(std::span(zeros).first(16)));
  CHECK(ordinal::checksum_of(std::span(zeros).first(1)) != ordinal::checksum_of(std::span(zeros).first(0)));
}

TEST_CASE("config: has a JSON form that reads back") {
  const ordinal::ModelConfig config = tiny::odd_shapes().config;
  const std::string json = ordinal::config_json(config);
  CHECK(ordinal::config_json(ordinal::read_config(ordinal::parse_json(json, "config"))) == json);
}

TEST_CASE("mapped_file: gives the bytes of a file, and none of an empty one") {
  const test::Scratch scratch;
  test::write_file(scratch.path("three"), "abc");
  test::write_file(scratch.path("empty"), "");
  const auto file = ordinal::MappedFile::open(scratch.path("three"));
  REQUIRE(file->bytes().size() == 3);
  CHECK(file->bytes()[2] == std::byte{'c'});
  CHECK(file->path() == scratch.path("three"));
  CHECK(ordinal::MappedFile::open(scratch.path("empty"))->bytes().empty());
}

TEST_CASE("mapped_file: an address is found in the file that holds it, as long as that is mapped") {
  const test::Scratch scratch;
  test::write_file(scratch.path("first"), std::string(5000, 'a'));
  test::write_file(scratch.path("second"), "bcd");
  ordinal::MappedPlace place;
  const void* gone = nullptr;
  {
    const auto first = ordinal::MappedFile::open(scratch.path("first"));
    const auto second = ordinal::MappedFile::open(scratch.path("second"));
    REQUIRE(ordinal::find_mapped(first->bytes().data() + 4999, place));
    CHECK(place.path == scratch.path("first"));
    CHECK(place.bytes == 5000);
    CHECK(place.offset == 4999);
    REQUIRE(ordinal::find_mapped(second->bytes().data(), place));
    CHECK(place.path == scratch.path("second"));
    CHECK(!ordinal::find_mapped(second->bytes().data() + 3, place));
    CHECK(!ordinal::find_mapped(&place, place));
    gone = first->bytes().data();
  }
  CHECK(!ordinal::find_mapped(gone, place));
  const std::string long_name = scratch.path(std::string(200, 'x')) + "/" + std::string(200, 'y');
  std::filesystem::create_directories(long_name);
  test::write_file(long_name + "/" + std::string(200, 'z'), "e");
  const auto file = ordinal::MappedFile::open(long_name + "/" + std::string(200, 'z'));
  REQUIRE(ordinal::find_mapped(file->bytes().data(), place));
  CHECK(std::string(place.path) == file->path().substr(0, 511));
}
