// bench_test.cpp: `ordinal bench`: a row for each combination, with all that was promised in it.
#include <string>
#include <vector>

#include "fixture.h"

using namespace test;

namespace {

TEST_CASE("cli bench: lists give a row each combination") {
  const Outcome outcome = run({"bench", "--shape", "tiny", "--dtype", "f32,q8_0", "--kv-dtype", "f16", "-p", "3", "-n",
                               "2", "-d", "0,70", "-t", "2", "--repeats", "1", "--json"});
  const nlohmann::json rows = json_of(outcome);
  REQUIRE(rows.size() == 4);
  const std::vector<std::string> dtypes = {"f32", "f32", "q8_0", "q8_0"};
  for (size_t i = 0; i < 4; ++i) {
    const nlohmann::json& row = rows[i];
    CHECK(row["dtype"] == dtypes[i]);
    CHECK(row["kv_dtype"] == "f16");
    CHECK(row["depth"] == (i % 2 == 0 ? 0 : 70));
    // 2 layers of 128 channels, keys and values of 2 bytes; tokens 1 and 2 of the decode see depth + 1 and depth + 2.
    CHECK(row["cache_bytes"] == (2 * row["depth"].get<int64_t>() + 3) * 2 * 2 * 128 * 2 / 2);
    for (const char* rate : {"prefill_tokens_per_s", "decode_tokens_per_s", "read_gb_per_s", "attention_gb_per_s",
                             "gflops", "machine_read_gb_per_s", "machine_read_one_stream_gb_per_s", "machine_gflops",
                             "machine_int8_gops", "of_peak", "of_read", "peak_rss_mb"}) {
      CAPTURE(std::string(rate));
      CHECK(row[rate].get<double>() > 0);
    }
    const double ceiling = row[i < 2 ? "machine_gflops" : "machine_int8_gops"];
    CHECK(row["of_peak"].get<double>() == doctest::Approx(row["gflops"].get<double>() / ceiling));
  }
}

TEST_CASE("cli bench: sequences decoded side by side have a row each number, and share the weights") {
  const nlohmann::json rows = json_of(run(
      {"bench", "--shape", "tiny", "-p", "3", "-n", "4", "-s", "1,5", "-t", "1", "--repeats", "1", "--json", "-q"}));
  REQUIRE(rows.size() == 2);
  for (const int i : {0, 1}) {
    const double sequences = i == 0 ? 1 : 5, passes = rows[i]["decode_tokens_per_s"].get<double>() / sequences;
    CHECK(rows[i]["sequences"] == sequences);
    const double bytes = rows[i]["weight_bytes"].get<double>() + sequences * rows[i]["cache_bytes"].get<double>();
    CHECK(rows[i]["read_gb_per_s"].get<double>() == doctest::Approx(passes * bytes / 1e9));
  }
  check_failed(run({"bench", "--shape", "tiny", "-s", "0"}), {"1 to 1024"});
}

TEST_CASE("cli bench: a position scheme, with tables that the model lacks and views that its cache holds") {
  for (const char* spec : {"cope", "rope;with=rerope:window=9", "rope;with=dca:chunk=9,limit=12", "native"}) {
    const nlohmann::json rows = json_of(run({"bench", "--shape", "tiny", "-p", "30", "-n", "2", "-d", "40", "-t", "1",
                                             "--repeats", "1", "--position", spec, "--json", "-q"}));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0]["shape"] == (std::string(spec) == "native" ? "tiny" : "tiny, " + std::string(spec)));
    CHECK(rows[0]["attention_gb_per_s"].get<double>() > 0);
  }
  check_failed(run({"bench", "--shape", "tiny", "--position", "nine"}), {"there is no position scheme 'nine'"});
}

TEST_CASE("cli bench: a combination that does not fit is left out, and refused when it is the only one") {
  const std::vector<std::string> tiny = {"bench", "--shape", "tiny", "-p", "2", "-n", "1", "-t", "1", "-d", "5000"};
  check_failed(run(tiny), {"1024"});
  std::vector<std::string> two = tiny;
  two.back() = "5000,6000";
  const Outcome none = run(two);
  check_failed(none, {"no combination"});
  check_failed(run({"bench", "--shape", "tiny,huge"}), {"gpt2-medium"});
  check_failed(run({"bench", "--shape", "tiny", "--kv-dtype", "q4_0"}), {"f32, f16, bf16"});
}

}  // namespace
