// generator_test.cpp: the generation loop against loops written out here over plain sessions.
#include "text/generator.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/utf8.h"
#include "reference/random_model.h"
#include "support.h"

using namespace ordinal;

namespace {

constexpr int64_t kVocab = 77, kContext = 40;

std::shared_ptr<const Model> make_model(std::vector<TokenId> eos_ids = {}) {
  test::RandomModel random;
  random.config = test::small_config();
  random.config.eos_ids = std::move(eos_ids);
  random.position_rows = kContext;
  random.position = "learned";
  return Model::bind(write_model_in_memory(test::random_model(random), "random"));
}

const std::shared_ptr<const Model>& model() {
  static const std::shared_ptr<const Model> made = make_model();
  return made;
}

// Pieces of a, b and parts of longer characters, so that stop strings and characters span tokens.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(int64_t size = kVocab) : Tokenizer(pieces(size)) {}
  std::vector<TextToken> encode_with_offsets(std::string_view, const EncodeOptions&) const override { return {}; }

 private:
  static TokenizerData pieces(int64_t size) {
    TokenizerData data;
    data.kind = "bytes";
    const std::vector<std::string> parts = {"a", "b", "ab", "ba", "\xe2\x80", "\x9c", "\xf0\x9f", "\x91\x8b"};
    test::Random random(5);
    for (int64_t i = 0; i < size; ++i) {
      std::string piece;
      for (int64_t n = random.below(4); n > 0; --n) piece += parts[static_cast<size_t>(random.below(8))];
      data.pieces.push_back(piece);
    }
    return data;
  }
};

const PieceTokenizer& tokenizer() {
  static const PieceTokenizer made;
  return made;
}

std::vector<TokenId> prompt_of(int64_t length) { return test::random_ids(9, length, kVocab); }

GenerateOptions greedy(int64_t n) {
  GenerateOptions options;
  options.max_new_tokens = n;
  options.sampler.temperature = 0.0f;
  return options;
}

GenerateOptions sampled(int64_t n, uint64_t seed) {
  GenerateOptions options;
  options.max_new_tokens = n;
  options.sampler.temperature = 1.5f;
  options.sampler.seed = seed;
  return options;
}

Generation run(const std::vector<TokenId>& prompt, const GenerateOptions& options, SessionOptions session_options = {},
               const GenerateEvents& events = {}) {
  Session session(model(), session_options);
  return generate(session, &tokenizer(), prompt, options, events).at(0);
}

// The loop with nothing kept between tokens: every step evaluates the whole text in a new session.
std::vector<TokenId> recomputed(std::vector<TokenId> tokens, const SamplerOptions& options, int64_t n) {
  Sampler sampler(options, kVocab);
  sampler.observe(tokens);
  std::vector<TokenId> drawn;
  while (static_cast<int64_t>(drawn.size()) < n) {
    Session session(model());
    drawn.push_back(sampler.sample(session.evaluate(tokens)));
    tokens.push_back(drawn.back());
  }
  return drawn;
}

}  // namespace

TEST_CASE("generator: tokens are what full recomputation with the same sampler draws") {
  for (GenerateOptions options : {greedy(20), sampled(20, 7)}) {
    options.sampler.repetition_penalty = 1.2f;
    const Generation result = run(prompt_of(11), options);
    CHECK(result.ids == recomputed(prompt_of(11), options.sampler, 20));
    CHECK(result.finish == Finish::length);
    CHECK(result.text == tokenizer().decode(result.ids));
    CHECK(result.seed == options.sampler.seed);
  }
}

TEST_CASE("generator: one seed gives one text for any thread count and chunk") {
  const Generation first = run(prompt_of(13), sampled(25, 1234));
  for (const int threads : {1, 2, 3, 7})
    for (const int64_t chunk : {1, 5, 256}) {
      SessionOptions options;
      options.n_threads = threads;
      options.chunk = chunk;
      CHECK(run(prompt_of(13), sampled(25, 1234), options).ids == first.ids);
    }
  std::set<std::vector<TokenId>> distinct;
  for (uint64_t seed = 0; seed < 20; ++seed) distinct.insert(run(prompt_of(13), sampled(9, seed)).ids);
  CHECK(distinct.size() >= 18);
}

TEST_CASE("generator: no new tokens means the prompt alone") {
  const Generation result = run(prompt_of(5), greedy(0));
  CHECK(result.ids.empty());
  CHECK(result.text.empty());
  CHECK(result.finish == Finish::length);
  CHECK(result.timings.prefill_tokens == 5);
}

