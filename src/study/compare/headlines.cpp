// headlines.cpp: what was found, as numbers and sentences. Each is there only where the numbers bear it out: a best or
// a worst needs an interval that leaves out zero, and what is the same to the bit is one scheme.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "base/words.h"
#include "study/compare/compare.h"
#include "study/compare/rankings.h"

namespace ordinal {
namespace {

constexpr double kClearly = 0.05;  // nats: a swap that gains more is no accident of the text

using Findings = std::vector<Finding>;

Question question_at(const Compared& result, const ComparedRow& row) {
  return scheme_of(result, row.position).question;
}

// The only finding where even the best scheme predicts worse than the frequencies of the text's tokens.
bool add_worthless(const Compared& result, Findings& findings) {
  const Ranking all = ranking(result, result.matrix_length, [](const ComparedRow&) { return true; });
  if (all.rows.empty() || result.unigram_nll <= 0) return false;
  const ComparedRow& best = *all.rows.front();
  if (best.nll <= result.unigram_nll + result.unigram_slack) return false;
  findings.push_back(finding(
      "worthless", best, "token frequencies", {.mean = best.nll - result.unigram_nll},
      "These weights predict worse than the text's own token frequencies, " + fixed(best.nll, 3) +
          " nats a token against " + fixed(result.unigram_nll, 3) +
          ": random weights, another tokenizer or a wrong conversion look like this, and nothing else here says "
          "anything about position schemes."));
  return true;
}

// A scheme that the weights should not know reads clearly better than the one that the file states.
bool add_misstated(const Compared& result, Findings& findings) {
  const ComparedRow* own = whole_row(result, result.native, result.matrix_length);
  const Ranking others = ranking(result, result.matrix_length, [&](const ComparedRow& row) {
    const Question question = question_at(result, row);
    return row.position == result.native ||
           (!row.is_trained() && (question == Question::swap || question == Question::extension));
  });
  if (own == nullptr || result.matrix_length > result.trained_length || others.rows.empty()) return false;
  const auto place = std::ranges::find(others.rows, own);
  if (place == others.rows.end() || place == others.rows.begin()) return false;
  const ComparedRow& best = *others.rows.front();
  const Estimate gain = others.between(0, static_cast<size_t>(place - others.rows.begin()));
  if (!gain.is_below_zero() || gain.mean > -kClearly) return false;
  findings.push_back(finding("misstated", best, result.native, gain,
                             best.position + " reads " + amount(gain) + " better than " + result.native +
                                 ", which the file states: weights do not do that under positions they never saw, so "
                                 "the file states theirs wrongly. `ordinal diagnose` finds out which they are."));
  return true;
}

// The schemes that the weights were trained under, inside the trained length.
void add_trained(const Compared& result, Findings& findings) {
  const Ranking known = ranking(result, result.matrix_length, [](const ComparedRow& row) { return row.is_trained(); });
  if (known.rows.empty()) return;
  const std::string where = " at " + tokens_text(result.matrix_length);
  const ComparedRow& best = *known.rows.front();
  if (known.rows.size() == 1 || result.trained_positions.size() < 2) {
    findings.push_back(finding("own", best, "", {.mean = 0},
                               "Under " + best.position +
                                   ", which they were trained with, these weights reach perplexity " +
                                   fixed(best.ppl, 2) + where + "."));
    findings.back().delta.reset();
    return;
  }
  const std::string trained = "Trained under " + std::to_string(result.trained_positions.size()) + " schemes at once, ";
  const size_t leaders = known.leaders(), last = known.rows.size() - 1;
  const Estimate ahead = known.between(0, 1);
  if (leaders == 1) {
    findings.push_back(finding("best", best, known.rows[1]->position, ahead,
                               trained + "these weights read best under " + best.position + ": perplexity " +
                                   fixed(best.ppl, 2) + where + ", " + amount(ahead) + " ahead of " +
                                   known.rows[1]->position + "."));
  } else {
    const std::vector<const ComparedRow*> first(known.rows.begin(),
                                                known.rows.begin() + static_cast<ptrdiff_t>(leaders));
    const Estimate across = known.between(0, leaders - 1);
    findings.push_back(finding("best", best, known.rows[leaders - 1]->position, across,
                               trained + names_text(first) + " read best" + where + ", perplexity " +
                                   fixed(best.ppl, 2) + ", and cannot be told apart here (" + amount(across) + ")."));
  }
  if (leaders == known.rows.size() || last == 0) return;
  const Estimate behind = known.between(last, 0);
  if (known.trailers() == 1)
    findings.push_back(finding(
        "worst", *known.rows[last], best.position, behind,
        known.rows[last]->position + " reads worst of them, " + amount(behind) + " behind " + best.position + "."));
}

// Schemes that the weights never saw: which costs least.
void add_nearest(const Compared& result, Findings& findings) {
  const Ranking swaps = ranking(result, result.matrix_length, [&](const ComparedRow& row) {
    return !row.is_trained() && question_at(result, row) == Question::swap && row.delta_nll;
  });
  if (swaps.rows.size() < 2) return;
  const ComparedRow& first = *swaps.rows.front();
  const size_t leaders = swaps.leaders();
  const Estimate delta = delta_of(first);
  const std::string told =
      leaders == 1 ? first.position + " costs least, "
                   : names_text({swaps.rows.begin(), swaps.rows.begin() + static_cast<ptrdiff_t>(leaders)}) +
                         " cost least and cannot be told apart here, ";
  findings.push_back(finding("nearest", first, first.against, delta,
                             "Of the " + std::to_string(swaps.rows.size()) + " schemes that these weights never saw, " +
                                 told + amount(delta) + (delta.mean < 0 ? " less than " : " more than ") +
                                 baseline_name(result, first) + " at " + tokens_text(first.length) +
                                 ": that is how they lean on their own positions, and no verdict on a scheme."));
}

// Positions taken from layers or heads: where that costs most, where least.
void add_ablation(const Compared& result, Findings& findings) {
  const Ranking taken = ranking(result, result.matrix_length, [&](const ComparedRow& row) {
    return question_at(result, row) == Question::ablation && row.delta_nll;
  });
  if (taken.rows.size() < 2) return;
  const ComparedRow &least = *taken.rows.front(), &most = *taken.rows.back();
  if (!delta_of(most).is_above_zero()) {
    findings.push_back(finding("ablation", most, most.against, delta_of(most),
                               "Positions taken from one place at a time, " + std::to_string(taken.rows.size()) +
                                   " places in all, cost nothing that can be told here; most with " + most.position +
                                   verb_and_amount(delta_of(most), "", ", which saves", "") + " at " +
                                   tokens_text(most.length) + "."));
    return;
  }
  const auto told = [](size_t count) {
    return count == 1 ? std::string()
                      : " (not told apart from " + std::to_string(count - 1) + (count == 2 ? " other)" : " others)");
  };
  findings.push_back(finding("ablation", most, most.against, delta_of(most),
                             "Taking positions away costs most with " + most.position + ", " + amount(delta_of(most)) +
                                 " at " + tokens_text(most.length) + told(taken.trailers()) + "."));
  findings.push_back(finding(
      "ablation", least, least.against, delta_of(least),
      "It costs least with " + least.position + ": that " +
          verb_and_amount(delta_of(least), "costs", "saves", "cannot be told apart here from " + least.against) +
          told(taken.leaders()) + "."));
}

// Where nothing but the context tells: the best, or that nothing is found.
void add_recall(const Compared& result, Findings& findings) {
  const RecallRow* best = nullptr;
  for (const auto* rows : {&result.recall, &result.passkey})
    for (const RecallRow& row : *rows)
      if (row.accuracy && (best == nullptr || row.low > best->low)) best = &row;
  if (best == nullptr) return;
  Finding made{.kind = "recall", .position = best->position, .against = "chance", .length = best->length};
  const auto percent = [](double share) { return fixed(100 * share, 1) + " %"; };
  const bool recalls = best->low > std::max(result.recall_chance, 0.1);
  made.text = (recalls ? "Recall is best with " + best->position + ": "
                       : "Nothing is recalled from the context alone; the most is " + best->position + "'s, ") +
              percent(*best->accuracy) + " [" + percent(best->low) + ", " + percent(best->high) + "] of " +
              std::to_string(best->tokens) + " at '" + best->task + "' over " + tokens_text(best->length) +
              ", where naming the commonest token is right " + percent(result.recall_chance) + " of the time.";
  findings.push_back(std::move(made));
}

// What a question makes of a difference: "NAME, on weights that never saw it, loses ...: no verdict on it."
struct Wording {
  std::string_view after_name, verb, when_worse;
};
constexpr Wording kWordings[] = {
    {", the model's own,", "loses", ""},                                // own
    {", which the weights were trained under,", "loses", ""},           // joint
    {", stretched and untrained,", "loses", ""},                        // extension
    {", with positions taken away there,", "loses", ""},                // ablation
    {", on weights that never saw it,", "loses", ": no verdict on it"}  // swap
};

// What can be said of one scheme by itself, in the words of what was asked.
std::string scheme_text(const Compared& result, const ComparedRow& row, const Estimate& delta) {
  const std::string base = baseline_name(result, row), where = " at " + tokens_text(row.length);
  if (delta.is_nothing()) return row.position + " gives the same as " + base + where + ", to the bit.";
  const Wording& wording = kWordings[static_cast<size_t>(question_at(result, row))];
  const std::string named = row.position + std::string(wording.after_name) + " ";
  if (!delta.is_above_zero() && !delta.is_below_zero())
    return named + verb_and_amount(delta, "", "", "cannot be told apart here from " + base) + where + ".";
  return named + std::string(wording.verb) + " " + amount(delta) + (delta.mean > 0 ? " more than " : " less than ") +
         base + where + (delta.mean > 0 ? std::string(wording.when_worse) : "") + ".";
}

// At least one finding for every scheme that is not the reference: inside the trained length, and past it.
void add_each_scheme(const Compared& result, Findings& findings) {
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.position == result.reference) continue;
    bool any = false;
    std::vector<int64_t> lengths = {result.matrix_length};
    if (result.lengths.back() != result.matrix_length) lengths.push_back(result.lengths.back());
    for (const int64_t length : lengths) {
      const ComparedRow* row = whole_row(result, scheme.position, length);
      if (row == nullptr || !row->delta_nll) continue;
      const Estimate delta = delta_of(*row);
      findings.push_back(finding("scheme", *row, row->against, delta, scheme_text(result, *row, delta)));
      findings.back().detail = any = true;
    }
    if (any) continue;
    std::string why = scheme.standing == Standing::refused ? scheme.reason : "";
    for (const ComparedRow& row : result.rows)
      if (why.empty() && row.position == scheme.position) why = row.refused;
    Finding refused{.kind = "scheme", .position = scheme.position, .against = result.reference};
    refused.length = result.matrix_length;
    refused.text =
        scheme.position + (why.empty() ? " ran with nothing to compare it with." : " does not run: " + why + ".");
    refused.detail = true;
    findings.push_back(std::move(refused));
  }
}

}  // namespace

