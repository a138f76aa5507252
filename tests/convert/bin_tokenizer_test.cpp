// bin_tokenizer_test.cpp: the tokenizer files of llm.c and llama2.c.
#include <cstring>

#include "convert/foreign_files.h"
#include "convert/sniff.h"
#include "convert/tokenizers/tokenizer_files.h"
#include "ordinal/tokenizer.h"

using namespace ordinal;
using namespace foreign;
using Ids = std::vector<TokenId>;
using test::error_of, test::mentions;

namespace {

std::span<const std::byte> bytes_in(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TokenizerData read_llmc(const std::string& file, int64_t vocab_size) {
  return convert::read_llmc_tokenizer(bytes_in(file), "t.bin", {vocab_size, -1, {}});
}

TokenizerData read_llama2c(const std::string& file, int64_t vocab_size) {
  return convert::read_llama2c_tokenizer(bytes_in(file), "t.bin", {vocab_size, -1, {}});
}

std::string llmc_error(const std::string& file, int64_t vocab_size) {
  return error_of([&] { read_llmc(file, vocab_size); });
}

std::string llama2c_error(const std::string& file, int64_t vocab_size) {
  return error_of([&] { read_llama2c(file, vocab_size); });
}

}  // namespace

TEST_CASE("llm.c tokenizer: GPT-2's 50000 merges are remade from its pieces exactly") {
  const std::string folder = test::shared("checkpoints/gpt2-tokenizer");
  if (folder.empty()) return;
  const std::optional<TokenizerData> real = convert::read_folder_tokenizer(folder, {50257, -1, {}});
  REQUIRE(real.has_value());
  for (const int version : {1, 2}) {
    const TokenizerData remade = read_llmc(llmc_tokenizer_file(real->pieces, 50256, version), 50257);
    CHECK_EQ(remade.pieces, real->pieces);
    CHECK_EQ(remade.special_ids, Ids{50256});
    REQUIRE_EQ(remade.merges.size(), real->merges.size());
    size_t different = 0;
    for (size_t i = 0; i < remade.merges.size(); ++i)
      different += remade.merges[i].left != real->merges[i].left || remade.merges[i].right != real->merges[i].right ||
                   remade.merges[i].result != real->merges[i].result;
    CHECK_EQ(different, 0);
  }
}

TEST_CASE("llm.c tokenizer: merges are remade for any vocabulary numbered as it was learnt") {
  const TokenizerData data = read_llmc(llmc_tokenizer_file({"<end>", "b", "a", "ab", "aba", "abab"}, 0), 8);
  CHECK_EQ(data.pieces.size(), 8);
  CHECK_EQ(data.pieces[7], "");
  REQUIRE_EQ(data.merges.size(), 3);
  CHECK_EQ(data.merges[0].left, 2);
  CHECK_EQ(data.merges[1].left, 3);  // aba = ab a
  CHECK_EQ(data.merges[1].right, 2);
  CHECK_EQ(data.merges[2].left, 3);  // abab = ab ab
  CHECK_EQ(data.merges[2].right, 3);
  CHECK_EQ(make_tokenizer(data)->encode("ababa"), Ids{3, 4});
}

TEST_CASE("llm.c tokenizer: pieces that no merge can have made are refused") {
  CHECK(mentions(llmc_error(llmc_tokenizer_file({"<end>", "a", "b", "abb"}, 0), 4), {"cannot be remade"}));
  CHECK(mentions(llmc_error(llmc_tokenizer_file({"<end>", "a", "ab"}, 0), 3), {"cannot be remade"}));
  CHECK(mentions(llmc_error(llmc_tokenizer_file({"<end>", "a", "b", "ab", "ab"}, 0), 5), {"cannot be remade"}));
  CHECK(mentions(llmc_error(llmc_tokenizer_file({"<end>", "a", "a"}, 0), 3), {"one byte"}));
}

TEST_CASE("llm.c tokenizer: a header or a length that lies is an error") {
  const std::string good = llmc_tokenizer_file({"<end>", "a", "b", "ab"}, 0);
  CHECK_EQ(read_llmc(good, 4).merges.size(), 1);
  for (size_t size = 0; size < good.size(); ++size) CHECK_FALSE(llmc_error(good.substr(0, size), 4).empty());
  CHECK(mentions(llmc_error(good + "x", 4), {"trailing"}));
  CHECK(mentions(llmc_error(good, 3), {"vocabulary"}));
  const auto with = [&](size_t at, int64_t value) {
    std::string file = good;
    return file.replace(at, 4, le32(value));
  };
  CHECK(mentions(llmc_error(with(0, 20240326), 4), {"magic"}));
  for (const int64_t version : {0, 3, -1}) CHECK(mentions(llmc_error(with(4, version), 4), {"version"}));
  CHECK(mentions(llmc_error(with(4, 1), 4), {"version 1"}));  // only GPT-2's own vocabulary had version 1
  for (const int64_t count : {0, -1, 5}) CHECK(mentions(llmc_error(with(8, count), 4), {"vocabulary"}));
  for (const int64_t end : {4, -1}) CHECK(mentions(llmc_error(with(12, end), 4), {"end of text"}));
  std::string empty_piece = good;
  empty_piece[1024] = '\0';
  CHECK(mentions(llmc_error(empty_piece, 4), {"empty piece"}));
}

TEST_CASE("llama2.c tokenizer: pieces, scores, bytes and the three special ids") {
  const std::vector<ScoredPiece> pieces = small_scored_pieces(265);
  const TokenizerData data = read_llama2c(llama2c_tokenizer_file(pieces), 265);
  CHECK_EQ(data.kind, "scores");
  CHECK(data.adds_bos);
  CHECK_EQ(data.bos_id, 1);
  CHECK_EQ(data.unknown_id, 0);
  CHECK_EQ(data.special_ids, Ids{0, 1, 2});
  CHECK_EQ(data.pieces[1], "<s>");
  CHECK_EQ(data.pieces[2], "</s>");
  CHECK_EQ(data.pieces[3], std::string(1, '\0'));
  CHECK_EQ(data.pieces[3 + 0xe9], "\xe9");
  CHECK_EQ(data.pieces[262], "ab");
  CHECK_EQ(data.scores[262], pieces[262].score);
  // Bytes as characters, as the first exporters wrote them.
  std::vector<ScoredPiece> old = pieces;
  old[3 + 0x41].piece = "A";
  old[3 + 0xe9].piece = "\xc3\xa9";
  CHECK_EQ(read_llama2c(llama2c_tokenizer_file(old), 265).pieces, data.pieces);
}

TEST_CASE("llama2.c tokenizer: tok512.bin encodes as the checkpoint's README says") {
  const std::string path = test::shared("checkpoints/stories260K/tok512.bin");
  if (path.empty()) return;
  const auto tokenizer = make_tokenizer(read_llama2c(test::read_file(path), 512));
  const Ids ids = tokenizer->encode("Once upon a time");
  CHECK_EQ(ids.front(), 1);
  CHECK_EQ(tokenizer->decode(ids), "Once upon a time");
  CHECK_EQ(tokenizer->encode(""), Ids{1});
}

TEST_CASE("llama2.c tokenizer: another count, a bad length, score or byte is an error") {
  const std::string good = llama2c_tokenizer_file(small_scored_pieces(265));
  for (size_t size = 0; size < good.size(); size += size < 40 ? 1 : 97)
    CHECK_FALSE(llama2c_error(good.substr(0, size), 265).empty());
  CHECK_FALSE(llama2c_error(good.substr(0, good.size() - 1), 265).empty());
  CHECK(mentions(llama2c_error(good + "x", 265), {"longer"}));
  CHECK(mentions(llama2c_error(good, 264), {"longer"}));
  CHECK(mentions(llama2c_error(good, 266), {"truncated", "short"}));
  CHECK(mentions(llama2c_error(good, INT32_MAX), {"short"}));
  CHECK(mentions(llama2c_error(good, 258), {"259"}));
  const auto with = [&](size_t at, int64_t value) {
    std::string file = good;
    return file.replace(at, 4, le32(value));
  };
  for (const int64_t longest : {0, -1, 3}) CHECK_FALSE(llama2c_error(with(0, longest), 265).empty());
  for (const int64_t length : {int64_t{-1}, int64_t{INT32_MAX}, int64_t{INT32_MIN}, int64_t{1000}})
    CHECK(mentions(llama2c_error(with(8, length), 265), {"length"}));
  CHECK(mentions(llama2c_error(with(4, 0x7fc00000), 265), {"score"}));
  std::vector<ScoredPiece> pieces = small_scored_pieces(265);
  std::swap(pieces[70].piece, pieces[71].piece);
  CHECK(mentions(llama2c_error(llama2c_tokenizer_file(pieces), 265), {"not byte"}));
}
