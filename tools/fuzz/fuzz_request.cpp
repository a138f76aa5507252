// fuzz_request.cpp: bodies of HTTP requests: each reader gives what is within its limits, or a BadRequest.
#include "fuzz.h"
#include "serve/requests.h"

namespace {

constexpr int64_t kVocab = 300;
const ordinal::serve::RequestLimits kLimits{.body_bytes = 4096, .max_tokens = 99, .sequences = 12, .context = 77};

void require(bool truth) {
  if (!truth) std::abort();
}

void check_prompts(const std::vector<ordinal::serve::Prompt>& prompts) {
  require(static_cast<int64_t>(prompts.size()) <= kLimits.sequences);
  for (const auto& prompt : prompts)
    if (const auto* ids = std::get_if<std::vector<ordinal::TokenId>>(&prompt))
      for (const ordinal::TokenId id : *ids) require(id >= 0 && id < kVocab);
}

void check_completion(const ordinal::serve::CompletionBody& body) {
  check_prompts(body.prompts);
  ordinal::check_generate_options(body.options, kVocab);
  require(body.n >= 1 && body.best_of >= body.n);
  require(body.best_of * std::max<int64_t>(1, std::ssize(body.prompts)) <= kLimits.sequences);
  require(body.options.max_new_tokens <= kLimits.max_tokens && body.options.context <= kLimits.context);
  require(body.options.logprobs <= 20 && body.options.prompt_logprobs <= 20 && body.options.stop.size() <= 16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ordinal::serve;
  const auto allow_bad = [](auto&& action) {
    try {
      action();
    } catch (const BadRequest& bad) {
      require(bad.what() != nullptr && *bad.what() != '\0');
    }
  };
  allow_bad([&] {
    const ordinal::JsonDocument json = parse_body(fuzz::text_of(data, size), kLimits);
    require(size <= static_cast<size_t>(kLimits.body_bytes));
    allow_bad([&] { model_of(json); });
    allow_bad([&] { check_completion(read_completion(json, kLimits, kVocab)); });
    allow_bad([&] { check_completion(read_chat(json, kLimits, kVocab)); });
    allow_bad([&] {
      const ScoreBody body = read_score(json, kLimits, kVocab);
      check_prompts(body.texts);
      require(body.ctx <= kLimits.context && body.top <= 20 && !body.positions.empty());
      require(std::ssize(body.texts) * std::ssize(body.positions) <= kLimits.sequences);
    });
    allow_bad([&] { read_tokenize(json); });
    allow_bad([&] {
      for (const ordinal::TokenId id : read_detokenize(json, kVocab).ids) require(id >= 0 && id < kVocab);
    });
  });
  return 0;
}
