// bench.cpp: `ordinal bench`.
#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"
#include "study/bench.h"

namespace ordinal::cli {
namespace {

// "1,2" as numbers. Throws UsageError.
std::vector<int64_t> whole_numbers(const std::string& list, const std::string& what) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    numbers.push_back(parse_integer(list.substr(at, comma - at), what));
    at = comma + 1;
  }
  return numbers;
}

report::Measured measured_of(const BenchResult& r) {
  return {.shape = r.shape,
          .dtype = r.dtype,
          .isa = r.isa,
          .threads = r.n_threads,
          .prompt = r.prompt,
          .decode = r.decode,
          .depth = r.depth,
          .prefill_tokens_per_s = r.prefill_tokens_per_s,
          .decode_tokens_per_s = r.decode_tokens_per_s,
          .weight_bytes = r.weight_bytes,
          .read_gb_per_s = r.read_gb_per_s,
          .gflops = r.gflops,
          .peak_rss_mb = r.peak_rss_mb,
          .machine_read_gb_per_s = r.machine_read_gb_per_s,
          .machine_gflops = r.machine_gflops};
}

std::string table_of(const std::vector<report::Measured>& rows) {
  std::vector<std::vector<std::string>> cells = {{"shape", "kind", "isa", "threads", "depth", "prompt", "prefill t/s",
                                                  "GFLOP/s", "of peak", "decode t/s", "GB/s", "of read", "peak MB"}};
  const auto percent = [](double part, double whole) { return report::fixed(100 * part / whole, 0) + " %"; };
  for (const report::Measured& r : rows)
    cells.push_back({r.shape, r.dtype, r.isa, std::to_string(r.threads), std::to_string(r.depth),
                     std::to_string(r.prompt), report::fixed(r.prefill_tokens_per_s, 1), report::fixed(r.gflops, 1),
                     percent(r.gflops, r.machine_gflops), report::fixed(r.decode_tokens_per_s, 1),
                     report::fixed(r.read_gb_per_s, 1), percent(r.read_gb_per_s, r.machine_read_gb_per_s),
                     report::fixed(r.peak_rss_mb, 0)});
  return report::table(cells, "lllrrrrrrrrrr");
}

}  // namespace

int run_bench(Arguments arguments) {
  ModelOptions model;
  std::string shape, dtype = "f32", threads = std::to_string(available_threads());
  BenchOptions options;
  int64_t repeats = options.repeats;
  bool json = false, quiet = false;
  std::string shapes;
  for (const BenchShape& s : bench_shapes()) shapes += (shapes.empty() ? "" : ", ") + std::string(s.name);
  Parser parser("bench", "Measures prefill and decode, beside what this machine's memory and multiply-add units give.",
                "ordinal bench --shape gpt2 --dtype bf16 -t 1,2");
  model.add_to(parser);
  parser.option("--shape", "NAME", shape, "random weights of a shape in place of a model: " + shapes);
  parser.option("--dtype", "KIND", dtype, "kind of the random weights: f32, f16, bf16, q8_0, q4_0");
  parser.option("-p,--prompt", "N", options.prompt, "tokens of the prompt");
  parser.option("-n,--new-tokens", "N", options.decode, "tokens decoded one at a time");
  parser.option("-d,--depth", "N", options.depth, "tokens in the cache before either");
  parser.option("-t,--threads", "LIST", threads, "numbers of threads, one row each, as 1,2");
  parser.option("--repeats", "N", repeats, "runs; the median counts");
  parser.flag("--json", json, "an array of objects, one per number of threads");
  parser.flag("-q,--quiet", quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  if (!shape.empty() && model.model)
    throw UsageError{"a shape and a model are both given\n  expected: one of --shape and -m", ""};

  const Notes notes(quiet);
  const std::vector<int64_t> counts = whole_numbers(threads, "-t");
  for (const int64_t count : counts)
    if (count < 1 || count > 1024)
      throw Error("the number of threads makes no sense", "1 to 1024", std::to_string(count));
  if (repeats < 1 || repeats > 1000)
    throw Error("the number of repeats makes no sense", "1 to 1000", std::to_string(repeats));
  options.repeats = static_cast<int>(repeats);
  const std::string name = shape.empty() ? model_path(model) : shape;
  const std::shared_ptr<const Model> opened =
      shape.empty() ? open_model(model, notes).model : make_bench_model(shape, dtype_from_name(dtype));

  std::vector<report::Measured> rows;
  for (const int64_t count : counts) {
    options.n_threads = static_cast<int>(count);
    notes.say(name + " on " + std::to_string(count) + (count == 1 ? " thread" : " threads"));
    rows.push_back(measured_of(run_bench(opened, name, options, {})));
  }
  write_out(json ? report::to_json(rows) + "\n" : table_of(rows));
  return 0;
}

}  // namespace ordinal::cli
