// compared_html_test.cpp: the page of a comparison is whole, shows what there is, and survives whatever is in it.
#include "report/compared_html.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include "compared_sample.h"
#include "support.h"

using namespace ordinal;
using namespace ordinal::report;
using test::sample_comparison;
using test::sample_pictures;

namespace {

size_t times(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// From a mark to the next end behind it.
std::string part_of(const std::string& page, std::string_view from, std::string_view to) {
  const size_t start = page.find(from);
  REQUIRE(start != std::string::npos);
  return page.substr(start, page.find(to, start) - start);
}

// Every tag closes what was opened last, but for those that HTML never closes; every & begins an entity; every id is
// there once, and what labels and links point to exists.
void check_well_formed(const std::string& page) {
  static const std::set<std::string> kVoid = {"!DOCTYPE", "meta", "link", "wbr"};
  std::vector<std::string> open;
  std::set<std::string> ids;
  std::vector<std::string> wanted;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    REQUIRE(end != std::string::npos);
    std::string tag = page.substr(at + 1, end - at - 1);
    REQUIRE_MESSAGE(times(tag, "\"") % 2 == 0, tag);
    if (tag[0] == '/') {
      REQUIRE(!open.empty());
      REQUIRE_MESSAGE(open.back() == tag.substr(1), "</" << open.back() << "> is missing before <" << tag << ">");
      open.pop_back();
    } else {
      const std::string name = tag.substr(0, tag.find_first_of(" /"));
      if (!kVoid.contains(name) && tag.back() != '/') open.push_back(name);
      const auto value_of = [&](const std::string& attribute) {
        const size_t from = tag.find(" " + attribute + "=\"");
        if (from == std::string::npos) return std::string();
        const size_t begin = from + attribute.size() + 3;
        return tag.substr(begin, tag.find('"', begin) - begin);
      };
      if (const std::string id = value_of("id"); !id.empty()) CHECK_MESSAGE(ids.insert(id).second, "twice: " << id);
      if (const std::string href = value_of("href"); href.starts_with('#')) wanted.push_back(href.substr(1));
      std::string labels = value_of("aria-labelledby");
      for (size_t begin = 0; begin < labels.size();) {
        const size_t stop = std::min(labels.find(' ', begin), labels.size());
        wanted.push_back(labels.substr(begin, stop - begin));
        begin = stop + 1;
      }
    }
    at = end;
  }
  CHECK(open.empty());
  for (const std::string& id : wanted) CHECK_MESSAGE(ids.contains(id), "no element has the id " << id);
  for (size_t at = page.find('&'); at != std::string::npos; at = page.find('&', at + 1)) {
    const std::string_view rest = std::string_view(page).substr(at, 8);
    bool entity = false;
    for (const char* known : {"&amp;", "&lt;", "&gt;", "&quot;", "&nbsp;", "&#x2019;"})
      entity = entity || rest.starts_with(known);
    CHECK_MESSAGE(entity, page.substr(at, 40));
  }
}

std::string page_of(const Compared& result) {
  const std::string page = to_html(result, sample_pictures(result));
  check_well_formed(page);
  if (const size_t at = page.find("nan"); at != std::string::npos) CHECK_MESSAGE(false, page.substr(at - 80, 120));
  CHECK(!has(page, ">inf"));
  return page;
}

}  // namespace

