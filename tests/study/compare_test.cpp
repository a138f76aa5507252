// compare_test.cpp: a comparison against the same numbers had one at a time, and what it says of schemes on weights.
#include "study/compare/compare.h"

#include <algorithm>
#include <cmath>

#include "reference/random_model.h"
#include "study/compare/presets.h"
#include "study/compare/standing.h"
#include "study/diagnose.h"
#include "support.h"

using namespace ordinal;

namespace {

struct Made {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Tokenizer> tokenizer;
};

// A random model with a byte tokenizer and a table of 40 positions, whose file says it was trained under `trained`.
Made byte_model(const std::vector<std::string>& trained) {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.vocab_size = 257;
  random.config.max_seq_len = 40;
  random.config.eos_ids = {256};
  random.position_rows = 40;
  random.position = trained.front();
  ModelDraft draft = test::random_model(random);
  draft.notes.trained_positions = trained;
  draft.tokenizer = test::byte_tokenizer();
  Made made;
  made.model = Model::bind(write_model_in_memory(draft, "bytes"));
  made.tokenizer = make_tokenizer(made.model->file().tokenizer());
  return made;
}

TokenStream stream_of(const Made& made) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "The " + std::to_string(i * 7919 % 101) + ". ";
  return make_stream("text", text, *made.tokenizer, made.model->config(), {});
}

const ComparedRow& row_of(const Compared& result, const std::string& position, int64_t length,
                          const std::string& protocol = "whole") {
  const auto found = std::ranges::find_if(result.rows, [&](const ComparedRow& row) {
    return row.position == position && row.length == length && row.protocol == protocol;
  });
  REQUIRE(found != result.rows.end());
  return *found;
}

Compared compare_one(const Made& made, const CompareOptions& options) {
  const TokenStream stream = stream_of(made);
  return compare(made.model, *made.tokenizer, {&stream, 1}, options, {});
}

std::vector<TokenId> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

TEST_CASE("standing: the word follows from what the file says and from the bits") {
  const Made alone = byte_model({"learned"}), joint = byte_model({"learned", "rope", "alibi"});
  const auto of = [](const Made& made, const std::string& spec, int64_t length = 40) {
    return stand_of(*made.model, spec, length).standing;
  };
  CHECK(of(alone, "native") == Standing::trained);
  CHECK(of(alone, "learned") == Standing::trained);
  CHECK(of(alone, "learned:beyond=wrap") == Standing::exact);
  CHECK(of(alone, "learned:beyond=hierarchical") == Standing::exact);
  CHECK(of(alone, "learned:beyond=resample") == Standing::exact);
  CHECK(of(alone, "learned:beyond=resample,length=80") == Standing::untrained);  // moves positions inside too
  for (const char* spec : {"native", "learned:beyond=wrap", "learned:beyond=resample", "rope"})
    CHECK(of(alone, spec, 80) == Standing::extrapolating);
  CHECK(of(alone, "rope") == Standing::untrained);
  CHECK(of(alone, "t5_bias") == Standing::refused);
  CHECK(of(joint, "rope") == Standing::jointly);
  CHECK(of(joint, "native") == Standing::jointly);
  CHECK(of(joint, "rope:theta=500") == Standing::untrained);
  CHECK(of(joint, "rope:scaling=dynamic") == Standing::exact);
  CHECK(of(joint, "rope:scaling=dynamic", 80) == Standing::extrapolating);
  CHECK(of(joint, "none") == Standing::untrained);
  const Stand swapped = stand_of(*alone.model, "rope", 40);
  CHECK(swapped.reason.find("no verdict") != std::string::npos);
  CHECK(swapped.reason.find("position_embd.weight ignored") != std::string::npos);
  CHECK(stand_of(*alone.model, "t5_bias", 40).reason.find("lacks") != std::string::npos);
}

