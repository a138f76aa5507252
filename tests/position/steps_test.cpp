// steps_test.cpp: queries that grow in steps, as Llama 4's and Ministral 3's do.
#include <cmath>

#include "scheme_probe.h"

namespace {

double step_factor(const std::string& spec, int64_t position) {
  return static_cast<double>(test::turned(test::make(spec), position, {1, 1, 1, 1})[0]);
}

TEST_CASE("steps: Llama 4's numbers") {
  CHECK(step_factor("none;with=steps", 0) == 1);
  CHECK(step_factor("none;with=steps", 8190) == 1);
  CHECK(std::abs(step_factor("none;with=steps", 8191) - 1.069314718) < 1e-7);
  CHECK(std::abs(step_factor("none;with=steps", 131071) - 1.283321334) < 1e-7);
}

TEST_CASE("steps: Ministral 3's numbers") {
  const std::string spec = "rope;with=steps:every=16384,first=0";
  CHECK(test::spec_of(spec) == spec);
  CHECK(step_factor("none;with=steps:every=16384,first=0", 16383) == 1);
  CHECK(std::abs(step_factor("none;with=steps:every=16384,first=0", 16384) - 1.069314718) < 1e-7);
}

TEST_CASE("steps: a modifier goes with the spec before it, some layers' too") {
  const test::Scheme scheme = test::make("rope;layers=1:none;with=steps:every=4");
  const std::vector<float> x{1, 2, 3, 4};
  CHECK(test::turned(scheme, 7, x, nullptr, 0) == test::turned(test::make("rope"), 7, x));
  CHECK(test::turned(scheme, 7, x, nullptr, 1) == test::turned(test::make("none;with=steps:every=4"), 7, x));
  CHECK(scheme->facts().kind == "anchored");
  CHECK(scheme->spec() == "rope;layers=1:none;with=steps:every=4");
}

}  // namespace
