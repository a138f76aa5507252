// hf_pattern_test.cpp: Oniguruma's patterns written for PCRE2; what they match is held to the tokenizers package by
// tests/text/tokenizer_vectors_test.cpp.
#include "convert/tokenizers/hf_pattern.h"

#include "support.h"

using namespace ordinal;
using convert::translate_pattern;
using test::error_of, test::mentions;

namespace {
const std::string kBlank = R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
}

TEST_CASE("hf pattern: what the two syntaxes share stays as it is") {
  for (const char* pattern :
       {R"(\p{L}+|\p{N}{1,3}| ?[^\r\n\p{L}]++)", R"((?i:'s|'t)|a?+b*?)", R"((?=x)(?!y)(?<=z)(?<!w)(?>v))",
        "[\xe4\xb8\x80-\xe9\xbe\xa5]+", R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])", R"(\d\D\b^$.)"})
    CHECK_EQ(translate_pattern(pattern, "x"), pattern);
}

TEST_CASE("hf pattern: what they do not share is translated") {
  CHECK_EQ(translate_pattern(R"( ?[^(\s|[.,!?])]+)", "x"), " ?[^(" + kBlank + "|.,!?)]+");
  CHECK_EQ(translate_pattern(R"(\s+(?!\S))", "x"), "[" + kBlank + "]+(?![^" + kBlank + "])");
  CHECK_EQ(translate_pattern(R"([\s\p{L}])", "x"), "[" + kBlank + R"(\p{L}])");
  CHECK_EQ(translate_pattern(R"(\p{N}{1,3}+)", "x"), R"((?:\p{N}{1,3})+)");
  CHECK_EQ(translate_pattern(R"((?:ab){2}+c{,3})", "x"), R"((?:(?:ab){2})+c{0,3})");
  CHECK_EQ(translate_pattern(R"(\h\v\u00e9\x41)", "x"), R"([0-9a-fA-F]\x0b\x{00e9}\x{41})");
  CHECK_EQ(translate_pattern("a{x", "x"), R"(a\{x)");
}

TEST_CASE("hf pattern: what cannot be translated is refused with its place") {
  for (const char* pattern : {"[a&&b]", "[a[^b]]", "[[:alpha:]]", "(?m:a)", "(?i)a", "(?<name>a)", R"(\k<a>)",
                              R"([\W])", "(a", "a)", "[a", R"(\)", R"(\p)", R"(\u12)", "(*ACCEPT)", R"(\Q)", R"(\C)"})
    CHECK(mentions(error_of([&] { translate_pattern(pattern, "the file"); }), {"the file", "byte "}));
  CHECK(mentions(error_of([&] { translate_pattern(std::string(100, '('), "x"); }), {"deep"}));
  CHECK(mentions(error_of([&] { translate_pattern(std::string(100, '['), "x"); }), {"deep"}));
}
