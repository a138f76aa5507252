// study_test.cpp: perplexity, compare and diagnose from outside.
#include <algorithm>

#include "fixture.h"
#include "process.h"

using namespace test;
using Json = nlohmann::json;

namespace {

const std::string kStudyText = "It was a dark night. The wind blew, and the rain fell on the roofs of the town.\n";

std::string text_file(const Scratch& scratch, int times = 1) {
  std::string text;
  for (int i = 0; i < times; ++i) text += kStudyText;
  write_file(scratch.path("text.txt"), text);
  return scratch.path("text.txt");
}

}  // namespace

TEST_CASE("cli perplexity: a table and JSON, several texts, standard input") {
  const Scratch scratch;
  const std::string file = text_file(scratch);
  const Outcome table = run({"perplexity", "-m", byte_model(), "-f", file});
  check_done(table);
  CHECK(table.out.find("nats/token") != std::string::npos);
  CHECK(table.err.find("rolling: ") != std::string::npos);
  const Json one = json_of(run({"perplexity", "-m", byte_model(), "-f", file, "--json"}));
  for (const char* key : {"model", "position", "tokens", "nll", "ppl", "bits_per_byte", "stderr", "ctx", "stride",
                          "protocol", "start_token", "word_ppl", "texts", "macro_nll"})
    CHECK_MESSAGE(one.contains(key), key);
  CHECK(one["tokens"] == kStudyText.size());
  CHECK(one["position"] == "learned");
  CHECK(one["ctx"] == 40);
  CHECK(json_of(run({"perplexity", "-m", byte_model(), "-f", "-", "--json"}, kStudyText))["nll"] == one["nll"]);
  const Json two = json_of(run({"perplexity", "-m", byte_model(), "-f", file, "-f", "-", "--json"}, "Other words."));
  CHECK(two["texts"].size() == 2);
  CHECK(two["texts"][0]["nll"] == one["nll"]);
  for (const char* protocol : {"gpt2", "hf", "llama.cpp", "harness"})
    CHECK(json_of(run({"perplexity", "-m", byte_model(), "-f", file, "--protocol", protocol, "--json"}))["protocol"] ==
          protocol);
  CHECK(json_of(run({"perplexity", "-m", byte_model(), "-f", file, "--bos", "no", "--json"}))["tokens"] ==
        kStudyText.size() - 1);
}

TEST_CASE("cli perplexity: what cannot be measured is told") {
  const Scratch scratch;
  const std::string file = text_file(scratch);
  write_file(scratch.path("empty"), "");
  check_failed(run({"perplexity", "-m", byte_model()}), {"-f FILE"}, 2);
  check_failed(run({"perplexity", "-m", byte_model(), "-f", scratch.path("none")}), {"cannot open"});
  check_failed(run({"perplexity", "-m", byte_model(), "-f", scratch.path("empty")}), {"no text"});
  check_failed(run({"perplexity", "-m", byte_model(), "-f", file, "--protocol", "mine"}), {"rolling, gpt2"});
  check_failed(run({"perplexity", "-m", byte_model(), "-f", file, "--stride", "41"}), {"1 to 40"});
  check_failed(run({"perplexity", "-m", byte_model(), "-f", file, "--stride", "9", "--protocol", "harness"}),
               {"do not overlap"});
  check_failed(run({"perplexity", "-m", byte_model(), "-f", file, "--ctx", "41"}), {"0 to 39"});
  check_failed(run({"perplexity", "-m", byte_model(), "-f", file, "--bos", "perhaps"}), {"auto, yes, no"});
  check_failed(run({"perplexity", "-m", bare_model(), "-f", file}), {"no tokenizer"});
  CHECK(run({"perplexity", "-m", byte_model(), "-f", "-", "-f", "-"}, "x y").err.find("counts once") !=
        std::string::npos);
  CHECK(run({"perplexity", "-m", byte_model(), "-f", file, "--ctx", "400", "--position", "alibi"}).status == 0);
}

