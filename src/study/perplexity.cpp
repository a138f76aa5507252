// perplexity.cpp: see perplexity.h.
#include "study/perplexity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/utf8.h"
#include "base/words.h"
#include "ordinal/error.h"
#include "study/intervals.h"

namespace ordinal {
namespace {

constexpr Protocol kProtocols[] = {
    {"rolling", Cut::rolling, 0, StartToken::always, false,
     "windows that do not overlap, every token scored once, a start token before the text"},
    {"gpt2", Cut::rolling, 32, StartToken::never, false,
     "the GPT-2 paper's, as its authors described it later: a window that moves on 32 tokens at a time; the paper's "
     "figures are per word of the original text"},
    {"hf", Cut::strided, -1, StartToken::tokenizer, false,
     "the recipe of Hugging Face's documentation: a window that moves on by half, means of windows weighted"},
    {"llama.cpp", Cut::half, 0, StartToken::tokenizer, true,
     "llama.cpp's perplexity tool: windows that do not overlap, the second half of each scored"},
    {"harness", Cut::harness, 0, StartToken::always, false,
     "lm-evaluation-harness's rolling log-likelihood: no overlap, the last window reaches back; figures per word and "
     "byte"},
};

// White space as Python's str.split and \s have it, for words counted as others count them.
bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// The character that `text` begins with, of `size` bytes, well-formed.
uint32_t character_of(std::string_view text, size_t size) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  uint32_t c = size == 1 ? byte(0) : byte(0) & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) c = c << 6 | (byte(i) & 0x3f);
  return c;
}

void append(TokenStream& stream, std::string_view text, const Tokenizer& tokenizer, bool parse_special) {
  std::vector<bool> word_begins(text.size(), false);
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_length(text.substr(at));  // 0: a byte of no character, which is no space
    const bool space = size > 0 && is_space(character_of(text.substr(at), size));
    word_begins[at] = !space && !in_word;
    in_word = !space;
    at += std::max<size_t>(size, 1);
  }
  for (const TextToken& token :
       tokenizer.encode_with_offsets(text, {.parse_special = parse_special, .add_bos = false})) {
    stream.tokens.push_back(token.id);
    stream.bytes.push_back(static_cast<int32_t>(token.end - token.begin));
    stream.words.push_back(
        static_cast<int32_t>(std::count(word_begins.begin() + token.begin, word_begins.begin() + token.end, true)));
  }
}

void append_mark(TokenStream& stream, TokenId token) {
  stream.tokens.push_back(token);
  stream.bytes.push_back(0);
  stream.words.push_back(0);
}

std::optional<TokenId> start_token(StartToken rule, const Tokenizer& tokenizer, const ModelConfig& config) {
  if (rule == StartToken::never || (rule == StartToken::tokenizer && !tokenizer.data().adds_bos)) return std::nullopt;
  if (tokenizer.data().adds_bos) return tokenizer.data().bos_id;
  const TokenId token = config.bos_id >= 0 ? config.bos_id : config.eos_ids.empty() ? -1 : config.eos_ids.front();
  if (token < 0)
    throw Error("the model has no token that starts a text", "a model with a start or an end token", "neither",
                "--bos no: the first token of a text is then not scored");
  return token;
}

// The documents of a text: what lies between lines of `line` alone, without the line ends around it.
std::vector<std::string_view> documents_of(std::string_view text, std::string_view line, int64_t& lines) {
  std::vector<std::string_view> documents;
  const auto add = [&](std::string_view document) {
    const size_t first = document.find_first_not_of("\r\n");
    if (first == std::string_view::npos) return;
    documents.push_back(document.substr(first, document.find_last_not_of("\r\n") + 1 - first));
  };
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const bool returned = end > at && text[end - 1] == '\r';
    if (text.substr(at, end - at - (returned ? 1 : 0)) == line) {
      ++lines;
      add(text.substr(begin, at - begin));
      begin = std::min(end + 1, text.size());
    }
    at = end + 1;
  }
  add(text.substr(begin));
  return documents;
}

// What follows from the sums.
void derive(PerplexityRow& row) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  row.ppl = std::exp(row.nll);
  row.bits_per_byte = row.bytes > 0 ? row.total_nll / std::numbers::ln2 / static_cast<double>(row.bytes) : none;
  row.word_ppl = row.words > 0 ? std::exp(row.total_nll / static_cast<double>(row.words)) : none;
}

}  // namespace

