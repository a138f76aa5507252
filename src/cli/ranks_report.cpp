// ranks_report.cpp: see ranks_report.h.
#include "cli/ranks_report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>
#include <vector>

#include "base/words.h"
#include "cli/together.h"
#include "model/share.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {

std::shared_ptr<const Model> watched;

// A field of /proc/self/status in bytes, as VmHWM.
int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  return 0;
}

std::string megabytes(int64_t bytes) { return report::fixed(static_cast<double>(bytes) / 1e6, 1); }

}  // namespace

void RanksReport::watch(std::shared_ptr<const Model> model) {
  if (wanted) watched = std::move(model);
}

void RanksReport::write() {
  if (!wanted || !watched) return;
  Ranks& all = ranks();
  const ModelConfig& c = watched->config();
  const ModelShare share(c, all);
  const Ledger& kept = ledger();
  const Heads& heads = share.heads();
  const std::vector<std::string> mine = {rank_name(all.rank()),
                                         std::to_string(heads.query.count()) + " / " + std::to_string(heads.kv.count()),
                                         megabytes(weight_bytes_of(*watched, share)),
                                         megabytes(kept.most_cache_bytes),
                                         megabytes(status_bytes("VmHWM")),
                                         report::grouped(kept.bytes_sent),
                                         report::fixed(kept.gather_seconds, 2)};
  const std::vector<std::string> texts = gather_texts(all, joined(mine, "\n"));
  const std::vector<std::string> sent = gather_texts(all, std::to_string(kept.bytes_sent));
  if (!all.is_first()) return;

  std::vector<std::vector<std::string>> rows = {
      {"rank", "heads q / kv", "weights MB", "cache MB", "resident MB", "sent bytes", "in gathers s"}};
  for (const std::string& text : texts) {
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      row.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  int64_t in_all = 0;
  for (const std::string& bytes : sent) in_all += std::stoll(bytes);
  const auto to_others = [&](int64_t numbers) { return 4 * numbers * (all.count() - 1); };
  const int64_t a_token = ModelShare::numbers_of_pass(c, 1, 1, 1, c.qk_norm == QkNorm::width);
  std::fprintf(stderr, "%s", report::table(rows, "lrrrrrr").c_str());
  std::fprintf(
      stderr, "sent by all: %s bytes in %s gathers for %s tokens; by the formula %s; a token that is decoded: %s\n",
      report::grouped(in_all).c_str(), report::grouped(kept.gathers).c_str(), report::grouped(kept.tokens).c_str(),
      report::grouped(to_others(kept.numbers)).c_str(), report::grouped(to_others(a_token)).c_str());
}

void note_idle_ranks(const ModelConfig& c, const Notes& notes) {
  const int64_t count = ranks().count();
  const int64_t panels = std::max(panels_of(c.vocab_size), panels_of(c.d_ff));
  if (count <= c.n_heads) return;
  std::string text = "there are " + std::to_string(count) + " ranks and " + std::to_string(c.n_heads) +
                     " heads of attention, so " + std::to_string(count - c.n_heads) + " ranks attend with none";
  if (count > panels)
    text += "; with at most " + std::to_string(panels) + " panels in a matrix, " + std::to_string(count - panels) +
            " have nothing to do at all";
  notes.say(text);
}

}  // namespace ordinal::cli
