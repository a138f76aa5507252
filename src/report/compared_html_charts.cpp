// compared_html_charts.cpp: the charts of lines and dots on the page of a comparison.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "draw/scale.h"
#include "report/compared_html_parts.h"
#include "report/text.h"

namespace ordinal::report::page {
namespace {

// Lengths stand at equal distances, whatever they are; one between two of them stands there by its logarithm.
double place_of(std::span<const int64_t> lengths, int64_t length) {
  const auto after = std::ranges::lower_bound(lengths, length);
  if (after == lengths.end()) return kNan;
  const auto place = static_cast<double>(after - lengths.begin());
  if (*after == length) return place;
  if (after == lengths.begin()) return kNan;
  const auto low = static_cast<double>(*(after - 1)), high = static_cast<double>(*after);
  return place - std::log(high / static_cast<double>(length)) / std::log(high / low);
}

Axis length_axis(std::span<const int64_t> lengths) {
  Axis axis{.title = "window (tokens)"};
  for (const int64_t length : lengths) axis.labels.push_back(grouped(length));
  return axis;
}

std::vector<MarkerLine> trained_marker(const Compared& result, std::span<const int64_t> lengths) {
  const double at = place_of(lengths, result.trained_length);
  if (!std::isfinite(at)) return {};
  return {{.at = at, .label = "trained length"}};
}

// A line with a dot at each point; dashed for what the weights were not trained under.
void add_line(Chart& chart, const std::string& name, int colour, std::vector<double> x, std::vector<double> y,
              bool dashed, bool dots) {
  if (std::ranges::none_of(y, [](double value) { return std::isfinite(value); })) return;
  if (dots) chart.series.push_back({.x = x, .y = y, .drawn = Drawn::dots, .colour = colour});
  chart.series.push_back({.name = name, .x = std::move(x), .y = std::move(y), .dashed = dashed, .colour = colour});
}

// Points of trained rows joined by a solid line; the others, and the last trained one before them, by a dashed one.
void add_by_row(Chart& chart, const std::string& name, int colour, const std::vector<double>& x,
                const std::vector<double>& y, const std::vector<bool>& trained) {
  std::vector<double> solid(y.size(), kNan), dashed(y.size(), kNan);
  for (size_t i = 0; i < y.size(); ++i) {
    (trained[i] ? solid : dashed)[i] = y[i];
    if (!trained[i] && i > 0 && trained[i - 1]) dashed[i - 1] = y[i - 1];
  }
  add_line(chart, name, colour, x, solid, false, true);
  add_line(chart, name, colour, x, dashed, true, true);
}

// The same numbers at the same height in neighbouring charts.
void share_y(std::vector<Panel>& panels) {
  if (panels.empty()) return;
  const bool logarithmic = std::get<Chart>(panels.front()).y.logarithmic;
  draw::Range range(logarithmic);
  for (const Panel& panel : panels) {
    const auto& chart = std::get<Chart>(panel);
    for (const Series& series : chart.series)
      for (const double y : series.y) range.add(y);
    for (const MarkerLine& marker : chart.markers)
      if (marker.horizontal) range.add(marker.at);
  }
  auto [from, to] = range.ends();
  if (logarithmic)
    from /= 1.08, to *= 1.08;
  else
    draw::widen_to_ticks(from, to, 5);
  for (Panel& panel : panels) std::get<Chart>(panel).y.from = from, std::get<Chart>(panel).y.to = to;
}

// Whether anything ran that hardly does better than the frequencies of tokens; far below, their line says nothing.
bool near_frequencies(const Compared& result) {
  constexpr double kNear = 0.7;  // nats: half of a perplexity
  return result.unigram_nll > 0 && std::ranges::any_of(result.rows, [&](const ComparedRow& row) {
           return row.refused.empty() && row.nll > result.unigram_nll - kNear;
         });
}

bool is_untrained(const Compared& result, size_t scheme) {
  return result.schemes[scheme].standing == Standing::untrained;
}

// One chart for each length: the loss at each place of the window.
std::vector<Panel> position_panels(const Compared& result, bool trained_only) {
  std::vector<Panel> panels;
  for (const int64_t length : lengths_of(result)) {
    Chart chart{.title = count(length, "token", "tokens"),
                .x = {.title = "position in the window", .from = 0, .to = static_cast<double>(length)},
                .y = {.title = "loss (nats)"}};
    for (size_t s = 0; s < result.schemes.size(); ++s) {
      const std::string& name = result.schemes[s].position;
      const ComparedRow* row = nullptr;
      for (const std::string& protocol : protocols_of(result)) {
        const ComparedRow* found = find_row(result, name, length, protocol);
        if (found == nullptr || !found->refused.empty() || found->loss_by_position.empty()) continue;
        if (row == nullptr || protocol == "whole") row = found;
      }
      if (row == nullptr || (trained_only && !row->is_trained())) continue;
      std::vector<double> x;
      for (size_t i = 0; i < row->loss_by_position.size(); ++i)
        x.push_back((static_cast<double>(i) + 0.5) * static_cast<double>(row->loss_step));
      add_line(chart, name, static_cast<int>(s), x, row->loss_by_position, !row->is_trained(), false);
    }
    if (chart.series.empty()) continue;
    if (result.trained_length > 0 && result.trained_length <= length)
      chart.markers = {{.at = static_cast<double>(result.trained_length), .label = "trained length"}};
    panels.emplace_back(std::move(chart));
  }
  share_y(panels);
  return panels;
}

// A number hidden in the text: depth by length, a map for each scheme.
std::string passkey_maps(const Compared& result) {
  std::set<int64_t> lengths;
  std::set<double> depths;
  for (const RecallRow& row : result.passkey) lengths.insert(row.length), depths.insert(row.depth.value_or(0));
  if (lengths.empty()) return "";
  Drawing drawing{.key = "passkey", .label = "Pass key by depth and length", .width = 300, .height = 240, .columns = 3};
  for (const ComparedScheme& scheme : result.schemes) {
    HeatMap map{.title = short_name(scheme.position),
                .x = {.title = "window (tokens)"},
                .y = {.title = "depth (%)"},
                .most = 200,
                .with_text = true};
    map.rows = std::ssize(depths), map.cols = std::ssize(lengths);
    for (const int64_t length : lengths) map.x.labels.push_back(grouped(length));
    bool any = false;
    for (const double depth : depths) {
      map.y.labels.push_back(number(100 * depth, 0));
      for (const int64_t length : lengths) {
        double share = kNan;
        for (const RecallRow& row : result.passkey)
          if (row.position == scheme.position && row.length == length && row.depth == depth && row.accuracy)
            share = rounded(100 * *row.accuracy, 0);
        map.values.push_back(share);
        any = any || std::isfinite(share);
      }
    }
    if (any) drawing.panels.emplace_back(std::move(map));
  }
  if (drawing.panels.empty()) return "";
  drawing.caption =
      "A sentence with a number of five digits, somewhere in the text, and asked for at its end: how often "
      "every token of the number was held best, in percent.";
  return "<h3>Pass key</h3>\n" + figure(result, std::move(drawing));
}

}  // namespace

std::string loss_by_length(const Compared& result) {
  const std::vector<int64_t> lengths = lengths_of(result);
  Drawing drawing{.key = "loss-by-length", .label = "Loss by length"};
  for (const std::string& protocol : protocols_of(result)) {
    Chart chart{.title = protocol_title(protocol),
                .x = length_axis(lengths),
                .y = {.title = "perplexity", .logarithmic = true},
                .markers = trained_marker(result, lengths)};
    for (size_t s = 0; s < result.schemes.size(); ++s) {
      std::vector<double> x, y;
      std::vector<bool> trained;
      for (size_t i = 0; i < lengths.size(); ++i) {
        const ComparedRow* row = find_row(result, result.schemes[s].position, lengths[i], protocol);
        x.push_back(static_cast<double>(i));
        y.push_back(row != nullptr && row->refused.empty() ? row->ppl : kNan);
        trained.push_back(row != nullptr && row->is_trained());
      }
      add_by_row(chart, result.schemes[s].position, static_cast<int>(s), x, y, trained);
    }
    if (chart.series.empty()) continue;
    if (near_frequencies(result))
      chart.markers.push_back({.at = std::exp(result.unigram_nll), .label = "token frequencies", .horizontal = true});
    drawing.panels.emplace_back(std::move(chart));
  }
  if (drawing.panels.empty()) return paragraph("nothing", "No scheme ran, so there is no loss to draw.");
  share_y(drawing.panels);
  drawing.caption =
      "Lower is better; the axis is logarithmic. Solid: trained, jointly or exact; dashed: positions that "
      "the weights never saw.";
  if (near_frequencies(result))
    drawing.caption +=
        " Above the line of token frequencies a scheme predicts worse than the frequencies of this text&#x2019;s own "
        "tokens would.";
  return figure(result, std::move(drawing));
}

std::string loss_by_position(const Compared& result) {
  Drawing drawing{.key = "loss-by-position",
                  .label = "Loss by position",
                  .panels = position_panels(result, false),
                  .width = 350,
                  .height = 270,
                  .columns = 3};
  if (drawing.panels.empty()) return paragraph("nothing", "No loss by position was measured.");
  drawing.caption =
      "One chart for each window length, windows side by side. Early tokens cost more because little "
      "stands before them; a line that climbs behind the trained length shows a scheme that does not "
      "reach further.";
  std::string out = figure(result, std::move(drawing));
  const bool mixed =
      std::ranges::any_of(result.rows, [](const ComparedRow& row) { return row.is_trained(); }) &&
      std::ranges::any_of(result.rows, [](const ComparedRow& r) { return !r.is_trained() && r.refused.empty(); });
  if (!mixed) return out;
  Drawing close{.key = "loss-by-position-trained",
                .label = "Loss by position, trained schemes",
                .panels = position_panels(result, true),
                .caption = "The same without the untrained schemes, on a closer scale.",
                .width = 350,
                .height = 270,
                .columns = 3};
  return close.panels.empty() ? out
                              : out + "<h3>Trained, jointly or exact only</h3>\n" + figure(result, std::move(close));
}

std::string order_sensitivity(const Compared& result) {
  Chart chart{.x = {.title = "loss (nats per token)"}, .legend = false};  // names stand along the axis
  draw::Range range(false);
  std::string rows;
  for (size_t s = 0; s < result.schemes.size(); ++s) {
    const ComparedScheme& scheme = result.schemes[s];
    if (!scheme.in_order && !scheme.shuffled) continue;
    const double in_order = scheme.in_order.value_or(kNan), shuffled = scheme.shuffled.value_or(kNan);
    range.add(in_order), range.add(shuffled);
    const auto y = static_cast<double>(chart.y.labels.size());
    chart.y.labels.push_back(short_name(scheme.position));
    add_line(chart, scheme.position, static_cast<int>(s), {in_order, shuffled}, {y, y}, false, true);
    std::string interval;
    if (scheme.order && scheme.order->has_interval())
      interval = "<span class=\"interval\">" + difference(scheme.order->low, 3) + " to " +
                 difference(scheme.order->high, 3) + "</span>";
    rows += "<tr>" + scheme_head(result, scheme.position, badge(scheme.standing)) + "<td>" +
            number(scheme.in_order, 3) + "</td><td>" + number(scheme.shuffled, 3) + "</td><td>" +
            difference(shuffled - in_order, 3) + interval + "</td></tr>\n";
  }
  if (rows.empty()) return paragraph("nothing", "Order sensitivity was not measured.");
  const auto [least, greatest] = range.ends();
  const double room = (greatest - least) / 20, n = static_cast<double>(chart.y.labels.size());
  chart.x.from = least - room, chart.x.to = greatest + room;
  chart.y.from = n - 0.5, chart.y.to = -0.5;  // the first at the top
  Drawing drawing{.key = "order",
                  .label = "Order sensitivity",
                  .panels = {std::move(chart)},
                  .caption =
                      "One end of a bar is the loss as written, the other with the tokens before shuffled. The "
                      "longer the bar, the more of the prediction rests on order.",
                  .width = 400,
                  .height = 56 + 26 * n};
  return figure(result, std::move(drawing)) +
         scroll_box(
             "Order sensitivity, numbers",
             "<table><caption><span>Loss of the last quarter of each window, nats per token</span></caption><thead><tr>"
             "<th scope=\"col\" class=\"left\">scheme</th><th scope=\"col\" class=\"left\">standing</th>"
             "<th scope=\"col\">in order</th><th scope=\"col\">shuffled</th>"
             "<th scope=\"col\">difference</th></tr></thead><tbody>\n" +
                 rows + "</tbody></table>\n");
}

std::string recall(const Compared& result) {
  std::vector<int64_t> lengths;
  std::vector<std::string> tasks;
  for (const RecallRow& row : result.recall) {
    lengths.push_back(row.length);
    if (std::ranges::find(tasks, row.task) == tasks.end()) tasks.push_back(row.task);
  }
  if (tasks.empty()) return paragraph("nothing", "Recall was not measured.");
  std::ranges::sort(lengths);
  lengths.erase(std::ranges::unique(lengths).begin(), lengths.end());
  double most = 0;
  for (const auto* rows : {&result.recall, &result.passkey})
    for (const RecallRow& row : *rows)
      if (row.accuracy) most = std::max(most, row.low);
  if (most <= std::max(result.recall_chance, 0.1))
    return paragraph("nothing",
                     "Nothing is recalled from the context alone under any scheme; always naming the "
                     "text&#x2019;s commonest token is right " +
                         percent(result.recall_chance, 1) + " of the time.");

  // accuracy[task][scheme][length]
  std::map<std::string, std::map<std::string, std::map<int64_t, const RecallRow*>>> found;
  for (const RecallRow& row : result.recall) found[row.task][row.position][row.length] = &row;

  Drawing drawing{.key = "recall", .label = "Recall by length"};
  std::string head, lower, body;
  for (const std::string& task : tasks) {
    Chart chart{.title = task,
                .x = length_axis(lengths),
                .y = {.title = "right (%)", .from = -3, .to = 112},  // room for the marker's label
                .markers = trained_marker(result, lengths)};
    for (size_t s = 0; s < result.schemes.size(); ++s) {
      std::vector<double> x, y;
      for (size_t i = 0; i < lengths.size(); ++i) {
        const RecallRow* row = found[task][result.schemes[s].position][lengths[i]];
        x.push_back(static_cast<double>(i));
        y.push_back(row != nullptr && row->accuracy ? *row->accuracy * 100 : kNan);
      }
      add_line(chart, result.schemes[s].position, static_cast<int>(s), x, y, is_untrained(result, s), true);
    }
    drawing.panels.emplace_back(std::move(chart));
    head += "<th scope=\"colgroup\" colspan=\"" + std::to_string(lengths.size()) + "\">" + html(task) + "</th>";
    for (const int64_t length : lengths) lower += "<th scope=\"col\">" + grouped(length) + "</th>";
  }
  for (const ComparedScheme& scheme : result.schemes) {
    std::string cells;
    bool any = false;
    for (const std::string& task : tasks)
      for (const int64_t length : lengths) {
        const RecallRow* row = found[task][scheme.position][length];
        any = any || row != nullptr;
        cells += "<td>" + percent(row != nullptr ? row->accuracy : std::nullopt, 1);
        if (row != nullptr && row->accuracy)
          cells += "<span class=\"interval\">" + percent(row->low, 1) + " to " + percent(row->high, 1) + " of " +
                   std::to_string(row->tokens) + "</span>";
        cells += "</td>";
      }
    if (any) body += "<tr>" + scheme_head(result, scheme.position, badge(scheme.standing)) + cells + "</tr>\n";
  }
  drawing.caption =
      "Share of tokens where the right one, which only the context tells, was held best. copy: random "
      "tokens, then the same again. find: a key after its cue, far back. Intervals are Wilson&#x2019;s, of so many; "
      "always "
      "naming the text&#x2019;s commonest token is right " +
      percent(result.recall_chance, 1) + " of the time.";
  return figure(result, std::move(drawing)) + passkey_maps(result) +
         scroll_box("Recall, numbers",
                    "<table><caption><span>Right answers by task and length in tokens; – where a scheme "
                    "ends before</span></caption><thead><tr><th scope=\"col\" rowspan=\"2\" class=\"left\">scheme</th>"
                    "<th scope=\"col\" rowspan=\"2\" class=\"left\">standing</th>" +
                        head + "</tr><tr>" + lower + "</tr></thead><tbody>\n" + body + "</tbody></table>\n");
}

}  // namespace ordinal::report::page
