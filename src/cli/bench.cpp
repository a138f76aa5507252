// bench.cpp: `ordinal bench`.
#include <algorithm>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/ranks_report.h"
#include "cli/terminal.h"
#include "cli/together.h"
#include "ordinal/error.h"
#include "position/scheme.h"
#include "report/json.h"
#include "report/text.h"
#include "study/bench/bench.h"

namespace ordinal::cli {
namespace {

std::string table_of(const std::vector<Measured>& rows) {
  std::vector<std::vector<std::string>> cells = {{"shape", "kind", "kv", "isa", "threads", "depth", "prompt",
                                                  "prefill t/s", "GFLOP/s", "of peak", "seqs", "decode t/s", "GB/s",
                                                  "of read", "attn GB/s", "peak MB"}};
  const auto percent = [](double part) { return report::fixed(100 * part, 0) + " %"; };
  for (const Measured& r : rows)
    cells.push_back({r.shape, r.dtype, r.kv_dtype, r.isa, std::to_string(r.threads), std::to_string(r.depth),
                     std::to_string(r.prompt), report::fixed(r.prefill_tokens_per_s, 1), report::fixed(r.gflops, 1),
                     percent(r.of_peak), std::to_string(r.sequences), report::fixed(r.decode_tokens_per_s, 1),
                     report::fixed(r.read_gb_per_s, 1), percent(r.of_read), report::fixed(r.attention_gb_per_s, 1),
                     report::fixed(r.peak_rss_mb, 0)});
  return report::table(cells, "llllrrrrrrrrrrrr");
}

struct BenchCommand {
  ModelOptions model;
  std::vector<std::string> shapes, dtypes = {"f32"}, kv_dtypes = {"f32"};
  std::vector<int64_t> threads = {available_threads()}, prompts = {512}, depths = {0}, sequences = {1};
  int64_t decode = 128, repeats = 5;
  std::string position = "native";
  std::optional<std::string> save;
  bool json = false, quiet = false;
};

void define(Parser& parser, BenchCommand& o) {
  o.model.add_to(parser);
  o.model.add_ranks_to(parser);
  parser.list("--shape", o.shapes,
              "random weights of a shape in place of a model: " + joined(bench_shapes(), ", ", &BenchShape::name));
  parser.list("--dtype", o.dtypes,
              "kinds of the random weights: " + joined(kDtypes, ", ", &DtypeInfo::name) +
                  "; each model is made once [default: f32]");
  parser.list("--kv-dtype", o.kv_dtypes, "kinds that keys and values are kept in: f32, f16, bf16 [default: f32]");
  parser.option("--save", "FILE", o.save,
                "with one --shape and --dtype: write the random model to this file, and measure it from there");
  parser.option("--position", "SPEC", o.position,
                "the position scheme; tables that the model lacks are made up [default: native, the model's own]");
  parser.list("-p,--prompt", o.prompts, "tokens of the prompt [default: 512]");
  parser.option("-n,--new-tokens", "N", o.decode, "tokens decoded one at a time [default: 128]");
  parser.list("-d,--depth", o.depths,
              "tokens in the cache before either; their keys and values are random numbers, not evaluated: what they "
              "are makes no difference to the time [default: 0]");
  parser.list("-s,--sequences", o.sequences,
              "sequences decoded side by side, one token of each in a pass; decode t/s counts all [default: 1]");
  parser.list("-t,--threads", o.threads, "numbers of threads [default: all processors]");
  parser.option("--repeats", "N", o.repeats, "runs; the median counts [default: 5]");
  parser.flag("--json", o.json, "an array of objects, one per row");
  parser.flag("-q,--quiet", o.quiet, "no notes on standard error");
}

template <class Parse>
auto all_of(const std::vector<std::string>& names, Parse parse) {
  std::vector<decltype(parse(names.front()))> values;
  for (const std::string& name : names) values.push_back(parse(name));
  return values;
}

// One combination of the lists for a model. A cache too large for this machine is refused before it is made.
struct Runner {
  const Notes& notes;
  bool only = false;  // no other combinations
  std::vector<Measured> rows = {};