TEST_CASE("compare: every row is what perplexity gives for the scheme alone") {
  const Made made = byte_model({"learned"});
  const TokenStream stream = stream_of(made);
  CompareOptions options;
  options.positions = {"native", "rope", "t5_bias", "alibi"};
  options.lengths = {16, 40, 64};
  const Compared result = compare(made.model, *made.tokenizer, {&stream, 1}, options, {});
  REQUIRE(result.schemes.size() == 4);
  CHECK(result.schemes[0].position == "learned");
  CHECK(result.schemes[2].standing == Standing::refused);
  for (const char* position : {"learned", "rope", "alibi"})
    for (const auto& [length, stride, name] : std::vector<std::tuple<int64_t, int64_t, std::string>>{
             {16, 16, "whole"}, {40, 40, "whole"}, {64, 64, "whole"}, {64, 32, "sliding"}}) {
      const ComparedRow& row = row_of(result, position, length, name);
      if (position == std::string("learned") && length == 64) {
        CHECK(row.refused.find("past the end") != std::string::npos);
        continue;
      }
      const Perplexity alone =
          measure_perplexity(Session(made.model, {.position = position, .capacity = length, .observer = {}}),
                             {&stream, 1}, protocol_from_name("rolling"), length, stride, {});
      CHECK(row.nll == doctest::Approx(alone.all.nll).epsilon(1e-12));
      CHECK(row.std_error == doctest::Approx(alone.all.std_error).epsilon(1e-9));
      CHECK(row.bits_per_byte == doctest::Approx(alone.all.bits_per_byte).epsilon(1e-12));
      CHECK(row.tokens == alone.all.tokens);
      CHECK(row.is_trained() == (position == std::string("learned")));
      CHECK((row.standing == Standing::extrapolating) == (length == 64));
    }
  for (const int64_t length : {16, 40, 64}) CHECK(!row_of(result, "t5_bias", length).refused.empty());

  // Differences are paired with the native row, and absent where that is.
  const ComparedRow &native = row_of(result, "learned", 40), &rope = row_of(result, "rope", 40);
  CHECK(!native.delta_nll);
  CHECK(*rope.delta_nll == doctest::Approx(rope.nll - native.nll));
  CHECK(*rope.delta_low < *rope.delta_nll);
  CHECK(*rope.delta_high > *rope.delta_nll);
  CHECK(*rope.kl > 0);
  CHECK(*rope.top1_agreement < 1);
  const ComparedRow &far = row_of(result, "rope", 64), &recent = row_of(result, "learned", 64, "recent");
  CHECK(far.against == "learned");
  CHECK(far.against_protocol == "recent");
  CHECK(*far.delta_nll == doctest::Approx(far.nll - recent.nll));
  CHECK(far.to_inside->low == doctest::Approx(*far.delta_low));
  CHECK(far.to_trained->mean == doctest::Approx(far.nll - rope.nll));
  CHECK(!far.kl);
  CHECK(recent.standing == Standing::trained);
  const Perplexity inside =
      measure_perplexity(Session(made.model, {.position = "learned", .capacity = 40, .observer = {}}), {&stream, 1},
                         protocol_from_name("rolling"), 40, 20, {});
  CHECK(recent.nll == doctest::Approx(inside.all.nll).epsilon(1e-12));

  // The mean by position, weighed by how many tokens stand there, is the mean.
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < rope.loss_by_position.size(); ++i) {
    int64_t here = 0;
    for (int64_t t = 0; t < rope.tokens; ++t)
      if (t % 40 / rope.loss_step == static_cast<int64_t>(i)) ++here;
    sum += rope.loss_by_position[i] * static_cast<double>(here);
    count += here;
  }
  CHECK(sum / static_cast<double>(count) == doctest::Approx(rope.nll));

  // The matrix is of the longest length inside the trained one; the diagonal agrees with itself.
  CHECK(result.matrix_length == 40);
  CHECK(result.matrix == std::vector<std::string>{"learned", "rope", "alibi"});
  for (size_t i = 0; i < 3; ++i) {
    CHECK(result.kl[i][i] == 0);
    CHECK(result.top1[i][i] == 1);
    for (size_t j = 0; j < 3; ++j) CHECK(result.top1[i][j] == result.top1[j][i]);
  }
  CHECK(result.kl[0][1] == doctest::Approx(*rope.kl));
  CHECK(result.top1[0][1] == doctest::Approx(*rope.top1_agreement));
}

