// contract_views_test.cpp: the contract of every scheme, kinds and views: what enters the embedding, what the hooks do
// to a row of q or k alone, how a row's keys are cut into runs.
#include <array>

#include "contract_specs.h"
#include "scheme_probe.h"

namespace {

using test::for_every_spec;
using test::kTrained;
using test::model_with_everything;
using test::Scheme;

TEST_CASE("contract: only an absolute scheme adds to the embedding; an anchored one is felt, yet not there") {
  const auto model = model_with_everything();
  int64_t n_anchored = 0;
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained);
    const std::string& kind = scheme->facts().kind;
    bool adds = false;
    for (const int64_t position : {0, 3, 21}) {
      std::vector<float> x = test::Random(4).normals(32);
      const std::vector<float> before = x;
      scheme->add_to_embedding({&position, 1}, {x.data(), 1, 32, 32});
      adds = adds || x != before;
    }
    CHECK(adds == (kind == "absolute" || kind == "lab"));
    n_anchored += kind == "anchored";
  });
  CHECK(n_anchored > 10);
}

TEST_CASE("contract: a row of q or of k without columns leaves the other as it would be") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained);
    const std::vector<int64_t> position{9};
    const std::vector<float> q = test::Random(5).normals(32), k = test::Random(6).normals(16);
    const auto turned = [&](int view, int64_t q_cols, int64_t k_cols) {
      std::vector<float> rows[] = {q, k};
      const ordinal::Rows of_q{rows[0].data(), 1, q_cols, 32}, of_k{rows[1].data(), 1, k_cols, 16};
      if (view == 0)
        scheme->transform_query_key(1, position, of_q, of_k);
      else
        scheme->transform_view(1, view, position, of_q, of_k);
      return std::pair(rows[0], rows[1]);
    };
    for (int view = 0; view < 3; ++view) {
      const int64_t q_cols = view < scheme->views().queries ? 32 : 0, k_cols = view < scheme->views().keys ? 16 : 0;
      const auto both = turned(view, q_cols, k_cols);
      CHECK(turned(view, q_cols, 0) == std::pair(both.first, k));
      CHECK(turned(view, 0, k_cols) == std::pair(q, both.second));
    }
  });
}

TEST_CASE("contract: the runs of a row hold all its keys, in views that there are") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained);
    const ordinal::Views views = scheme->views();
    CHECK(views.queries >= 1);
    CHECK(views.queries <= ordinal::Views::kMostQueries);
    CHECK(views.keys >= 1);
    CHECK(views.keys <= ordinal::Views::kMostKeys);
    for (int64_t layer = 0; layer < 3; ++layer)
      for (int64_t query = 0; query < kTrained; ++query) {
        std::array<ordinal::KeyRun, ordinal::KeyRun::kMost> runs;
        const int count = scheme->key_runs(layer, query, runs);
        REQUIRE(count >= 1);
        REQUIRE(count <= ordinal::KeyRun::kMost);
        int64_t before = 0;
        for (const ordinal::KeyRun& run : std::span(runs).first(static_cast<size_t>(count))) {
          CHECK(run.end >= before);
          CHECK(run.query >= ordinal::KeyRun::kUnseen);
          CHECK(run.query < views.queries);
          CHECK(run.key < views.keys);
          before = run.end;
        }
        CHECK(before > query);
        const ordinal::KeyRun& last = runs[static_cast<size_t>(count) - 1];
        CHECK(last.query != ordinal::KeyRun::kUnseen);  // a row sees itself
      }
  });
}

}  // namespace
