// sweep.cpp: `ordinal sweep`: many measurements by a plan, on one process or dealt out to ranks.
//
// Under mpirun every rank opens the same models and texts and so knows the same units. The first hands them out, the
// longest first, keeps the journal, and works too: between the windows of its own unit it looks for messages. A rank
// says "ready", or sends the journal's line of a unit that it has done, and is told the number of another, or "end".
#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sweep_journal_file.h"
#include "cli/texts.h"
#include "cli/together.h"
#include "format/checksum.h"
#include "ordinal/error.h"
#include "report/sweep_journal.h"
#include "report/sweep_tables.h"
#include "report/text.h"
#include "study/sweep/plan.h"
#include "study/sweep/units.h"

namespace ordinal::cli {
namespace {

using SweepClock = std::chrono::steady_clock;
constexpr auto kGlance = std::chrono::milliseconds(1);  // between two looks for a message
constexpr std::string_view kReady = "ready", kEnd = "end";

double seconds_from(SweepClock::time_point start) {
  return std::chrono::duration<double>(SweepClock::now() - start).count();
}

// The units with what each is measured on, and what it costs.
struct SweepWork {
  struct Material {
    std::shared_ptr<const OpenedModel> model;
    std::shared_ptr<const TokenStream> text;
    double cost = 0;
  };
  Sweep sweep;
  std::vector<Material> material;  // of each unit
  int n_threads = 0;

  // Does a unit, whatever comes of it; not what ends the program.
  void run(size_t number, const OnProgress& progress) {
    SweepUnit& unit = sweep.units[number];
    Ranks alone;
    const RanksInUse in_use(alone);  // the model is all here
    const auto start = SweepClock::now();
    try {
      const Material& on = material[number];
      run_unit(unit, on.model->model, *on.model->tokenizer, *on.text, n_threads, progress);
    } catch (const Error& error) {
      unit.rows.clear();
      unit.error = error.summary();
      if (!error.expected().empty()) unit.error += " (expected " + error.expected() + "; found " + error.found() + ")";
    }
    unit.seconds = seconds_from(start);
    unit.is_done = true;
  }
};

// Opens what the plan names, and cuts it into units.
SweepWork prepare(SweepPlan plan, const Notes& notes) {
  SweepWork work;
  if (plan.texts.empty()) plan.texts = {from_first(default_text_path)};
  std::vector<std::string> texts;
  for (const std::string& path : plan.texts) texts.push_back(read_text(path, notes));
  std::vector<ModelOptions> models(std::max<size_t>(1, plan.models.size()));
  for (size_t i = 0; i < plan.models.size(); ++i) models[i].model = plan.models[i];
  std::string facts;  // all that the results depend on
  for (const ModelOptions& options : models) {
    const auto opened = std::make_shared<const OpenedModel>(open_model(options, notes));
    if (opened->tokenizer == nullptr)
      throw Error("the model has no tokenizer, so it cannot read text", "a model with a tokenizer", opened->path);
    const ModelConfig& config = opened->model->config();
    facts += header_checksum(opened->model->file()) + "\n";
    for (size_t t = 0; t < texts.size(); ++t) {
      const auto text = std::make_shared<TokenStream>(
          make_stream(plan.texts[t], texts[t], *opened->tokenizer, config, {.start = start_if_any(config)}));
      text->keep_first(plan.tokens);
      facts += checksum_text(checksum_of(std::as_bytes(std::span(text->tokens)))) + "\n";
      for (SweepUnit& unit : units_of(plan, *opened->model, opened->path, *text)) {
        facts += report::unit_text(unit) + "\n";
        work.material.push_back({opened, text, cost_of(unit, *opened->model, *text)});
        work.sweep.units.push_back(std::move(unit));
      }
    }
  }
  work.sweep.plan = checksum_text(checksum_of(std::as_bytes(std::span(facts))));
  return work;
}

// What the first rank does: hands out, writes down, and works itself.
class SweepLead {
 public:
  SweepLead(SweepWork& work, JournalFile& journal, const Notes& notes)
      : work_(work), journal_(journal), notes_(notes), all_(ranks()), at_work_(static_cast<size_t>(all_.count())) {
    for (size_t i = 0; i < work.sweep.units.size(); ++i)
      if (!work.sweep.units[i].is_done) left_.push_back(i), cost_ += cost_of_unit(i);
    std::ranges::stable_sort(left_, [&](size_t a, size_t b) { return cost_of_unit(a) > cost_of_unit(b); });
    total_ = left_.size();
  }

  void run() {
    int ended = 1;  // of the ranks, this one among them
    while (!left_.empty() || ended < all_.count()) {
      throw_if_interrupted();
      ended += serve();
      if (left_.empty()) {
        if (ended < all_.count()) std::this_thread::sleep_for(kGlance);
        continue;
      }
      const size_t number = take(0);
      work_.run(number, [&](int64_t, int64_t) {
        throw_if_interrupted();
        ended += serve();
      });
      finish(number, 0);
    }
  }

 private:
  double cost_of_unit(size_t number) const { return work_.material[number].cost; }

  size_t take(int rank) {
    const size_t number = left_.front();
    left_.pop_front();
    at_work_[static_cast<size_t>(rank)] = true;
    return number;
  }