TEST_CASE("compare: a scheme with the bits of the native one differs in nothing") {
  const Made made = byte_model({"learned"});
  CompareOptions options;
  options.positions = {"learned:beyond=wrap"};
  options.lengths = {40};
  options.prompt = bytes_of("abc");
  const Compared result = compare_one(made, options);
  const ComparedRow& same = row_of(result, result.schemes[1].position, 40);
  CHECK(*same.delta_nll == 0);
  CHECK(*same.kl < 1e-9);
  CHECK(*same.top1_agreement == 1);
  CHECK(same.standing == Standing::exact);
  CHECK(result.schemes[1].differs_at == -1);
  CHECK(result.schemes[1].continuation_ids == result.schemes[0].continuation_ids);
  CHECK(*result.schemes[1].shuffled == *result.schemes[0].shuffled);
}

TEST_CASE("compare: without positions, shuffling changes less than nothing at one token and attention is a mean") {
  const Made made = byte_model({"none"});
  CompareOptions options;
  options.positions = {"alibi"};
  options.lengths = {40};
  options.prompt = bytes_of("hello you");
  options.new_tokens = 5;
  const Compared result = compare_one(made, options);
  const ComparedScheme &none = result.schemes[0], &alibi = result.schemes[1];
  CHECK(none.continuation_ids.size() == 5);
  REQUIRE(none.attention.size() == 2);      // layers
  REQUIRE(none.attention[0].size() == 40);  // the prompt is short: the text's beginning
  CHECK(result.attention_pieces.size() == 40);
  CHECK(result.attention_pieces[1] == "T");
  for (const auto& row : none.attention[1]) {
    double sum = 0;
    for (const float weight : row) sum += static_cast<double>(weight);
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
  }
  for (size_t i = 0; i < 40; ++i)
    for (size_t j = i + 1; j < 40; ++j) CHECK(none.attention[0][i][j] == 0);
  // ALiBi pulls attention near.
  double far = 0, near = 0;
  for (size_t layer = 0; layer < 2; ++layer)
    for (size_t head = 0; head < none.attention_distance[layer].size(); ++head) {
      far += none.attention_distance[layer][head];
      near += alibi.attention_distance[layer][head];
    }
  CHECK(near < far);
  CHECK(none.in_order);
  CHECK(none.shuffled);
  CHECK(*none.in_order != *none.shuffled);
}

TEST_CASE("compare: of one window nothing is claimed to vary, nor of its order") {
  const Made made = byte_model({"none"});
  TokenStream stream = stream_of(made);
  stream.tokens.resize(41), stream.bytes.resize(41), stream.words.resize(41);
  CompareOptions options;
  options.positions = {"alibi"};
  options.lengths = {40};
  const Compared one = compare(made.model, *made.tokenizer, {&stream, 1}, options, {});
  REQUIRE(one.schemes[1].order);
  CHECK(std::isfinite(one.schemes[1].order->mean));
  CHECK(!one.schemes[1].order->has_interval());
  CHECK(!row_of(one, "alibi", 40).delta_low);
  CHECK(one.findings.empty());
  for (const Finding& found : findings_of(one)) CHECK_MESSAGE(!found.low, found.text);
  CHECK(compare_one(made, options).schemes[1].order->has_interval());
}

TEST_CASE("compare: every scheme draws past the trained length with the same seed, and says what surprised it") {
  const Made made = byte_model({"learned", "alibi"});
  CompareOptions options;
  options.positions = {"learned", "alibi", "none"};
  options.lengths = {40};
  options.prompt = bytes_of("hello you");
  options.new_tokens = 5;
  const TokenStream stream = stream_of(made);
  const Compared result = compare(made.model, *made.tokenizer, {&stream, 1}, options, {});
  CHECK(result.sample_begins == 30);  // a quarter of the trained length before its end
  CHECK(result.sample_before.size() == 16);
  for (const ComparedScheme& scheme : result.schemes) {
    CAPTURE(scheme.position);
    const DrawnText& sample = scheme.sample;
    CHECK(sample.ids.size() == (scheme.position == "learned" ? 11 : 130));  // its table ends; one is read from the last
    REQUIRE(sample.surprisal.size() == sample.ids.size());
    REQUIRE(sample.pieces.size() == sample.ids.size());
    // Once more, all at once: what stood before each token, and its probability after that.
    std::vector<TokenId> all(stream.tokens.begin(), stream.tokens.begin() + 30);
    all.insert(all.end(), sample.ids.begin(), sample.ids.end());
    Session session(made.model, {.position = scheme.position, .capacity = static_cast<int64_t>(all.size()) - 1});
    session.evaluate_all(std::span(all).first(all.size() - 1), [&](int64_t row, std::span<const float> logits) {
      if (row < 29) return;
      double most = logits[0], sum = 0;
      for (const float logit : logits) most = std::max(most, static_cast<double>(logit));
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
      const double expected = most + std::log(sum) - static_cast<double>(logits[all[row + 1]]);
      CHECK(sample.surprisal[row - 29] == doctest::Approx(expected).epsilon(1e-6));
    });
    CHECK(scheme.continuation_surprisal.size() == 5);
  }
  CHECK(result.schemes[1].sample.ids != result.schemes[2].sample.ids);
  options.new_tokens = 0;
  CHECK(compare_one(made, options).schemes[1].sample.ids.empty());
}

