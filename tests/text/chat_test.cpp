// chat_test.cpp: messages in chat templates, against transformers' apply_chat_template (tools/make_chat_goldens.py).
#include "text/chat.h"

#include <nlohmann/json.hpp>

#include "convert/tokenizers/chat_marks.h"
#include "support.h"

using namespace ordinal;

namespace {

// A tokenizer of bytes, with a start and an end token.
std::unique_ptr<Tokenizer> tokenizer_with(const std::string& chat) {
  TokenizerData data;
  data.kind = "bytes";
  for (int byte = 0; byte < 256; ++byte) data.pieces.emplace_back(1, static_cast<char>(byte));
  data.pieces.insert(data.pieces.end(), {"<s>", "</s>"});
  data.special_ids = {256, 257};
  data.bos_id = 256;
  data.eos_id = 257;
  data.adds_bos = true;
  data.chat = chat;
  return make_tokenizer(data);
}

}  // namespace

TEST_CASE("chat: known templates are recognised, and a message is put into them as transformers does") {
  const nlohmann::json goldens =
      nlohmann::json::parse(test::read_file(test::repository("tests/goldens/chat_templates.json")));
  CHECK_GE(goldens["templates"].size(), 19);
  for (const auto& row : goldens["templates"]) {
    const auto name = row["name"].get<std::string>();
    CAPTURE(name);
    CHECK_EQ(convert::known_chat(row["template"].get<std::string>()), name);
    if (name.empty()) continue;
    const auto tokenizer = tokenizer_with(name);
    for (const auto& golden : row["cases"]) {
      const auto message = golden["message"].get<std::string>(), text = golden["text"].get<std::string>();
      CHECK_EQ(chat_text(*tokenizer, message), text);
      CHECK_EQ(tokenizer->decode(chat_ids(*tokenizer, message), true), text);
    }
  }
}

TEST_CASE("chat: conversations become what transformers makes of them, or are refused where a template takes none") {
  const nlohmann::json goldens =
      nlohmann::json::parse(test::read_file(test::repository("tests/goldens/chat_templates.json")));
  int compared = 0, refused = 0;
  for (const auto& row : goldens["templates"]) {
    const auto name = row["name"].get<std::string>();
    CAPTURE(name);
    for (const auto& golden : row["conversations"]) {
      std::vector<ChatMessage> messages;
      for (const auto& message : golden["messages"]) messages.push_back({message[0], message[1]});
      const auto tokenizer = tokenizer_with(name);
      if (golden["text"].is_null()) {
        CHECK(test::mentions(test::error_of([&] { chat_text(*tokenizer, messages); }), {"system"}));
        ++refused;
        continue;
      }
      CHECK_EQ(chat_text(*tokenizer, messages), golden["text"].get<std::string>());
      ++compared;
    }
  }
  CHECK_GE(compared, 30);
  CHECK_GE(refused, 8);
}

TEST_CASE("chat: a role that there is not, no message, and a late system message are refused") {
  const auto tokenizer = tokenizer_with("chatml");
  const auto refused = [&](const std::vector<ChatMessage>& messages, const std::string& word) {
    CHECK(test::mentions(test::error_of([&] { chat_text(*tokenizer, messages); }), {word}));
  };
  refused({}, "no messages");
  refused({{"tool", "4"}}, "'tool'");
  refused({{"user", "a"}, {"system", "b"}}, "not the first");
  const auto merging = tokenizer_with("llama2+bos");
  const std::vector<ChatMessage> alone = {{"system", "b"}};
  CHECK(test::mentions(test::error_of([&] { chat_text(*merging, alone); }), {"stands alone"}));
}

TEST_CASE("chat: without a known template the error says how to give the text oneself") {
  for (const char* name : {"", "other", "+bos"}) {
    const auto tokenizer = tokenizer_with(name);
    CHECK(test::mentions(test::error_of([&] { chat_text(*tokenizer, "Hello"); }), {"chat template", "--special"}));
  }
}
