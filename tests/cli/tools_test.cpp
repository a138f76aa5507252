// tools_test.cpp: tokenize, detokenize, convert, inspect, positions, help.
#include <algorithm>
#include <filesystem>

#include "fixture.h"
#include "ordinal/position.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

TEST_CASE("cli tokenize: ids, pieces and byte offsets, as a table, a line and JSON") {
  const std::string text = "a\n\xe2\x82\xac";
  const Outcome table = run({"tokenize", "-m", byte_model(), text});
  check_done(table);
  CHECK(table.out ==
        " id  bytes  piece\n"
        " 97   0..1  'a'\n"
        " 10   1..2  '\\n'\n"
        "226   2..3  '\\xe2'\n"
        "130   3..4  '\\x82'\n"
        "172   4..5  '\\xac'\n");
  CHECK(run({"tokenize", "-m", byte_model(), text, "--ids-only"}).out == "97,10,226,130,172\n");
  const nlohmann::json json = json_of(run({"tokenize", "-m", byte_model(), text, "--json"}));
  CHECK(json["ids"] == std::vector<int>{97, 10, 226, 130, 172});
  CHECK(json["pieces"] == Strings{"a", "\\n", "\\xe2", "\\x82", "\\xac"});
  CHECK(json["offsets"][4] == std::vector<int>{4, 5});
  const Outcome empty = run({"tokenize", "-m", byte_model(), "", "--json"});
  check_done(empty);
  CHECK(json_of(empty)["ids"].empty());
  check_failed(run({"tokenize", "-m", bare_model(), "x"}), {"no tokenizer"});
}

TEST_CASE("cli detokenize: gives back the bytes of tokenize") {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  const Outcome ids = run({"tokenize", "-m", byte_model(), "--ids-only", "-f", "-"}, text);
  check_done(ids);
  CHECK(run({"detokenize", "-m", byte_model(), "-"}, ids.out).out == text);
  CHECK(run({"detokenize", "-m", byte_model()}, ids.out).out == text);
  CHECK(run({"detokenize", "-m", byte_model(), "--ids", ids.out}).out == text);
  CHECK(run({"detokenize", "-m", byte_model(), "--ids", "104 105,\n256"}).out == "hi");
  CHECK(run({"detokenize", "-m", byte_model(), "--ids", "104,256", "--special"}).out == "h<|end|>");
  CHECK(run({"detokenize", "-m", byte_model(), "--ids", ""}).out.empty());
  CHECK(json_of(run({"detokenize", "-m", byte_model(), "104 105", "--json"}))["text"] == "hi");
  check_failed(run({"detokenize", "-m", byte_model(), "--ids", "257"}), {"0 to 256"});
  check_failed(run({"detokenize", "-m", byte_model(), "--ids", "1;2"}), {"1;2"});
  check_failed(run({"detokenize", "-m", byte_model(), "1", "--ids", "2"}), {"twice"}, 2);
}

TEST_CASE("cli inspect: shows and verifies a model") {
  const Outcome plain = run({"inspect", byte_model(), "--tensors", "--verify"});
  check_done(plain);
  for (const char* word : {"2, width 36", "3 heads of 12", "learned", "40 tokens", "257", "blk.1.ffn_down.weight",
                           "token_embd.weight", "panels", "all as recorded"})
    CHECK_MESSAGE(plain.out.find(word) != std::string::npos, word);
  const nlohmann::json json = json_of(run({"inspect", byte_model(), "--json"}));
  for (const char* key : {"config", "position", "tokenizer", "tensors", "bytes", "provenance"})
    CHECK_MESSAGE(json.contains(key), key);
  CHECK(json["config"]["d_model"] == 36);
  CHECK(json["position"] == "learned");
  CHECK(json["tokenizer"]["kind"] == "bytes");
  CHECK(json["tokenizer"]["pieces"] == 257);
  CHECK(json["bytes"] == fs::file_size(byte_model()));
  CHECK(json["tensors"][0]["shape"].is_array());

  const Scratch scratch;
  std::string bytes = read_file(byte_model());
  const size_t somewhere = bytes.size() / 2;  // among the tensors
  bytes[somewhere] = static_cast<char>(bytes[somewhere] ^ 1);
  write_file(scratch.path("flipped.ordinal"), bytes);
  check_done(run({"inspect", scratch.path("flipped.ordinal")}));
  check_failed(run({"inspect", scratch.path("flipped.ordinal"), "--verify"}), {"checksum"});
}