  void run(const std::shared_ptr<const Model>& model, const std::string& name, const BenchOptions& options) {
    const int64_t capacity = options.depth + std::max(options.prompt, options.decode);
    notes.say(name + " on " + std::to_string(options.n_threads) + (options.n_threads == 1 ? " thread" : " threads") +
              ", prompt " + std::to_string(options.prompt) + ", depth " + std::to_string(options.depth) +
              ", sequences " + std::to_string(options.sequences));
    try {
      check_memory(model->config(), capacity, options.kv_dtype, options.sequences);
      announce_memory(model->config(), capacity, options.kv_dtype, options.sequences, notes);
      rows.push_back(ordinal::run_bench(model, name, options, {}));
    } catch (const Error& error) {  // of several the others still count
      if (only) throw;
      const std::string text = error.what();
      notes.say("left out: " + text.substr(0, text.find('\n')));
    }
  }
};

}  // namespace

int run_bench(Arguments arguments) {
  BenchCommand o;
  Parser parser("bench",
                "Measures prefill and decode, beside what this machine's memory, multiply-add and integer units give. "
                "Where an option takes a LIST, as 1,2, every combination has a row. GB/s counts the weights, keys and "
                "values that a decoded token reads; attn GB/s is attention alone.",
                "ordinal bench --shape gpt2,llama --dtype bf16,q8_0 -d 0,512 -t 1,2");
  define(parser, o);
  if (!parser.parse(arguments)) return 0;
  check_position_spec(o.position);
  const bool made_up = !o.shapes.empty();
  if (made_up && o.model.model)
    throw UsageError{"a shape and a model are both given\n  expected: one of --shape and -m", ""};
  if (made_up)
    parser.idle({"--vocab", "--heads", "--activation"}, "random weights are no checkpoint");
  else
    parser.idle({"--dtype"}, "a model's weights are measured as they are, other kinds with --shape");

  const Notes notes = parser.notes(o.quiet);
  for (const int64_t count : o.threads) check_range("the number of threads (-t)", count, 1, kMostThreads);
  for (const std::vector<int64_t>& counts : {o.prompts, o.depths, {o.decode}})
    for (const int64_t count : counts) check_range("a number of tokens", count, 0, int64_t{1} << 40);
  for (const int64_t count : o.sequences) check_range("the number of sequences", count, 1, 1024);
  check_range("the number of repeats", o.repeats, 1, 1000);
  const std::vector<Dtype> kv_dtypes = all_of(o.kv_dtypes, kv_dtype_from_name);
  const std::vector<Dtype> dtypes = made_up ? all_of(o.dtypes, dtype_from_name) : std::vector<Dtype>(1);
  const std::vector<std::string> names = made_up ? o.shapes : std::vector{model_path(o.model)};
  for (const std::string& name : o.shapes)
    if (std::ranges::find(bench_shapes(), name, &BenchShape::name) == bench_shapes().end())
      throw Error("there is no shape '" + escaped(name) + "' to measure",
                  joined(bench_shapes(), ", ", &BenchShape::name), escaped(name));

  if (o.save && (!made_up || names.size() * dtypes.size() > 1))
    throw UsageError{"--save goes with one shape and one kind", "--shape llama-1b --dtype bf16 --save random.ordinal"};
  if (o.save)
    in_step([&] {
      if (speaks()) write_bench_model(names.front(), dtypes.front(), *o.save);
      return true;
    });
  const auto model_of = [&](const std::string& name, Dtype dtype) {
    if (made_up && !o.save) return make_bench_model(name, dtype);
    ModelOptions options = o.model;
    if (o.save) options.model = o.save;
    return open_model(options, notes).model;
  };

  Runner runner{.notes = notes};
  runner.only = names.size() * dtypes.size() * kv_dtypes.size() * o.threads.size() * o.depths.size() *
                    o.prompts.size() * o.sequences.size() ==
                1;
  for (const std::string& name : names)
    for (const Dtype dtype : dtypes) {
      const std::shared_ptr<const Model> model = model_of(name, dtype);
      RanksReport::watch(model);
      note_idle_ranks(model->config(), notes);
      for (const Dtype kv_dtype : kv_dtypes)
        for (const int64_t count : o.threads)
          for (const int64_t depth : o.depths)
            for (const int64_t prompt : o.prompts)
              for (const int64_t together : o.sequences)
                runner.run(model, name,
                           {.prompt = prompt,
                            .decode = o.decode,
                            .depth = depth,
                            .sequences = together,
                            .kv_dtype = kv_dtype,
                            .n_threads = static_cast<int>(count),
                            .repeats = static_cast<int>(o.repeats),
                            .position = o.position});
    }
  if (runner.rows.empty())
    throw Error("no combination could be measured", "one that fits the model and the memory", "the notes say why");
  write_out(o.json ? report::to_json(runner.rows) + "\n" : table_of(runner.rows));
  return 0;
}

}  // namespace ordinal::cli