TEST_CASE("compared_html: every section and every chart is there, in order") {
  const std::string page = page_of(sample_comparison());
  const std::string finding = "Trained under 3 schemes at once, these weights read best under rope";
  CHECK(has(page, "<title>" + finding));
  CHECK(has(page, "<h1>" + finding));
  CHECK(times(page, "On weights that never saw it") == 0);
  CHECK(page.find("sinusoidal, on weights that never saw it") > page.find("<summary>Scheme by scheme</summary>"));
  size_t last = 0;
  for (const char* id :
       {"where", "summary", "findings", "sample", "length", "difference", "position", "agreement", "order", "distance",
        "attention", "recall", "continuation", "cost", "standing", "pictures", "settings"}) {
    CAPTURE(id);
    const size_t at = page.find("<section id=\"" + std::string(id) + "\"");
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  for (const char* chart :
       {"difference-by-position", "loss-by-length", "differences-1", "differences-2", "loss-by-position",
        "loss-by-position-trained", "agreement", "order", "attention-distance", "attention-distance-heads",
        "attention-1", "attention-4", "recall", "pictures", "difference-by-position-narrow", "difference-inside"}) {
    CAPTURE(chart);
    const size_t at = page.find("data-chart=\"" + std::string(chart) + "\"");
    REQUIRE(at != std::string::npos);
    CHECK(page.find("<svg", at) < page.find("</section>", at));
  }
}

TEST_CASE("compared_html: the page loads nothing and runs nothing") {
  const std::string page = page_of(sample_comparison());
  CHECK(times(page, "http") == times(page, "http-equiv") + times(page, "http://www.w3.org/2000/svg"));
  for (const char* part : {"<script", "<img", "<iframe", "@import", "url("}) CHECK_MESSAGE(!has(page, part), part);
  CHECK(times(page, "<style>") == 1);
}

TEST_CASE("compared_html: names and tokens cannot become markup") {
  const std::string evil = "<script>alert('1')</script>\"&";
  Compared result = sample_comparison();
  result.model = result.text = result.prompt = result.command_shown = result.version = evil;
  for (Finding& finding : result.findings) finding.text = evil;
  for (const std::string native = result.native; ComparedScheme & scheme : result.schemes) {
    for (ComparedRow& row : result.rows)
      if (row.position == scheme.position) row.position += evil;
    for (std::string& name : result.matrix)
      if (name == scheme.position) name += evil;
    if (scheme.position == native) result.native += evil, result.reference += evil;
    scheme.position += evil;
    scheme.kind = scheme.reason = evil;
    scheme.remarks = {evil};
    for (std::string& piece : scheme.continuation) piece = evil + "\xff\x01";
  }
  for (std::string& piece : result.prompt_pieces) piece = evil + "\xe2\x82";
  for (RecallRow& row : result.recall) row.task = evil;
  for (ComparedRow& row : result.rows) row.against += evil;
  const std::string page = page_of(result);
  CHECK(!has(page, "<script"));
  CHECK(has(page, "&lt;script&gt;alert('1')&lt;/script&gt;&quot;&amp;"));
  CHECK(has(page, "\\xff\\x01"));
}

TEST_CASE("compared_html: the summary shows each number, its interval, and the standing at that length") {
  Compared result = sample_comparison({.schemes = 4});
  result.rows.resize(4);
  result.rows[1].nll = 1.23456;
  result.rows[1].delta_nll = -0.5;
  result.rows[1].delta_low = -0.75;
  result.rows[1].delta_high = 0.25;
  result.rows[1].top1_agreement = 0.875;
  result.rows[3].standing = Standing::untrained;  // exact elsewhere
  const std::string page = page_of(result);
  const size_t start = page.find("<table class=\"summary\"");
  const std::string table = page.substr(start, page.find("</table>", start) - start);
  CHECK(has(table, "<td>1.235</td>"));
  CHECK(has(table, "−0.500<span class=\"interval\">−0.750 to +0.250</span>"));
  CHECK(has(table, "<td>87.5 %</td>"));
  CHECK(times(table, "<span class=\"badge jointly\">") == 3);
  CHECK(times(table, "<span class=\"badge untrained\">") == 1);
  CHECK(has(table, "<tr class=\"native\"><th scope=\"row\"><span class=\"scheme\"><svg class=\"marker oc-0\""));
}

TEST_CASE("compared_html: the ranked table has the best first, and the model inside its length as a row of its own") {
  Compared result = sample_comparison({.schemes = 2, .lengths = {512, 1024}});
  ComparedRow recent = result.rows.front();
  recent.protocol = kRecent, recent.length = 1024, recent.nll = 0.5, recent.ppl = 1.65;
  recent.against = "rope", recent.against_protocol = kWhole, recent.delta_nll = -1.25;
  result.rows.push_back(recent);
  result.native = "alibi";  // whichever it is, the reference stays rope
  const std::string page = page_of(result);
  const std::string table = part_of(page, "<section id=\"summary\"", "<details>");
  const size_t longer = table.find("1,024 tokens"), baseline = table.find("on the last 512");
  REQUIRE(longer != std::string::npos);
  REQUIRE(baseline != std::string::npos);
  CHECK(baseline > longer);
  CHECK(baseline < table.find("alibi", longer));  // it has the least loss there
  CHECK(has(table, "class=\"delta\" data-label=\"difference\">−1.250"));
  CHECK(times(page, "<h3>recent") == 0);
}

TEST_CASE("compared_html: differences by position have a band, the trained length and names at the ends") {
  const std::string page = page_of(sample_comparison());
  const std::string chart = part_of(page, "data-chart=\"difference-by-position\"", "</figure>");
  CHECK(times(chart, "<div class=\"panel\">") == 2);  // by position, and the forest
  CHECK(has(chart, "windows of 2,048 tokens"));
  CHECK(has(chart, "trained length"));
  CHECK(has(chart, ">alibi</text>"));
  CHECK(has(chart, "class=\"oc-band\""));
  CHECK(has(chart, "class=\"oc-forest\""));
  // Of 5 lengths for each scheme but the reference, and none for the one that is refused.
  CHECK(times(chart, "data-mean=") == 5 * 4 - 1);  // one ends before 2,048
  // The same chart for a phone, in letters of their own size.
  CHECK(has(part_of(page, "data-chart=\"difference-by-position-narrow\"", "</figure>"), "viewBox=\"0 0 360 "));
}

TEST_CASE("compared_html: the scale is of the lines, and a band that leaves it says so") {
  Compared result = sample_comparison({.schemes = 3, .lengths = {512, 1024}});
  const auto chart = [&] { return part_of(page_of(result), "data-chart=\"difference-by-position\"", "</figure>"); };
  CHECK(!has(chart(), "bands go on"));
  for (ComparedRow& row : result.rows)
    for (Estimate& e : row.delta_by_position) e.low = e.mean - 400, e.high = e.mean + 300;
  const std::string wide = chart();
  CHECK(has(wide, "↑ bands go on"));
  CHECK(has(wide, "↓ bands go on"));
  CHECK(!has(wide, ">100</text>"));  // no tick of a scale for the bands
}

TEST_CASE("compared_html: a scheme has one colour and one marker on the whole page") {
  const std::string page = page_of(sample_comparison());
  // rope, alibi, none, sinusoidal have their own; a variant of rope gets what is free.
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"rope", "oc-0"}, {"alibi", "oc-1"}, {"none", "oc-7"}, {"sinusoidal", "oc-3"}};
  for (const auto& [name, css] : expected) {
    CAPTURE(name);
    size_t seen = 0;
    for (size_t at = page.find("data-name=\"" + name + "\" data-x"); at != std::string::npos;
         at = page.find("data-name=\"" + name + "\" data-x", at + 1)) {
      ++seen;
      const size_t open = page.rfind("<g", at);
      CHECK(has(page.substr(open, at - open), "oc-series " + css));
    }
    CHECK(seen > 4);
    CHECK(has(page, "<svg class=\"marker " + css + "\""));
  }
  CHECK(!has(page, "class=\"legend\""));
}