TEST_CASE("compare: recall tasks exist at the trained length and beyond, and end where a scheme does") {
  const Made made = byte_model({"learned"});
  CompareOptions options;
  options.positions = {"alibi"};
  options.lengths = {20, 80};
  const Compared result = compare_one(made, options);
  int rows = 0;
  for (const RecallRow& row : result.recall) {
    ++rows;
    CHECK((row.length == 40 || row.length == 80));
    CHECK(row.accuracy.has_value() == (row.position == "alibi" || row.length == 40));
    if (row.accuracy) CHECK(row.tokens > 0);
  }
  CHECK(rows == 8);  // two schemes, two lengths, two tasks
}

TEST_CASE("compare: bad lengths and specs are errors, not rows") {
  const Made made = byte_model({"learned"});
  const TokenStream stream = stream_of(made);
  const auto error = [&](std::vector<std::string> positions, std::vector<int64_t> lengths) {
    CompareOptions options;
    options.positions = std::move(positions);
    options.lengths = std::move(lengths);
    return test::error_of([&] { compare(made.model, *made.tokenizer, {&stream, 1}, options, {}); });
  };
  CHECK(test::mentions(error({}, {0}), {"1 to"}));
  CHECK(test::mentions(error({}, {100000}), {"100000"}));
  CHECK(test::mentions(error({"rope:theta"}, {16}), {"rope:theta"}));
}

TEST_CASE("compare: another reference moves every difference, and pairs are all there") {
  const Made made = byte_model({"learned"});
  CompareOptions options;
  options.positions = {"native", "rope", "alibi"};
  options.lengths = {16, 64};
  const Compared plain = compare_one(made, options);
  options.reference = "alibi";
  const Compared moved = compare_one(made, options);
  CHECK(moved.reference == "alibi");
  CHECK(moved.native == "learned");
  const ComparedRow& rope = row_of(moved, "rope", 16);
  CHECK(rope.against == "alibi");
  CHECK(*rope.delta_nll == doctest::Approx(rope.nll - row_of(moved, "alibi", 16).nll));
  CHECK(!row_of(moved, "alibi", 16).delta_nll);
  CHECK(*row_of(moved, "learned", 16).delta_nll == doctest::Approx(-*row_of(plain, "alibi", 16).delta_nll));
  CHECK(row_of(moved, "rope", 64).against_protocol == "whole");  // alibi goes where learned ends
  CHECK(*row_of(moved, "learned", 64, "recent").delta_nll ==
        doctest::Approx(-row_of(moved, "alibi", 64).to_inside->mean));
  const auto paired =
      std::ranges::find_if(moved.paired, [](const PairedLosses& p) { return p.length == 16 && p.protocol == kWhole; });
  REQUIRE(paired != moved.paired.end());
  for (const char* p : {"learned", "rope", "alibi"})
    for (const char* q : {"learned", "rope", "alibi"}) {
      const Estimate &there = *paired->between(p, q), &back = *paired->between(q, p);
      CHECK(there.mean == doctest::Approx(row_of(moved, p, 16).nll - row_of(moved, q, 16).nll));
      CHECK(there.mean == -back.mean);
      CHECK(there.low == -back.high);
    }
  CHECK(paired->between("rope", "nothing") == nullptr);
}