TEST_CASE("cli convert: writes a whole file, and does not replace one unasked") {
  const std::string source = shared("cases/inputs/model-h");
  if (source.empty()) return;
  const Scratch scratch;
  const std::string output = scratch.path("h.ordinal");
  const Outcome first = run({"convert", source, output, "--json"});
  check_done(first);
  const nlohmann::json json = json_of(first);
  CHECK(json["bytes"] == fs::file_size(output));
  CHECK(json["parameters"] == 4416);
  const std::string bytes = read_file(output);
  check_failed(run({"convert", source, output}), {"--force"});
  CHECK(read_file(output) == bytes);
  check_done(run({"convert", source, output, "--force", "--dtype", "bf16"}));
  CHECK(read_file(output) != bytes);
  CHECK(std::distance(fs::directory_iterator(scratch.folder()), fs::directory_iterator()) == 1);
  check_failed(run({"convert", source, scratch.path("no/such/h.ordinal")}), {"folder"});
  check_failed(run({"convert", source, scratch.path("x.ordinal"), "--dtype", "f12"}), {"bf16"});
  check_failed(run({"convert", source}), {"input and an output"}, 2);
}

TEST_CASE("cli generate: a foreign checkpoint runs directly, with a note on converting it") {
  const std::string source = shared("cases/inputs/model-h");
  if (source.empty()) return;
  const Outcome outcome = run({"generate", "-m", source, "--ids", "3,17,8", "-n", "9", "--temp", "0", "--json"});
  check_done(outcome);
  CHECK(new_ids(outcome) == std::vector<int>{14, 24, 30, 37, 38, 3, 14, 19, 23});
  CHECK(mentions(outcome.err, {"ordinal convert"}));
}

TEST_CASE("cli positions: lists every scheme") {
  const Outcome outcome = run({"positions"});
  check_done(outcome);
  CHECK(run({"positions", "list"}).out == outcome.out);
  const nlohmann::json json = json_of(run({"positions", "--json"}));
  CHECK(json.size() == ordinal::position_schemes().size() + ordinal::rope_scalings().size() - 1 +  // none is rope
                           ordinal::position_modifiers().size());
  for (const ordinal::SchemeInfo& modifier : ordinal::position_modifiers())
    CHECK(outcome.out.find("\n;with=" + std::string(modifier.name) + " ") != std::string::npos);
  for (const ordinal::SchemeInfo& scheme : ordinal::position_schemes())
    CHECK(outcome.out.find("\n" + std::string(scheme.name) + " ") != std::string::npos);
  for (const nlohmann::json& scheme : json) {
    CHECK_MESSAGE(outcome.out.find("from " + scheme["source"].get<std::string>()) != std::string::npos, scheme["name"]);
    for (const nlohmann::json& param : scheme["params"])
      CHECK_MESSAGE(outcome.out.find(param["key"].get<std::string>() + "=") != std::string::npos, param["key"]);
  }
  check_failed(run({"positions", "dance"}), {"list"}, 2);
}

TEST_CASE("cli: help and version go to standard output, wrong usage exits 2") {
  const Outcome help = run({"--help"});
  check_done(help);
  CHECK(run({"--version"}).out.starts_with("ordinal "));
  check_failed(run(Strings{}), {"--help"}, 2);
  check_failed(run({"generat"}), {"ordinal generate"}, 2);
  check_failed(run({"frobnicate"}), {"ordinal --help"}, 2);
  // Every command of the list has help with an example, no line too long for a terminal.
  const size_t begin = help.out.find("Commands:\n") + 10;
  const std::string list = help.out.substr(begin, help.out.find("\n\n", begin) - begin);
  std::istringstream lines(list);
  int commands = 0;
  for (std::string name, line; lines >> name && std::getline(lines, line); ++commands) {
    CAPTURE(name);
    const Outcome outcome = run({name, "--help"});
    check_done(outcome);
    CHECK(outcome.out.find("Example:\n  ordinal " + name) != std::string::npos);
    CHECK(outcome.out.find("Usage: ordinal " + name) != std::string::npos);
    CHECK(run({"help", name}).out == outcome.out);
    std::istringstream text(outcome.out);
    for (std::string row; std::getline(text, row);) CHECK(row.size() <= 100);
  }
  CHECK(commands >= 7);
}
