// plot_test.cpp: `positions plot`, and numbers read back out of its pictures.
#include <algorithm>
#include <cmath>

#include "draw/svg_text.h"
#include "fixture.h"
#include "ordinal/position.h"

using test::elements_with;
using test::run;

namespace {

std::vector<std::string> plot(std::vector<std::string> arguments) {
  std::vector<std::string> all = {"positions", "plot", "-o", "-"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::vector<test::Element> picture(std::vector<std::string> arguments) {
  const test::Outcome outcome = run(plot(std::move(arguments)));
  test::check_done(outcome);
  CHECK(outcome.out.size() < 1'500'000);
  return test::parse_svg(outcome.out);
}

// The numbers of the first series, or of the rows of a heat map.
std::vector<double> y_of(const std::vector<test::Element>& all) {
  for (const test::Element& element : all)
    if (element.attributes.contains("data-y")) return element.numbers("data-y");
  return {};
}

double cell(const std::vector<test::Element>& all, const std::string& row_attribute, size_t row, size_t col) {
  return elements_with(all, row_attribute, std::to_string(row)).at(0).numbers("data-values").at(col);
}

}  // namespace

TEST_CASE("cli plot: every scheme has a picture of its own") {
  for (const ordinal::SchemeInfo& info : ordinal::position_schemes()) {
    CAPTURE(info.name);
    const auto all = picture({std::string(info.name), "--example", "--positions", "24"});
    CHECK(!all[1].text.empty());
    CHECK(!all[2].text.empty());
    const bool has_numbers = !y_of(all).empty() || !elements_with(all, "class", "oc-row").empty();
    CHECK(has_numbers);
  }
}

TEST_CASE("cli plot: known points read back") {
  const auto heat_map = picture({"sinusoidal"});
  CHECK(cell(heat_map, "data-dim", 0, 1) == doctest::Approx(0.841471));
  CHECK(cell(heat_map, "data-dim", 1, 1) == doctest::Approx(0.540302));
  CHECK(cell(heat_map, "data-dim", 63, 0) == 1);
  CHECK(elements_with(heat_map, "class", "oc-row").size() == 64);

  CHECK(y_of(picture({"alibi", "--heads", "12"})).at(8) == doctest::Approx(0.707107));
  CHECK(y_of(picture({"alibi", "--heads", "8"})).at(7) == doctest::Approx(1.0 / 256));
  const auto buckets = y_of(picture({"t5_bias"}));
  CHECK(buckets.at(112) == 30);
  CHECK(buckets.at(113) == 31);
  CHECK(cell(picture({"none"}), "data-query", 3, 2) == 0.25);

  const auto waves = picture({"rope"});
  const auto plain = elements_with(waves, "data-name", "plain").at(0).numbers("data-y");
  CHECK(plain.at(0) == doctest::Approx(2 * 3.14159265).epsilon(1e-5));
  CHECK(plain.at(31) == doctest::Approx(47117.243).epsilon(1e-5));
  const auto parts = elements_with(waves, "data-name", "ntk_by_parts, yarn").at(0).numbers("data-y");
  CHECK(2 * 3.14159265 / parts.at(12) == doctest::Approx(.01885204).epsilon(1e-5));
  CHECK(elements_with(waves, "data-at", "1024").size() == 1);
  CHECK(elements_with(waves, "data-at", "4096").size() == 1);

  // The query at 15 of the paper's figure, chunks of 6 and distances up to 9, by how far back a key is.
  const auto places = y_of(picture({"rope;with=dca:chunk=6,limit=10", "--positions", "16"}));
  const double figure[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5, 6, 7, 8, 9};
  REQUIRE(places.size() == 16);
  for (size_t n = 0; n < 16; ++n) CHECK(places[n] == doctest::Approx(figure[n]).epsilon(1e-3));
  // Keys that are not seen have no point: a window of 3, and two sinks.
  const auto seen =
      elements_with(picture({"alibi;with=sinks:first=2,window=3", "--positions", "9"}), "class", "oc-chart");
  CHECK(seen.size() == 1);

  const auto similarity = picture({"sinusoidal", "--kind", "similarity", "--positions", "128"});
  CHECK(y_of(similarity).at(10) == doctest::Approx(.678866));
  CHECK(elements_with(similarity, "data-name", "higher than one step nearer").at(0).numbers("data-x").at(0) == 44);
}

TEST_CASE("cli plot: every kind of the sinusoid") {
  for (const char* kind : {"waveforms", "circle", "counter", "orthogonality", "pca"})
    picture({"sinusoidal", "--kind", kind, "--dims", "16", "--positions", "40"});
  const auto counter = picture({"sinusoidal", "--kind", "counter"});
  std::vector<double> bits, signs;
  for (const test::Element& row : elements_with(counter, "data-p", "5"))
    (bits.empty() ? bits : signs) = row.numbers("data-values");
  CHECK(bits == std::vector<double>{1, 0, 1, 0, 0});
  CHECK(signs.at(0) == (std::sin(5.0) > 0 ? 1 : 0));
  const auto first = picture({"sinusoidal", "--kind", "waveforms"});
  CHECK(elements_with(first, "class", "oc-chart").size() == 6);
}

TEST_CASE("cli plot: shapes at the edge") {
  for (const char* spec : {"rope:rotary_dim=2", "rope:scaling=dynamic", "t5_bias;layers=0:none", "sinusoidal:scale=0",
                           "normalized", "none;layers=0:alibi"})
    picture({spec, "--heads", "1"});
  for (const char* kind : {"waveforms", "similarity", "circle", "counter", "orthogonality", "pca", "heatmap"})
    picture({"sinusoidal", "--kind", kind, "--dims", "2", "--positions", "1"});
}

TEST_CASE("cli plot: pictures of a model and a text") {
  const std::string& model = test::byte_model();
  const auto table = picture({"native", "-m", model});
  CHECK(elements_with(table, "class", "oc-row").size() == 36);
  picture({"native", "-m", model, "--kind", "pca"});
  const auto map = picture({"native", "-m", model, "--kind", "attention", "Some text.", "--layer", "1", "--head", "2"});
  const auto rows = elements_with(map, "class", "oc-row");
  CHECK(rows.size() == 10);
  for (const test::Element& row : rows) {
    double sum = 0;
    for (const double weight : row.numbers("data-values")) sum += weight;
    CHECK(sum == doctest::Approx(1).epsilon(1e-4));
  }
  picture({"alibi", "-m", model, "--kind", "distance", "Some text that is longer than the model's forty tokens are."});
  const auto loss = picture(
      {"alibi", "-m", model, "--kind", "loss", "--positions", "50", "-f", test::repository("tests/cli/fixture.h")});
  CHECK(y_of(loss).size() == 49);
  CHECK(elements_with(loss, "data-at", "40").size() == 1);
  test::check_failed(run(plot({"native", "-m", model, "--positions", "41"})), {"40"});
}

TEST_CASE("cli plot: with a model the default length is its trained one") {
  const std::string& model = test::byte_model();  // trained on 40
  const auto distances = picture({"alibi", "-m", model, "--kind", "bias", "--head", "0"});
  CHECK(y_of(distances).size() == 40);
  const std::string longer = "Some text that is a good deal longer than the forty tokens that the model knows.";
  const test::Outcome distance = run(plot({"alibi", "-m", model, "--kind", "distance", longer, "--head", "0"}));
  test::check_done(distance);
  CHECK(distance.out.find(">40 tokens; over all queries") != std::string::npos);
  CHECK(y_of(test::parse_svg(distance.out)).size() == 7);  // 0, 1, 2, 4, 8, 16, 32
  test::check_done(run(plot({"alibi", "-m", model, "--kind", "distance", longer, "--positions", "60"})));
}

TEST_CASE("cli plot: a heat map of a text has its tokens along both axes, and a bar for its colours") {
  const std::string& model = test::byte_model();
  const auto all = picture({"native", "-m", model, "--kind", "attention", "Ab cd", "--head", "1"});
  const auto count = [&](const std::string& text) {
    return std::ranges::count_if(all, [&](const test::Element& element) { return element.text == text; });
  };
  CHECK(count("A") == 2);
  CHECK(count("·") == 2);  // the blank
  CHECK(count("weight") == 1);
  // Several heads: each map has its bar.
  const auto heads = picture({"native", "-m", model, "--kind", "attention", "Ab cd"});
  CHECK(std::ranges::count_if(heads, [](const test::Element& element) { return element.text == "weight"; }) == 3);
}

TEST_CASE("cli plot: scores by distance of one head under two schemes differ by what the schemes add") {
  const std::string& model = test::byte_model();
  const std::string text = "Some text of thirty-six tokens in all";
  const auto all =
      picture({"none", "--against", "alibi:max_bias=8", "-m", model, "--kind", "scores", text, "--head", "0"});
  const auto named = [&](const std::string& name) {
    std::vector<std::vector<double>> found;
    for (const test::Element& element : all)
      if (element.attributes.contains("data-y") && element.attributes.at("data-name") == name)
        found.push_back(element.numbers("data-y"));
    REQUIRE(found.size() == 2);  // scores, weights
    return found;
  };
  const auto none = named("none"), alibi = named("alibi:max_bias=8");
  REQUIRE(none[0].size() == text.size() - 3);  // as far as four queries see
  // The first layer's queries and keys are the same under both: ALiBi takes its slope times the distance, and of three
  // heads the first has 1/16.
  for (size_t d = 0; d < none[0].size(); ++d)
    CHECK(none[0][d] - alibi[0][d] == doctest::Approx(static_cast<double>(d) / 16).epsilon(1e-3));
  double total = 0;
  for (size_t d = 0; d < none[1].size(); ++d) total += none[1][d] * static_cast<double>(text.size() - d);
  CHECK(total < static_cast<double>(text.size()));
  CHECK(total > 0.9 * static_cast<double>(text.size()));  // all but what the farthest weigh
  CHECK(alibi[1].back() < none[1].back());

  const auto losses = picture(
      {"none", "--against", "alibi", "-m", model, "--kind", "loss", "-f", test::repository("tests/cli/fixture.h")});
  CHECK(elements_with(losses, "data-name", "alibi").size() == 1);
  const test::Outcome idle = run(plot({"alibi", "--against", "none"}));
  test::check_done(idle);
  CHECK(idle.err.find("--against") != std::string::npos);
  test::check_failed(run(plot({"alibi", "--against", "nonsense", "-m", model, "--kind", "scores", "text"})),
                     {"nonsense"});
}

TEST_CASE("cli plot: what cannot be drawn says what can") {
  const test::Outcome wrong = run(plot({"alibi", "--kind", "wavelengths"}));
  test::check_failed(wrong, {"slopes"});
  CHECK(wrong.err.find("slopes, bias, prior, attention, distance, scores, loss") != std::string::npos);
  test::check_failed(run(plot({"learned"})), {"--example"});
  CHECK(run(plot({"learned"})).err.find("position_embd.weight") != std::string::npos);
  test::check_failed(run(plot({"native"})), {"-m"});
  test::check_failed(run(plot({"rope", "--kind", "attention", "text"})), {"-m"});
  test::check_failed(run(plot({"rope:pair=half"})), {"pairing"});
  test::check_failed(run(plot({"sinus"})), {"sinusoidal"});
  test::check_failed(run(plot({"sinusoidal", "--dims", "7"})), {"even"});
  test::check_failed(run(plot({"sinusoidal", "--dims", "9999999"})), {"8192"});
  test::check_failed(run(plot({"sinusoidal", "--positions", "0"})), {"--positions"});
  test::check_failed(run(plot({"alibi", "--kind", "bias", "--head", "12"})), {"heads 0 to 11"});
  test::check_failed(run(plot({"alibi", "--layer", "1"})), {"--layer"});
  test::check_failed(run(plot({"sinusoidal", "--kind", "circle", "--pair", "32"})), {"pairs 0 to 31"});
  test::check_failed(run(plot({"sinusoidal:scale=0", "--kind", "orthogonality"})), {"direction"});
  test::check_failed(run(plot({"sinusoidal", "a text"})), {"text"}, 2);
  test::check_failed(run({"positions", "plot", "sinusoidal"}), {"-o"}, 2);
  test::check_failed(run({"positions", "plot", "-o", "x.svg"}), {"scheme"}, 2);
  test::check_failed(run({"positions", "plot", "sinusoidal", "-o", "/nowhere/x.svg"}), {"/nowhere"});
}

TEST_CASE("cli plot: the file is the picture, and the same every time") {
  const test::Scratch scratch;
  const test::Outcome outcome = run({"positions", "plot", "sinusoidal", "-o", scratch.path("a.svg")});
  test::check_done(outcome);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("heatmap of sinusoidal") != std::string::npos);
  CHECK(test::read_file(scratch.path("a.svg")) == run(plot({"sinusoidal"})).out);
}
