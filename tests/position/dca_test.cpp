// dca_test.cpp: distances within a chunk, to the one before and to all earlier ones.
#include "scheme_probe.h"

namespace {

TEST_CASE("dca: the paper's figure, chunks of 6 and distances up to 9") {
  test::check_distances("rope:pairing=interleaved;with=dca:chunk=6,limit=10", 16,
                        {9, 8, 7, 6, 5, 4, 9, 8, 7, 6, 5, 4, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=dca:chunk=6,limit=10", 15,
                        {9, 8, 7, 6, 5, 4, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("dca: top=limit is the authors' code, one farther in both far views") {
  test::check_distances("rope:pairing=interleaved;with=dca:chunk=6,limit=10,top=limit", 16,
                        {10, 9, 8, 7, 6, 5, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=dca:chunk=6,limit=10,top=limit", 15,
                        {10, 9, 8, 7, 6, 5, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("dca: a text of one chunk has rope's scores, to the bit, and the start of the next true distances") {
  const test::Scheme plain = test::make("rope"), scheme = test::make("rope;with=dca:chunk=7,limit=9");
  CHECK(schemes_agree(*plain, *scheme, test::small_shape(), 7));
  CHECK_FALSE(schemes_agree(*plain, *scheme, test::small_shape(), 16));
  test::check_distances("rope:pairing=interleaved;with=dca:chunk=4,limit=7", 6, {6, 5, 4, 3, 2, 1, 0});
  test::check_distances("rope:pairing=interleaved;with=dca:chunk=4,limit=7", 7, {6, 5, 4, 3, 3, 2, 1, 0});
}

TEST_CASE("dca: chunk and limit follow the trained length; a limit within the chunk is refused") {
  test::check_distances("rope:pairing=interleaved;with=dca", 6, {6, 5, 4, 3, 2, 1, 0}, 8);
  test::check_distances("rope:pairing=interleaved;with=dca", 8, {7, 6, 5, 4, 3, 2, 2, 1, 0}, 8);
  CHECK(test::mentions(test::make_error("rope;with=dca:chunk=9,limit=9"), {"more than the chunk"}));
}

}  // namespace
