// bench.cpp: `ordinal bench`.
#include <algorithm>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "ordinal/error.h"
#include "report/json.h"
#include "report/text.h"
#include "study/bench/bench.h"

namespace ordinal::cli {
namespace {

template <class Parse>
auto all_of(const std::string& list, Parse parse) {
  std::vector<decltype(parse(list))> values;
  for (const std::string& item : split_list(list)) values.push_back(parse(item));
  return values;
}

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
  std::string shape, dtype = "f32", kv_dtype = "f32", threads = std::to_string(available_threads());
  std::string prompt = "512", depth = "0", sequences = "1";
  int64_t decode = 128, repeats = 5;
  bool json = false, quiet = false;
};

void define(Parser& parser, BenchCommand& o, const std::string& shapes) {
  o.model.add_to(parser);
  parser.option("--shape", "LIST", o.shape, "random weights of a shape in place of a model: " + shapes);
  parser.option("--dtype", "LIST", o.dtype,
                "kinds of the random weights: f32, f16, bf16, q8_0, q4_0; each model is made once [default: f32]");
  parser.option("--kv-dtype", "LIST", o.kv_dtype,
                "kinds that keys and values are kept in: f32, f16, bf16 [default: f32]");
  parser.option("-p,--prompt", "LIST", o.prompt, "tokens of the prompt [default: 512]");
  parser.option("-n,--new-tokens", "N", o.decode, "tokens decoded one at a time [default: 128]");
  parser.option("-d,--depth", "LIST", o.depth,
                "tokens in the cache before either; their keys and values are random numbers, not evaluated: what they "
                "are makes no difference to the time [default: 0]");
  parser.option("-s,--sequences", "LIST", o.sequences,
                "sequences decoded side by side, one token of each in a pass; decode t/s counts all [default: 1]");
  parser.option("-t,--threads", "LIST", o.threads, "numbers of threads [default: all processors]");
  parser.option("--repeats", "N", o.repeats, "runs; the median counts [default: 5]");
  parser.flag("--json", o.json, "an array of objects, one per row");
  parser.flag("-q,--quiet", o.quiet, "no notes on standard error");
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
  const std::string shapes = joined(bench_shapes(), ", ", &BenchShape::name);
  Parser parser("bench",
                "Measures prefill and decode, beside what this machine's memory, multiply-add and integer units give. "
                "Where an option takes a LIST, as 1,2, every combination has a row. GB/s counts the weights, keys and "
                "values that a decoded token reads; attn GB/s is attention alone.",
                "ordinal bench --shape gpt2,llama --dtype bf16,q8_0 -d 0,512 -t 1,2");
  define(parser, o, shapes);
  if (!parser.parse(arguments)) return 0;
  if (!o.shape.empty() && o.model.model)
    throw UsageError{"a shape and a model are both given\n  expected: one of --shape and -m", ""};

  const Notes notes(o.quiet);
  const std::vector<int64_t> threads = parse_integers(o.threads, "-t"), prompts = parse_integers(o.prompt, "-p"),
                             depths = parse_integers(o.depth, "-d"), sequences = parse_integers(o.sequences, "-s");
  for (const int64_t count : threads)
    if (count < 1 || count > 1024)
      throw Error("the number of threads makes no sense", "1 to 1024", std::to_string(count));
  for (const std::vector<int64_t>& counts : {prompts, depths, {o.decode}})
    for (const int64_t count : counts)
      if (count < 0 || count > int64_t{1} << 40)
        throw Error("a number of tokens is out of range", "0 to 2^40", std::to_string(count));
  for (const int64_t count : sequences) check_range("the number of sequences", count, 1, 1024);
  if (o.repeats < 1 || o.repeats > 1000)
    throw Error("the number of repeats makes no sense", "1 to 1000", std::to_string(o.repeats));
  const std::vector<Dtype> kv_dtypes = all_of(o.kv_dtype, kv_dtype_from_name);
  const std::vector<Dtype> dtypes = o.shape.empty() ? std::vector<Dtype>(1) : all_of(o.dtype, dtype_from_name);
  const std::vector<std::string> names = o.shape.empty() ? std::vector{model_path(o.model)} : split_list(o.shape);
  if (!o.shape.empty())
    for (const std::string& name : names)
      if (std::ranges::find(bench_shapes(), name, &BenchShape::name) == bench_shapes().end())
        throw Error("there is no shape '" + report::escaped(name) + "' to measure", shapes, report::escaped(name));

  Runner runner{.notes = notes};
  runner.only = names.size() * dtypes.size() * kv_dtypes.size() * threads.size() * depths.size() * prompts.size() *
                    sequences.size() ==
                1;
  for (const std::string& name : names)
    for (const Dtype dtype : dtypes) {
      const std::shared_ptr<const Model> model =
          o.shape.empty() ? open_model(o.model, notes).model : make_bench_model(name, dtype);
      for (const Dtype kv_dtype : kv_dtypes)
        for (const int64_t count : threads)
          for (const int64_t depth : depths)
            for (const int64_t prompt : prompts)
              for (const int64_t together : sequences)
                runner.run(model, name,
                           {.prompt = prompt,
                            .decode = o.decode,
                            .depth = depth,
                            .sequences = together,
                            .kv_dtype = kv_dtype,
                            .n_threads = static_cast<int>(count),
                            .repeats = static_cast<int>(o.repeats)});
    }
  if (runner.rows.empty())
    throw Error("no combination could be measured", "one that fits the model and the memory", "the notes say why");
  write_out(o.json ? report::to_json(runner.rows) + "\n" : table_of(runner.rows));
  return 0;
}

}  // namespace ordinal::cli
