// options_test.cpp: what all commands do alike: one way in for specs, lists, what was given in vain, foreign line ends.
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <set>

#include "fixture.h"
#include "position/scheme.h"
#include "process.h"
#include "study/sweep/plan.h"

using namespace test;
using Strings = std::vector<std::string>;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string help_of_all_commands() {
  std::string all;
  for (const char* command : {"generate", "logits", "tokenize", "detokenize", "convert", "inspect", "compare",
                              "perplexity", "diagnose", "positions", "bench"})
    all += run({command, "--help"}).out;
  return all + run({"positions", "check", "--help"}).out + run({"positions", "plot", "--help"}).out;
}

// Words that begin with a scheme's name and have parameters or layers, as examples in a text have them: between blanks,
// quotes and backquotes. Patterns, as rope[:theta=10000] or learned:beyond=clamp|wrap, are none.
std::set<std::string> examples_in(const std::string& text) {
  std::string names = "native";
  for (const ordinal::SchemeInfo& info : ordinal::position_schemes()) names += "|" + std::string(info.name);
  const std::regex word("[^\\s`'\"()]+"), spec("(" + names + ")(:\\w+=|;layers=|;with=)[^\\[\\]|<>]*[^\\[\\]|<>:,.;]");
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
    std::string piece = at->str();
    while (!piece.empty() && (piece.back() == '.' || piece.back() == ',' || piece.back() == ':')) piece.pop_back();
    if (std::regex_match(piece, spec) && !has(piece, "KEY=VALUE") && !has(piece, "…")) found.insert(piece);
  }
  return found;
}

}  // namespace

TEST_CASE("cli options: every spec that the documents show is one, whole or in a list") {
  const std::string text = read_file(repository("README.md")) + read_file(repository("src/position/README.md")) +
                           read_file(repository("src/study/README.md")) + help_of_all_commands();
  const std::set<std::string> examples = examples_in(text);
  for (const char* known : {"native;layers=0:none", "rope:theta=1e6;layers=3,7-9:none", "rope:scaling=yarn,factor=4",
                            "rope:theta=500000,pairing=half", "native;with=dca;with=logn"})
    CHECK_MESSAGE(examples.contains(known), known);
  const ordinal::AttentionShape shape{.n_layers = 12,
                                      .d_model = 768,
                                      .n_heads = 12,
                                      .n_kv_heads = 12,
                                      .head_dim = 64,
                                      .trained_length = 1024,
                                      .length = 1024};
  for (const std::string& example : examples) {
    CAPTURE(example);
    std::vector<std::string> specs;  // a plan's example with values in braces is several
    for (const std::string& one : ordinal::expand_braces(example))
      for (const std::string& spec : ordinal::split_position_list(one)) specs.push_back(spec);
    for (const std::string& spec : specs) {
      ordinal::check_position_spec(spec);
      const std::string base = ordinal::expand_native(spec.substr(0, spec.find(';')), "learned");
      ordinal::describe_position_scheme(base, shape);
    }
  }
}

