// example_embed.cpp: a user's program: opens a model and continues a text, with the public headers and libordinal.a
// only.
//
//   g++ -std=c++20 example_embed.cpp $(pkg-config --cflags --libs ordinal) -o example
//   ./example tales.ordinal "Once upon a time"
#include <ordinal/error.h>
#include <ordinal/model.h>
#include <ordinal/sampler.h>
#include <ordinal/session.h>
#include <ordinal/tokenizer.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

void continue_text(const std::string& path, const std::string& prompt, int64_t n_new) {
  const std::shared_ptr<const ordinal::Model> model = ordinal::Model::open(path);
  const std::unique_ptr<ordinal::Tokenizer> tokenizer = ordinal::make_tokenizer(model->file().tokenizer());
  const std::vector<ordinal::TokenId>& ends = model->config().eos_ids;

  ordinal::Session session(model);  // the model's own position scheme and trained length
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
    continue_text(argv[1], argv[2], 60);
  } catch (const ordinal::Error& error) {
    std::cerr << "example: " << error.what() << '\n';
    return 1;
  }
}