  // Answers what has come; returns how many ranks were sent away.
  int serve() {
    int ended = 0;
    while (const auto message = all_.poll()) {
      if (message->text != kReady)
        finish(static_cast<size_t>(report::read_journal_line(message->text, "a message", 0, work_.sweep)),
               message->from);
      ended += left_.empty() ? 1 : 0;
      all_.post(message->from, left_.empty() ? std::string(kEnd) : std::to_string(take(message->from)));
    }
    return ended;
  }

  void finish(size_t number, int rank) {
    journal_.write(work_.sweep.units[number], static_cast<int64_t>(number));
    at_work_[static_cast<size_t>(rank)] = false;
    ++done_;
    done_cost_ += cost_of_unit(number);
    const double left = seconds_from(start_) * (cost_ - done_cost_) / std::max(done_cost_, 1e-9);
    const auto busy = std::ranges::count(at_work_, true) + (left_.empty() ? 0 : 1);  // this one gets another
    notes_.line("ordinal: sweep: " + std::to_string(done_) + " of " + std::to_string(total_) + " units done" +
                (all_.count() > 1
                     ? ", " + std::to_string(busy) + " of " + std::to_string(all_.count()) + " ranks at work"
                     : "") +
                ", about " + report::fixed(left, 0) + " s left" +
                (work_.sweep.units[number].error.empty() ? "" : "; this one failed"));
  }

  SweepWork& work_;
  JournalFile& journal_;
  const Notes& notes_;
  Ranks& all_;
  std::deque<size_t> left_;
  std::vector<bool> at_work_;
  size_t total_ = 0, done_ = 0;
  double cost_ = 0, done_cost_ = 0;
  const SweepClock::time_point start_ = SweepClock::now();
};

// What every other rank does.
void follow_lead(SweepWork& work) {
  Ranks& all = ranks();
  std::string say(kReady);
  for (;;) {
    all.post(0, say);
    std::optional<Ranks::Message> answer;
    while (!(answer = all.poll())) {
      throw_if_interrupted();
      std::this_thread::sleep_for(kGlance);
    }
    if (answer->text == kEnd) return;
    const size_t number = std::stoull(answer->text);
    work.run(number, [](int64_t, int64_t) { throw_if_interrupted(); });
    say = report::journal_line(work.sweep.units[number], static_cast<int64_t>(number));
  }
}

}  // namespace

int run_sweep(Arguments arguments) {
  std::optional<std::string> plan_file, output, html;
  ThreadsOption threads;
  bool retry = false, quiet = false;
  Parser parser("sweep",
                "Measures models on texts under position schemes by a plan: a JSON object with lists of models, texts, "
                "schemes (values in braces make one each: rope:scaling=yarn,factor={2,4,8}), lengths, protocols "
                "(whole, sliding), tasks (copy, find, passkey) and seeds; reference and tokens are single values. All "
                "have defaults. Under mpirun the units of the work are dealt out to the ranks.",
                "ordinal sweep plan.json -o results.jsonl --html report.html");
  parser.positional("plan", plan_file, "the plan, - for standard input");
  parser.option("-o,--output", "FILE.jsonl", output,
                "the journal: a line for each unit as it is done; one that is there is gone on with");
  parser.option("--html", "FILE", html, "write the tables as a page, too");
  threads.add_to(parser);
  parser.flag("--retry", retry, "with -o: do again what failed");
  parser.flag("-q,--quiet", quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  if (!plan_file) throw UsageError{"there is no plan", "ordinal sweep plan.json -o results.jsonl"};
  if (retry && !output) throw UsageError{"--retry goes with -o, the journal that says what failed", ""};
  if (output == "-") throw UsageError{"the journal is a file, which a later run can go on with", "-o results.jsonl"};

  if (html) check_result(*html);
  watch_signals();
  const Notes notes = parser.notes(quiet);
  const std::string name = *plan_file == "-" ? "standard input" : *plan_file;
  SweepWork work = prepare(parse_sweep_plan(read_file(*plan_file), name), notes);
  work.n_threads = threads.count();
  JournalFile journal;
  in_step([&] {
    if (output && speaks()) journal.open(*output, retry, work.sweep, notes);
    return true;
  });
  std::vector<SweepUnit>& units = work.sweep.units;
  const auto there = std::ranges::count(units, true, &SweepUnit::is_done);
  if (there > 0) notes.say(std::to_string(there) + " of " + std::to_string(units.size()) + " units are in " + *output);
  if (!speaks()) {
    follow_lead(work);
    return 0;
  }
  SweepLead(work, journal, notes).run();
  if (html) write_result(*html, report::to_html(work.sweep, "Ordinal sweep: " + name));
  write_out(report::to_text(work.sweep, output_width()));
  const auto failed = std::ranges::count_if(units, [](const SweepUnit& unit) { return !unit.error.empty(); });
  if (failed == 0) return 0;
  throw Error(std::to_string(failed) + " of " + std::to_string(units.size()) + " units failed", "",
              "the reasons are in the report" + (output ? " and in " + *output : ""),
              output ? "the same command with --retry" : "");
}

}  // namespace ordinal::cli
