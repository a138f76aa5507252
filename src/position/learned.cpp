// learned: a trained row per position, added to the token's embedding.
// Gehring et al. 2017 (arXiv:1705.03122); Radford et al. 2019 (GPT-2).
//
//   x[p] += P[p]                        P: position_embd.weight [offset + L, d_model] from row `offset` on
// Beyond its last row, p >= L, `beyond` decides:
//   error          there is no position L
//   clamp, wrap    P[L - 1]; P[p mod L]
//   resample       P at p * L / length, between two rows in proportion: for every p, also below L
//   hierarchical   P[p mod L] + alpha/(1 - alpha) (P[p / L] - P[0]): see hierarchical.cpp
// Spec     learned[:offset=0,beyond=error|clamp|wrap|resample|hierarchical,length=(of the session),alpha=0.4]
//          offset 2: OPT and fairseq, which keep two rows for padding. length, alpha: of resample, hierarchical alone.
// Acts on  the embedding. Its last position is L - 1, none (clamp, wrap), length - 1, or L * L - 1.
#include "position/learned.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ordinal {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 31;  // of which the square is an int64_t

int64_t no_end(const TableReach&) { return PositionScheme::kUnlimited; }
int64_t square(const TableReach& reach) { return std::min(reach.rows, kMostRows) * std::min(reach.rows, kMostRows); }

BlendedRow same_row(const TableReach&, int64_t p) { return {.row = p}; }
BlendedRow last_row(const TableReach& reach, int64_t p) { return {.row = std::min(p, reach.rows - 1)}; }
BlendedRow round_and_round(const TableReach& reach, int64_t p) { return {.row = p % reach.rows}; }

BlendedRow between_rows(const TableReach& reach, int64_t p) {
  const double place = static_cast<double>(p) * static_cast<double>(reach.rows) / static_cast<double>(reach.length);
  const int64_t row = std::min(static_cast<int64_t>(place), reach.rows - 1);
  const int64_t next = std::min(row + 1, reach.rows - 1);
  return {.row = row, .weight = place - static_cast<double>(row), .toward = next, .from = row};
}

BlendedRow outer_and_inner(const TableReach& reach, int64_t p) {
  return {.row = p % reach.rows, .weight = reach.alpha / (1 - reach.alpha), .toward = p / reach.rows, .from = 0};
}

constexpr BeyondPolicy kPolicies[] = {
    {"error", [](const TableReach& reach) { return reach.rows; }, same_row},
    {"clamp", no_end, last_row},
    {"wrap", no_end, round_and_round},
    {"resample", [](const TableReach& reach) { return reach.length; }, between_rows},
    {"hierarchical", square, outer_and_inner},
};

class Learned final : public PositionScheme {
 public:
  Learned(const BeyondPolicy& policy, SchemeTable table, int64_t offset, TableReach reach)
      : policy_(policy), reach_(reach), offset_(offset), rows_(std::move(table.values)) {}

  int64_t max_positions() const override { return policy_.reach(reach_); }

  LimitNote limit_note() const override {
    if (max_positions() == kUnlimited) return {};
    std::string reason = "position_embd.weight has " + std::to_string(reach_.rows + offset_) + " rows";
    if (offset_ > 0) reason += ", the first " + std::to_string(offset_) + " for no position";
    if (policy_.name != "error")
      reason += ", stretched to " + std::to_string(max_positions()) + " positions by " + std::string(policy_.name);
    return {reason, "learned:beyond=clamp, wrap, hierarchical or resample; or a scheme without a table, such as alibi"};
  }

  void add_to_embedding(Positions positions, Rows x) const override {
    for (int64_t r = 0; r < x.rows; ++r) {
      const BlendedRow blend = policy_.row(reach_, positions[static_cast<size_t>(r)]);
      const float* row = row_at(blend.row, x.cols);
      const float *toward = row_at(blend.toward, x.cols), *from = row_at(blend.from, x.cols);
      const std::span<float> out = x[r];
      if (blend.weight == 0 || toward == from) {
        for (int64_t c = 0; c < x.cols; ++c) out[c] += row[c];
        continue;
      }
      for (int64_t c = 0; c < x.cols; ++c) {
        const double step = static_cast<double>(toward[c]) - static_cast<double>(from[c]);
        out[c] += static_cast<float>(static_cast<double>(row[c]) + blend.weight * step);
      }
    }
  }

 private:
  const float* row_at(int64_t row, int64_t cols) const { return rows_.data() + (row + offset_) * cols; }

  const BeyondPolicy& policy_;
  const TableReach reach_;
  const int64_t offset_;
  const std::vector<float> rows_;  // [offset + L, d_model]
};

}  // namespace

std::span<const BeyondPolicy> beyond_policies() { return kPolicies; }

SchemeTable read_positions(TableReader& tables, const AttentionShape& shape, int64_t offset) {
  const int64_t rows = shape.trained_length + offset;
  // Slow waves, a number of rounds and a phase for each channel.
  const auto waves = [rows](int64_t row, int64_t col, double random) {
    const double rounds = static_cast<double>(1 + col % 3), phase = 2.4 * static_cast<double>(col);
    const double turn = 2 * std::numbers::pi * rounds * static_cast<double>(row) / static_cast<double>(rows);
    return std::cos(turn + phase) / rounds + 0.04 * random;
  };
  return tables.read_one({"position_embd.weight", {any_size(rows), shape.d_model}, waves});
}

SchemePtr make_learned_table(const BeyondPolicy& policy, SchemeTable table, int64_t offset, TableReach reach) {
  return std::make_unique<Learned>(policy, std::move(table), offset, reach);
}

SchemePtr make_learned(ParamReader& params, const AttentionShape& shape, TableReader& tables) {
  std::vector<std::string_view> names;
  for (const BeyondPolicy& policy : kPolicies) names.push_back(policy.name);
  const int64_t offset = params.whole("offset", 0, 0, kMostRows);
  const std::string name = params.choice("beyond", names);
  const BeyondPolicy& policy = *std::ranges::find(kPolicies, std::string_view(name), &BeyondPolicy::name);
  const bool resample = name == "resample", hierarchical = name == "hierarchical";
  const int64_t asked = resample ? params.session_whole("length", shape.length, 1, int64_t{1} << 40) : 0;
  const double alpha = hierarchical ? read_alpha(params) : 0;

  SchemeTable table = read_positions(tables, shape, offset);
  const int64_t rows = table.shape[0] - offset;
  if (rows < 1)
    params.refuse("offset", std::to_string(offset),
                  "less than the table's " + std::to_string(table.shape[0]) + " rows");
  const TableReach reach{.rows = rows, .length = std::max(asked, rows), .alpha = alpha};
  if (resample && reach.length > rows)
    params.remark("context " + std::to_string(rows) + " -> " + std::to_string(reach.length) +
                  ": every position moves, also those inside the table");
  return make_learned_table(policy, std::move(table), offset, reach);
}

}  // namespace ordinal
