// contract_test.cpp: what every scheme in the list must keep, whatever it does: src/position/README.md says it in
// words.
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <set>
#include <thread>

#include "allocations.h"
#include "contract_specs.h"
#include "ordinal/session.h"
#include "position/tables.h"
#include "reference/random_model.h"
#include "scheme_probe.h"

namespace {

using ordinal::TokenId;
using test::Scheme;

using test::for_every_spec;
using test::kTrained;
using test::model_with_everything;

using Logits = std::vector<std::vector<float>>;

// All logits of `ids`, handed over in pieces of `piece` tokens.
Logits run(ordinal::Session& session, std::span<const TokenId> ids, size_t piece = 1000) {
  Logits all;
  for (size_t at = 0; at < ids.size(); at += piece)
    session.evaluate_all(
        ids.subspan(at, std::min(piece, ids.size() - at)),
        [&](int64_t, std::span<const float> logits) { all.emplace_back(logits.begin(), logits.end()); });
  return all;
}

double largest(const Logits& a, const Logits& b = {}) {
  double most = 0;
  for (size_t r = 0; r < a.size(); ++r)
    for (size_t c = 0; c < a[r].size(); ++c)
      most = std::max(most, std::abs(static_cast<double>(a[r][c]) - (b.empty() ? 0.0 : static_cast<double>(b[r][c]))));
  return most;
}

const std::vector<TokenId>& text() {
  static const std::vector<TokenId> ids = test::random_ids(11, 13, test::small_config().vocab_size);
  return ids;
}

TEST_CASE("contract: a whole text, its tokens one by one, pieces, chunks and threads give the same bits") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    ordinal::Session whole(model, {.position = spec, .n_threads = 1});
    const Logits expected = run(whole, text());
    REQUIRE(expected.size() == text().size());
    for (const size_t piece : {1u, 5u}) {
      ordinal::Session session(model, {.position = spec, .n_threads = 1});
      CHECK(run(session, text(), piece) == expected);
    }
    ordinal::Session chunks(model, {.position = spec, .n_threads = 3, .chunk = 4});
    CHECK(run(chunks, text()) == expected);
  });
}

TEST_CASE("contract: a text taken back and told again gives the same bits") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    ordinal::Session session(model, {.position = spec, .n_threads = 1});
    const Logits expected = run(session, text());
    session.rewind(4);
    const Logits again = run(session, std::span(text()).subspan(4));
    CHECK(again == Logits(expected.begin() + 4, expected.end()));
  });
}

TEST_CASE("contract: sessions of one model under all schemes in one pass give what each gives alone") {
  const auto model = model_with_everything();
  std::vector<ordinal::Session> alone, together;
  for (const std::string& spec : test::contract_specs()) {
    alone.emplace_back(model, ordinal::SessionOptions{.position = spec, .n_threads = 1});
    together.emplace_back(model, ordinal::SessionOptions{.position = spec, .n_threads = 2});
  }
  std::vector<ordinal::Session::Part> parts;
  for (ordinal::Session& session : together) parts.push_back({&session, text()});
  const auto logits = ordinal::Session::evaluate_together(parts);
  for (size_t i = 0; i < alone.size(); ++i) {
    CAPTURE(test::contract_specs()[i]);
    const auto expected = alone[i].evaluate(text());
    CHECK(test::same_bits({logits[i].begin(), logits[i].end()}, {expected.begin(), expected.end()}));
  }
}

