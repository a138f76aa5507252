// agreement_test.cpp: which schemes do the same below a length.
#include "scheme_probe.h"

namespace {

// Whether both do the same below `length`, on a model that has every table of the embedding and was trained at 16.
bool agree(const std::string& a, const std::string& b, int64_t length = 16, int64_t session = 64) {
  ordinal::AttentionShape shape = test::small_shape();
  shape.length = session;
  test::Tables tables;
  tables.add_random("position_embd.weight", {16, 8}).add_random("attn_rel_b.weight", {32, 2});
  for (const char* block : {"blk.0.", "blk.1."})
    tables.add_random(std::string(block) + "attn_rel_k.weight", {33, 4})
        .add_random(std::string(block) + "attn_rel_v.weight", {33, 4});
  return ordinal::schemes_agree(*test::make(a, shape, tables), *test::make(b, shape, tables), shape, length);
}

TEST_CASE("agreement: every policy past a table but resample agrees with the table inside it") {
  for (const char* spec : {"learned:beyond=clamp", "learned:beyond=wrap", "hierarchical"})
    CHECK(agree("learned", spec));
  CHECK(!agree("learned", "learned:beyond=resample"));
  CHECK(agree("learned", "learned:beyond=resample", 16, 16));
}

TEST_CASE("agreement: ends where one of the two ends") {
  CHECK(!agree("learned", "learned:beyond=clamp", 17));
  CHECK(!agree("learned:beyond=wrap", "learned:beyond=clamp", 17));
  CHECK(!agree("hierarchical", "learned:beyond=clamp", 17));
}

TEST_CASE("agreement: a scaling by 1, or dynamic within the trained length, is plain rope") {
  CHECK(agree("rope", "rope:scaling=yarn,factor=1"));
  CHECK(agree("rope", "rope:scaling=dynamic,length=16"));
  CHECK(!agree("rope", "rope:scaling=dynamic"));  // for the session's 64 positions
  CHECK(!agree("rope", "rope:scaling=linear,factor=2"));
  CHECK(!agree("rope", "rope:pairing=interleaved"));
}

TEST_CASE("agreement: sees every hook, every layer and every head") {
  for (const char* spec : {"learned", "sinusoidal", "rope", "alibi", "t5_bias", "shaw", "none:logit_scale=2",
                           "none;layers=1:rope", "none;layers=1:alibi"}) {
    CAPTURE(spec);
    CHECK(agree(spec, spec));
    CHECK(!agree(spec, "none"));
  }
  CHECK(!agree("shaw", "shaw:values=0"));
  CHECK(agree("t5_bias", "relative_bias", 16));  // buckets of one distance each
  CHECK(!agree("t5_bias", "relative_bias", 18));
}

}  // namespace
