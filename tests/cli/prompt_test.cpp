// prompt_test.cpp: a prompt is the same bytes whichever way it comes.
#include "convert/foreign_files.h"
#include "fixture.h"
#include "process.h"

using namespace test;
using Strings = std::vector<std::string>;

namespace {

std::vector<int> prompt_ids(const Outcome& outcome) {
  check_done(outcome);
  return json_of(outcome).at("prompt_ids").get<std::vector<int>>();
}

std::vector<int> bytes_of(const std::string& text) {
  std::vector<int> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

Strings generate(Strings more) {
  Strings arguments = {"generate", "-m", byte_model(), "-n", "1", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("cli prompt: argument, file and standard input give the same ids") {
  const Scratch scratch;
  for (const std::string text : {"3. pears\n", "3. pears\n\n", "3. pears\r\n", " ", "\n", "\t x \xff\xfe \xe2\x82",
                                 "[a,b]", "\"q\"", "'q'", "{}", "%%", "++", "a\\nb", "#x", "@f", "=x"}) {
    CAPTURE(text);
    const std::string path = scratch.path("prompt.txt");
    write_file(path, text);
    CHECK(prompt_ids(run(generate({text}))) == bytes_of(text));
    CHECK(prompt_ids(run(generate({"-f", path}))) == bytes_of(text));
    CHECK(prompt_ids(run(generate({"-f", "-"}), text)) == bytes_of(text));
    CHECK(prompt_ids(run(generate({}), text)) == bytes_of(text));
  }
  // What begins with - needs --, as everywhere; NUL bytes come by file.
  CHECK(prompt_ids(run(generate({"--", "-n 5"}))) == bytes_of("-n 5"));
  const std::string with_nul("a\0b", 3);
  write_file(scratch.path("nul.txt"), with_nul);
  CHECK(prompt_ids(run(generate({"-f", scratch.path("nul.txt")}))) == bytes_of(with_nul));
}

TEST_CASE("cli prompt: an empty prompt begins with the end token, or is refused where there is none") {
  CHECK(prompt_ids(run(generate({""}))) == std::vector<int>{256});
  CHECK(prompt_ids(run(generate({"--ids", ""}))) == std::vector<int>{256});
  Command command;
  command.arguments = generate({"-f", "-"});
  command.input_file = "/dev/null";
  command.limit_s = 2.0;
  CHECK(prompt_ids(run(command)) == std::vector<int>{256});
  check_failed(run({"generate", "-m", bare_model(), "--ids", "", "-n", "1"}), {"empty"});
  check_failed(run({"generate", "-m", bare_model(), "", "-n", "1"}), {"empty"});
}

TEST_CASE("cli prompt: special tokens in the text are text, unless asked for") {
  CHECK(prompt_ids(run(generate({"a<|end|>"}))) == bytes_of("a<|end|>"));
  CHECK(prompt_ids(run(generate({"a<|end|>", "--special"}))) == std::vector<int>{97, 256});
}

TEST_CASE("cli prompt: two sources are one too many, and a missing file is named") {
  check_failed(run(generate({"text", "--ids", "1"})), {"twice"}, 2);
  check_failed(run(generate({"text", "-f", "x"})), {"twice"}, 2);
  check_failed(run(generate({"-f", "/no/such/prompt"})), {"/no/such/prompt"});
  check_failed(run(generate({"-f", "/tmp"})), {"directory"});
}

TEST_CASE("cli prompt: a prompt that fills the context is taken, a longer one is refused with the flags that help") {
  CHECK(prompt_ids(run(generate({std::string(40, 'x')}))).size() == 40);
  const Outcome outcome = run(generate({std::string(41, 'x')}));
  check_failed(outcome, {"context"});
  for (const char* word : {"40", "41", "--overflow slide", "--position"})
    CHECK(outcome.err.find(word) != std::string::npos);
  CHECK(prompt_ids(run(generate({std::string(41, 'x'), "--overflow", "slide"}))).size() == 41);
  const Outcome endless = run(generate({std::string(100, 'x'), "--position", "none"}));
  CHECK(prompt_ids(endless).size() == 100);
  CHECK(mentions(endless.err, {"trained on 40"}));
}

TEST_CASE("cli prompt: the GPT-2 vocabulary gives the ids of the cases") {
  const std::string vocabulary = shared("checkpoints/gpt2-tokenizer");
  if (vocabulary.empty()) return;
  // A small model with as many tokens as GPT-2 has.
  const Scratch scratch;
  ordinal::ModelDraft draft = foreign::small_gpt2();
  draft.config.vocab_size = 50257;
  for (ordinal::TensorSource& source : draft.tensors)
    if (source.name == "token_embd.weight" || source.name == "output.weight") {
      source.shape[0] = draft.config.vocab_size;
      source.read_rows = [k = source.shape[1]](int64_t, int64_t count, float* out) {
        std::fill_n(out, count * k, 0.5f);
      };
    }
  const std::string model = scratch.path("gpt2");
  foreign::write_gpt2_folder(draft, model);
  const auto ids = [&](const std::string& text) {
    const Outcome outcome = run({"tokenize", "-m", model, "--vocab", vocabulary, "--json", "-q", "-f", "-"}, text);
    check_done(outcome);
    return json_of(outcome).at("ids").get<std::vector<int>>();
  };
  CHECK(ids("3. pears\n") == std::vector<int>{18, 13, 279, 4127, 198});
  CHECK(ids("3. pears\n\n") == std::vector<int>{18, 13, 279, 4127, 628});
  CHECK(ids("3. pears\r\n") == std::vector<int>{18, 13, 279, 4127, 201, 198});
  CHECK(ids("").empty());
  CHECK(ids(" ") == std::vector<int>{220});
}

TEST_CASE("cli prompt: tokenize and detokenize work on a tokenizer alone, a folder or a file") {
  const std::string folder = repository("tests/goldens/convert/tokenizer");
  const nlohmann::json expected = nlohmann::json::parse(read_file(repository("tests/goldens/convert/expected.json")));
  for (const auto& row : expected["texts"]) {
    const auto text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<std::vector<int>>();
    if (ids.empty()) continue;
    CAPTURE(text);
    for (const std::string& vocab : {folder, folder + "/tokenizer.json"}) {
      const Outcome tokens = run({"tokenize", "--vocab", vocab, "--json", "-f", "-"}, text);
      check_done(tokens);
      CHECK(json_of(tokens).at("ids").get<std::vector<int>>() == ids);
    }
    std::string list;
    for (const int id : ids) list += std::to_string(id) + " ";
    const Outcome back = run({"detokenize", "--vocab", folder}, list);
    check_done(back);
    CHECK_EQ(back.out, text);
  }
  check_failed(run({"tokenize", "--vocab", "/dev/null", "x"}), {"/dev/null"});
}

TEST_CASE("cli prompt: --chat is a text of its own, and says what to do without a known template") {
  check_failed(run(generate({"--chat", "Hello"})), {"chat template", "--special"});
  check_failed(run(generate({"--chat", "Hello", "text"})), {"twice", "--chat"}, 2);
  check_failed(run({"generate", "-m", bare_model(), "--chat", "Hello"}), {"no tokenizer"});
}
