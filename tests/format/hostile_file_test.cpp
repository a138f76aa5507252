// hostile_file_test.cpp: damaged and lying model files are Errors that say what is wrong, never a crash.
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <utility>

#include "ordinal/error.h"
#include "ordinal/model_file.h"
#include "support.h"
#include "tiny_model.h"

namespace {

std::string file_of(const ordinal::ModelDraft& draft) {
  const test::Scratch scratch;
  write_model_file(draft, scratch.path("model"));
  return test::read_file(scratch.path("model"));
}

// A model with every kind of part: pieces, merges, panels, rows.
ordinal::ModelDraft small_bpe() {
  ordinal::ModelDraft draft = tiny::example();
  draft.tokenizer.kind = "bpe";
  draft.tokenizer.pieces = {"a", "b", "ab"};
  draft.tokenizer.merges = {{0, 1, 2}};
  return draft;
}

std::string open_error(std::string_view bytes) {
  return test::error_of([&] { (void)tiny::open_bytes(bytes); });
}

// The Error for the example with `from` in its JSON replaced, sizes and checksum of the header set right.
std::string lie(const ordinal::ModelDraft& draft, std::string_view from, std::string_view to) {
  tiny::Parts parts = tiny::split(file_of(draft));
  parts.json = tiny::replaced(parts.json, from, to);
  CAPTURE(parts.json);
  return open_error(tiny::join(parts));
}
std::string lie(std::string_view from, std::string_view to) { return lie(tiny::example(), from, to); }

// Opens and reads all there is; the text of the Error, "" when there is none.
std::string use(std::string_view bytes) {
  try {
    const ordinal::ModelFile file = tiny::open_bytes(bytes);
    file.verify();
    (void)file.tokenizer();
  } catch (const ordinal::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("model_file: the pieces of a file, put together again by the test, are the file") {
  const std::string file = file_of(tiny::example());
  CHECK(tiny::join(tiny::split(file)) == file);
  CHECK(use(file) == "");
}

TEST_CASE("model_file: every prefix of a file is an Error that says so") {
  const std::string file = file_of(small_bpe());
  for (size_t n = 0; n < file.size(); ++n) {
    CAPTURE(n);
    const std::string error = open_error(std::string_view(file).substr(0, n));
    CHECK(test::mentions(error, {"truncat", "short", "size", "header", "expect"}));
    if (n >= 8) CHECK(test::mentions(error, {"truncated"}));
  }
}

TEST_CASE("model_file: a truncated file names the first part that is cut off") {
  const std::string file = file_of(tiny::example());
  const size_t data = file.size() - tiny::split(file).data.size();
  // pieces at 0, token_embd.weight at 64, position_embd.weight at 192 (16 bytes), output_norm.weight at 256 (8 bytes).
  const auto error = [&](size_t n) { return open_error(std::string_view(file).substr(0, n)); };
  CHECK(test::mentions(error(data), {"the tokenizer's pieces are the first part cut off"}));
  CHECK(test::mentions(error(data + 64), {"token_embd.weight is the first tensor cut off"}));
  CHECK(test::mentions(error(data + 191), {"token_embd.weight is the first tensor cut off"}));
  CHECK(test::mentions(error(data + 192), {"position_embd.weight is the first tensor cut off"}));
  CHECK(test::mentions(error(data + 208), {"output_norm.weight is the first tensor cut off"}));
  CHECK(test::mentions(error(data + 264), {"the padding at its end"}));
}

TEST_CASE("model_file: a file that goes on after its end is an Error") {
  const std::string file = file_of(tiny::example());
  for (const size_t more : {1, 64, 4096}) {
    const std::string error = open_error(file + std::string(more, '\0'));
    CHECK(test::mentions(error, {"goes on after its last tensor"}));
  }
}

TEST_CASE("model_file: every changed byte is found, those of the header by opening") {
  const std::string file = file_of(small_bpe());
  const size_t data = file.size() - tiny::split(file).data.size();
  for (size_t at = 0; at < file.size(); ++at)
    for (const int flip : {0x01, 0x80, 0xff}) {
      CAPTURE(at);
      CAPTURE(flip);
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      if (at < data) {
        CHECK(open_error(changed) != "");
      } else {
        const ordinal::ModelFile opened = tiny::open_bytes(changed);
        CHECK(test::mentions(test::error_of([&] { opened.verify(); }), {"damaged"}));
      }
    }
}

TEST_CASE("model_file: verify names the part that changed") {
  const std::string file = file_of(small_bpe());
  const size_t data = file.size() - tiny::split(file).data.size();
  // pieces at 0 (20 bytes), merges at 64 (16 bytes), token_embd.weight at 128.
  const std::array<std::pair<size_t, const char*>, 6> cases = {{{3, "the tokenizer's pieces"},
                                                                {40, "the padding after"},
                                                                {79, "the tokenizer's merges"},
                                                                {128, "token_embd.weight"},
                                                                {300, "the padding after position_embd.weight"},
                                                                {327, "output_norm.weight"}}};
  for (const auto& [at, part] : cases) {
    std::string changed = file;
    changed[data + at] ^= 16;
    const ordinal::ModelFile opened = tiny::open_bytes(changed);
    CHECK(test::mentions(test::error_of([&] { opened.verify(); }), {part}));
    if (at < 128) continue;
    CHECK_NOTHROW((void)opened.tokenizer());
  }
}

TEST_CASE("model_file: two signs flipped far apart are found") {
  std::string file = file_of(tiny::odd_shapes());
  file[file.size() - 64 * 4 + 7] ^= '\x80';
  file[file.size() - 64 * 4 + 23] ^= '\x80';
  CHECK(test::mentions(use(file), {"checksum"}));
}

TEST_CASE("model_file: unused lanes must hold zeros") {
  tiny::Parts parts = tiny::split(file_of(tiny::example()));
  parts.data[64 + 2 * 3] = 1;  // lane 3 of token_embd.weight, which has outputs 0 to 2
  const std::string_view embd = std::string_view(parts.data).substr(64, 128);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(tiny::naive_checksum(embd)));
  const size_t at = parts.json.find("\"checksum\":\"", parts.json.find("token_embd.weight")) + 12;
  parts.json.replace(at, 16, text);
  CHECK(test::mentions(use(tiny::join(parts)), {"unused lanes of token_embd.weight"}));
}

TEST_CASE("model_file: the fixed header is checked field by field") {
  const std::string file = file_of(tiny::example());
  const auto with = [&](size_t at, uint64_t value, size_t bytes) {
    std::string changed = file;
    std::memcpy(changed.data() + at, &value, bytes);
    return open_error(changed);
  };
  for (const uint64_t version : {uint64_t{0}, uint64_t{2}, uint64_t{0xffffffff}})
    CHECK(test::mentions(with(8, version, 4), {"another version"}));
  for (const uint64_t flags : {uint64_t{1}, uint64_t{0x80000000}, uint64_t{0xffffffff}})
    CHECK(test::mentions(with(12, flags, 4), {"does not know"}));
  for (const uint64_t size : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{16} << 20) + 1})
    CHECK(test::mentions(with(16, size, 8), {"impossible size"}));
  CHECK(test::mentions(with(16, uint64_t{16} << 20, 8), {"truncated"}));
  for (const uint64_t size : {uint64_t{0}, uint64_t{file.size() - 64}, uint64_t{file.size() + 64}, ~uint64_t{0} >> 1})
    CHECK(test::mentions(with(24, size, 8), {"two sizes"}));
  for (const uint64_t size : {~uint64_t{0}, uint64_t{1} << 63})
    CHECK(test::mentions(with(24, size, 8), {"impossible size"}));
  for (const uint64_t sum : {uint64_t{0}, ~uint64_t{0}}) CHECK(test::mentions(with(32, sum, 8), {"damaged header"}));
  for (const size_t at : {40, 48, 56}) CHECK(test::mentions(with(at, 1, 8), {"does not know"}));
}