TEST_CASE("cli compare: tables, JSON, CSV and a page say the same") {
  const Scratch scratch;
  const std::string file = text_file(scratch, 2);
  const Outcome table = run({"compare", "-m", byte_model(), "-f", file, "--positions",
                             "native,rope:theta=500,none,t5_bias", "--lengths", "20,40,60", "--json",
                             scratch.path("c.json"), "--csv", scratch.path("c.csv"), "--html", scratch.path("c.html")});
  check_done(table);
  for (const char* word :
       {"untrained", "refused", "no verdict on the scheme", "rope:theta=500", "moving on by half", "lacks"})
    CHECK_MESSAGE(table.out.find(word) != std::string::npos, word);
  CHECK(table.out.find('\x1b') == std::string::npos);
  const Json result = Json::parse(read_file(scratch.path("c.json")));
  for (const char* key : {"model", "native", "text", "rows", "schemes", "recall", "matrix", "command"})
    CHECK_MESSAGE(result.contains(key), key);
  CHECK(result["rows"].size() == 4 * 4 + 1);  // three lengths, the last twice; there also native on the last tokens
  CHECK(result["findings"][0]["kind"] == "worthless");  // the weights are random: that is all there is to say
  CHECK(result["headlines"].size() == 1);
  CHECK(table.out.find(result["headlines"][0].get<std::string>()) == 0);
  for (const Json& row : result["rows"])
    for (const char* key : {"position", "trained", "length", "protocol", "nll", "ppl", "bits_per_byte", "stderr",
                            "delta_nll_vs_native", "kl_vs_native", "top1_agreement", "loss_by_position", "continuation",
                            "ms_per_token", "standing", "against", "delta_nll", "to_inside", "to_trained"})
      CHECK_MESSAGE(row.contains(key), key);
  const std::string csv = read_file(scratch.path("c.csv"));
  CHECK(std::ranges::count(csv, '\n') == 18);
  const std::string page = read_file(scratch.path("c.html"));
  CHECK(page.find("<!DOCTYPE html>") == 0);
  CHECK(page.find("rope:theta=500") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
  // Names of files, but nothing of where they lie; the same weights have the same checksum.
  CHECK(page.find(file) == std::string::npos);
  CHECK(page.find(scratch.path("")) == std::string::npos);
  CHECK(page.find(byte_model()) == std::string::npos);
  CHECK(page.find("--html c.html") != std::string::npos);
  CHECK(page.find("<code>" + result["checksum"].get<std::string>() + "</code>") != std::string::npos);
  CHECK(result["checksum"].get<std::string>().size() == 16);
  CHECK(page.find(result["date"].get<std::string>()) != std::string::npos);
  CHECK(result["command"].get<std::string>().find(scratch.path("c.json")) != std::string::npos);  // to repeat, as typed
  for (const Json& scheme : result["schemes"]) {
    if (scheme["standing"] == "refused") continue;
    CHECK(scheme["sample"]["ids"].size() == scheme["sample"]["surprisal"].size());
    CHECK(!scheme["sample"]["text"].get<std::string>().empty());
    CHECK(scheme["continuation_surprisal"].size() == scheme["continuation_ids"].size());
  }
  CHECK(result["attention_pieces"].size() == result["schemes"][0]["attention"][0].size());

  const Json piped = json_of(run({"compare", "-m", byte_model(), "-f", file, "--positions", "native,none", "--lengths",
                                  "20", "--json", "-", "-t", "2"}));
  const auto nll_of = [](const Json& from, const std::string& position) {
    for (const Json& row : from["rows"])
      if (row["position"] == position && row["length"] == 20) return row["nll"];
    return Json();
  };
  CHECK(nll_of(piped, "none") == nll_of(result, "none"));  // whatever else is compared, and on any number of threads
  CHECK(run({"compare", "-m", byte_model(), "-f", file, "--lengths", "20", "--csv", "-", "-q"})
            .out.find("position,standing") == 0);
}

TEST_CASE("cli compare: slips are told before anything long runs") {
  const Scratch scratch;
  const std::string file = text_file(scratch);
  const auto compare = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"compare", "-m", byte_model(), "-f", file};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  check_failed(compare({"--lengths", "20,x"}), {"x"}, 2);
  check_failed(compare({"--lengths", "20,,40"}), {"--lengths"}, 2);
  check_failed(compare({"--lengths", "9999"}), {"9999"});
  check_failed(compare({"--positions", "native,,rope"}), {"empty piece"});
  check_failed(compare({"--positions", "native,@trainde"}), {"try:      @trained"});
  check_failed(compare({"--reference", "ropee"}), {"try:      rope"});
  check_failed(compare({"--per-token", "-"}), {"name of a file"}, 2);
  check_failed(compare({"--json", "-", "--csv", "-"}), {"standard output"}, 2);
  for (const char* option : {"--html", "--json", "--csv", "--per-token"}) {
    const Outcome nowhere = compare({"--lengths", "20", option, scratch.path("no/such/folder.html")});
    check_failed(nowhere, {"folder"});
    CHECK(nowhere.err.find("will take") == std::string::npos);
  }
  check_failed(run({"compare", "-m", bare_model(), "-f", file}), {"no tokenizer"});
}

