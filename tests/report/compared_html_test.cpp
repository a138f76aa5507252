// compared_html_test.cpp: the page of a comparison is whole, shows what there is, and survives whatever is in it.
#include "report/compared_html.h"

#include <cstdlib>
#include <limits>
#include <set>

#include "compared_sample.h"
#include "support.h"

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
  CHECK(!has(page, "nan"));
  CHECK(!has(page, ">inf"));
  return page;
}

}  // namespace

TEST_CASE("compared_html: every section and every chart is there, in order") {
  const std::string page = page_of(sample_comparison());
  CHECK(has(page, "<title>Six position schemes on the same weights</title>"));
  size_t last = 0;
  for (const char* id : {"standing", "summary", "length", "difference", "position", "agreement", "order", "distance",
                         "attention", "recall", "continuation", "cost", "pictures", "settings"}) {
    CAPTURE(id);
    const size_t at = page.find("<section id=\"" + std::string(id) + "\"");
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  for (const char* chart : {"loss-by-length", "differences-1", "differences-2", "loss-by-position",
                            "loss-by-position-trained", "agreement", "order", "attention-distance",
                            "attention-distance-heads", "attention-1", "attention-4", "recall", "pictures"}) {
    CAPTURE(chart);
    const size_t at = page.find("data-chart=\"" + std::string(chart) + "\"");
    REQUIRE(at != std::string::npos);
    CHECK(page.find("<svg", at) < page.find("</section>", at));
  }
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