TEST_CASE("compare: several texts are scored apart, and their tokens can be had") {
  const Made made = byte_model({"learned"});
  std::vector<TokenStream> texts = {stream_of(made), stream_of(made)};
  texts[1].tokens.resize(150), texts[1].bytes.resize(150), texts[1].words.resize(150);
  texts[1].name = "shorter";
  CompareOptions options;
  options.positions = {"native", "rope"};
  options.lengths = {40, 80};
  options.keep_tokens = true;
  const Compared both = compare(made.model, *made.tokenizer, texts, options, {});
  const Compared first = compare(made.model, *made.tokenizer, {&texts[0], 1}, options, {});
  const Compared second = compare(made.model, *made.tokenizer, {&texts[1], 1}, options, {});
  REQUIRE(both.texts.size() == 2);
  const auto total = [](const Compared& result) {
    const ComparedRow& row = row_of(result, "rope", 40);
    return row.nll * static_cast<double>(row.tokens);
  };
  CHECK(total(both) == doctest::Approx(total(first) + total(second)).epsilon(1e-12));
  CHECK(!row_of(first, "rope", 40).over_texts);
  const Estimate& over = *row_of(both, "rope", 40).over_texts;
  CHECK(over.clusters == 2);
  CHECK(over.mean ==
        doctest::Approx((*row_of(first, "rope", 40).delta_nll + *row_of(second, "rope", 40).delta_nll) / 2));

  const TokenLosses::Pass& pass = both.token_losses.passes.front();
  CHECK(pass.positions == std::vector<std::string>{"learned", "rope"});
  double sum = 0;
  for (const float nll : pass.nll[1]) sum += static_cast<double>(nll);
  CHECK(sum == doctest::Approx(total(both)).epsilon(1e-6));
  for (size_t i = 0; i < pass.id.size(); ++i) {
    CHECK(pass.id[i] == texts[static_cast<size_t>(pass.text[i])].tokens[static_cast<size_t>(pass.target[i])]);
    CHECK(pass.place[i] == (pass.target[i] - 1) % 40 + 1);
  }
  options.lengths = {200};
  CHECK(test::mentions(test::error_of([&] { compare(made.model, *made.tokenizer, texts, options, {}); }),
                       {"shorter, the shortest text"}));
}

TEST_CASE("compare: a pass key is hidden at five depths, and right only as a whole") {
  const Made made = byte_model({"learned"});
  CompareOptions options;
  options.positions = {"alibi"};
  options.lengths = {40, 120};
  const Compared result = compare_one(made, options);
  std::vector<double> depths;
  for (const RecallRow& row : result.passkey) {
    CHECK(row.task == "passkey");
    CHECK(row.length == 120);  // at 40 bytes there is no room for the sentence twice
    if (row.position == "learned") CHECK(!row.accuracy);
    if (row.position != "alibi") continue;
    depths.push_back(*row.depth);
    CHECK(row.tokens == 4);  // windows
    CHECK(*row.accuracy == 0);
    CHECK(row.high == doctest::Approx(0.4899).epsilon(1e-3));
  }
  CHECK(depths == std::vector<double>{0.1, 0.3, 0.5, 0.7, 0.9});
}