TEST_CASE("model_file: every number of the header at its extremes is an Error or a sound file") {
  const std::string json = tiny::split(file_of(small_bpe())).json, data = tiny::split(file_of(small_bpe())).data;
  int numbers = 0, accepted = 0;
  for (size_t at = 0; at < json.size(); ++at) {
    const bool starts = (std::isdigit(static_cast<unsigned char>(json[at])) != 0 || json[at] == '-') &&
                        std::string_view(":[,").find(json[at - 1]) != std::string_view::npos;
    if (!starts) continue;
    const size_t length = json.find_first_not_of("-+.eE0123456789", at) - at;
    ++numbers;
    for (const char* value :
         {"0", "-1", "1", "63", "64", "2147483647", "2147483648", "4294967295", "9223372036854775807",
          "9223372036854775808", "-9223372036854775808", "18446744073709551615", "1e400", "-0", "0.5", "null"}) {
      std::string changed = json;
      changed.replace(at, length, value);
      accepted += use(tiny::join({changed, data})).empty() ? 1 : 0;
    }
  }
  CHECK(numbers > 30);
  // Some are sound: another max_seq_len, a d_ff of 1, an epsilon of 0.
  CHECK(accepted > 0);
  CHECK(accepted < numbers * 8);
}

TEST_CASE("model_file: sizes and places of tensors cannot lie") {
  const char* const kEmbd = "\"shape\":[3,2],\"layout\":\"panels\",\"offset\":64,\"bytes\":128";
  const auto embd = [&](const char* to) { return lie(kEmbd, to); };
  const auto places = [](const char* shape, const char* offset, const char* bytes) {
    return std::string("\"shape\":") + shape + ",\"layout\":\"panels\",\"offset\":" + offset + ",\"bytes\":" + bytes;
  };
  const auto wrong = [&](const char* shape, const char* offset, const char* bytes) {
    return embd(places(shape, offset, bytes).c_str());
  };
  CHECK(test::mentions(wrong("[3,2]", "128", "128"), {"does not follow directly after pieces"}));
  CHECK(test::mentions(wrong("[3,2]", "0", "128"), {"overlaps"}));
  CHECK(test::mentions(wrong("[3,4]", "64", "256"), {"position_embd.weight overlaps token_embd.weight"}));
  CHECK(test::mentions(wrong("[3,1]", "64", "64"), {"position_embd.weight does not follow directly after"}));
  CHECK(test::mentions(wrong("[3,2]", "96", "128"), {"multiple of 64"}));
  CHECK(test::mentions(wrong("[3,2]", "65", "128"), {"multiple of 64"}));
  CHECK(test::mentions(wrong("[3,2]", "-64", "128"), {"multiple of 64"}));
  CHECK(test::mentions(wrong("[3,2]", "9223372036854775744", "128"), {"does not follow directly"}));
  CHECK(test::mentions(wrong("[3,2]", "64", "129"), {"does not follow from its shape"}));
  CHECK(test::mentions(wrong("[3,2]", "64", "0"), {"does not follow from its shape"}));
  CHECK(test::mentions(wrong("[3,2]", "64", "-128"), {"does not follow from its shape"}));
  CHECK(test::mentions(wrong("[33,2]", "64", "128"), {"does not follow from its shape"}));
  CHECK(test::mentions(wrong("[0,2]", "64", "128"), {"empty dimension"}));
  CHECK(test::mentions(wrong("[3,-2]", "64", "128"), {"empty dimension"}));
  CHECK(test::mentions(wrong("[]", "64", "128"), {"one or two dimensions"}));
  CHECK(test::mentions(wrong("[3,2,1]", "64", "128"), {"one or two dimensions, in panels"}));
  CHECK(test::mentions(wrong("[3,2,1,1]", "64", "128"), {"one to three sizes"}));
  CHECK(test::mentions(wrong("[9223372036854775807,2]", "64", "128"), {"token_embd.weight: a tensor's size"}));
  CHECK(test::mentions(wrong("[4294967296,4294967296]", "64", "128"), {"token_embd.weight: a tensor's size"}));
  CHECK(test::mentions(wrong("[2147483648,2147483648]", "64", "9223372036854775808"), {"64 bits"}));
  // As many bytes as 63 bits allow, at the right place: the end of the file must not wrap around.
  CHECK(test::mentions(wrong("[2147483648,2147483616]", "64", "9223371899415822336"), {"past the largest size"}));
  CHECK(test::mentions(wrong("[3]", "64", "128"), {"one dimension and is in panels"}));
}

