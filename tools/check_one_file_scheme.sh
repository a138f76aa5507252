#!/bin/sh
# Adds a throw-away position scheme to a copy of the tree: one file, one line, one test, and nothing else is touched.
#
#   tools/check_one_file_scheme.sh [FOLDER]     FOLDER keeps the copy and its objects for a next run
#
# The copy is built and its position tests run: the new scheme must pass the contract suite, which finds it in the list.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
copy=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy"
for part in Makefile include src tests tools; do
  rm -rf "${copy:?}/$part"
  cp -a "$root/$part" "$copy/$part"
done

cat > "$copy/src/position/throwaway.cpp" <<'END'
// throwaway: each score loses the logarithm of its distance, the same for every head.
//
//   score(i, j) -= rate * ln(1 + i - j)
// Spec     throwaway[:rate=1]
// Acts on  scores. Needs no tensors; has no last position.
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

class Throwaway final : public PositionScheme {
 public:
  explicit Throwaway(double rate) : rate_(rate) {}

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    for (size_t j = 0; j < scores.size(); ++j)
      scores[j] -= static_cast<float>(rate_ * std::log1p(static_cast<double>(distance_back(site, j))));
  }

 private:
  const double rate_;
};

}  // namespace

SchemePtr make_throwaway(ParamReader& params, const AttentionShape&, const TensorLookup&) {
  return std::make_unique<Throwaway>(params.positive("rate", 1));
}

}  // namespace ordinal
END
echo 'SCHEME(throwaway, relative, "scores", "", "nobody", "a penalty logarithmic in distance")' \
  >> "$copy/src/position/schemes.def"
cat > "$copy/tests/position/throwaway_test.cpp" <<'END'
// throwaway_test.cpp: the scheme that was added by one file, one line and this test.
#include <cmath>

#include "scheme_probe.h"

namespace {

TEST_CASE("throwaway: a key n positions back loses rate * ln(1 + n)") {
  const auto scores = test::scored(test::make("throwaway:rate=2"), {.position = 9, .keys = {0, 8, 9}}, {}, {5, 5, 5});
  test::check_near(scores, {5 - 2 * std::log(10), 5 - 2 * std::log(2), 5}, 1e-6);
}

TEST_CASE("throwaway: is in the list, with its parameter") {
  CHECK(test::mentions(test::make_error("nothing"), {"throwaway"}));
  CHECK(ordinal::describe_position_scheme("throwaway", test::small_shape()).params.front().key == "rate");
}

}  // namespace
END

changed=$(cd "$copy" && for part in Makefile include src tests tools; do diff -rq "$root/$part" "$part" || true; done)
echo "$changed"
[ "$(echo "$changed" | wc -l)" -eq 3 ] || { echo "more than one file, one line and one test changed" >&2; exit 1; }

cd "$copy"
make -s -j"$(nproc)" B=build/position test_sources="$(echo tests/main.cpp tests/support.cpp tests/reference/*.cpp \
  tests/position/*.cpp)" build/position/tests/run
build/position/tests/run -tc='contract*,throwaway*,schemes*'