std::vector<Finding> findings_of(const Compared& result) {
  Findings findings;
  if (result.rows.empty() || result.lengths.empty() || add_worthless(result, findings)) return findings;
  const auto asked = [&](Question question) {
    return std::ranges::find(result.schemes, question, &ComparedScheme::question) != result.schemes.end();
  };
  // What was asked comes first: it is the title of the page.
  const bool is_misstated = add_misstated(result, findings), further = asked(Question::extension);
  add_ablation(result, findings);
  if (further) add_past_findings(result, findings);
  // Weights of one scheme under another: what that does is what was asked.
  const bool only_swaps = result.trained_positions.size() < 2 && !further && !asked(Question::ablation);
  if (!is_misstated) {
    if (only_swaps) add_nearest(result, findings);
    add_trained(result, findings);
    if (!only_swaps) add_nearest(result, findings);
  }
  if (!further) add_past_findings(result, findings);
  add_order_findings(result, findings);
  add_recall(result, findings);
  add_each_scheme(result, findings);
  // A single swap is no ranking: what is said of the scheme itself is the title.
  const auto is_swap = [&](const Finding& found) {
    return found.kind == "scheme" && found.length == result.matrix_length && found.delta &&
           scheme_of(result, found.position).question == Question::swap;
  };
  if (only_swaps && !is_misstated && std::ranges::count_if(findings, is_swap) == 1) {
    const auto swap = std::ranges::find_if(findings, is_swap);
    swap->detail = false;
    std::rotate(findings.begin(), swap, swap + 1);
  }
  std::ranges::stable_partition(findings, [](const Finding& found) { return !found.detail; });
  return findings;
}

}  // namespace ordinal
