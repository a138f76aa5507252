// safetensors_test.cpp: the container: what is read, and every way in which a header can lie.
#include "convert/hugging_face/safetensors.h"

#include <filesystem>

#include "convert/foreign_files.h"

using namespace foreign;
using ordinal::convert::read_safetensors, ordinal::convert::StoredTensor;
using test::error_of, test::mentions, test::Scratch;

namespace {

// A file of a header as given and so many bytes of data.
struct File {
  Scratch scratch;
  std::string path = scratch.path("x.safetensors");

  std::vector<StoredTensor> read(const std::string& header, size_t data_bytes) {
    test::write_file(path, le64(header.size()) + header + std::string(data_bytes, 'd'));
    return read_safetensors(path);
  }
  std::string error(const std::string& header, size_t data_bytes) {
    return error_of([&] { read(header, data_bytes); });
  }
};

}  // namespace

TEST_CASE("safetensors: kinds, shapes and places are those of the header") {
  File file;
  const auto tensors = file.read(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[12,16]},"c":{"dtype":"F16","shape":[0,7],"data_offsets":[16,16]},)"
      R"("d":{"data_offsets":[16,19],"dtype":"F4_NEW","shape":[6]}}   )",
      19);
  REQUIRE_EQ(tensors.size(), 4);
  CHECK_EQ(tensors[0].name, "a");
  CHECK(tensors[0].shape.empty());
  CHECK_EQ(tensors[0].offset, static_cast<int64_t>(test::read_file(file.path).size()) - 19 + 12);
  CHECK_EQ(tensors[1].shape, std::vector<int64_t>{2, 3});
  CHECK_EQ(tensors[1].kind, "BF16");
  CHECK_EQ(tensors[2].bytes, 0);
  CHECK_EQ(tensors[3].bytes, 3);  // a kind of unknown size: taken at its word, and of no use as a weight
}

TEST_CASE("safetensors: a length of the header that does not fit the file is an error") {
  Scratch scratch;
  const std::string path = scratch.path("x.safetensors");
  for (const uint64_t length : {uint64_t{0}, uint64_t{3}, uint64_t{1} << 31, uint64_t{1} << 62, UINT64_MAX,
                                UINT64_MAX - 7, uint64_t{100'000'001}}) {
    test::write_file(path, le64(length) + "{}" + std::string(40, ' '));
    CAPTURE(length);
    if (length == 3) {
      CHECK(mentions(error_of([&] { read_safetensors(path); }), {"trailing bytes"}));
      continue;
    }
    CHECK(mentions(error_of([&] { read_safetensors(path); }), {"header"}));
  }
}

TEST_CASE("safetensors: a header may have 100,000,000 bytes, as the format's own reader allows, and no more") {
  // As case 10: training logs in the metadata.
  const std::string log = "\"__metadata__\":{\"log\":\"" + std::string(20'000'000, 'x') + "\"}";
  test::Scratch scratch;
  const std::string path = scratch.path("x.safetensors");
  test::write_file(path, safetensors({{"a", "F32", {1}, "1234"}}, log));
  CHECK_EQ(read_safetensors(path).size(), 1);

  const auto error = [&](uint64_t length) {
    test::write_file(path, le64(length) + "{}");
    std::filesystem::resize_file(path, 100'000'100);  // a hole: zeros that take no place
    return error_of([&] { read_safetensors(path); });
  };
  CHECK(mentions(error(100'000'001), {"limit of the format", "100,000,000 bytes", "100,000,001"}));
  CHECK(mentions(error(100'000'093), {"longer than what is left of it", "100,000,092 bytes"}));
}

TEST_CASE("safetensors: offsets that overlap, leave gaps, or leave the file are errors") {
  File file;
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  CHECK_EQ(file.read(two("[0,4]", "[4,8]"), 8).size(), 2);
  CHECK_EQ(file.read(two("[4,8]", "[0,4]"), 8).size(), 2);
  CHECK(mentions(file.error(two("[0,4]", "[3,7]"), 8), {"overlap"}));
  CHECK(mentions(file.error(two("[0,4]", "[0,4]"), 8), {"overlap"}));
  CHECK(mentions(file.error(two("[0,4]", "[5,9]"), 9), {"no tensor"}));
  CHECK(mentions(file.error(two("[1,5]", "[5,9]"), 9), {"no tensor"}));
  CHECK(mentions(file.error(two("[0,4]", "[4,8]"), 7), {"truncated"}));
  CHECK(mentions(file.error(two("[0,4]", "[4,8]"), 9), {"trailing"}));
  CHECK(mentions(file.error(two("[0,4]", "[8,4]"), 8), {"data_offsets"}));
  CHECK(mentions(file.error(two("[0,4]", "[-4,0]"), 8), {"data_offsets"}));
  CHECK(mentions(file.error(two("[0,4]", "[4,9223372036854775807]"), 8), {"size"}));
  CHECK(mentions(file.error(two("[0,4]", "[18446744073709551612,18446744073709551616]"), 8), {"data_offsets"}));
  CHECK(mentions(file.error(two("[0,4]", "[4]"), 8), {"data_offsets"}));
  CHECK(mentions(file.error(two("[0,4]", "[4,8,8]"), 8), {"data_offsets"}));
  CHECK(mentions(file.error(two("[0,4]", "[4.0,8.0]"), 8), {"data_offsets"}));
  CHECK(mentions(file.error(two("[0,4]", "null"), 8), {"data_offsets"}));
}

TEST_CASE("safetensors: a shape whose product is not the size, or overflows, is an error") {
  File file;
  const auto one = [](const std::string& shape) {
    return R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,16]}})";
  };
  CHECK_EQ(file.read(one("[2,2]"), 16).size(), 1);
  for (const char* shape : {"[2,3]", "[]", "[0]", "[-2,-2]", "[4611686018427387905,4]", "[4294967296,4294967296,4]",
                            "[2.0,2.0]", "4", "[9223372036854775807]", "[18446744073709551615]", "[null]", "[\"4\"]"})
    CHECK(mentions(file.error(one(shape), 16), {"shape", "size"}));
}

TEST_CASE("safetensors: entries with missing, doubled or unknown keys are errors") {
  File file;
  CHECK(mentions(file.error(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1), {"dtype"}));
  CHECK(mentions(file.error(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1), {"shape"}));
  CHECK(mentions(file.error(R"({"a":{"dtype":"U8","shape":[1]}})", 1), {"data_offsets"}));
  CHECK(mentions(file.error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1), {"unknown key"}));
  CHECK(mentions(file.error(R"({"a":[]})", 1), {"tensor 'a'"}));
  CHECK(mentions(file.error(R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", 1), {"dtype"}));
  CHECK(mentions(file.error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                            2),
                 {"twice"}));
  CHECK(mentions(file.error("{\"a\":" + std::string(200, '['), 1), {"nested"}));
  CHECK(mentions(file.error("{]", 1), {"JSON"}));
}
