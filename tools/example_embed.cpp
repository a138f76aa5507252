// example_embed.cpp: a user's program: opens a model and continues a text, under the model's own position scheme and
// under one that is written here, with the public headers and libordinal.a only.
//
//   g++ -std=c++20 example_embed.cpp $(pkg-config --cflags --libs ordinal) -o example
//   ./example tales.ordinal "Once upon a time"
#include <ordinal/error.h>
#include <ordinal/model.h>
#include <ordinal/position.h>
#include <ordinal/sampler.h>
#include <ordinal/session.h>
#include <ordinal/tokenizer.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

// A position scheme: each score loses the logarithm of the distance, in half of the heads. Whatever a hook does must
// follow from its arguments alone; those that are not overridden do nothing.
class Fading final : public ordinal::PositionScheme {
 public:
  explicit Fading(int64_t n_heads) : PositionScheme({.spec = "fading", .kind = "relative"}), n_fading_(n_heads / 2) {}

  void add_to_scores(const ordinal::AttentionSite& site, std::span<const float>,
                     std::span<float> scores) const override {
    if (site.head >= n_fading_) return;
    for (size_t j = 0; j < scores.size(); ++j)
      scores[j] -= std::log1p(static_cast<float>(site.query_position - site.key_positions[j]));
  }

 private:
  const int64_t n_fading_;
};

void continue_text(const std::shared_ptr<const ordinal::Model>& model, const ordinal::SessionOptions& options,
                   const std::string& prompt, int64_t n_new) {
  const std::unique_ptr<ordinal::Tokenizer> tokenizer = ordinal::make_tokenizer(model->file().tokenizer());
  const std::vector<ordinal::TokenId>& ends = model->config().eos_ids;

  ordinal::Session session(model, options);
  std::cout << "--- " << session.scheme().spec() << '\n';
  ordinal::Sampler sampler({.temperature = 0.7f, .top_k = 40, .seed = 1}, model->config().vocab_size);

  const std::vector<ordinal::TokenId> ids = tokenizer->encode(prompt);
  std::span<const float> logits = session.evaluate(ids);
  sampler.observe(ids);

  ordinal::Utf8Stream text;  // holds a character back until all its bytes are there
  std::cout << prompt;
  ordinal::TokenId previous = ids.back();
  for (int64_t i = 0; i < n_new; ++i) {
    const ordinal::TokenId id = sampler.sample(logits);
    if (std::find(ends.begin(), ends.end(), id) != ends.end()) break;
    std::cout << text.push(tokenizer->decode_next(previous, id)) << std::flush;
    if (session.length() == session.capacity()) break;
    logits = session.evaluate({&id, 1});
    previous = id;
  }
  std::cout << text.finish() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: example MODEL.ordinal PROMPT\n";
    return 2;
  }
  try {
    const std::shared_ptr<const ordinal::Model> model = ordinal::Model::open(argv[1]);
    continue_text(model, {}, argv[2], 60);  // the model's own position scheme and trained length
    ordinal::SessionOptions options;
    options.scheme = std::make_shared<Fading>(model->config().n_heads);
    continue_text(model, options, argv[2], 60);  // which the weights never saw
  } catch (const ordinal::Error& error) {
    std::cerr << "example: " << error.what() << '\n';
    return 1;
  }
}
