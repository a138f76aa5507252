// convert_test.cpp: ordinal convert from model files, and what -f says a conversion did to predictions.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "convert/foreign_files.h"
#include "fixture.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"
#include "process.h"
#include "reference/random_model.h"

using namespace test;
using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// Longer than two windows of the models' 40 tokens, a token a byte.
const std::string kText =
    "There was once a miller who was poor, but he had one beautiful daughter. It happened one day that he came to "
    "speak with the king.\n";

struct Compared {
  double source_nll = 0, written_nll = 0, kl = 0, agreed = 0;
  int64_t tokens = 0;
};

std::vector<double> logprobs_of(std::span<const float> logits) {
  const double best = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - best);
  std::vector<double> result;
  for (const float x : logits) result.push_back(static_cast<double>(x) - best - std::log(sum));
  return result;
}

// By two sessions: windows of `ctx` inputs side by side, the end token before the text.
Compared compare(const std::string& source, const std::string& written, const std::string& text, int64_t ctx) {
  const auto model = ordinal::Model::open(source);
  ordinal::Session before(model), after(ordinal::Model::open(written));
  std::vector<ordinal::TokenId> ids = {256};
  for (const ordinal::TokenId id : ordinal::make_tokenizer(model->file().tokenizer())->encode(text)) ids.push_back(id);
  Compared sums;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    if (t % static_cast<size_t>(ctx) == 0) before.rewind(0), after.rewind(0);
    const std::vector<double> p = logprobs_of(before.evaluate({&ids[t], 1})),
                              q = logprobs_of(after.evaluate({&ids[t], 1}));
    const auto next = static_cast<size_t>(ids[t + 1]);
    sums.source_nll -= p[next];
    sums.written_nll -= q[next];
    for (size_t i = 0; i < p.size(); ++i) sums.kl += std::exp(p[i]) * (p[i] - q[i]);
    sums.agreed += std::ranges::max_element(p) - p.begin() == std::ranges::max_element(q) - q.begin() ? 1 : 0;
    ++sums.tokens;
  }
  const auto count = static_cast<double>(sums.tokens);
  return {sums.source_nll / count, sums.written_nll / count, sums.kl / count, 100 * sums.agreed / count, sums.tokens};
}

}  // namespace

TEST_CASE("cli convert: a model file without other kinds comes out the same, byte for byte") {
  const Scratch scratch;
  for (const char* kind : {"f32", "bf16", "q8_0", "q4_0"}) {
    CAPTURE(kind);
    check_done(run({"convert", byte_model(), scratch.path("kind"), "--dtype", kind, "--force"}));
    const Outcome again = run({"convert", scratch.path("kind"), scratch.path("again"), "--force"});
    check_done(again);
    CHECK(read_file(scratch.path("again")) == read_file(scratch.path("kind")));
    CHECK(again.err.find("relative error") == std::string::npos);
  }
}

TEST_CASE("cli convert: a model file to another kind is what the checkpoint gives directly") {
  const Scratch scratch;
  foreign::write_gpt2_folder(foreign::small_gpt2(), scratch.path("folder"));
  check_done(run({"convert", scratch.path("folder"), scratch.path("f32.ordinal")}));
  for (const char* kind : {"f16", "q8_0", "q4_0"}) {
    CAPTURE(kind);
    check_done(run({"convert", scratch.path("folder"), scratch.path("straight"), "--dtype", kind, "--force"}));
    check_done(run({"convert", scratch.path("f32.ordinal"), scratch.path("by-way"), "--dtype", kind, "--force"}));
    CHECK(read_file(scratch.path("straight")) == read_file(scratch.path("by-way")));
  }
}

TEST_CASE("cli convert: a model file may replace itself, and damage is not passed on") {
  const Scratch scratch;
  const std::string path = scratch.path("m.ordinal");
  fs::copy_file(byte_model(), path);
  check_done(run({"convert", path, scratch.path("other.ordinal"), "--dtype", "q8_0"}));
  check_failed(run({"convert", path, path, "--dtype", "q8_0"}), {"--force"});
  check_done(run({"convert", path, path, "--dtype", "q8_0", "--force", "-f", "-"}, kText));
  CHECK(read_file(path) == read_file(scratch.path("other.ordinal")));

  std::string bytes = read_file(byte_model());
  bytes[bytes.size() - 1000] = static_cast<char>(bytes[bytes.size() - 1000] ^ 1);
  write_file(path, bytes);
  check_failed(run({"convert", path, scratch.path("x.ordinal")}), {"checksum"});
  write_file(path, bytes.substr(0, bytes.size() - 1000));
  check_failed(run({"convert", path, scratch.path("x.ordinal")}), {"truncated"});
  check_failed(run({"convert", byte_model(), scratch.path("x.ordinal"), "--vocab", "folder"}), {"leave --vocab out"});
  CHECK_FALSE(fs::exists(scratch.path("x.ordinal")));
}