TEST_CASE("cli compare: several texts, another reference, sets of schemes, and every token's loss") {
  const Scratch scratch;
  const std::string file = text_file(scratch, 2);
  write_file(scratch.path("other.txt"), kStudyText + kStudyText);
  const Json result = json_of(run({"compare", "-m", byte_model(), "-f", file, "-f", scratch.path("other.txt"),
                                   "--positions", "@extensions,alibi", "--reference", "alibi", "--lengths", "20,60",
                                   "--per-token", scratch.path("losses.npy"), "--json", "-"}));
  CHECK(result["texts"].size() == 2);
  CHECK(result["reference"] == "alibi");
  int extensions = 0, differences = 0;
  for (const Json& scheme : result["schemes"]) extensions += scheme["question"] == "extension" ? 1 : 0;
  CHECK(extensions == 4);  // ways past a learned table
  for (const Json& row : result["rows"]) {
    if (row["position"] == "alibi" || !row["refused"].is_null()) continue;
    ++differences;
    CHECK(row["against"] == "alibi");
    CHECK(row["over_texts"].is_null() == (row["protocol"] == "recent"));
  }
  CHECK(differences > 8);
  const std::string losses = read_file(scratch.path("losses.npy"));
  CHECK(losses.find("('learned:beyond=wrap', '<f4')") != std::string::npos);
}

TEST_CASE("cli: how the weights stand to a scheme is in JSON, and in a note where they never saw it") {
  const Scratch scratch;
  const std::string file = text_file(scratch);
  const auto standing = [&](std::vector<std::string> command, const std::string& position, bool noted) {
    command.insert(command.end(), {"-m", byte_model(), "--position", position, "--json"});
    const Outcome outcome = run(command);
    CHECK((outcome.err.find("never saw") != std::string::npos) == noted);
    return json_of(outcome)["standing"].get<std::string>();
  };
  CHECK(standing({"generate", "abc", "-n", "2", "--temp", "0"}, "native", false) == "trained");
  CHECK(standing({"generate", "abc", "-n", "2", "--temp", "0"}, "learned:beyond=wrap", false) == "exact");
  CHECK(standing({"generate", "abc", "-n", "2", "--temp", "0"}, "alibi", true) == "untrained");
  CHECK(standing({"generate", std::string(50, 'x'), "-n", "2", "--temp", "0"}, "alibi", true) == "extrapolating");
  CHECK(standing({"logits", "abc"}, "rope", true) == "untrained");
  CHECK(standing({"perplexity", "-f", file}, "learned:beyond=wrap", false) == "exact");
  CHECK(standing({"perplexity", "-f", file, "--ctx", "60"}, "learned:beyond=wrap", false) == "extrapolating");
}

TEST_CASE("cli diagnose: ranks, and says what follows") {
  const Scratch scratch;
  const std::string file = text_file(scratch, 2);
  const Outcome table = run({"diagnose", byte_model(), "-f", file, "--tokens", "64"});
  check_done(table);
  CHECK(table.out.find("learned") != std::string::npos);
  const Json result = json_of(run({"diagnose", "-m", byte_model(), "-f", file, "--tokens", "64", "--json"}));
  CHECK(result["native"] == "learned");
  CHECK(result["rows"].size() > 20);
  CHECK(!result["verdict"].get<std::string>().empty());
  check_failed(run({"diagnose", byte_model(), "-m", byte_model()}), {"twice"}, 2);
  check_failed(run({"diagnose", byte_model(), "-f", file, "--tokens", "3"}), {"8 to"});
  check_failed(run({"diagnose", bare_model(), "-f", file}), {"no tokenizer"});
}

TEST_CASE("cli diagnose: a checkpoint whose pairing was stated wrongly is found out") {
  const std::string folder = shared("checkpoints/stories260K");
  if (folder.empty()) return;
  const std::string file = shared("corpus/tales.valid.txt");
  const Json right =
      json_of(run({"diagnose", folder + "/stories260K.bin", "-f", file, "--tokens", "256", "--json", "-q"}));
  CHECK(right["rows"][0]["position"] == "rope:pairing=interleaved");
  for (const Json& row : right["rows"])
    if (row["position"] == "rope") CHECK(row["delta_nll_vs_native"].get<double>() > 0.3);
}
