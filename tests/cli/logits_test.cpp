// logits_test.cpp: `ordinal logits`, and the context cases on the command line.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fixture.h"
#include "ordinal/session.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;

namespace {

std::vector<float> library_logits(const std::string& path, const std::vector<ordinal::TokenId>& ids, bool all) {
  ordinal::Session session(ordinal::Model::open(path));
  std::vector<float> logits;
  if (all)
    session.evaluate_all(
        ids, [&](int64_t, std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
  else
    std::ranges::copy(session.evaluate(ids), std::back_inserter(logits));
  return logits;
}

// The numbers of a .npy file whose header must name this shape.
std::vector<float> read_npy(const std::string& path, const std::string& shape) {
  const std::string bytes = read_file(path);
  REQUIRE(bytes.size() >= 64);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const size_t header = 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  CHECK(header % 64 == 0);
  CHECK(bytes.substr(10, header - 10).find("'descr': '<f4', 'fortran_order': False, 'shape': " + shape) !=
        std::string::npos);
  CHECK(bytes[header - 1] == '\n');
  std::vector<float> values((bytes.size() - header) / 4);
  std::memcpy(values.data(), bytes.data() + header, values.size() * 4);
  return values;
}

// The logits after the last id, on the command line.
std::vector<double> last_logits(const std::string& model, const std::string& ids, const std::string& position) {
  const Outcome outcome = run({"logits", "-m", model, "--ids", ids, "--position", position, "--json"});
  check_done(outcome);
  return json_of(outcome).at("logits").get<std::vector<double>>();
}

const char* const kTwelve = "3,17,8,29,5,0,39,11,22,30,6,14";
const char* const kTwenty = "3,17,8,29,5,0,39,11,22,30,6,14,1,33,27,9,18,4,25,12";

}  // namespace

TEST_CASE("cli logits: JSON and .npy hold the library's numbers, bit for bit") {
  const Scratch scratch;
  const std::vector<ordinal::TokenId> ids = {3, 17, 200, 8, 29};
  const Strings base = {"logits", "-m", byte_model(), "--ids", "3,17,200,8,29"};
  const auto with = [&](Strings more) {
    Strings arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const std::vector<float> last = library_logits(byte_model(), ids, false);
  const Outcome json_run = with({"--json"});
  check_done(json_run);
  const nlohmann::json json = json_of(json_run);
  CHECK(same_bits(json["logits"].get<std::vector<float>>(), last));
  CHECK(json["ids"] == ids);
  const auto argmax = std::max_element(last.begin(), last.end()) - last.begin();
  CHECK(json["best"][0]["id"] == argmax);
  CHECK(json["best"].size() == 10);

  const Outcome to_file = with({"-o", scratch.path("last.npy")});
  check_done(to_file);
  CHECK(to_file.out.empty());
  CHECK(same_bits(read_npy(scratch.path("last.npy"), "(257, )"), last));
  CHECK(with({"-o", "-"}).out == read_file(scratch.path("last.npy")));
  check_done(with({"--all", "-o", scratch.path("all.npy"), "--chunk", "2"}));
  CHECK(same_bits(read_npy(scratch.path("all.npy"), "(5, 257)"), library_logits(byte_model(), ids, true)));
  const nlohmann::json all = json_of(with({"--all", "--json"}));
  REQUIRE(all["logits"].size() == 5);
  CHECK(same_bits(all["logits"][4].get<std::vector<float>>(), last));

  const Outcome table = with({"--top", "3"});
  CHECK(std::ranges::count(table.out, '\n') == 4);
  CHECK(table.out.find(std::to_string(argmax)) != std::string::npos);
}

TEST_CASE("cli logits: the same numbers for any thread count and chunk") {
  const std::string expected = run({"logits", "-m", byte_model(), "--ids", kTwelve, "--json"}).out;
  for (const char* threads : {"1", "2", "3", "4", "7", "16"})
    for (const char* chunk : {"1", "2", "5", "12"})
      CHECK(run({"logits", "-m", byte_model(), "--ids", kTwelve, "--json", "-t", threads, "--chunk", chunk}).out ==
            expected);
}

TEST_CASE("cli logits: a file that cannot be written is an error, and nothing is left") {
  const Scratch scratch;
  check_failed(run({"logits", "-m", byte_model(), "--ids", "1", "-o", scratch.path("no/such/x.npy")}), {"folder"});
  check_failed(run({"logits", "-m", byte_model(), "--ids", "1", "-o", scratch.folder().string()}), {"directory"});
  CHECK(std::filesystem::is_empty(scratch.folder()));
}

TEST_CASE("cli logits: a prompt past the end of a learned table is refused, elsewhere it is noted") {
  std::string ids = "1";
  for (int i = 0; i < 40; ++i) ids += ",2";
  const Outcome refused = run({"logits", "-m", byte_model(), "--ids", ids});
  check_failed(refused, {"context"});
  CHECK(refused.err.find("--overflow") == std::string::npos);  // not an option of this command
  const Outcome noted = run({"logits", "-m", byte_model(), "--ids", ids, "--position", "none"});
  check_done(noted);
  CHECK(mentions(noted.err, {"41 tokens"}));
}

TEST_CASE("cli logits: the handed-over model gives its scores, exactly at the end of the context and past it") {
  if (model_h().empty()) return;
  const auto close = [](const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == 40);
    for (size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= 1e-4);
  };
  const auto argmax = [](const std::vector<double>& v) { return std::max_element(v.begin(), v.end()) - v.begin(); };
  // The first five of each; the fill of the context first.
  const std::vector<double> full = last_logits(model_h(), kTwelve, "learned");
  close(full, {-1.389185, 1.058498, -1.970746, 0.870147, -0.886269});
  CHECK(argmax(full) == 21);
  struct Item {
    const char* position;
    std::vector<double> first;
    ptrdiff_t best;
  };
  for (const Item& item :
       {Item{"none", {-2.109802, 0.394626, -1.920554, 0.561485, -0.478478}, 33},
        Item{"alibi", {-2.19535, 1.005838, -2.511589, 1.254424, -0.604053}, 21},
        Item{"rope:pairing=half", {-1.958749, -0.093472, -1.151383, -0.26569, 0.219977}, 9},
        Item{"rope:pairing=interleaved", {-1.736139, -1.377084, -1.721651, -0.339813, 1.143756}, 5},
        Item{"sinusoidal:layout=interleaved", {-1.713038, -1.314114, 0.88726, -0.906742, -0.000223}, 16},
        Item{"sinusoidal:layout=concat", {0.33103, 0.185089, -1.761203, 0.268814, 0.928832}, 5}}) {
    CAPTURE(item.position);
    const std::vector<double> found = last_logits(model_h(), kTwenty, item.position);
    close(found, item.first);
    CHECK(argmax(found) == item.best);
  }
  check_failed(run({"logits", "-m", model_h(), "--ids", kTwenty, "--position", "learned"}),
               {"12", "20", "position", "context"});
}

TEST_CASE("cli logits: the handed-over model at the end of its context, generating") {
  if (model_h().empty()) return;
  const auto generate = [](const std::string& ids, const std::string& n, const char* threads = "0") {
    return run({"generate", "-m", model_h(), "--ids", ids, "-n", n, "--temp", "0", "--json", "--position", "learned",
                "-t", threads});
  };
  CHECK(new_ids(generate(kTwelve, "1")) == std::vector<int>{21});
  CHECK(new_ids(generate("3,17,8,14,24,30,37,38,3,14,19", "1")) == std::vector<int>{23});
  for (const char* threads : {"1", "2", "3", "4", "7", "16"})
    CHECK(new_ids(generate("3,17,8", "9", threads)) == std::vector<int>{14, 24, 30, 37, 38, 3, 14, 19, 23});
  check_failed(generate(std::string(kTwelve) + ",1", "1"), {"12"});
  std::string many = "5";
  for (int i = 1; i < 1000; ++i) many += ",5";
  const Outcome refused = generate(many, "1");
  check_failed(refused, {"1000"});
  CHECK(refused.err.find("12") != std::string::npos);
}
