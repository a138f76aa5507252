// checks_scores.h: C3, C12 and C15: what rope and alibi promise of scores.
//
// As in checks_sinusoid.h, a check takes turns and penalties from anywhere: the formula in double, or the engine's
// hook.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "position/rope_scaling.h"
#include "study/check/check.h"

namespace ordinal {

// What a position does to one head of q or k.
struct HeadTurn {
  std::string scheme;
  bool in_double = false;
  int64_t head_dim = 0;
  std::function<std::vector<double>(const std::vector<double>& head, int64_t position)> turn;
};

// The angles and the pairing that a spec of rope stands for.
struct Rotation {
  RopeAngles angles;
  bool interleaved = false;
  bool scaled = false;  // by any scaling but none
};
Rotation rotation_of(std::string_view spec, const AttentionShape& shape, const TensorLookup& lookup);

HeadTurn formula_turn(const Rotation& rotation, const std::string& scheme, int64_t head_dim);
HeadTurn engine_turn(const std::shared_ptr<const PositionScheme>& scheme, const std::string& name, int64_t head_dim);

// C3: scores at (5, 2) and at (1005, 1002) are the same.
Check check_distance_only(const HeadTurn& head);
// C3: the engine turns as the formula does; the other direction and the other pairing are relative schemes too.
Check check_turn(const HeadTurn& engine, const HeadTurn& formula);
// C12: with q = k = ones, the score by distance is the similarity of sinusoids of the same frequencies.
Check check_score_curve(const HeadTurn& head, const Rotation& rotation);

// What is added to the score of a key at hand and of keys farther back, under one head.
struct ScorePenalty {
  std::string scheme;
  bool in_double = false;
  int64_t n_heads = 0;
  std::function<double(int64_t head, int64_t query_position, int64_t key_position)> at;
};
// Press et al. 2022, section 3; naive: the mistake of using the rule for powers of two everywhere.
std::vector<double> alibi_slopes(int64_t n_heads, double max_bias, bool naive);

ScorePenalty formula_penalty(std::vector<double> slopes, const std::string& scheme);
ScorePenalty engine_penalty(const std::shared_ptr<const PositionScheme>& scheme, const std::string& name,
                            int64_t n_heads);

// C15: a key one position back loses exactly its head's slope.
Check check_slopes(const ScorePenalty& penalty, const std::vector<double>& slopes);
// C15: on equal scores the weights are a geometric series, and a number added to all of a row's scores changes nothing:
// slope * key position in place of -slope * distance gives the same weights.
Checks check_geometric(const ScorePenalty& penalty, const std::vector<double>& slopes);

}  // namespace ordinal