TEST_CASE("compared_html: tokens are tinted by their surprisal, and words say so too") {
  Compared result = sample_comparison({.schemes = 1});
  result.schemes[0].sample = {.ids = {1, 2, 3}, .pieces = {" calm", " odd", " <b>"}, .surprisal = {0.2, 4.0, 99}};
  result.sample_begins = result.trained_length - 2;
  const std::string text = part_of(page_of(result), "<section id=\"sample\"", "</section>");
  CHECK(has(text, "</span> calm<span class=\"tint-2\" title=\"4.0 nats\"> odd</span>"));
  CHECK(has(text, "<span class=\"tint-6\" title=\"99.0 nats\"> &lt;b&gt;</span>"));
  CHECK(has(text, "512<span class=\"unseen\"> tokens: the trained length ends] </span></span><span class=\"tint-6\""));
  CHECK(has(text, "2.10 nats a token inside the trained length, 99.00 past it; most surprising: <q> &lt;b&gt;</q>"));
}

TEST_CASE("compared_html: attention is shown as what a scheme has more or less than the reference") {
  Compared result = sample_comparison({.schemes = 2, .layers = 1});
  result.attention_pieces = {" a", " b"};
  result.schemes[0].attention = {{{1, 0}, {0.5, 0.5}}};
  result.schemes[1].attention = {{{1, 0}, {0.25, 0.75}}};
  const std::string map = part_of(page_of(result), "data-chart=\"attention-1\"", "</figure>");
  CHECK(has(map, "data-row=\"1\" data-values=\"-0.25 0.25\""));
  CHECK(has(map, "weight, minus rope's"));
  CHECK(has(map, ">·b</text>"));
  CHECK(has(map, "oc-minus"));
}

TEST_CASE("compared_html: past ten schemes the ranked rest is behind a click, as are most lengths") {
  const std::string page = page_of(sample_comparison({.schemes = 12, .lengths = {128, 256, 512}}));
  const std::string ranked = part_of(page, "<section id=\"summary\"", "</section>");
  CHECK(has(ranked, "<summary>1 more scheme at 512 tokens</summary>"));
  CHECK(ranked.find("Windows of 512 tokens") < ranked.find("<summary>Other lengths"));
  CHECK(ranked.find("Windows of 128 tokens") > ranked.find("<summary>Other lengths"));
  // Only what occurs is explained.
  CHECK(has(ranked, "<dt><span class=\"badge exact\">"));
  CHECK(!has(part_of(ranked, "class=\"meaning\"", "</dl>"), "badge trained\""));
}

TEST_CASE("compared_html: a refused scheme is in the table with its reason, and in no chart") {
  Compared result = sample_comparison();
  const std::string page = page_of(result);
  CHECK(has(page, "<tr class=\"refused\"><th scope=\"row\"><span class=\"scheme\"><svg class=\"marker oc-4\""));
  CHECK(has(page, "Its table ends at position 1,023."));
  CHECK(!has(page, "data-name=\"learned\""));
}