TEST_CASE("generator: text ends before a stop string, wherever its bytes lie in the tokens") {
  const Generation whole = run(prompt_of(4), sampled(36, 3));
  REQUIRE(whole.text.size() > 30);
  for (size_t begin = 0; begin + 5 < whole.text.size(); ++begin)
    for (const size_t length : {size_t{1}, size_t{3}, size_t{5}}) {
      GenerateOptions options = sampled(36, 3);
      const std::string stop = whole.text.substr(begin, length);
      options.stop = {"never", stop};
      const Generation result = run(prompt_of(4), options);
      CHECK(result.finish == Finish::stop);
      CHECK(result.text == whole.text.substr(0, whole.text.find(stop)));
      REQUIRE(result.ids.size() <= whole.ids.size());
      CHECK(std::equal(result.ids.begin(), result.ids.end(), whole.ids.begin()));
      // The last token is the one that completes the stop string.
      CHECK(tokenizer().decode(result.ids).find(stop) != std::string::npos);
      CHECK(tokenizer().decode(std::span(result.ids).first(result.ids.size() - 1)).find(stop) == std::string::npos);
    }
}

TEST_CASE("generator: held-back bytes are written when no stop string comes") {
  const Generation whole = run(prompt_of(4), sampled(30, 3));
  GenerateOptions options = sampled(30, 3);
  for (size_t length = 1; length <= whole.text.size(); ++length)
    options.stop.push_back(whole.text.substr(whole.text.size() - length) + "?");
  const Generation result = run(prompt_of(4), options);
  CHECK(result.finish == Finish::length);
  CHECK(result.text == whole.text);
}

TEST_CASE("generator: text comes in whole characters and adds up to the result") {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::string streamed;
    std::vector<TokenId> ids;
    GenerateEvents events;
    events.token = [&](int64_t sample, TokenId id) {
      CHECK(sample == 0);
      ids.push_back(id);
    };
    std::vector<std::string> chunks;
    events.text = [&](int64_t, std::string_view text) { chunks.emplace_back(text); };
    const Generation result = run(prompt_of(4), sampled(30, seed), {}, events);
    for (const std::string& chunk : chunks) streamed += chunk;
    CHECK(streamed == result.text);
    CHECK(ids == result.ids);
    std::set<size_t> inside;  // places within a well-formed character
    for (size_t at = 0; at < streamed.size();) {
      const size_t length = std::max<size_t>(1, utf8_length(std::string_view(streamed).substr(at)));
      for (size_t i = 1; i < length; ++i) inside.insert(at + i);
      at += length;
    }
    size_t written = 0;
    for (const std::string& chunk : chunks) CHECK(!inside.contains(written += chunk.size()));
  }
}

TEST_CASE("generator: any of several end tokens ends the text, unless they are to be ignored") {
  const Generation whole = run(prompt_of(6), sampled(20, 5));
  const TokenId end = whole.ids[9];
  const auto first = static_cast<size_t>(std::ranges::find(whole.ids, end) - whole.ids.begin());
  TokenId absent = 0;
  while (std::ranges::find(whole.ids, absent) != whole.ids.end()) ++absent;
  Session session(make_model({absent, end}));
  GenerateOptions options = sampled(20, 5);
  const Generation result = generate(session, &tokenizer(), prompt_of(6), options).at(0);
  CHECK(result.finish == Finish::eot);
  CHECK(result.ids == std::vector<TokenId>(whole.ids.begin(), whole.ids.begin() + static_cast<ptrdiff_t>(first) + 1));
  CHECK(result.text == tokenizer().decode(std::span(whole.ids).first(first)));
  options.ignore_eos = true;
  CHECK(generate(session, &tokenizer(), prompt_of(6), options).at(0).ids == whole.ids);
}

TEST_CASE("generator: a full context ends the text after the token that follows it") {
  for (const int64_t length : {int64_t{1}, int64_t{30}, kContext - 1, kContext}) {
    const Generation result = run(prompt_of(length), greedy(1000));
    CHECK(result.finish == Finish::context);
    CHECK(static_cast<int64_t>(result.ids.size()) == kContext - length + 1);
    // Asking for exactly what fits is a matter of length.
    CHECK(run(prompt_of(length), greedy(kContext - length + 1)).finish == Finish::length);
  }
  SessionOptions small;
  small.capacity = 8;
  CHECK(run(prompt_of(8), greedy(5), small).ids.size() == 1);
}

