// failures_test.cpp: what is no model is refused in words, quickly, and leaves nothing behind.
#include <unistd.h>

#include <filesystem>

#include "fixture.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// generate, inspect, tokenize and convert on a path that is no model; `words` as check_failed has them.
void check_refused(const std::string& path, const Strings& words) {
  CAPTURE(path);
  const Scratch scratch;
  const std::string output = scratch.path("out.ordinal");
  for (const Strings& arguments :
       {Strings{"convert", path, output}, Strings{"generate", "-m", path, "--ids", "1", "-n", "1"},
        Strings{"inspect", path}, Strings{"tokenize", "-m", path, "x"}}) {
    CAPTURE(arguments[0]);
    Command command;
    command.arguments = arguments;
    command.address_space = int64_t{1} << 30;
    check_failed(run(command), words);
  }
  CHECK(fs::is_empty(scratch.folder()));
}

}  // namespace

TEST_CASE("cli failures: files that are no model are named for what they are") {
  const Scratch scratch;
  const auto file = [&](const std::string& name, const std::string& bytes) {
    write_file(scratch.path(name), bytes);
    return scratch.path(name);
  };
  Random random(1);
  std::string noise;
  for (int i = 0; i < 4096; ++i) noise += static_cast<char>(random.bits());
  check_refused(file("empty.bin", ""), {"empty", "short", "size"});
  check_refused(file("7-bytes.bin", "1234567"), {"short", "size", "recogni", "magic"});
  check_refused(file("zip.bin", std::string("PK\x03\x04\x14\0\0\0", 8) + std::string(60, 'x')),
                {"zip", "archive", "pickle", "recogni", "unknown"});
  check_refused(file("page.bin", "<!DOCTYPE html>\n<html><body>Not Found</body></html>\n"),
                {"html", "recogni", "unknown", "magic"});
  check_refused(file("text.bin", std::string(300, 'a')), {"recogni", "unknown", "magic", "format"});
  check_refused(file("random.bin", noise), {"recogni", "unknown", "magic", "format", "header"});
  check_refused("no/such/file.bin", {"no such file", "not found", "cannot open", "open"});
  fs::create_directory(scratch.path("folder"));
  check_refused(scratch.path("folder"), {"directory", "config", "no model"});
  if (geteuid() != 0) {
    const std::string path = file("unreadable.bin", "x");
    fs::permissions(path, fs::perms::none);
    check_refused(path, {"permission"});
  } else {
    MESSAGE("skipped: the super-user may read every file");
  }
}

TEST_CASE("cli failures: the handed-over files that are no model") {
  struct Item {
    const char* name;
    Strings words;
  };
  for (const Item& item :
       {Item{"empty.bin", {"empty", "short", "size"}}, Item{"7-bytes.bin", {"short", "size", "recogni", "magic"}},
        Item{"zip.bin", {"zip", "archive", "pickle", "recogni", "unknown"}},
        Item{"page.bin", {"html", "recogni", "unknown", "magic"}},
        Item{"big-endian.gguf", {"endian", "byte order", "version"}}, Item{"future.gguf", {"version", "99"}},
        Item{"text.bin", {"recogni", "unknown", "magic", "format"}},
        Item{"random.bin", {"recogni", "unknown", "magic", "format", "header"}}}) {
    const std::string path = shared(std::string("cases/inputs/not-a-model-") + item.name);
    if (!path.empty()) check_refused(path, item.words);
  }
}

TEST_CASE("cli failures: hostile headers end in an error, not in a crash or a huge allocation") {
  const std::string folder = shared("cases/inputs");
  if (folder.empty()) return;
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("sec-0") || name.starts_with("sec-01-control")) continue;
    check_refused(entry.path().string(), {});
    ++count;
  }
  CHECK(count > 45);
}

TEST_CASE("cli failures: a model file cut short is refused at any length, and nothing is left behind") {
  const std::string whole = read_file(byte_model());
  const Scratch scratch;
  Random random(3);
  std::vector<size_t> lengths = {0, 1, 7, 8, 9, 16, 63, 64, 65, whole.size() - 1};
  for (int i = 0; i < 20; ++i) lengths.push_back(static_cast<size_t>(random.below(static_cast<int64_t>(whole.size()))));
  for (const size_t length : lengths) {
    CAPTURE(length);
    write_file(scratch.path("cut.ordinal"), whole.substr(0, length));
    check_failed(run({"generate", "-m", scratch.path("cut.ordinal"), "x", "-n", "1"}), {});
  }
}

TEST_CASE("cli failures: without any model the places are named") {
  Command command;
  command.arguments = {"generate", "x"};
  command.environment = {{"ORDINAL_MODEL", "/no/such/model.ordinal"}};
  check_failed(run(command), {"/no/such/model.ordinal"});
  // A copy of the program elsewhere finds no default model beside it.
  const Scratch scratch;
  fs::create_directories(scratch.path("bin"));
  const std::string copy = scratch.path("bin/ordinal");
  fs::create_hard_link(program(), copy, *std::make_unique<std::error_code>());
  if (!fs::exists(copy)) fs::copy_file(program(), copy);
  const char* before = std::getenv("ORDINAL_BIN");
  const std::string kept = before == nullptr ? "" : before;
  setenv("ORDINAL_BIN", copy.c_str(), 1);
  check_failed(run({"generate", "x"}), {"ORDINAL_MODEL"});

  // And finds it under the prefix, beside it, and by the environment, which counts first.
  const auto model_named = [&](std::map<std::string, std::string> environment) {
    Command generate;
    generate.arguments = {"generate", "x", "-n", "1", "--json"};
    generate.environment = std::move(environment);
    return json_of(run(generate)).at("model").get<std::string>();
  };
  fs::create_directories(scratch.path("share/ordinal/models"));
  fs::copy_file(byte_model(), scratch.path("share/ordinal/models/default.ordinal"));
  CHECK(model_named({}) == scratch.path("share/ordinal/models/default.ordinal"));
  fs::create_directories(scratch.path("bin/models"));
  fs::copy_file(byte_model(), scratch.path("bin/models/some.ordinal"));
  CHECK(model_named({}) == scratch.path("bin/models/some.ordinal"));
  CHECK(model_named({{"ORDINAL_MODEL", byte_model()}}) == byte_model());
  if (before == nullptr)
    unsetenv("ORDINAL_BIN");
  else
    setenv("ORDINAL_BIN", kept.c_str(), 1);
}