TEST_CASE("cli options: a spec with layers is taken by every command") {
  const Scratch scratch;
  write_file(scratch.path("text"), std::string(90, 'a'));
  for (const std::string spec : {"native;layers=0:none", "learned;layers=0-1:none", "learned;layers=0,1-1:none",
                                 "rope:theta=10000;layers=1:alibi:max_bias=4", "native;with=sinks:first=2,window=4",
                                 "rope;with=dca:chunk=4,limit=6;layers=1:none;with=logn", "alibi;layers=1:native"}) {
    CAPTURE(spec);
    const std::string& model = byte_model();
    // "native" cannot stand for a layer where it acts on the embedding.
    const bool fits = spec != "alibi;layers=1:native";
    const Strings generate = {"generate", "-m", model, "abc", "-n", "1", "-q", "--position", spec};
    const Strings logits = {"logits", "-m", model, "abc", "-q", "--position", spec};
    const Strings perplexity = {"perplexity", "-m", model, "-f", scratch.path("text"), "-q", "--position", spec};
    const Strings check = {"positions", "check", spec, "-m", model, "-q"};
    const Strings plot = {"positions", "plot", spec, "-m", model, "abc", "--kind", "attention", "-q", "-o", "-"};
    for (const Strings& command : {generate, logits, perplexity, check, plot}) {
      CAPTURE(command.front());
      if (fits)
        check_done(run(command));
      else
        check_failed(run(command), {"acts on the embedding"});
    }
    const Outcome compared = run({"compare", "-m", model, "-f", scratch.path("text"), "--lengths", "20", "-q",
                                  "--positions", spec + ",none", "--csv", "-"});
    check_done(compared);
    CHECK(has(compared.out, "acts on the embedding") == !fits);
  }
  // None takes what is no spec in any of its parts.
  for (const std::string spec : {"native;layers=0:nine", "nine;layers=0:none", "native;layers=x:none", "native;none",
                                 "native;layers=0:none:", "native;with=", "nine;with=logn"}) {
    CAPTURE(spec);
    const Strings sources[] = {{"generate", "x", "--position", spec},
                               {"logits", "x", "--position", spec},
                               {"perplexity", "-f", scratch.path("text"), "--position", spec},
                               {"compare", "--positions", spec},
                               {"positions", "check", spec},
                               {"positions", "plot", spec, "-o", "-"}};
    for (const Strings& command : sources) {
      CAPTURE(command.front());
      check_failed(run(command), {"there is no position scheme 'nine'", "is not a position spec"});
    }
  }
  // Without a model the layers of the spec are those that there are.
  check_done(run({"positions", "plot", "rope:theta=1e6;layers=3,7-9:none", "-q", "-o", "-"}));
  check_failed(run({"positions", "plot", "none;layers=0:native", "-q", "-o", "-"}), {"-m MODEL"});
}

TEST_CASE("cli options: a table acts on the embedding, so other schemes in layers beside it change nothing") {
  const auto logits = [](const std::string& position) {
    return json_of(run({"logits", "-m", byte_model(), "--ids", "1,2,3,4,5", "--json", "-q", "--position", position}))
        .at("logits");
  };
  CHECK(logits("native;layers=0:none") == logits("native"));
  CHECK(logits("learned;layers=0-1:none") == logits("native"));
  CHECK(logits("learned;layers=0:alibi") != logits("native"));

  // The checkpoint of the case, with the logits that transformers has for it.
  const std::string folder = shared("cases-2/02/base");
  if (folder.empty()) return;
  const Outcome outcome =
      run({"logits", "-m", folder, "--ids", "1,2,3,4,5", "--json", "-q", "--position", "native;layers=0:none"});
  const std::vector<double> scores = json_of(outcome).at("logits");
  CHECK(scores.at(30) == doctest::Approx(3.3878).epsilon(1e-4));
  CHECK(scores.at(28) == doctest::Approx(2.1222).epsilon(1e-4));
  CHECK(scores.at(2) == doctest::Approx(1.8315).epsilon(1e-4));
}

TEST_CASE("cli options: what a list names twice counts once, with a note") {
  const Scratch scratch;
  write_file(scratch.path("text"), std::string(60, 'a') + std::string(60, 'b'));
  const auto compare = [&](const std::string& lengths, const std::string& positions) {
    return run({"compare", "-m", byte_model(), "-f", scratch.path("text"), "--lengths", lengths, "--positions",
                positions, "--json", "-"});
  };
  const Outcome once = compare("20,40", "native,none"), twice = compare("20,40,020,20", "native,none,none");
  CHECK(has(twice.err, "--lengths has 20 twice; it counts once"));
  CHECK(has(twice.err, "--positions has 'none' twice; it counts once"));
  CHECK(!has(once.err, "twice"));
  nlohmann::json a = json_of(once), b = json_of(twice);
  for (nlohmann::json* result : {&a, &b})
    for (const char* differs : {"command", "seconds"}) result->erase(differs);
  for (nlohmann::json* result : {&a, &b})
    for (nlohmann::json& row : (*result)["rows"]) row.erase("ms_per_token");
  CHECK(a["rows"] == b["rows"]);
  CHECK(a["matrix"] == b["matrix"]);

  const Outcome bench =
      run({"bench", "--shape", "tiny,tiny", "--dtype", "f32,f32", "--kv-dtype", "f16,f16",   "-p", "3,3",   "-n", "1",
           "-d",    "0,0,00",  "-s",        "1,1",     "-t",      "1,1",        "--repeats", "1",  "--json"});
  CHECK(json_of(bench).size() == 1);
  for (const char* option : {"--shape", "--dtype", "--kv-dtype", "-p", "-d", "-s", "-t"})
    CHECK_MESSAGE(has(bench.err, std::string(option)), option);

  const Outcome stops = run({"generate", "-m", byte_model(), "abc", "-n", "1", "--stop", "x", "--stop", "x"});
  CHECK(has(stops.err, "--stop has 'x' twice; it counts once"));
  const Outcome texts =
      run({"perplexity", "-m", byte_model(), "-f", scratch.path("text"), "-f", scratch.path("text"), "--json"});
  CHECK(json_of(texts)["texts"].size() == 1);
  CHECK(has(texts.err, "twice; it counts once"));

  for (const char* list : {"", ",", "20,", ",20", "20,,40"}) {
    CAPTURE(list);
    check_failed(compare(list, "native"), {"--lengths"}, 2);
    check_failed(run({"bench", "--shape", list}), {"--shape"}, 2);
    check_failed(run({"bench", "--shape", "tiny", "-t", list}), {"--threads"}, 2);
  }
  check_failed(compare("-20", "native"), {"1 to 120"});
  check_failed(run({"bench", "--shape", "tiny", "-d", "0,-1"}), {"0 to"});
}