TEST_CASE("presets: sets of schemes by name, for the model that is there") {
  const Made learned = byte_model({"learned"}), rope = byte_model({"rope"}),
             joint = byte_model({"learned", "rope", "alibi"});
  const std::vector<int64_t> lengths = {20, 40, 80, 160};
  const auto chosen = [&](const Made& made, const std::vector<std::string>& choice) {
    return chosen_positions(*made.model, choice, lengths);
  };
  const auto has = [](const std::vector<std::string>& list, const std::string& spec) {
    return std::ranges::find(list, spec) != list.end();
  };
  CHECK(chosen(joint, {}) == std::vector<std::string>{"learned", "learned", "rope", "alibi"});
  CHECK(chosen(joint, {"@trained"}) == chosen(joint, {}));
  CHECK(has(chosen(learned, {}), "alibi"));
  CHECK(!has(chosen(learned, {}), "t5_bias"));
  CHECK(!has(chosen(learned, {}), "index"));

  const std::vector<std::string> further = chosen(rope, {"@extensions"});
  for (const char* spec : {"rope", "rope:scaling=dynamic", "rope:scaling=yarn,factor=2", "rope:scaling=yarn,factor=4",
                           "rope:scaling=linear,factor=4", "rope:scaling=ntk,factor=2", "rope;with=rerope",
                           "rope;with=self_extend", "rope;with=dca", "rope;with=lambda"})
    CHECK_MESSAGE(has(further, spec), spec);
  CHECK(!has(further, "rope:scaling=longrope,factor=2"));  // the model has no tables for it
  const std::vector<std::string> past_table = chosen(learned, {"@extensions", "alibi"});
  CHECK(past_table == std::vector<std::string>{"learned", "learned:beyond=clamp", "learned:beyond=wrap",
                                               "learned:beyond=resample", "learned:beyond=hierarchical", "alibi"});

  CHECK(chosen(rope, {"@layers"}) == std::vector<std::string>{"rope", "rope;layers=0:none", "rope;layers=1:none"});
  for (const std::string& spec : chosen(rope, {"@heads"})) CHECK(rope.model->make_scheme(spec, 40)->spec() == spec);
  CHECK(chosen(rope, {"@heads"}).size() > 2);
  CHECK(chosen(rope, {"@all"}).size() >= further.size() + 2);
  CHECK(test::mentions(test::error_of([&] { chosen(learned, {"@layers"}); }), {"acts on the embedding"}));
  // What is asked of a scheme follows from its spec.
  const auto question = [&](const Made& made, const std::string& spec) {
    return stand_of(*made.model, spec, 40).question;
  };
  CHECK(question(rope, "rope:scaling=yarn,factor=4") == Question::extension);
  CHECK(question(rope, "rope;with=dca;with=logn") == Question::extension);
  CHECK(question(rope, "rope;with=steps") == Question::swap);
  CHECK(question(rope, "rope:theta=500") == Question::swap);
  CHECK(question(rope, "rope;layers=1:none") == Question::ablation);
  CHECK(question(rope, "native") == Question::own);
  CHECK(question(learned, "learned:beyond=wrap") == Question::extension);
  CHECK(question(learned, "hierarchical") == Question::extension);
  CHECK(question(joint, "rope") == Question::joint);
}

TEST_CASE("presets: a list holds specs and sets, and a slip is answered with the nearest name") {
  CHECK(split_choice("@trained,rope:theta=5e5,pairing=half, @layers ,alibi") ==
        std::vector<std::string>{"@trained", "rope:theta=5e5,pairing=half", "@layers", "alibi"});
  const auto error = [](const std::string& text) { return test::error_of([&] { split_choice(text); }); };
  CHECK(test::mentions(error("@extension"), {"try:      @extensions"}));
  CHECK(test::mentions(error("native,@layrs"), {"@layers"}));
  CHECK(test::mentions(error("@everything"), {"@trained, @extensions"}));
  CHECK(test::mentions(error("native,aliib"), {"try:      alibi"}));
  CHECK(test::mentions(error("native,sinusodial"), {"try:      sinusoidal"}));
  CHECK(test::mentions(error("@trained,,alibi"), {"empty piece"}));
  CHECK(test::mentions(error("@trained,factor=2"), {"no spec before it"}));
}

TEST_CASE("compare: lengths by default are those that the text fills") {
  const Made alone = byte_model({"learned"});
  CHECK(default_lengths(*alone.model, 100) == std::vector<int64_t>{10, 20, 40, 80});
  CHECK(default_lengths(*alone.model, 5) == std::vector<int64_t>{4});
}

TEST_CASE("diagnose: the file's own scheme is among the candidates once, others only with their tables") {
  const Made made = byte_model({"rope:theta=5000,pairing=interleaved"});
  const auto candidates = diagnosis_candidates(*made.model);
  const auto count = [&](const std::string& spec) {
    return std::ranges::count(candidates, spec, &DiagnosisCandidate::spec);
  };
  CHECK(candidates.front().spec == "rope:theta=5000,pairing=interleaved");
  CHECK(count("rope:theta=5000,pairing=interleaved") == 1);
  CHECK(count("rope:theta=5000") == 1);  // its pairing alone is changed
  CHECK(count("learned") == 1);
  CHECK(count("learned:offset=2") == 0);  // two rows too few for a window
  CHECK(count("t5_bias") == 0);

  const TokenStream stream = stream_of(made);
  const std::vector<DiagnosisRow> ranked = diagnose(made.model, stream, 64, 1, {});
  CHECK(ranked.size() == candidates.size());
  for (size_t i = 1; i < 9; ++i) CHECK(ranked[i - 1].nll <= ranked[i].nll);
  CHECK(ranked[8].tokens == 64);
  CHECK(ranked[9].tokens == 64);
  for (const DiagnosisRow& d : ranked)
    if (d.position == candidates.front().spec) CHECK(d.delta_nll == 0);
}
