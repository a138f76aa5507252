// compare_test.cpp: a comparison against the same numbers had one at a time, and what it says of schemes on weights.
#include "study/compare/compare.h"

#include <algorithm>
#include <cmath>

#include "reference/random_model.h"
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
  CHECK(of(alone, "learned:beyond=hierarchical", 80) == Standing::exact);
  CHECK(of(alone, "learned:beyond=resample,length=80", 80) == Standing::untrained);  // moves positions inside too
  CHECK(of(alone, "rope") == Standing::untrained);
  CHECK(of(alone, "t5_bias") == Standing::refused);
  CHECK(of(joint, "rope") == Standing::jointly);
  CHECK(of(joint, "native") == Standing::jointly);
  CHECK(of(joint, "rope:theta=500") == Standing::untrained);
  CHECK(of(joint, "rope:scaling=dynamic,length=40") == Standing::exact);
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
  const Compared result = compare(made.model, *made.tokenizer, stream, options, {});
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
      CHECK(row.trained == (position == std::string("learned")));
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
  CHECK(!row_of(result, "rope", 64).delta_nll);

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
  const Compared result = compare(made.model, *made.tokenizer, stream_of(made), options, {});
  const ComparedRow& same = row_of(result, result.schemes[1].position, 40);
  CHECK(*same.delta_nll == 0);
  CHECK(*same.kl < 1e-9);
  CHECK(*same.top1_agreement == 1);
  CHECK(same.trained);
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
  const Compared result = compare(made.model, *made.tokenizer, stream_of(made), options, {});
  const ComparedScheme &none = result.schemes[0], &alibi = result.schemes[1];
  CHECK(none.continuation_ids.size() == 5);
  REQUIRE(none.attention.size() == 2);  // layers
  REQUIRE(none.attention[0].size() == 9);
  for (const auto& row : none.attention[1]) {
    double sum = 0;
    for (const float weight : row) sum += static_cast<double>(weight);
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
  }
  for (size_t i = 0; i < 9; ++i)
    for (size_t j = i + 1; j < 9; ++j) CHECK(none.attention[0][i][j] == 0);
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

TEST_CASE("compare: recall tasks exist at the trained length and beyond, and end where a scheme does") {
  const Made made = byte_model({"learned"});
  CompareOptions options;
  options.positions = {"alibi"};
  options.lengths = {20, 80};
  const Compared result = compare(made.model, *made.tokenizer, stream_of(made), options, {});
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
    return test::error_of([&] { compare(made.model, *made.tokenizer, stream, options, {}); });
  };
  CHECK(test::mentions(error({}, {0}), {"1 to"}));
  CHECK(test::mentions(error({}, {100000}), {"100000"}));
  CHECK(test::mentions(error({"rope:theta"}, {16}), {"rope:theta"}));
}

TEST_CASE("compare: defaults name what the weights were trained under, or what needs no tensors") {
  const Made alone = byte_model({"learned"}), joint = byte_model({"learned", "rope", "alibi"});
  const std::vector<std::string> of_joint = default_positions(*joint.model), of_alone = default_positions(*alone.model);
  CHECK(of_joint == std::vector<std::string>{"learned", "learned", "rope", "alibi"});
  CHECK(std::ranges::find(of_alone, "alibi") != of_alone.end());
  CHECK(std::ranges::find(of_alone, "t5_bias") == of_alone.end());
  CHECK(std::ranges::find(of_alone, "index") == of_alone.end());
  CHECK(default_lengths(*alone.model, 100) == std::vector<int64_t>{10, 20, 40, 80});
  CHECK(default_lengths(*alone.model, 5) == std::vector<int64_t>{4});
}

TEST_CASE("headlines: said only where the numbers bear them out") {
  const Made joint = byte_model({"learned", "rope", "alibi"});
  CompareOptions options;
  options.lengths = {40, 80};
  Compared result = compare(joint.model, *joint.tokenizer, stream_of(joint), options, {});
  const std::vector<std::string> lines = headlines_of(result);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find("Trained under all 3 at once") == 0);
  CHECK(lines[1].find("learned cannot go there") != std::string::npos);
  CHECK(lines[2].find("Shuffling") == 0);
  result.rows.clear();
  result.schemes.clear();
  CHECK(headlines_of(result).empty());
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