// Both sessions use the same positions in all, so that a scheme which depends on the length is the same scheme.
TEST_CASE("contract: moving all positions changes nothing for a relative scheme, much for an absolute one") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const int64_t moved = 7, count = static_cast<int64_t>(text().size());
    ordinal::Session session(model, {.position = spec, .capacity = count + moved});
    ordinal::Session shifted(model, {.position = spec, .capacity = count, .first_position = moved});
    REQUIRE(session.scheme().spec() == shifted.scheme().spec());
    const Logits here = run(session, text()), there = run(shifted, text());
    const double change = largest(here, there) / largest(here);
    const std::string& kind = session.scheme().facts().kind;
    if (kind == "relative") {
      CHECK(change < 1e-4);
      if (spec.find("rope") == std::string::npos && spec.find("xpos") == std::string::npos) CHECK(change == 0);
    } else {
      CHECK(change > (kind == "anchored" ? 1e-6 : 1e-3));  // the texts here are long enough for every anchor
    }
  });
}

TEST_CASE("contract: every scheme but none changes what the model says") {
  const auto model = model_with_everything();
  ordinal::Session plain(model, {.position = "none"});
  const Logits without = run(plain, text());
  for_every_spec([&](const std::string& spec) {
    if (spec == "none") return;
    ordinal::Session session(model, {.position = spec});
    CHECK(largest(run(session, text()), without) > 1e-3);
  });
}

TEST_CASE("contract: what acts on scores runs at 12, 20 and 25 heads, alone and in groups") {
  const int64_t heads[][2] = {{12, 12}, {12, 4}, {20, 5}, {25, 25}, {25, 1}};
  for (const auto& [n_heads, n_kv_heads] : heads) {
    const auto model = model_with_everything(n_heads, n_kv_heads);
    for (const ordinal::SchemeInfo& info : ordinal::position_schemes()) {
      if (info.acts_on.find("scores") == std::string_view::npos) continue;
      const std::string spec(info.name);
      CAPTURE(n_heads);
      CAPTURE(spec);
      const int64_t first = info.kind == "relative" ? 5 : 0;
      ordinal::Session whole(model, {.position = spec}), single(model, {.position = spec, .first_position = first});
      CHECK(run(whole, text()) == run(single, text(), 1));
    }
  }
}

TEST_CASE("contract: the last position is finite, and one past it is an Error that names the limit") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const int64_t end = model->make_scheme(spec, kTrained)->max_positions();
    const bool unlimited = end == ordinal::PositionScheme::kUnlimited;
    const int64_t last = unlimited ? 20'000 : end - 1;
    const bool by_length = spec == "normalized" || spec == "learned:beyond=resample" ||
                           spec.find("with=random") != std::string::npos;  // they end where the session does
    ordinal::Session session(model, {.position = spec, .capacity = 1, .first_position = last});
    for (const float logit : session.evaluate(std::vector<TokenId>{3})) REQUIRE(std::isfinite(logit));
    CHECK(session.scheme().limit_note().reason.empty() == unlimited);
    CHECK(session.scheme().limit_note().remedy.empty() == unlimited);
    if (unlimited || by_length) return;
    const std::string error =
        test::error_of([&] { ordinal::Session(model, {.position = spec, .capacity = 1, .first_position = last + 1}); });
    CHECK(test::mentions(error, {std::to_string(last)}));
    CHECK_THROWS_AS(ordinal::Session(model, {.position = spec, .capacity = 2, .first_position = last}), ordinal::Error);
  });
}

// Rows and scores that a scheme's hooks are given by hand.
struct Material {
  std::vector<int64_t> positions{0, 3, 4, 9, 21};
  std::vector<float> x, q, k, scores, weights;
  Material() {
    test::Random random(2);
    x = random.normals(5 * 32);
    q = random.normals(5 * 4 * 8);
    k = random.normals(5 * 2 * 8);
    scores = random.normals(5);
    weights = random.normals(5);
  }
};