TEST_CASE("generator: a prompt that is empty or too long is refused with the numbers") {
  const std::string text = test::error_of([] { run(prompt_of(kContext + 1), greedy(1)); });
  CHECK(test::mentions(text, {"40"}));
  CHECK(test::mentions(text, {"41"}));
  CHECK(test::mentions(text, {"context"}));
  CHECK(test::mentions(test::error_of([] { run({}, greedy(1)); }), {"prompt is empty"}));
}

TEST_CASE("generator: a sliding context gives, bit for bit, what a fresh run on the kept tokens gives") {
  constexpr int64_t kSmall = 12;
  for (const int64_t keep : {int64_t{0}, int64_t{1}, int64_t{4}, kSmall - 1})
    for (const int64_t length : {int64_t{3}, kSmall}) {
      CAPTURE(keep);
      GenerateOptions options = sampled(60, 17);
      options.overflow = Overflow::slide;
      options.keep = keep;
      options.logprobs = 2;
      SessionOptions small;
      small.capacity = kSmall;
      small.chunk = 5;
      const Generation result = run(prompt_of(length), options, small);

      Sampler sampler(options.sampler, kVocab);
      std::vector<TokenId> context = prompt_of(length);
      sampler.observe(context);
      std::vector<TokenId> expected;
      for (int64_t step = 0; step < 60; ++step) {
        Session fresh(model());
        const std::span<const float> logits = fresh.evaluate(context);
        expected.push_back(sampler.sample(logits));
        const TokenLogprob& logprob = result.logprobs.at(static_cast<size_t>(step));
        CHECK(logprob.logprob == log_probability(logits, expected.back()));
        if (static_cast<int64_t>(context.size()) == kSmall) {
          const int64_t others = kSmall - keep;
          context.erase(context.begin() + keep, context.begin() + keep + (others + 1) / 2);
        }
        context.push_back(expected.back());
      }
      CHECK(result.ids == expected);
      CHECK(result.finish == Finish::length);
    }
}

TEST_CASE("generator: sliding takes a prompt that is too long, without its middle") {
  GenerateOptions options = greedy(1);
  options.overflow = Overflow::slide;
  options.keep = 3;
  int64_t kept = 0, dropped = 0;
  GenerateEvents events;
  events.slide = [&](int64_t, int64_t k, int64_t d) { kept = k, dropped = d; };
  const std::vector<TokenId> prompt = prompt_of(100);
  std::vector<TokenId> expected(prompt.begin(), prompt.begin() + 3);
  expected.insert(expected.end(), prompt.end() - (kContext - 3), prompt.end());
  CHECK(run(prompt, options, {}, events).ids == recomputed(expected, options.sampler, 1));
  CHECK(kept == kContext);
  CHECK(dropped == 60);
  options.keep = kContext;
  CHECK(test::mentions(test::error_of([&] { run(prompt_of(3), options); }), {"no room"}));
}

TEST_CASE("generator: samples equal single runs with seeds counted up, in order") {
  for (const Overflow overflow : {Overflow::stop, Overflow::slide}) {
    GenerateOptions options = sampled(20, 100);
    options.samples = 11;  // more than share one pass
    options.overflow = overflow;
    options.stop = {"abab"};
    SessionOptions small;
    small.capacity = 16;
    Session session(model(), small);
    const std::vector<Generation> results = generate(session, &tokenizer(), prompt_of(7), options);
    REQUIRE(results.size() == 11);
    std::set<Finish> ends;
    for (size_t i = 0; i < results.size(); ++i) {
      GenerateOptions single = options;
      single.samples = 1;
      single.sampler.seed = 100 + i;
      const Generation alone = run(prompt_of(7), single, small);
      CHECK(results[i].seed == 100 + i);
      CHECK(results[i].ids == alone.ids);
      CHECK(results[i].text == alone.text);
      CHECK(results[i].finish == alone.finish);
      CHECK(results[i].timings.decode_tokens == alone.timings.decode_tokens);
      ends.insert(results[i].finish);
    }
    CHECK(ends.size() > 1);
    CHECK(results[0].timings.prefill_tokens >= 7);
  }
}

TEST_CASE("generator: the cancel flag ends a run between tokens and between chunks of the prompt") {
  std::atomic<bool> cancel{false};
  GenerateEvents events;
  events.cancel = &cancel;
  int count = 0;
  events.token = [&](int64_t, TokenId) { cancel = ++count == 3; };
  const Generation cut = run(prompt_of(5), greedy(20), {}, events);
  CHECK(cut.finish == Finish::interrupted);
  CHECK(cut.ids == recomputed(prompt_of(5), greedy(20).sampler, 3));
  CHECK(cut.text == tokenizer().decode(cut.ids));

  cancel = false;
  events.token = nullptr;
  events.prompt = [&](int64_t done, int64_t total) {
    CHECK(total == 20);
    cancel = done >= 8;
  };
  SessionOptions options;
  options.chunk = 4;
  Session session(model(), options);
  GenerateOptions two = greedy(20);
  two.samples = 2;
  const std::vector<Generation> none = generate(session, &tokenizer(), prompt_of(20), two, events);
  CHECK(session.length() == 8);
  REQUIRE(none.size() == 2);
  for (const Generation& result : none) {
    CHECK(result.ids.empty());
    CHECK(result.finish == Finish::interrupted);
  }
}

