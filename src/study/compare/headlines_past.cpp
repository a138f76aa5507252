// headlines_past.cpp: findings past the trained length and about the order of tokens.
#include <algorithm>

#include "base/words.h"
#include "study/compare/compare.h"
#include "study/compare/rankings.h"

namespace ordinal {
namespace {

// The best of all that ran at a length, trained for or not, and what it costs against staying inside.
void add_reach(const Compared& result, int64_t length, bool detail, std::vector<Finding>& findings) {
  const Ranking all = ranking(result, length, [](const ComparedRow&) { return true; });
  if (all.rows.empty()) return;
  const ComparedRow& best = *all.rows.front();
  const size_t leaders = all.leaders();
  const std::string where = "At " + tokens_text(length) + ", " + times_text(result, length) + ", ";
  const bool is_reference = !best.delta_nll;
  const Estimate delta = is_reference ? all.rows.size() > 1 ? all.between(0, 1) : Estimate{} : delta_of(best);
  const std::string base =
      is_reference ? all.rows.size() > 1 ? all.rows[1]->position : "" : baseline_name(result, best);
  const bool told = delta.is_above_zero() || delta.is_below_zero();
  std::string compared;
  if (told) compared = "; it " + verb_and_amount(delta, "loses", "gains", "") + " against " + base;
  if (!told && leaders == 1 && !base.empty())
    compared = "; it " + verb_and_amount(delta, "", "", "cannot be told apart here from " + base);
  std::string text;
  if (leaders == 1) {
    text = best.position + (all.rows.size() > 1 ? " reads best of all that ran" : " alone runs");
  } else {
    const size_t named = std::min<size_t>(leaders, 4);
    std::vector<const ComparedRow*> first(all.rows.begin(), all.rows.begin() + static_cast<ptrdiff_t>(named));
    text = (leaders > named ? joined(first, ", ", [](const ComparedRow* row) { return row->position; }) + " and " +
                                  std::to_string(leaders - named) + " more"
                            : names_text(first)) +
           " read best of all that ran and cannot be told apart here";
  }
  findings.push_back(
      finding("reach", best,
              base.empty()   ? ""
              : is_reference ? base
                             : best.against,
              delta, where + text + ": perplexity " + fixed(best.ppl, 2) + " under " + best.position + compared + "."));
  if (base.empty()) findings.back().delta.reset();
  findings.back().detail = detail;
  if (!best.to_inside || best.against_protocol == kRecent) return;
  const std::string inside = result.native + " on the last " + tokens_text(result.trained_length);
  findings.push_back(
      finding("inside", best, result.native, *best.to_inside,
              "Against staying inside, which is " + inside + ", " + best.position + " over " + tokens_text(length) +
                  " " + verb_and_amount(*best.to_inside, "costs", "gains", "cannot be told apart here") + "."));
  findings.back().detail = detail;
}

// What a longer window does to the schemes that the weights were trained under, on the same tokens.
void add_lengths(const Compared& result, int64_t longest, std::vector<Finding>& findings) {
  std::vector<const ComparedRow*> rows;
  std::string ended;
  for (const ComparedScheme& scheme : result.schemes) {
    if (scheme.question != Question::own && scheme.question != Question::joint) continue;
    if (const ComparedRow* row = whole_row(result, scheme.position, longest); row == nullptr)
      ended += (ended.empty() ? "" : ", ") + scheme.position;
    else if (row->to_trained)
      rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, [](const ComparedRow* row) { return row->to_trained->mean; });
  for (const ComparedRow* row : rows) {
    const Estimate& change = *row->to_trained;
    findings.push_back(
        finding("length", *row, row->position, change,
                "On the same tokens, windows of " + tokens_text(longest) + " in place of " +
                    grouped(result.matrix_length) + ": " + row->position + " " +
                    verb_and_amount(change, "loses", "gains", "keeps its loss, as far as can be told here") + "."));
    findings.back().detail = row != rows.front() && row != rows.back();
  }
  if (ended.empty()) return;
  Finding made{.kind = "length", .position = ended, .length = longest};
  made.text = ended + " cannot go to " + tokens_text(longest) + " at all.";
  findings.push_back(std::move(made));
}

}  // namespace

void add_past_findings(const Compared& result, std::vector<Finding>& findings) {
  const int64_t longest = result.lengths.back();
  if (result.trained_length <= 0 || longest <= result.trained_length) return;
  add_reach(result, longest, false, findings);
  for (const int64_t length : result.lengths)
    if (length > result.trained_length && length != longest) add_reach(result, length, true, findings);
  add_lengths(result, longest, findings);
}

void add_order_findings(const Compared& result, std::vector<Finding>& findings) {
  std::vector<const ComparedScheme*> known;
  for (const ComparedScheme& scheme : result.schemes)
    if (is_trained(scheme.standing) && scheme.standing != Standing::exact && scheme.order &&
        scheme.order->has_interval())
      known.push_back(&scheme);
  std::ranges::stable_sort(known, {}, [](const ComparedScheme* scheme) { return -scheme->order->mean; });
  for (const ComparedScheme* scheme : known) {
    const Estimate& order = *scheme->order;
    Finding made{.kind = "order", .position = scheme->position, .against = "shuffled", .length = result.trained_length};
    made.delta = order.mean, made.low = order.low, made.high = order.high;
    made.text = "With the tokens before shuffled, " + scheme->position + " " +
                verb_and_amount(order, "loses", "gains", "reads as before, as far as can be told here") + ".";
    if (scheme->position == "none" && order.is_above_zero())
      made.text +=
          " A model without positions notices order, since each token sees only those before it: from the second layer "
          "on what it reads of them depends on what they could see.";
    made.detail = scheme != known.front() && scheme != known.back();
    findings.push_back(std::move(made));
  }
}

}  // namespace ordinal