TEST_CASE("model_file: names, kinds and layouts are checked") {
  CHECK(test::mentions(lie("position_embd.weight", "token_embd.weight"), {"two tensors of one name"}));
  CHECK(test::mentions(lie("position_embd.weight", ""), {"no proper name"}));
  CHECK(test::mentions(lie("position_embd.weight", "a b"), {"no proper name"}));
  CHECK(test::mentions(lie("position_embd.weight", "a\\u001b[31m"), {"no proper name"}));
  CHECK(test::mentions(lie("position_embd.weight", std::string(129, 'x')), {"no proper name"}));
  CHECK(test::mentions(lie("\"dtype\":\"f16\"", "\"dtype\":\"f15\""), {"f32, f16, bf16, q8_0, q4_0"}));
  CHECK(test::mentions(lie("\"dtype\":\"f16\"", "\"dtype\":\"f\\u0007\""), {"'f\\x07'"}));
  CHECK(test::mentions(lie("\"dtype\":\"f16\"", "\"dtype\":1"), {"a string"}));
  CHECK(test::mentions(lie("\"layout\":\"panels\"", "\"layout\":\"tiles\""), {"rows, panels"}));
  CHECK(test::mentions(lie("\"dtype\":\"f16\",\"shape\":[4,2]", "\"dtype\":\"q8_0\",\"shape\":[4,2]"),
                       {"must be in panels"}));
  CHECK(test::mentions(lie("\"checksum\":\"", "\"checksum\":\"0"), {"16 lower-case hexadecimal digits"}));
}