TEST_CASE("generator: log-probabilities are the model's own, best first") {
  GenerateOptions options = sampled(10, 2);
  options.logprobs = 3;
  options.sampler.presence_penalty = 2.0f;  // must not show
  const Generation result = run(prompt_of(6), options);
  REQUIRE(result.logprobs.size() == 10);
  std::vector<TokenId> tokens = prompt_of(6);
  for (size_t i = 0; i < 10; ++i) {
    Session session(model());
    const std::span<const float> logits = session.evaluate(tokens);
    const TokenLogprob& found = result.logprobs[i];
    CHECK(found.id == result.ids[i]);
    CHECK(found.logprob == log_probability(logits, found.id));
    REQUIRE(found.best.size() == 3);
    std::vector<TokenId> order;
    for (TokenId id = 0; id < kVocab; ++id) order.push_back(id);
    std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    for (size_t k = 0; k < 3; ++k) {
      CHECK(found.best[k].first == order[k]);
      CHECK(std::abs(found.best[k].second - log_probability(logits, order[k])) < 1e-12);
    }
    tokens.push_back(result.ids[i]);
  }
  CHECK(run(prompt_of(6), sampled(3, 2)).logprobs.empty());
}

TEST_CASE("generator: penalties see the prompt where they are asked to") {
  GenerateOptions options = greedy(30);
  options.sampler.presence_penalty = 1e6f;
  options.sampler.penalize = Penalize::all;
  const std::vector<TokenId> prompt = prompt_of(10);
  std::set<TokenId> seen(prompt.begin(), prompt.end());
  for (const TokenId id : run(prompt, options).ids) CHECK(seen.insert(id).second);
}

TEST_CASE("generator: works on ids alone, and with fewer pieces than ids") {
  Session session(model());
  const Generation bare = generate(session, nullptr, prompt_of(6), sampled(20, 4)).at(0);
  CHECK(bare.text.empty());
  CHECK(bare.ids == run(prompt_of(6), sampled(20, 4)).ids);
  GenerateOptions stopping = greedy(1);
  stopping.stop = {"a"};
  CHECK(test::mentions(test::error_of([&] { generate(session, nullptr, prompt_of(6), stopping); }), {"tokenizer"}));

  const PieceTokenizer half(kVocab / 2);
  const Generation padded = generate(session, &half, prompt_of(6), sampled(20, 4)).at(0);
  CHECK(padded.ids == bare.ids);
  std::string text;
  for (const TokenId id : bare.ids)
    if (id < kVocab / 2) text += half.piece(id);
  CHECK(padded.text == text);
}

TEST_CASE("generator: counts what it evaluated") {
  const Generation result = run(prompt_of(6), greedy(20));
  CHECK(result.timings.prefill_tokens == 6);
  CHECK(result.timings.decode_tokens == 19);
  CHECK(result.timings.prefill_ms > 0.0);
  CHECK(result.timings.decode_ms > 0.0);
}

TEST_CASE("generator: options out of range are refused by name") {
  const auto refused = [](auto change, const std::string& word) {
    GenerateOptions options = greedy(1);
    change(options);
    CHECK(test::mentions(test::error_of([&] { run(prompt_of(3), options); }), {word}));
  };
  refused([](GenerateOptions& o) { o.max_new_tokens = -1; }, "new tokens");
  refused([](GenerateOptions& o) { o.samples = 0; }, "samples");
  refused([](GenerateOptions& o) { o.keep = -1; }, "keep");
  refused([](GenerateOptions& o) { o.logprobs = kVocab + 1; }, "log-probabilities");
  refused([](GenerateOptions& o) { o.logprobs = -2; }, "log-probabilities");
  refused([](GenerateOptions& o) { o.stop = {""}; }, "stop string");
  refused([](GenerateOptions& o) { o.sampler.temperature = -1.0f; }, "temperature");
  refused([](GenerateOptions& o) { o.sampler.logit_bias = {{kVocab, 1.0f}}; }, "bias");
}