// All hooks, called once; everything they left behind, in one row.
std::vector<float> touch(const ordinal::PositionScheme& scheme, Material m, int64_t layer, int64_t head) {
  const ordinal::AttentionSite site{
      .layer = layer, .head = head, .query_position = 21, .key_positions = m.positions, .scale = 0.3f};
  const std::span<const float> query{m.q.data() + 4 * 32 + head * 8, 8};
  std::vector<float> out(8, 0.25f);
  scheme.add_to_embedding(m.positions, {m.x.data(), 5, 32, 32});
  scheme.transform_query_key(layer, m.positions, {m.q.data(), 5, 32, 32}, {m.k.data(), 5, 16, 16});
  scheme.add_to_scores(site, query, m.scores);
  scheme.add_to_values(site, m.weights, out);
  std::vector<float> left;
  const auto keep = [&] {
    for (const auto* part : {&m.x, &m.q, &m.k, &m.scores, &out}) left.insert(left.end(), part->begin(), part->end());
  };
  keep();
  for (int view = 1; view < ordinal::Views::kMostQueries; ++view) {
    const int64_t q_cols = view < scheme.views().queries ? 32 : 0, k_cols = view < scheme.views().keys ? 16 : 0;
    scheme.transform_view(layer, view, m.positions, {m.q.data(), 5, q_cols, 32}, {m.k.data(), 5, k_cols, 16});
    keep();
  }
  return left;
}

TEST_CASE("contract: hooks are pure: two calls, and two threads at once, give the same bits") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained), twin = model->make_scheme(spec, kTrained);
    const Material material;
    const std::vector<float> expected = touch(*scheme, material, 1, 3);
    touch(*scheme, material, 2, 0);
    CHECK(touch(*scheme, material, 1, 3) == expected);
    CHECK(touch(*twin, material, 1, 3) == expected);
    std::atomic<int> agreed = 0;
    const auto ask = [&] {
      for (int i = 0; i < 20; ++i) agreed += touch(*scheme, material, 1, 3) == expected;
    };
    std::thread first(ask), second(ask);
    first.join();
    second.join();
    CHECK(agreed == 40);
  });
}

TEST_CASE("contract: rows of one call do not depend on each other") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained);
    Material all, single;
    scheme->add_to_embedding(all.positions, {all.x.data(), 5, 32, 32});
    scheme->transform_query_key(2, all.positions, {all.q.data(), 5, 32, 32}, {all.k.data(), 5, 16, 16});
    for (const int64_t row : {4, 0, 2, 3, 1}) {
      const ordinal::Positions position{single.positions.data() + row, 1};
      scheme->add_to_embedding(position, {single.x.data() + row * 32, 1, 32, 32});
      scheme->transform_query_key(2, position, {single.q.data() + row * 32, 1, 32, 32},
                                  {single.k.data() + row * 16, 1, 16, 16});
    }
    CHECK(all.x == single.x);
    CHECK(all.q == single.q);
    CHECK(all.k == single.k);
  });
}

TEST_CASE("contract: hooks do not allocate") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained);
    Material m;
    std::vector<float> out(8);
    const std::vector<int64_t> far{1'000'000};  // past every table
    const bool reaches = scheme->max_positions() > far[0];
    const ordinal::AttentionSite site{
        .layer = 1, .head = 3, .query_position = reaches ? far[0] : 21, .key_positions = m.positions, .scale = 0.3f};
    const int64_t before = test::allocations();
    scheme->add_to_embedding(m.positions, {m.x.data(), 5, 32, 32});
    scheme->transform_query_key(1, m.positions, {m.q.data(), 5, 32, 32}, {m.k.data(), 5, 16, 16});
    if (scheme->views().several()) {
      std::array<ordinal::KeyRun, ordinal::KeyRun::kMost> runs;
      scheme->key_runs(1, 21, runs);
      scheme->transform_view(1, 1, m.positions, {m.q.data(), 5, 32, 32}, {m.k.data(), 5, 0, 16});
    }
    if (reaches) scheme->add_to_embedding(far, {m.x.data(), 1, 32, 32});
    if (reaches) scheme->transform_query_key(1, far, {m.q.data(), 1, 32, 32}, {m.k.data(), 1, 16, 16});
    scheme->add_to_scores(site, {m.q.data(), 8}, m.scores);
    scheme->add_to_values(site, m.weights, out);
    CHECK(test::allocations() == before);
    for (const float value : m.scores) CHECK(std::isfinite(value));
  });
}