TEST_CASE("cli options: of an option given twice the last counts, with a note where they differ") {
  const auto generate = [](Strings more) {
    Strings all = {"generate", "-m", byte_model(), "abc", "--temp", "0", "--ignore-eos", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Outcome two = generate({"-n", "3", "--new-tokens", "5"});
  CHECK(new_ids(two).size() == 5);
  CHECK(has(two.err, "-n,--new-tokens is given twice; the last counts"));
  CHECK(!has(generate({"-n", "5", "-n", "5"}).err, "twice"));
  CHECK(generate({"-n", "3", "-n", "5", "-q"}).err.empty());
  check_failed(run({"perplexity", "-m", byte_model(), "-f", "-", "--documents", ""}, "x"), {"empty"}, 2);
  check_failed(run({"generate", "x", "--position", ""}), {"empty"}, 2);
}

TEST_CASE("cli options: an option that cannot have an effect, as the others are, is named") {
  const Scratch scratch;
  write_file(scratch.path("batch"), "{\"prompt\": \"a\", \"n\": 1}\n");
  write_file(scratch.path("text"), std::string(90, 'a'));
  const auto err_of = [](Strings command, Strings more) {
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = run(command);
    check_done(outcome);
    command.push_back("-q");
    CHECK(!has(run(command).err, "effect"));
    return outcome.err;
  };
  const Strings generate = {"generate", "-m", byte_model(), "-n", "1"};
  CHECK(has(err_of(generate, {"a", "--temp", "0", "--top-k", "5", "--seed", "1"}),
            "--top-k, --seed have no effect: --temp 0 takes the best token"));
  for (const char* filter : {"--top-p", "--min-p", "--typical"})
    CHECK(has(err_of(generate, {"a", "--temp", "0", filter, "0.5"}), std::string(filter) + " has no effect"));
  CHECK(has(err_of(generate, {"a", "--temp", "0", "--samples", "2"}), "--samples has no effect"));
  CHECK(has(err_of(generate, {"a", "--penalty-window", "5"}), "--penalty-window has no effect"));
  CHECK(has(err_of(generate, {"--ids", "1", "--special"}), "--special has no effect"));
  CHECK(has(err_of(generate, {"--batch", scratch.path("batch"), "--json"}), "--json has no effect"));
  // Those that could have one, and those that a line of a batch may turn on.
  CHECK(!has(
      err_of(generate, {"a",     "--temp",           "1",      "--top-k",          "5", "--seed",     "1",     "--stop",
                        "never", "--penalty-window", "5",      "--repeat-penalty", "2", "--overflow", "slide", "--keep",
                        "2",     "--draft",          "lookup", "--special"}),
      "effect"));
  CHECK(!has(err_of(generate, {"--batch", scratch.path("batch"), "--temp", "0", "--top-k", "5", "--seed", "1"}),
             "effect"));

  const Strings logits = {"logits", "-m", byte_model()};
  for (const char* other : {"--json", "--all"})
    CHECK(has(err_of(logits, {"ab", "--top", "2", other}), "--top has no effect"));
  CHECK(has(err_of(logits, {"--ids", "1", "--special"}), "--special has no effect"));
  CHECK(!has(err_of(logits, {"ab", "--top", "2", "--special"}), "effect"));
  CHECK(has(err_of({"tokenize", "-m", byte_model(), "ab"}, {"--ids-only", "--json"}), "--ids-only has no effect"));
  CHECK(has(err_of({"inspect", byte_model()}, {"--tensors", "--json"}), "--tensors has no effect"));
  CHECK(has(err_of({"diagnose", byte_model(), "-f", scratch.path("text"), "--tokens", "16"}, {"--top", "3", "--json"}),
            "--top has no effect"));
  CHECK(has(
      err_of({"compare", "-m", byte_model(), "-f", scratch.path("text"), "--positions", "native", "--lengths", "20"},
             {"-n", "3", "--prompt", ""}),
      "-n has no effect"));
  const Strings convert = {"convert", byte_model(), scratch.path("out.ordinal"), "--force"};
  CHECK(has(err_of(convert, {"-t", "1"}), "-t has no effect"));
  CHECK(!has(err_of(convert, {"-t", "1", "-f", scratch.path("text")}), "effect"));
  const Strings bench = {"bench", "-p", "2", "-n", "1", "-t", "1", "--repeats", "1"};
  CHECK(has(err_of(bench, {"-m", byte_model(), "--dtype", "f32"}), "--dtype has no effect"));
  CHECK(has(err_of(bench, {"--shape", "tiny", "--vocab", "x"}), "--vocab has no effect"));
}

TEST_CASE("cli options: a picture says which options it does not depend on, and depends on all others") {
  struct Option {
    const char *name, *one, *other;
  };
  const Option options[] = {{"--positions", "9", "17"},
                            {"--heads", "2", "4"},
                            {"--layer", "0", "1"},
                            {"--head", "0", "1"},
                            {"--pair", "1", "2"}};
  // Of layers that differ, so that the layer shows where it can.
  const std::pair<const char*, const char*> kinds[] = {{"sinusoidal", "heatmap"},
                                                       {"sinusoidal", "waveforms"},
                                                       {"sinusoidal", "counter"},
                                                       {"sinusoidal", "orthogonality"},
                                                       {"sinusoidal", "pca"},
                                                       {"rope;layers=1:rope:theta=9", "wavelengths"},
                                                       {"rope;layers=1:rope:theta=9", "similarity"},
                                                       {"rope;layers=1:rope:theta=9", "circle"},
                                                       {"alibi;layers=1:none", "slopes"},
                                                       {"alibi;layers=1:none", "bias"},
                                                       {"alibi;layers=1:none", "prior"},
                                                       {"shaw", "norms"},
                                                       {"rope;with=dca", "places"},
                                                       {"t5_bias", "buckets"}};
  for (const auto& [spec, kind] : kinds)
    for (const Option& option : options) {
      // shaw has one table for all heads, the kind also serves xl, which has one for each.
      if (std::string(spec) == "shaw" && std::string(option.name).starts_with("--head")) continue;
      const std::string base =
          std::string(spec) == "shaw" && std::string(option.name) == "--layer" ? "shaw;layers=1:none" : spec;
      const auto plot = [&](const char* value) {
        return run({"positions", "plot", base, "--kind", kind, "--example", "-o", "-", option.name, value});
      };
      CAPTURE(base);
      CAPTURE(kind);
      CAPTURE(option.name);
      const Outcome one = plot(option.one), other = plot(option.other);
      check_done(one);
      check_done(other);
      CHECK(has(one.err, std::string(option.name) + " has no effect") == (one.out == other.out));
    }
}

TEST_CASE("cli options: lines that end documents are found with any line end, and missed ones are said") {
  const Scratch scratch;
  const std::string plain = "one two three\n<end>\nfour five\n<end>\n\n<end>\nsix";
  std::string windows;
  for (const char c : plain) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  write_file(scratch.path("plain"), plain);
  write_file(scratch.path("windows"), windows);
  const auto measure = [&](const std::string& file, const std::string& line) {
    return run({"perplexity", "-f", scratch.path(file), "--documents", line, "--json"});
  };
  // Of the shipped model, from its logits, in double: three documents, an end token after each.
  for (const char* file : {"plain", "windows"}) {
    const Outcome outcome = measure(file, "<end>");
    CHECK(json_of(outcome)["tokens"] == 11);
    CHECK(json_of(outcome)["nll"].get<double>() == doctest::Approx(6.8460).epsilon(1e-5));
    CHECK(!has(outcome.err, "--documents"));
  }
  CHECK(has(measure("windows", "<end>").err, "Windows line ends"));
  for (const char* file : {"plain", "windows"})
    CHECK(has(measure(file, "<End>").err, "is '<End>' (--documents), so it counts as one document"));
  for (const char* command : {"compare", "diagnose"})
    CHECK(has(run({command, "-m", byte_model(), "-f", scratch.path("plain"), "--documents", "<End>"}).err,
              "(--documents)"));
}

TEST_CASE("cli options: what Windows adds to a text stays, with a note; to ids and JSON lines it is nothing") {
  const Scratch scratch;
  write_file(scratch.path("marked"), "\xef\xbb\xbfhe\r\n");
  const Outcome marked = run({"tokenize", "-m", byte_model(), "-f", scratch.path("marked"), "--ids-only"});
  CHECK(marked.out == "239,187,191,104,101,13,10\n");
  CHECK(has(marked.err, "byte order mark"));
  CHECK(has(marked.err, "Windows line ends"));
  CHECK(run({"tokenize", "-m", byte_model(), "-f", scratch.path("marked"), "--ids-only", "-q"}).err.empty());
  for (const Strings& command :
       {Strings{"detokenize", "-m", byte_model()}, Strings{"detokenize", "-m", byte_model(), "-"},
        Strings{"detokenize", "-m", byte_model(), "--ids", "-"}})
    CHECK(run(command,
              "\xef\xbb\xbf"
              "104,\r\n101\r\n")
              .out == "he");
  write_file(scratch.path("lines"), "\xef\xbb\xbf{\"prompt\": \"he\", \"n\": 1}\r\n\r\n{\"ids\": [1], \"n\": 1}\r\n");
  const Outcome lines = run({"generate", "-m", byte_model(), "--batch", scratch.path("lines")});
  check_done(lines);
  CHECK(std::ranges::count(lines.out, '\n') == 2);
}

TEST_CASE("cli options: a prompt far past the trained length asks for --ctx before it takes much memory") {
  // 2 layers, 3 heads, 12 + 32 numbers of 4 bytes a token: a GiB is 1,016,800 tokens.
  const std::string far(1'100'000, 'a');
  const Outcome asked = run({"generate", "-m", byte_model(), "-f", "-", "-n", "1", "--position", "alibi"}, far);
  check_failed(asked, {"--ctx 1100000"});
  for (const char* part : {"trained on", "1100000 tokens", "1.2 GB", "at most 160 tokens"})
    CHECK_MESSAGE(has(asked.err, part), part);
  CHECK(asked.max_rss_mb < 300);
  check_failed(run({"logits", "-m", byte_model(), "-f", "-", "--position", "alibi"}, far), {"--ctx 1100000"});
  check_failed(run({"generate", "-m", byte_model(), "-f", "-", "-n", "1", "--samples", "4", "--position", "alibi"},
                   far.substr(0, 300'000)),
               {"--ctx 300000"});
  // Far, but small: as it is.
  check_done(run({"generate", "-m", byte_model(), "-f", "-", "-n", "1", "--position", "alibi"}, far.substr(0, 400)));
}

TEST_CASE("cli options: memory is asked for what a scheme keeps, further views of the keys too") {
  // 1056 bytes of keys and values and 8 of its position a token, 288 more for another view of the keys.
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::string ctx = std::to_string(static_cast<int64_t>(memory * 0.9 / 1064));
  const auto generate_under = [&](const char* position) {
    return run({"generate", "-m", byte_model(), "a", "-n", "1", "-q", "--ctx", ctx, "--position", position});
  };
  check_done(generate_under("rope"));
  check_failed(generate_under("rope;with=rerope:window=8"), {"memory"});
}