StartToken start_if_any(const ModelConfig& config) {
  return config.bos_id >= 0 || !config.eos_ids.empty() ? StartToken::always : StartToken::never;
}

void TokenStream::keep_first(int64_t count) {
  if (count == 0 || count >= std::ssize(tokens)) return;
  tokens.resize(static_cast<size_t>(count));
  bytes.resize(tokens.size());
  words.resize(tokens.size());
}

std::span<const Protocol> protocols() { return kProtocols; }

const Protocol& protocol_from_name(std::string_view name) {
  const auto found = std::ranges::find(kProtocols, name, &Protocol::name);
  if (found != std::end(kProtocols)) return *found;
  throw Error("there is no protocol of this name", joined(kProtocols, ", ", &Protocol::name), std::string(name));
}

TokenStream make_stream(std::string name, std::string_view text, const Tokenizer& tokenizer, const ModelConfig& config,
                        const StreamOptions& options) {
  TokenStream stream;
  stream.name = std::move(name);
  stream.start = start_token(options.start, tokenizer, config);
  if (stream.start) append_mark(stream, *stream.start);
  if (options.document_line.empty()) {
    append(stream, text, tokenizer, options.parse_special);
  } else {
    if (config.eos_ids.empty())
      throw Error("the model has no token that ends a document", "a model with an end token", "none",
                  "texts in files of their own");
    for (const std::string_view document : documents_of(text, options.document_line, stream.document_lines)) {
      append(stream, document, tokenizer, options.parse_special);
      append_mark(stream, config.eos_ids.front());
    }
  }
  if (stream.tokens.size() <= (stream.start ? 1u : 0u))
    throw Error("there is no text in " + stream.name, "a text of one token or more", "none");
  return stream;
}

Perplexity measure_perplexity(Session session, std::span<const TokenStream> streams, const Protocol& protocol,
                              int64_t ctx, int64_t stride, const OnProgress& progress) {
  std::vector<std::vector<Window>> plans;
  int64_t total = 0, done = 0;
  for (const TokenStream& stream : streams) {
    plans.push_back(plan_windows(protocol.cut, static_cast<int64_t>(stream.tokens.size()), ctx, stride));
    for (const Window& window : plans.back()) total += window.scored();
  }
  Perplexity result;
  result.position = session.scheme().spec();
  result.protocol = protocol.name;
  result.ctx = ctx;
  result.stride = stride;
  result.start_token = streams.front().start.has_value();
  result.all.name = "all";
  std::vector<double> all_values;
  SampledTokens all_sampled;
  double all_sum = 0, all_weight = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    const TokenStream& stream = streams[i];
    PerplexityRow score;
    score.name = stream.name;
    std::vector<double> values;
    double sum = 0, weight = 0;
    const auto sink = [&](const Prediction& prediction) {
      const auto at = static_cast<size_t>(prediction.target);
      const double nll = prediction.nll(0, stream.tokens[at]);
      values.push_back(nll);
      sum += prediction.window.weight * nll;
      weight += prediction.window.weight;
      score.total_nll += nll;
      score.bytes += stream.bytes[at];
      score.words += stream.words[at];
    };
    result.seconds += score_windows({&session, 1}, stream.tokens, plans[i],
                                    protocol.start_in_each ? stream.start : std::nullopt, sink,
                                    [&](int64_t now, int64_t) {
                                      if (progress) progress(done + now, total);
                                    })
                          .front();
    score.tokens = static_cast<int64_t>(values.size());
    done += score.tokens;
    score.nll = sum / weight;
    SampledTokens sampled;
    sampled.add_text(plans[i]);
    all_sampled.add_text(plans[i]);
    score.std_error = estimate(values, sampled).std_error;
    derive(score);
    all_sum += sum;
    all_weight += weight;
    all_values.insert(all_values.end(), values.begin(), values.end());
    result.windows += static_cast<int64_t>(plans[i].size());
    result.all.tokens += score.tokens;
    result.all.bytes += score.bytes;
    result.all.words += score.words;
    result.all.total_nll += score.total_nll;
    result.macro_nll += score.nll / static_cast<double>(streams.size());
    result.texts.push_back(std::move(score));
  }
  result.all.nll = all_sum / all_weight;
  result.all.std_error = estimate(all_values, all_sampled).std_error;
  derive(result.all);
  return result;
}

}  // namespace ordinal
