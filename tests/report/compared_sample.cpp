// compared_sample.cpp: see compared_sample.h. Every number is invented.
#include "compared_sample.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "support.h"

namespace test {
namespace {

using namespace ordinal;

struct Kind {
  const char* position;
  const char* kind;
  Standing standing;
  double loss;   // at the trained length
  double climb;  // nats per doubling past it
  const char* reason;
};

const std::vector<Kind> kKinds = {
    {"rope", "relative", Standing::jointly, 1.912, 0.55, "The file lists it among the schemes of its training."},
    {"alibi", "relative", Standing::jointly, 1.927, 0.004, "The file lists it among the schemes of its training."},
    {"none", "absolute", Standing::jointly, 1.968, 0.8, "The file lists it among the schemes of its training."},
    {"rope:scaling=dynamic,length=512", "relative", Standing::exact, 1.912, 0.19,
     "The same bits as rope at every position below 512; beyond, the weights never saw it."},
    {"sinusoidal", "absolute", Standing::untrained, 5.83, 0.12, "The weights never saw these positions."},
    {"learned", "", Standing::refused, 0, 0,
     "It needs the tensor position_embd.weight, which the model does not have."},
    {"alibi:max_bias=4", "relative", Standing::untrained, 2.12, 0.05, "The weights never saw these slopes."},
    {"rope:theta=500000", "relative", Standing::untrained, 2.87, 0.31, "The weights never saw these angles."},
    {"rope:scaling=linear,factor=4", "relative", Standing::untrained, 3.4, -0.1, "The weights never saw these angles."},
    {"rope:pairing=interleaved", "relative", Standing::untrained, 6.2, 0.2, "The other pairing of dimensions."},
    {"hashed", "lab", Standing::untrained, 6.9, 0.02, "A scheme of the lab: random vectors."},
    {"shuffled", "lab", Standing::untrained, 6.4, 0.1, "A scheme of the lab: positions in random order."},
};

const std::vector<std::string> kPrompt = {"Once", " upon",   " a",   " time", ",",      " there", " was",
                                          " a",   " little", " fox", " who",  " lived", " in",    " the"};
const std::vector<std::string> kStory = {" woods", ".",      " She",  " liked", " to",    " run",   " in",  " the",
                                         " grass", " and",   " look", " at",    " the",   " birds", ".",    "\n",
                                         "One",    " day",   ",",     " she",   " found", " a",     " big", " red",
                                         " ball",  " under", " a",    " tree",  "."};
const std::vector<std::string> kOther = {" sky", ".", " The", " sun", " sun", " and", " the", " and", " the", " day"};

double loss_at(const Kind& kind, int64_t length, double trained_length) {
  const double doublings = std::log2(static_cast<double>(length) / trained_length);
  return kind.loss + (doublings > 0 ? kind.climb * doublings : -0.09 * doublings);
}

ComparedScheme scheme_of(const Kind& kind, size_t index, const SampleSize& size, Random& random) {
  ComparedScheme scheme;
  scheme.position = kind.position;
  scheme.standing = kind.standing;
  scheme.reason = kind.reason;
  if (kind.standing == Standing::refused) return scheme;
  scheme.kind = kind.kind;
  if (scheme.position == "rope") scheme.remarks = {"Slowest pair turns once in 54,410 tokens."};
  if (scheme.position.starts_with("alibi")) scheme.remarks = {"Slopes of 4 heads: 1/4, 1/16, 1/64, 1/256."};
  scheme.continuation = kStory;
  if (index > 0 && kind.standing != Standing::exact) {
    scheme.differs_at = kind.standing == Standing::untrained ? static_cast<int64_t>(index) % 3 : 13 + 5 * (index % 2);
    scheme.continuation.resize(static_cast<size_t>(scheme.differs_at));
    for (size_t i = 0; scheme.continuation.size() < kStory.size(); ++i)
      scheme.continuation.push_back(kOther[i % kOther.size()]);
  }
  for (size_t i = 0; i < scheme.continuation.size(); ++i) scheme.continuation_ids.push_back(static_cast<int32_t>(i));
  for (size_t i = 0; i < 60; ++i) {
    const std::string& piece = i % 4 == 3 && index > 2 ? kOther[i % kOther.size()] : kStory[i % kStory.size()];
    scheme.sample.pieces.push_back(piece);
    scheme.sample.ids.push_back(static_cast<int32_t>(i));
    scheme.sample.surprisal.push_back((kind.loss - 1.5) * (0.2 + 3 * random.uniform()));
  }
  scheme.in_order = kind.loss;
  scheme.shuffled = kind.loss + 2.4 / (1 + kind.loss * kind.loss / 8);
  for (size_t layer = 0; layer < size.layers; ++layer) {
    scheme.attention_distance.emplace_back();
    for (size_t head = 0; head < size.heads; ++head)
      scheme.attention_distance.back().push_back(4 + 30 * random.uniform() * (1 + static_cast<double>(layer)));
    auto& map = scheme.attention.emplace_back();
    for (size_t q = 0; q < kPrompt.size(); ++q) {
      std::vector<float> row(kPrompt.size());
      float sum = 0;
      for (size_t k = 0; k <= q; ++k) {
        const double near = std::exp(-static_cast<double>(q - k) / (1.0 + static_cast<double>(index + layer)));
        sum += row[k] = static_cast<float>(near * (0.3 + random.uniform()) + (k == 0 ? 0.6 : 0));
      }
      for (float& weight : row) weight /= sum;
      map.push_back(row);
    }
  }
  scheme.ms_per_token = 0.41 + 0.02 * static_cast<double>(index);
  scheme.cache_bytes = 4 * 2 * 512 * 256 * 4;
  scheme.table_bytes = index % 3 == 1 ? 512 * 256 * 4 : 0;
  return scheme;
}

ComparedRow row_of(const Kind& kind, int64_t length, const std::string& protocol, const Compared& result,
                   Random& random) {
  ComparedRow row;
  row.position = kind.position;
  row.length = length;
  row.protocol = protocol;
  row.standing =
      length > result.trained_length && kind.standing != Standing::refused ? Standing::extrapolating : kind.standing;
  if (kind.standing == Standing::refused) row.refused = kind.reason;
  if (kind.standing == Standing::untrained && length >= 2048 && row.position == "sinusoidal")
    row.refused = "Its table ends at position 1,023.", row.standing = Standing::refused;
  if (!row.refused.empty()) return row;
  const auto trained_length = static_cast<double>(result.trained_length);
  row.tokens = 65536;
  row.nll = loss_at(kind, length, trained_length) - (protocol == "sliding" ? 0.06 : 0);
  row.ppl = std::exp(row.nll);
  row.bits_per_byte = row.nll / std::log(2.0) / 3.1;
  row.std_error = 0.011 + 0.002 * row.nll;
  const double native = loss_at(kKinds[0], length, trained_length) - (protocol == "sliding" ? 0.06 : 0);
  if (row.position != result.native) {
    row.delta_nll = row.nll - native;
    row.against = result.native, row.against_protocol = protocol;
    const double half = row.standing == Standing::exact ? 0 : 0.004 + 0.01 * std::abs(*row.delta_nll);
    row.delta_low = *row.delta_nll - half;
    row.delta_high = *row.delta_nll + half;
    row.kl = std::abs(*row.delta_nll) * 1.1 + (half > 0 ? 0.02 : 0);
    row.top1_agreement = 1 / (1 + *row.kl);
  }
  row.loss_step = std::max<int64_t>(1, length / 32);
  for (int64_t i = 0; i < 32; ++i) {
    const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(row.loss_step);
    const double past = std::max(0.0, std::log2(at / trained_length));
    row.loss_by_position.push_back(kind.loss + 1.6 / std::sqrt(1 + at / 4) + 1.5 * kind.climb * past +
                                   0.04 * static_cast<double>(random.normal()));
  }
  if (row.delta_nll && protocol == "whole")
    for (int64_t i = 0; i < 32; ++i) {
      const double mean = *row.delta_nll * static_cast<double>(i) / 16;
      row.delta_by_position.push_back({.mean = mean, .std_error = 0.02, .low = mean - 0.04, .high = mean + 0.04});
    }
  row.ms_per_token = 0.4 + static_cast<double>(length) / 5000;
  return row;
}

void add_recall(Compared& result, const Kind& kind, int64_t length) {
  for (const char* task : {"copy", "find"}) {
    RecallRow row{.position = kind.position, .task = task, .length = length, .tokens = 2048};
    const double doublings = std::log2(static_cast<double>(length) / static_cast<double>(result.trained_length));
    if (kind.position != std::string("sinusoidal") || length < 2048)
      row.accuracy = std::clamp(0.97 - (kind.loss - 1.9) * 0.3 - std::max(0.0, doublings) * kind.climb, 0.0, 1.0);
    if (row.accuracy) row.low = std::max(0.0, *row.accuracy - 0.02), row.high = std::min(1.0, *row.accuracy + 0.02);
    result.recall.push_back(row);
  }
}

}  // namespace

Compared sample_comparison(const SampleSize& size) {
  Random random(7);
  Compared result;
  result.model = "six-schemes-13m.ordinal";
  result.native = result.reference = "rope";
  result.text = "stories-valid.txt";
  result.trained_positions = {"rope", "alibi", "none"};
  result.parameters = 13'107'456;
  result.trained_length = 512;
  result.text_tokens = 65'536;
  result.text_bytes = 264'812;
  result.lengths = size.lengths;
  for (const std::string& piece : kPrompt) result.prompt += piece;
  result.prompt_pieces = result.attention_pieces = kPrompt;
  result.sample_begins = 488, result.sample_before = kPrompt, result.sample_temperature = 0.8;
  result.seed = 1;
  result.command_shown = result.command =
      "ordinal compare six-schemes-13m.ordinal --text stories-valid.txt --schemes rope,alibi,none --lengths "
      "128,256,512,1024,2048 --prompt \"Once upon a time, there was a little fox who lived in the\" --seed 1";
  result.checksum = "0123456789abcdef", result.date = "2026-12-01";
  result.version = "0.3.0";
  result.seconds = 412.7;
  const auto found = [&](std::string kind, std::string position, std::string text, bool detail) {
    Finding finding{.kind = std::move(kind), .position = std::move(position), .against = "rope", .length = 512};
    finding.text = std::move(text);
    finding.detail = detail;
    result.headlines.push_back(finding.text);
    result.findings.push_back(std::move(finding));
  };
  found("best", "rope",
        "Trained under 3 schemes at once, these weights read best under rope, 0.015 nats ahead of alibi.", false);
  found("reach", "alibi", "At 2,048 tokens only alibi still works: 1.94 nats per token against 3.01 for rope.", false);
  found("scheme", "sinusoidal", "sinusoidal, on weights that never saw it, loses 3.918 nats: no verdict on it.", true);
  result.unigram_nll = 6.11;

  const size_t count = std::min(size.schemes, kKinds.size());
  for (size_t i = 0; i < count; ++i) result.schemes.push_back(scheme_of(kKinds[i], i, size, random));
  for (const char* protocol : {"whole", "sliding"})
    for (const int64_t length : size.lengths)
      for (size_t i = 0; i < count; ++i) result.rows.push_back(row_of(kKinds[i], length, protocol, result, random));
  for (size_t i = 0; i < count; ++i)
    for (const int64_t length : size.lengths)
      if (kKinds[i].standing != Standing::refused) add_recall(result, kKinds[i], length);

  result.matrix_length = 512;
  for (size_t i = 0; i < count; ++i)
    if (kKinds[i].standing != Standing::refused) result.matrix.emplace_back(kKinds[i].position);
  for (size_t p = 0; p < result.matrix.size(); ++p) {
    result.kl.emplace_back();
    result.top1.emplace_back();
    for (size_t q = 0; q < result.matrix.size(); ++q) {
      const double far = std::abs(static_cast<double>(p) - static_cast<double>(q)) * 0.13 + (p > q ? 0.013 : 0);
      result.kl.back().push_back(p == q ? 0 : far * far);
      result.top1.back().push_back(1 / (1 + far));
    }
  }
  return result;
}

std::vector<SchemePicture> sample_pictures(const Compared& result) {
  std::vector<SchemePicture> pictures;
  for (size_t i = 0; i < result.schemes.size(); ++i) {
    if (result.schemes[i].standing == Standing::refused) continue;
    HeatMap map{.title = "dimension by position", .x = {.title = "position"}, .y = {.title = "dimension"}};
    map.rows = 16, map.cols = 64;
    for (int64_t row = 0; row < map.rows; ++row)
      for (int64_t col = 0; col < map.cols; ++col)
        map.values.push_back(
            std::sin(static_cast<double>(col) / std::pow(10 + static_cast<double>(i), static_cast<double>(row) / 8)));
    pictures.push_back({result.schemes[i].position,
                        {.id = "picture-" + std::to_string(i),
                         .title = "Waves",
                         .description = "Red is above 0, blue below.",
                         .panels = {map},
                         .width = 560}});
  }
  return pictures;
}

}  // namespace test