TEST_CASE("compared_html: the first token that differs is marked and what is shared is pale") {
  Compared result = sample_comparison({.schemes = 2});
  result.schemes[0].continuation = {" a", " b", " c"};
  result.schemes[1].continuation = {" a", " x", " y"};
  result.schemes[1].differs_at = 1;
  const std::string page = page_of(result);
  CHECK(has(page, "</span><span class=\"shared\"> a</span><mark> x</mark> y</p>"));
  CHECK(has(page, "token 2 of 3 is the first that differs"));
  CHECK(has(page, "</span> a b c</p>"));
  for (const int64_t odd : {int64_t{-7}, int64_t{3}, int64_t{99}}) {
    result.schemes[1].differs_at = odd;
    CHECK(has(page_of(result), "the same as native to the end"));
  }
  // A character that two tokens share is whole when both are on one side.
  result.schemes[0].continuation = {"\xc3", "\xa9\n"};
  CHECK(has(page_of(result), "</span>é<span class=\"line-end\">"));
}

TEST_CASE("compared_html: one scheme, twelve schemes, none, all refused") {
  const auto without_findings = [](Compared result) {
    result.findings.clear();
    return page_of(result);
  };
  CHECK(has(without_findings(sample_comparison({.schemes = 1, .layers = 1, .heads = 1, .lengths = {64}})),
            "<h1>One position scheme on its weights</h1>"));
  const std::string twelve = without_findings(sample_comparison({.schemes = 12, .layers = 12, .heads = 12}));
  CHECK(has(twelve, "<h1>Twelve position schemes"));
  check_well_formed(to_html(Compared{}, {}));
  Compared refused = sample_comparison({.schemes = 3});
  for (ComparedScheme& scheme : refused.schemes) {
    const std::string position = scheme.position;
    scheme = {};
    scheme.position = position, scheme.standing = Standing::refused, scheme.reason = "Why & so";
  }
  refused.rows.clear(), refused.recall.clear(), refused.matrix.clear(), refused.prompt.clear();
  const std::string page = page_of(refused);
  CHECK(times(page, "<tr class=\"refused\">") == 3);
  CHECK(times(page, "class=\"nothing\"") == 14);
}

TEST_CASE("compared_html: what is missing or not finite is a dash, what is huge is short") {
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300,
                           -1e300, 0.0, -0.0, 1e-300}) {
    Compared result = sample_comparison({.schemes = 3, .layers = 2, .heads = 2, .lengths = {64, 512}});
    result.unigram_nll = result.seconds = odd;
    for (ComparedScheme& scheme : result.schemes) {
      scheme.in_order = scheme.shuffled = scheme.ms_per_token = odd;
      scheme.attention_distance.assign(3, std::vector<double>(2, odd));
      for (auto& layer : scheme.attention)
        for (auto& row : layer) row.assign(1, static_cast<float>(odd));
    }
    for (ComparedRow& row : result.rows) {
      row.nll = row.ppl = row.bits_per_byte = row.std_error = row.ms_per_token = odd;
      row.delta_nll = row.delta_low = row.delta_high = row.kl = row.top1_agreement = odd;
      row.loss_by_position.assign(4, odd);
      row.delta_by_position.assign(4, Estimate{.mean = odd, .std_error = odd, .low = odd, .high = odd});
    }
    for (RecallRow& row : result.recall) row.accuracy = row.low = row.high = odd;
    for (auto* matrix : {&result.kl, &result.top1}) matrix->assign(2, std::vector<double>(9, odd));
    const std::string page = page_of(result);
    CHECK(page.find(std::string(40, '0')) == std::string::npos);
    CHECK(has(page, std::isfinite(odd) ? "perplexity" : "<td>–</td>"));
  }
  Compared bare = sample_comparison({.schemes = 2});
  for (ComparedRow& row : bare.rows) row.delta_nll = row.delta_low = row.kl = std::nullopt, row.loss_step = 0;
  for (ComparedScheme& scheme : bare.schemes) scheme.in_order = std::nullopt;
  bare.trained_length = 0;
  bare.prompt_pieces.clear();
  CHECK(has(page_of(bare), "<td class=\"delta\">–</td>"));
}

// For make page-check: SAMPLE_PAGE names the file.
TEST_CASE("compared_html: writes a sample page" * doctest::skip()) {
  const char* path = std::getenv("SAMPLE_PAGE");
  REQUIRE(path != nullptr);
  const char* schemes = std::getenv("SAMPLE_SCHEMES");
  const size_t n = schemes == nullptr ? 6 : std::strtoul(schemes, nullptr, 10);
  const Compared result = sample_comparison({.schemes = n, .layers = n});
  test::write_file(path, to_html(result, sample_pictures(result)));
}
