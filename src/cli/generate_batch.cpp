// generate_batch.cpp: `ordinal generate --batch`: a file of prompts, results as JSON lines.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/batch_lines.h"
#include "cli/together.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"

namespace ordinal::cli {
namespace {
namespace fs = std::filesystem;

constexpr int64_t kParallel = 8;

// Where results go: a file that grows line by line, or standard output.
class Results {
 public:
  explicit Results(std::optional<std::string> path) : path_(std::move(path)) {}
  ~Results() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  // A file that is there is somebody's: Error unless it is to be gone on with.
  void check(bool resume) {
    if (!path_) return;
    there_ = is_so_for_first([&] { return is_there(resume); });
  }

  bool there() const { return there_; }
  std::string read() const { return read_file(*path_); }

  // Goes on after the first `bytes`.
  void open_after(size_t bytes) {
    if (!path_ || !speaks()) return;
    // O_EXCL where nothing was there: two runs that begin together must not write into each other's file.
    std::error_code unknown;
    const int fresh = there_ || fs::exists(*path_, unknown) ? 0 : O_CREAT | O_EXCL;
    descriptor_ = open(path_->c_str(), O_WRONLY | O_CLOEXEC | fresh, 0666);
    if (descriptor_ < 0) fail();
    if (there_ && (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0 || lseek(descriptor_, 0, SEEK_END) < 0))
      fail();
  }

  void write_line(const std::string& line) {
    if (!path_) return write_out(line);
    if (speaks() && !write_whole(descriptor_, line)) fail();
  }

 private:
  bool is_there(bool resume) const {
    std::error_code unknown;
    const bool there = fs::is_regular_file(*path_, unknown);
    if (there && !resume)
      throw Error("the output " + *path_ + " exists", "a path that is free, or --resume",
                  "a file of " + report::byte_size(static_cast<int64_t>(fs::file_size(*path_, unknown))),
                  "--resume to go on after the results in it, another -o, or `rm " + *path_ + "`");
    if (resume && !there && fs::exists(*path_, unknown))
      throw Error("cannot resume " + *path_, "a file of results", "something that is no regular file");
    return there;
  }

  [[noreturn]] void fail() const {
    const int code = errno;
    throw Error("cannot write " + *path_, "a file that can be written", std::strerror(code),
                code == ENOSPC ? "make room, then the same command with --resume" : "");
  }

  std::optional<std::string> path_;
  bool there_ = false;
  int descriptor_ = -1;
};

// Counts what was done, and shows it.
class Watch {
 public:
  Watch(std::span<const GenerateRequest> requests, bool quiet) : requests_(requests), progress_("batch", quiet) {
    for (size_t i = 0; i < requests.size(); ++i) total_ += weight(i);
  }

  void token() { progress_.update(++done_, total_); }
  void finished(int64_t index, const Generation& result) {
    const auto drawn = static_cast<int64_t>(result.ids.size());
    done_ += weight(static_cast<size_t>(index)) - drawn;  // fewer than asked for are all
    progress_.clear();
    new_tokens_ += drawn;
    prompt_tokens_ += result.timings.prefill_tokens;
    full_ += result.finish == Finish::context ? 1 : 0;
  }

  void say(const OpenedModel& opened, int64_t count, int64_t capacity, double ms, const Notes& notes) {
    progress_.clear();
    if (full_ > 0)
      notes.say("the context of " + std::to_string(capacity) + " tokens was full for " + std::to_string(full_) +
                (full_ == 1 ? " result" : " results"));
    notes.line("ordinal: load " + report::fixed(opened.load_ms, 1) + " ms, " + std::to_string(count) +
               (count == 1 ? " result, " : " results, ") + std::to_string(prompt_tokens_) +
               " prompt tokens evaluated, new " + rate(new_tokens_, ms));
  }

 private:
  int64_t weight(size_t i) const { return std::max<int64_t>(1, requests_[i].options.max_new_tokens); }

  std::span<const GenerateRequest> requests_;
  Progress progress_;
  int64_t done_ = 0, total_ = 0;
  int64_t new_tokens_ = 0, prompt_tokens_ = 0, full_ = 0;
};

void say_how_to_resume(const GenerateCommand& o, size_t done, size_t total, const Notes& notes) {
  const std::string count = "interrupted: " + std::to_string(done) + " of " + std::to_string(total) + " results are ";
  if (o.output)
    notes.say(count + "in " + *o.output + "; the same command with --resume goes on after them");
  else
    notes.say(count + "written; with -o FILE a run can be gone on with (--resume)");
}

}  // namespace

int run_generate_batch(GenerateCommand& o) {
  const std::atomic<bool>& interrupted = watch_signals();
  const Notes notes(o.quiet);
  Results results(o.output);
  results.check(o.resume);
  const std::string text = read_file(*o.batch);
  const std::string name = *o.batch == "-" ? "standard input" : *o.batch;

  const OpenedModel opened = open_model(o.model, notes);
  check_generate_options(o.generate, opened.model->config().vocab_size);
  const int64_t at_once = std::min<int64_t>(o.parallel.value_or(kParallel), std::ranges::count(text, '\n') + 1);
  const SessionNeeds needs{.n_sessions = at_once};
  Session session = open_session(opened, o.run, needs, notes);
  if (!o.keep) o.generate.keep = default_keep(session.capacity());

  BatchInput input = parse_batch(text, name, o, opened, session);
  const std::string position = session.scheme().spec();
  BatchDone done;
  if (results.there()) done = parse_results(results.read(), *o.output, input, o, opened.path, position);
  const uint64_t seed = done.seed.value_or(o.generate.sampler.seed);
  input.seed_from(seed);
  in_step([&] {
    results.open_after(done.bytes);
    return true;
  });
  const size_t total = input.lines.size();
  if (done.count > 0)
    notes.say(std::to_string(done.count) + " of " + std::to_string(total) + " results are in " + *o.output +
              " already");
  if (done.without_settings > 0)
    notes.say(std::to_string(done.without_settings) +
              " of them do not say their settings, so only prompt, seed, model and position scheme were compared");
  if (total == 0) notes.say(name + " holds no prompts");
  const bool seed_matters = std::ranges::any_of(input.lines, [](const BatchLine& line) { return !line.seeded; });
  if (!o.seed && seed_matters && done.count < total)
    notes.line("ordinal: seed " + std::to_string(seed) + ", counted up by line");

  const std::span<const GenerateRequest> left = std::span(input.requests).subspan(done.count);
  const auto start = std::chrono::steady_clock::now();
  Watch watch(left, o.quiet);
  GenerateEvents events;
  events.cancel = &interrupted;
  events.token = [&](int64_t, TokenId) { watch.token(); };
  events.finished = [&](int64_t index, const Generation& result) {
    const BatchLine& line = input.lines[done.count + static_cast<size_t>(index)];
    const GenerateRequest& request = left[static_cast<size_t>(index)];
    const Generated report = report_of(result, opened, session, request.prompt, o.logprobs.has_value());
    watch.finished(index, result);
    results.write_line(report::to_json(report, line.line, line.id, settings_of(request, o, input)) + "\n");
  };
  const int64_t count = generate_batch(session, opened.tokenizer.get(), left, o.parallel.value_or(kParallel), events);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  watch.say(opened, count, session.capacity(), ms, notes);
  const size_t written = done.count + static_cast<size_t>(count);
  if (!interrupted) return 0;
  if (written < total) say_how_to_resume(o, written, total, notes);
  return signal_exit_status();
}

}  // namespace ordinal::cli