TEST_CASE("model_file: unknown, missing and repeated keys are errors that list them") {
  CHECK(test::mentions(lie("\"d_ff\":8", "\"d_ff\":8,\"logit_cap\":30"), {"unknown key"}));
  CHECK(test::mentions(lie("\"d_ff\":8", "\"d_ff\":8,\"logit_cap\":30"), {"vocab_size, max_seq_len, d_model"}));
  CHECK(test::mentions(lie("\"d_ff\":8", "\"d_ff\":8,\"d_ff\":8"), {"key twice"}));
  CHECK(test::mentions(lie("\"norm\":\"layer_norm\",\"norm_place\":\"pre\",", ""), {"also norm, norm_place"}));
  CHECK(test::mentions(lie("\"layout\":\"panels\",", ""), {"also layout"}));
  CHECK(test::mentions(lie("\"provenance\":{", "\"provenance\":{\"source\":\"\","), {"key twice"}));
  CHECK(test::mentions(lie("\"provenance\":", "\"extra\":"), {"'extra'"}));
  CHECK(test::mentions(lie("{\"config\"", "{}{\"config\""), {"end of input"}));
  CHECK(test::mentions(lie("{\"config\"", "[[[[[[[[[["), {"not valid JSON"}));
  CHECK(test::mentions(lie("\"provenance\":{\"source\":\"", "\"provenance\":{\"n\":1,\"source\":\""), {"a string"}));
  CHECK(test::mentions(lie("README.md\"}", "README.md\"}}{"), {"end of input"}));
}

TEST_CASE("model_file: the config must make sense") {
  CHECK(test::mentions(lie("\"n_kv_heads\":1", "\"n_kv_heads\":2"), {"n_kv_heads divides n_heads"}));
  CHECK(test::mentions(lie("\"n_heads\":1,\"n_kv_heads\":1", "\"n_heads\":3,\"n_kv_heads\":2"), {"divides n_heads"}));
  CHECK(test::mentions(lie("\"n_heads\":1", "\"n_heads\":0"), {"n_heads is out of range"}));
  CHECK(test::mentions(lie("\"n_layers\":1", "\"n_layers\":2147483647"), {"2147483647 numbers"}));
  CHECK(test::mentions(lie("\"head_dim\":2", "\"head_dim\":2147483648"), {"head_dim is out of range"}));
  CHECK(test::mentions(
      lie("\"n_heads\":1,\"n_kv_heads\":1,\"head_dim\":2", "\"n_heads\":65536,\"n_kv_heads\":1,\"head_dim\":65536"),
      {"too wide"}));
  CHECK(test::mentions(lie("\"attention_scale\":[0.70710677]", "\"attention_scale\":[]"), {"1 numbers"}));
  CHECK(test::mentions(lie("0.70710677", "1e39"), {"fits f32"}));
  CHECK(test::mentions(lie("\"norm_epsilon\":1e-05", "\"norm_epsilon\":-1e-05"), {"norm_epsilon is out of range"}));
  CHECK(test::mentions(lie("\"norm\":\"layer_norm\"", "\"norm\":\"batch_norm\""), {"layer_norm, rms_norm"}));
  CHECK(test::mentions(lie("\"eos_ids\":[2]", "\"eos_ids\":[3]"), {"not in its vocabulary"}));
  CHECK(test::mentions(lie("\"eos_ids\":[2]", "\"eos_ids\":[-1]"), {"not in its vocabulary"}));
  CHECK(test::mentions(lie("\"bos_id\":-1,\"eos_ids\"", "\"bos_id\":-2,\"eos_ids\""), {"not in its vocabulary"}));
  CHECK(test::mentions(lie("\"trained\":[\"learned\"]", "\"trained\":[\"rope\"]"), {"not among the trained ones"}));
  CHECK(test::mentions(lie("\"native\":\"learned\",\"trained\":[\"learned\"]", "\"native\":\"\",\"trained\":[]"),
                       {"position spec"}));
}