TEST_CASE("contract: a scheme's spec makes the same scheme again") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    const Scheme scheme = model->make_scheme(spec, kTrained), again = model->make_scheme(scheme->spec(), kTrained);
    CHECK(again->spec() == scheme->spec());
    CHECK(touch(*again, {}, 1, 3) == touch(*scheme, {}, 1, 3));
  });
}

TEST_CASE("contract: native is the model's own spec, to the bit, also as a part of a longer one") {
  const std::string native = "rope:theta=500,pairing=interleaved;layers=1:none";
  const auto model = model_with_everything(4, 2, native);
  const char* same[][2] = {
      {"native", "rope:theta=500,pairing=interleaved;layers=1:none"},
      {"native;layers=2:alibi", "rope:theta=500,pairing=interleaved;layers=1:none;layers=2:alibi"}};
  for (const auto& [short_form, spelled_out] : same) {
    ordinal::Session a(model, {.position = short_form}), b(model, {.position = spelled_out});
    CHECK(a.scheme().spec() == spelled_out);
    CHECK(run(a, text()) == run(b, text()));
  }
}

std::vector<std::string> names_of(const std::vector<ordinal::SchemeTensor>& tensors) {
  std::vector<std::string> names;
  for (const ordinal::SchemeTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

TEST_CASE("contract: a scheme reads the tensors it declares, all of them and no others, and each counts") {
  for (const int64_t length : {kTrained, 4 * kTrained}) {
    ordinal::AttentionShape shape = test::small_shape();
    shape.n_layers = 3;
    shape.head_dim = 8;
    shape.trained_length = kTrained;
    shape.length = length;
    for_every_spec([&](const std::string& spec) {
      if (spec.find("layers=1:shaw") != std::string::npos) return;  // parts read what all layers have
      std::vector<ordinal::SchemeTable> tables = made_up_tables(spec, shape);
      std::set<std::string> asked, declared;
      for (const ordinal::SchemeTable& table : tables) declared.insert(table.name);
      const ordinal::TensorLookup lookup = lookup_in(tables);
      const auto make_of = [&](const ordinal::TensorLookup& from) { return make_position_scheme(spec, shape, from); };
      const Scheme scheme = make_of([&](std::string_view name) {
        if (lookup(name) != nullptr) asked.emplace(name);
        return lookup(name);
      });
      CHECK(asked == declared);
      const std::vector<std::string> found = names_of(scheme->facts().tensors);
      CHECK(std::set(found.begin(), found.end()) == declared);
      const int64_t reach = std::min(length, scheme->max_positions());
      for (ordinal::SchemeTable& table : tables) {
        CAPTURE(table.name);
        const std::string error = test::error_of(
            [&] { make_of([&](std::string_view name) { return name == table.name ? nullptr : lookup(name); }); });
        CHECK(test::mentions(error, {table.name}));
        const bool of_other_length =  // longrope reads two tables, and the length says which of them counts
            table.name.find(length > kTrained ? "_short" : "_long") != std::string::npos;
        for (float& value : table.values) value += 0.25f;
        CHECK(schemes_agree(*scheme, *make_of(lookup), shape, reach) == of_other_length);
        for (float& value : table.values) value -= 0.25f;
      }
    });
  }
}

TEST_CASE("contract: what is said of a scheme without a model are the tensors it reads in one") {
  const auto model = model_with_everything();
  for_every_spec([&](const std::string& spec) {
    if (spec.find(';') != std::string::npos) return;
    std::set<std::string> described, read;
    const ordinal::AttentionShape shape = attention_shape(model->config(), kTrained);
    for (const ordinal::SchemeTensor& tensor : ordinal::describe_position_scheme(spec, shape).tensors)
      if (!tensor.is_optional) described.insert(tensor.name);
    for (std::string name : names_of(model->make_scheme(spec, kTrained)->facts().tensors)) {
      if (name.starts_with("blk.")) name.replace(4, name.find('.', 4) - 4, "N");
      read.insert(name);
    }
    CHECK(described == read);
  });
}

// What attention computes between the hooks: each score, weight and mix recomputed from the q, k and v that were seen.
TEST_CASE("contract: attention calls each hook at its place, with the right layer, head and positions") {
  const auto model = model_with_everything();
  const int64_t count = static_cast<int64_t>(text().size()), first = 4, d = 8;
  for_every_spec([&](const std::string& spec) {
    if (model->make_scheme(spec, first + count)->views().several()) return;  // by_distance_test.cpp has these
    std::map<std::string, std::vector<float>> seen;
    ordinal::Session session(
        model,
        {.position = spec, .capacity = count, .first_position = first, .n_threads = 1, .observer = [&](const auto& o) {
           std::string name = std::string(o.name) + " " + std::to_string(o.layer);
           if (o.head >= 0) name += " " + std::to_string(o.head) + " " + std::to_string(o.row);
           for (int64_t r = 0; r < o.rows.rows; ++r)
             seen[name].insert(seen[name].end(), o.rows[r].begin(), o.rows[r].end());
         }});
    session.evaluate(text());
    double worst_score = 0, worst_weight = 0, worst_mix = 0;
    for (int64_t layer = 0; layer < 3; ++layer)
      for (int64_t head = 0; head < 4; ++head)
        for (int64_t row = 0; row < count; ++row) {
          const auto part = [&](const char* name, int64_t r, int64_t heads, int64_t h) {
            const auto& values = seen.at(std::string(name) + " " + std::to_string(layer));
            const auto at = values.begin() + (r * heads + h) * d;
            return std::vector<float>(at, at + d);
          };
          test::Stand stand{
              .layer = layer, .head = head, .position = first + row, .keys = {}, .scale = 1 / std::sqrt(8.0f)};
          const std::vector<float> q = part("q", row, 4, head);
          std::vector<float> scores;
          for (int64_t j = 0; j <= row; ++j) {
            stand.keys.push_back(first + j);
            const std::vector<float> k = part("k", j, 2, head / 2);
            double sum = 0;
            for (size_t c = 0; c < 8; ++c) sum += static_cast<double>(q[c]) * static_cast<double>(k[c]);
            scores.push_back(static_cast<float>(sum * static_cast<double>(stand.scale)));
          }
          scores = test::scored(model->make_scheme(spec, first + count), stand, q, scores);
          const std::string where = std::to_string(layer) + " " + std::to_string(head) + " " + std::to_string(row);
          const std::vector<double> weights = test::softmax(scores);
          std::vector<double> mix(8, 0.0);
          for (size_t j = 0; j < scores.size(); ++j) {
            worst_score =
                std::max(worst_score, std::abs(static_cast<double>(seen.at("scores " + where)[j] - scores[j])));
            worst_weight =
                std::max(worst_weight, std::abs(static_cast<double>(seen.at("weights " + where)[j]) - weights[j]));
            const std::vector<float> v = part("v", static_cast<int64_t>(j), 2, head / 2);
            for (size_t c = 0; c < 8; ++c) mix[c] += weights[j] * static_cast<double>(v[c]);
          }
          const auto added =
              test::mixed(model->make_scheme(spec, first + count), stand, seen.at("weights " + where), d);
          const std::vector<float> found = part("attn_mix", row, 4, head);
          for (size_t c = 0; c < 8; ++c)
            worst_mix =
                std::max(worst_mix, std::abs(static_cast<double>(found[c]) - mix[c] - static_cast<double>(added[c])));
        }
    CHECK(worst_score < 1e-4);
    CHECK(worst_weight < 1e-5);
    CHECK(worst_mix < 1e-4);
  });
}

}  // namespace