TEST_CASE("cli convert: -f finds no change where there is none") {
  const Scratch scratch;
  write_file(scratch.path("text"), kText);
  const Outcome outcome =
      run({"convert", byte_model(), scratch.path("same"), "-f", scratch.path("text"), "--json", "-t", "1"});
  check_done(outcome);
  const nlohmann::json f = json_of(outcome)["fidelity"];
  CHECK(f["tokens"] == kText.size());
  CHECK(f["ctx"] == 40);
  CHECK(f["source_nll"].get<double>() > 1);
  CHECK(f["source_nll"] == f["written_nll"]);
  for (const char* key : {"change_nll", "change_stderr", "change_ppl_percent", "kl"}) CHECK_MESSAGE(f[key] == 0.0, key);
  CHECK(f["agreement_percent"] == 100.0);
  CHECK(outcome.err.find("100.00 % of tokens") != std::string::npos);
  // The same number as ordinal perplexity's.
  const nlohmann::json other =
      json_of(run({"perplexity", "-m", byte_model(), "-f", scratch.path("text"), "--json", "-t", "1"}));
  CHECK(f["source_nll"].get<double>() == doctest::Approx(other["nll"].get<double>()).epsilon(1e-12));
  CHECK(f["tokens"] == other["tokens"]);
  CHECK_FALSE(json_of(run({"convert", byte_model(), scratch.path("none"), "--json"})).contains("fidelity"));
}

TEST_CASE("cli convert: -f says what two sessions say of a model and its 4-bit copy") {
  const Scratch scratch;
  for (const std::string& text : {kText, std::string("Once upon")}) {
    const Outcome outcome =
        run({"convert", byte_model(), scratch.path("q4"), "--dtype", "q4_0", "--force", "-f", "-", "--json"}, text);
    check_done(outcome);
    const nlohmann::json f = json_of(outcome)["fidelity"];
    const Compared expected = compare(byte_model(), scratch.path("q4"), text, 40);
    CHECK(f["tokens"] == expected.tokens);
    const auto close = [](double value) { return doctest::Approx(value).epsilon(1e-5); };
    CHECK(f["source_nll"].get<double>() == close(expected.source_nll));
    CHECK(f["written_nll"].get<double>() == close(expected.written_nll));
    CHECK(f["change_nll"].get<double>() == close(expected.written_nll - expected.source_nll));
    CHECK(f["change_ppl_percent"].get<double>() ==
          close(100 * (std::exp(expected.written_nll - expected.source_nll) - 1)));
    CHECK(f["kl"].get<double>() == close(expected.kl));
    CHECK(expected.kl > 1e-4);
    CHECK(f["agreement_percent"].get<double>() == close(expected.agreed));
  }
}

TEST_CASE("cli convert: -f measures a checkpoint of another program against its weights without rounding") {
  const Scratch scratch;
  ordinal::ModelDraft draft = foreign::small_gpt2();
  foreign::write_gpt2_folder(draft, scratch.path("folder"), "", {"transformer.", ordinal::Dtype::f16});
  check_failed(run({"convert", scratch.path("folder"), scratch.path("x"), "-f", "-"}, kText), {"--vocab"});
  CHECK_FALSE(fs::exists(scratch.path("x")));

  const std::string source = shared("checkpoints/stories260K/stories260K.bin");
  if (source.empty()) return;
  const std::string vocab = shared("checkpoints/stories260K/tok512.bin");
  check_done(run({"convert", source, scratch.path("f32"), "--vocab", vocab}));
  const std::string text = "Once upon a time, there was a little girl named Lily.";
  const auto measured = [&](const Strings& input) {
    Strings arguments = {"convert"};
    arguments.insert(arguments.end(), input.begin(), input.end());
    for (const std::string& more : {scratch.path("q8"), std::string("--dtype"), std::string("q8_0"),
                                    std::string("--force"), std::string("--json"), std::string("-f"), std::string("-")})
      arguments.push_back(more);
    const Outcome outcome = run(arguments, text);
    check_done(outcome);
    nlohmann::json f = json_of(outcome)["fidelity"];
    f.erase("seconds");
    return f;
  };
  const nlohmann::json direct = measured({source, "--vocab", vocab});
  CHECK(direct == measured({scratch.path("f32")}));
  CHECK(direct["source_nll"] != direct["written_nll"]);
  CHECK(direct["kl"].get<double>() < 0.01);
}

TEST_CASE("cli convert: what -f cannot measure is told before anything is written") {
  const Scratch scratch;
  const std::string out = scratch.path("out.ordinal");
  check_failed(run({"convert", bare_model(), out, "-f", "-"}, kText), {"no tokenizer"});
  check_failed(run({"convert", byte_model(), out, "-f", "-"}, ""), {"no text"});
  check_failed(run({"convert", byte_model(), out, "-f", "-"}, "a"), {"2 tokens or more"});
  check_failed(run({"convert", byte_model(), out, "-f", scratch.path("absent.txt")}), {"absent.txt"});
  check_failed(run({"convert", byte_model(), out, "-f", "-", "-t", "-1"}, kText), {"threads"});
  CHECK(fs::is_empty(scratch.folder()));
}

TEST_CASE("cli convert: Ctrl-C while measuring ends the run and leaves a whole file") {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += kText;
  Command command;
  command.arguments = {"convert", slow_model(), scratch.path("q8"), "--dtype", "q8_0", "-f", "-", "-t", "1"};
  command.input = text;
  command.watch = [](const std::string&, const std::string& err) {
    return err.find("relative error") != std::string::npos ? Command::Action::interrupt : Command::Action::none;
  };
  const Outcome outcome = run(command);
  CHECK(!outcome.timed_out);
  CHECK(outcome.status == 130);
  CHECK(outcome.err.find("nats per token") == std::string::npos);
  check_done(run({"inspect", scratch.path("q8"), "--verify"}));
}