TEST_CASE("model_file: the tokenizer's directory must make sense") {
  const auto bpe = [](const char* from, const char* to) { return lie(small_bpe(), from, to); };
  CHECK(
      test::mentions(bpe("\"kind\":\"bpe\"", "\"kind\":\"wordpiece\""), {"none, bpe, char_bpe, bytes, chars, scores"}));
  CHECK(test::mentions(bpe("\"kind\":\"bpe\"", "\"kind\":\"none\""), {"not part of a tokenizer of kind none"}));
  CHECK(test::mentions(bpe("\"kind\":\"bpe\"", "\"kind\":\"scores\""), {"merges are not part of"}));
  CHECK(test::mentions(lie("\"kind\":\"chars\"", "\"kind\":\"bpe\""), {"merges are missing"}));
  CHECK(test::mentions(bpe("\"pieces\":{\"count\":3", "\"pieces\":{\"count\":2"), {"impossible count"}));
  CHECK(test::mentions(bpe("\"merges\":{\"count\":1", "\"merges\":{\"count\":2"),
                       {"does not follow from their count", "do not follow from their count", "that does not follow"}));
  CHECK(test::mentions(bpe("\"merges\":{\"count\":1", "\"merges\":{\"count\":-1"), {"impossible count"}));
  CHECK(test::mentions(bpe("\"special_ids\":[]", "\"special_ids\":[3]"), {"special_ids is not in"}));
  CHECK(test::mentions(bpe("\"unknown_id\":-1", "\"unknown_id\":3"), {"unknown_id is not in"}));
  CHECK(test::mentions(bpe("\"split\":\"gpt2\"", "\"split\":\"\\n\""), {"split has no proper name"}));
}

TEST_CASE("model_file: lists of the tokenizer that lie are Errors, also with a right checksum") {
  const std::string file = file_of(small_bpe());
  // pieces at 0: count, three lengths, "abab"; merges at 64: count, left, right, result.
  const auto with = [&](const char* list, size_t list_at, size_t list_bytes, size_t at, uint32_t value) {
    tiny::Parts parts = tiny::split(file);
    std::memcpy(parts.data.data() + list_at + at, &value, 4);
    char text[17];
    const std::string_view bytes = std::string_view(parts.data).substr(list_at, list_bytes);
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(tiny::naive_checksum(bytes)));
    const size_t place = parts.json.find("\"checksum\":\"", parts.json.find(list)) + 12;
    parts.json.replace(place, 16, text);
    const ordinal::ModelFile opened = tiny::open_bytes(tiny::join(parts));
    return test::error_of([&] { (void)opened.tokenizer(); });
  };
  for (const uint32_t value : {0u, 2u, 0x7fffffffu, 0xffffffffu}) {
    CHECK(test::mentions(with("\"pieces\"", 0, 20, 0, value), {"contradict the header"}));
    CHECK(test::mentions(with("\"pieces\"", 0, 20, 4, value), {"do not fill their place"}));
    CHECK(test::mentions(with("\"merges\"", 64, 16, 0, value), {"contradict the header"}));
  }
  for (const uint32_t value : {3u, 0x7fffffffu, 0xffffffffu})
    for (const size_t at : {4, 8, 12})
      CHECK(test::mentions(with("\"merges\"", 64, 16, at, value), {"merges is not in the vocabulary"}));
}
