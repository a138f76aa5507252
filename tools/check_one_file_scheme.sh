#!/bin/sh
# Adds throw-away position schemes to a copy of the tree, each by one file, one line and one test: nothing else changes.
#
#   tools/check_one_file_scheme.sh [FOLDER]     FOLDER keeps the copy and its objects for a next run
#
# One without tensors, one with a table of its own, one with tables of one, two and three dimensions in each layer. The
# copy is built, from this tree's objects where there are some; then the new schemes must pass the contract suite, which
# finds them in the list, and their own tests; `positions list`, `check` and `plot` must know them; and a checkpoint that
# holds their tables must come through a conversion to 8 bits and run under them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
copy=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/build/release"
for part in Makefile include src tests tools; do
  rm -rf "${copy:?}/$part"
  cp -a "$root/$part" "$copy/$part"
done
# What was built before, but for tests of other folders; stamps of installed packages; the models' folder for tests.
if [ ! -e "$copy/build/release/libordinal.a" ] && [ -e "$root/build/release/libordinal.a" ]; then
  (cd "$root/build/release" && cp -a -t "$copy/build/release" ./*.a src unity 2>/dev/null) || true
  (cd "$root" && cp -a build/unity "$copy/build" 2>/dev/null) || true
fi
for part in build/packages build/venv models; do
  [ ! -e "$root/$part" ] || [ -e "$copy/$part" ] || ln -s "$root/$part" "$copy/$part"
done

scheme() {  # NAME, ACTS ON: standard input is the file, without the lines that all have
  {
    cat
    printf '\n}  // namespace ordinal\n'
  } > "$copy/src/position/$1.cpp"
  echo "SCHEME($1, relative, \"$2\", \"nobody\", \"thrown away\")" >> "$copy/src/position/schemes.def"
}
own_test() {  # NAME: standard input is what stands in the file's namespace
  {
    printf '// %s_test.cpp: a scheme that was added by one file, one line and this test.\n#include <cmath>\n\n' "$1"
    printf '#include "scheme_probe.h"\n\nnamespace {\n\n'
    cat
    printf '\n}  // namespace\n'
  } > "$copy/tests/position/$1_test.cpp"
}

scheme throwaway scores <<'CPP'
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

SchemePtr make_throwaway(ParamReader& params, const AttentionShape&, TableReader&) {
  return std::make_unique<Throwaway>(params.positive("rate", 1));
}
CPP
own_test throwaway <<'CPP'
TEST_CASE("throwaway: a key n positions back loses rate * ln(1 + n)") {
  const auto scores = test::scored(test::make("throwaway:rate=2"), {.position = 9, .keys = {0, 8, 9}}, {}, {5, 5, 5});
  test::check_near(scores, {5 - 2 * std::log(10), 5 - 2 * std::log(2), 5}, 1e-6);
}
CPP

scheme throwaway_table scores <<'CPP'
// throwaway_table: a bias by the distance's remainder, from one table for all layers.
//
//   score(i, j) += T[(i - j) mod period][h]        T: attn_throwaway.weight [period, H]
// Spec     throwaway_table[:period=37]
// Acts on  scores. Has no last position.
#include "position/scheme.h"

namespace ordinal {
namespace {

class ThrowawayTable final : public PositionScheme {
 public:
  explicit ThrowawayTable(SchemeTable table) : table_(std::move(table)) {}

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    for (size_t j = 0; j < scores.size(); ++j)
      scores[j] += table_.values[static_cast<size_t>(distance_back(site, j) % table_.shape[0] * table_.shape[1] + site.head)];
  }

 private:
  const SchemeTable table_;
};

}  // namespace

SchemePtr make_throwaway_table(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  const int64_t period = params.whole("period", 37, 1, 1 << 20);
  return std::make_unique<ThrowawayTable>(
      tables.read_one({"attn_throwaway.weight", {period, shape.n_heads}, random_of(1)}));
}
CPP
own_test throwaway_table <<'CPP'
TEST_CASE("throwaway_table: reads the row of the remainder, and names the table that it lacks") {
  const auto scheme = test::make("throwaway_table:period=2", test::small_shape(),
                                 test::Tables().add("attn_throwaway.weight", {2, 2}, {1, 2, 3, 4}));
  test::check_near(test::scored(scheme, {.head = 1, .position = 3, .keys = {0, 1, 2, 3}}, {}), {4, 2, 4, 2}, 0);
  CHECK(test::mentions(test::make_error("throwaway_table"), {"attn_throwaway.weight [37, 2]"}));
}
CPP

scheme throwaway_layers scores <<'CPP'
// throwaway_layers: a small network of the distance in each layer, by head: FIRE's shape.
//
//   score(i, j) += sum over c of B[h][c] relu(A[c][0] ln(1 + i - j) + a[c])
//   A, a, B: blk.N.attn_throwaway_{a.weight [3, 1], a.bias [3], b.weight [H, 1, 3]}
// Spec     throwaway_layers
// Acts on  scores. Has no last position.
#include <algorithm>
#include <cmath>

#include "position/scheme.h"

namespace ordinal {
namespace {

class ThrowawayLayers final : public PositionScheme {
 public:
  explicit ThrowawayLayers(std::vector<std::vector<SchemeTable>> tables) : tables_(std::move(tables)) {}

  void add_to_scores(const AttentionSite& site, std::span<const float>, std::span<float> scores) const override {
    const auto layer = static_cast<size_t>(site.layer), head = static_cast<size_t>(site.head);
    const SchemeTable &slope = tables_[0][layer], &shift = tables_[1][layer], &mix = tables_[2][layer];
    for (size_t j = 0; j < scores.size(); ++j) {
      const float x = std::log1p(static_cast<float>(distance_back(site, j)));
      for (size_t c = 0; c < 3; ++c)
        scores[j] += mix.values[head * 3 + c] * std::max(0.0f, slope.values[c] * x + shift.values[c]);
    }
  }

 private:
  const std::vector<std::vector<SchemeTable>> tables_;  // [3][n_layers]
};

}  // namespace

SchemePtr make_throwaway_layers(ParamReader&, const AttentionShape& shape, TableReader& tables) {
  return std::make_unique<ThrowawayLayers>(tables.read({{"blk.N.attn_throwaway_a.weight", {3, 1}, random_of(1)},
                                                        {"blk.N.attn_throwaway_a.bias", {3}, random_of(1)},
                                                        {"blk.N.attn_throwaway_b.weight", {shape.n_heads, 1, 3}, random_of(1)}}));
}
CPP
own_test throwaway_layers <<'CPP'
TEST_CASE("throwaway_layers: a layer's network of the distance") {
  test::Tables tables;
  for (const std::string block : {"blk.0.", "blk.1."}) {
    const float sign = block == "blk.0." ? 1.0f : -1.0f;
    tables.add(block + "attn_throwaway_a.weight", {3, 1}, {1, 2, -1})
        .add(block + "attn_throwaway_a.bias", {3}, {0, 1, 0})
        .add(block + "attn_throwaway_b.weight", {2, 1, 3}, {9, 9, 9, sign, 10, 100});
  }
  const auto scheme = test::make("throwaway_layers", test::small_shape(), tables);
  const double l = std::log(3);  // 2 positions back
  for (const int64_t layer : {0, 1})
    test::check_near(test::scored(scheme, {.layer = layer, .head = 1, .position = 4, .keys = {2}}, {}),
                     {(layer == 0 ? 1 : -1) * l + 10 * (2 * l + 1)}, 1e-5);
}
CPP

changed=$(cd "$copy" && for part in Makefile include src tests tools; do diff -rq "$root/$part" "$part" || true; done)
echo "$changed"
[ "$(echo "$changed" | wc -l)" -eq 7 ] || { echo "more than a file, a line and a test for each changed" >&2; exit 1; }

cd "$copy"
make -s -j"$(nproc)" test_sources="$(echo tests/main.cpp tests/support.cpp tests/reference/*.cpp tests/position/*.cpp)" \
  build/release/tests/run build/release/ordinal
build/release/tests/run -tc='contract*,throwaway*,schemes*,tables*'

# The checkpoint of the tests, with tables beside its weights as tools/train.py writes them.
python3 - tests/goldens/convert/untied-f16 build/checkpoint <<'PY'
import json, os, random, shutil, struct, sys

source, target = sys.argv[1:]
shutil.rmtree(target, ignore_errors=True)
shutil.copytree(source, target)
path = os.path.join(target, "model.safetensors")
data = open(path, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, numbers = json.loads(data[8:8 + size]), data[8 + size:]
config = json.load(open(os.path.join(target, "config.json")))
heads = config["n_head"]
shapes = {"attn_throwaway.weight": [37, heads]}
for layer in range(config["n_layer"]):
    for part, shape in (("a.weight", [3, 1]), ("a.bias", [3]), ("b.weight", [heads, 1, 3])):
        shapes[f"blk.{layer}.attn_throwaway_{part}"] = shape
random.seed(1)
for name, shape in shapes.items():
    count = 1
    for extent in shape:
        count *= extent
    begin = len(numbers)
    numbers += struct.pack(f"<{count}f", *(random.gauss(0, 1) for _ in range(count)))
    header["ordinal." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(numbers)]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(path, "wb").write(struct.pack("<Q", len(text)) + text + numbers)
PY
ordinal=build/release/ordinal
$ordinal convert build/checkpoint build/full.ordinal -q
$ordinal convert build/full.ordinal build/small.ordinal --dtype q8_0 -q
for name in throwaway throwaway_table throwaway_layers; do
  $ordinal positions list | grep -q "^$name "
  $ordinal positions check "$name" | tail -1
  $ordinal positions plot "$name" --example -o "build/$name.svg" -q
  for model in full small; do
    $ordinal logits -m "build/$model.ordinal" --position "$name" --ids 1,2,3,4,5,6 --json -q > /dev/null
    $ordinal positions check "$name" -m "build/$model.ordinal" | tail -1
  done
done
for table in $($ordinal inspect build/small.ordinal --tensors | grep -o '^[^ ]*throwaway[^ ]* *[a-z0-9]*' | awk '{print $2}' | sort -u); do
  [ "$table" = f32 ] || { echo "a table was stored as $table" >&2; exit 1; }
done
