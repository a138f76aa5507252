// serve.cpp: `ordinal serve` and `ordinal lab`.
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "cli/commands.h"
#include "cli/options.h"
#include "model/kv_cache.h"
#include "ordinal/error.h"
#include "report/text.h"
#include "serve/server.h"

namespace ordinal::cli {
namespace {

struct ServeCommand {
  ModelOptions model;
  RunOptions run;
  std::vector<std::string> also, keys, cors;
  std::string name, host = "127.0.0.1", log = "text";
  std::optional<int64_t> port, max_ctx, cache_mb;
  int64_t parallel = 8, queue = 256, body_kb = 8192, max_tokens = 65536, seconds = 600, idle_seconds = 30,
          connections = 256, grace = 30;
  bool quiet = false;
};

void define_serve(Parser& parser, ServeCommand& o) {
  o.model.add_to(parser);
  o.model.add_dtype_to(parser);
  parser.option("--name", "NAME", o.name, "what clients call the model [default: its file's name]");
  parser.option("--also", "NAME=MODEL", o.also, "another model to serve; may be repeated");
  parser.option("--host", "ADDRESS", o.host,
                "the address to listen on; another than this machine's own needs a key [default: 127.0.0.1]");
  parser.option("--port", "N", o.port, "0 takes a free one [default: 8080]");
  parser.option("--api-key", "KEY", o.keys,
                "clients must say one of these; may be repeated [default: ORDINAL_API_KEY, else none]");
  parser.option("--cors", "ORIGIN", o.cors,
                "web pages of this origin may ask too, * for all; may be repeated [default: none]");
  parser.option("--parallel", "N", o.parallel, "sequences at work at once; changes no result [default: 8]");
  parser.option("--queue", "N", o.queue, "sequences that may wait; more are refused with 429 [default: 256]");
  parser.option("--max-ctx", "N", o.max_ctx,
                "most that a request's ctx may ask for [default: 4 times the trained length, as far as it fits]");
  parser.option("--max-tokens", "N", o.max_tokens, "most new tokens of a sequence [default: 65536]");
  parser.option("--cache-mb", "N", o.cache_mb,
                "most megabytes of keys and values, of all sequences [default: half of the machine's memory]");
  parser.option("--body-kb", "N", o.body_kb, "most kilobytes of a request's body [default: 8192]");
  parser.option("--seconds", "N", o.seconds, "most seconds a request may take [default: 600]");
  parser.option("--idle-seconds", "N", o.idle_seconds,
                "most seconds a client may keep a read or a write waiting [default: 30]");
  parser.option("--connections", "N", o.connections, "connections served at once; more wait [default: 256]");
  parser.option("--grace", "N", o.grace,
                "seconds for what runs to end after SIGTERM or Ctrl-C; a second one ends at once [default: 30]");
  parser.option("--log", "text|json", o.log, "a line a request on standard error, -q for none [default: text]");
  o.run.add_to(parser);
  parser.flag("-q,--quiet", o.quiet, "no notes and no line a request; only the address");
}

void settle_serve(ServeCommand& o) {
  o.run.check();
  check_range("--port", o.port.value_or(0), 0, 65535);
  check_range("--parallel", o.parallel, 1, 4096);
  check_range("--queue", o.queue, 0, 1 << 20);
  check_range("--max-tokens", o.max_tokens, 1, int64_t{1} << 40);
  check_range("--body-kb", o.body_kb, 1, 1 << 20);
  check_range("--seconds", o.seconds, 1, 1 << 30);
  check_range("--idle-seconds", o.idle_seconds, 1, 1 << 20);
  check_range("--connections", o.connections, 1, 4096);
  check_range("--grace", o.grace, 0, 1 << 30);
  if (o.max_ctx) check_range("--max-ctx", *o.max_ctx, 1, int64_t{1} << 40);
  if (o.cache_mb) check_range("--cache-mb", *o.cache_mb, 1, int64_t{1} << 40);
  if (o.log != "text" && o.log != "json")
    throw UsageError{"--log takes text or json; found '" + report::escaped(o.log) + "'", ""};
  if (o.keys.empty())
    if (const char* key = std::getenv("ORDINAL_API_KEY"); key != nullptr && *key != '\0') o.keys = {key};
}

// "tales" for models/tales.ordinal, the folder's name for a folder.
std::string name_of(const std::string& path) {
  std::filesystem::path plain(path);
  if (!plain.has_filename()) plain = plain.parent_path();
  return plain.has_stem() ? plain.stem().string() : "model";
}

// How long a context may be so that all sequences fit, whatever schemes they name; at least the default one must.
int64_t most_context(const ServeCommand& o, const ModelConfig& config, int64_t context, int64_t n_models) {
  const Dtype kind = kv_dtype_from_name(o.run.kv_dtype);
  const double room = o.cache_mb ? static_cast<double>(*o.cache_mb) * 1e6 : machine_memory() / 2;
  const double each = room / static_cast<double>(o.parallel * n_models);
  const auto bytes_of = [&](int64_t tokens) { return KvCache::bytes_of(config, tokens, kind, Views::kMostKeys); };
  const auto fits = [&](int64_t tokens) { return static_cast<double>(bytes_of(tokens)) <= each; };
  const int64_t wanted = std::max(context, o.max_ctx.value_or(std::max(context, 4 * config.max_seq_len)));
  const int64_t least = o.max_ctx ? wanted : context;
  if (!fits(least))
    throw Error("the keys and values of " + std::to_string(o.parallel) + " sequences of " + std::to_string(least) +
                    " tokens do not fit",
                "at most " + report::byte_size(static_cast<int64_t>(room)),
                report::byte_size(bytes_of(least) * o.parallel * n_models),
                "fewer --parallel, a smaller --ctx or --max-ctx, --kv-dtype f16, or another --cache-mb");
  int64_t most = wanted;
  while (most > least && !fits(most)) most = std::max(least, most - std::max<int64_t>(1, most / 16));
  return most;
}

serve::ServedModel open_served(const ServeCommand& o, const ModelOptions& which, const std::string& name,
                               int64_t n_models, int64_t* most, const Notes& notes) {
  OpenedModel opened = open_model(which, notes);
  serve::EngineOptions options;
  options.session.position = o.run.position;
  options.session.capacity = o.run.ctx.value_or(0);
  options.session.n_threads = o.run.threads.count();
  options.session.chunk = o.run.chunk;
  options.session.kv_dtype = kv_dtype_from_name(o.run.kv_dtype);
  options.parallel = o.parallel;
  options.queue = o.queue;
  const ModelConfig& config = opened.model->config();
  *most = std::min(*most, most_context(o, config, o.run.ctx.value_or(config.max_seq_len), n_models));
  serve::ServedModel served{name.empty() ? name_of(opened.path) : name, std::move(opened.tokenizer), nullptr};
  served.engine = std::make_unique<serve::Engine>(opened.model, served.tokenizer.get(), options);
  return served;
}

std::vector<serve::ServedModel> open_all(const ServeCommand& o, int64_t* most, const Notes& notes) {
  const auto n_models = std::ssize(o.also) + 1;
  std::vector<serve::ServedModel> models;
  models.push_back(open_served(o, o.model, o.name, n_models, most, notes));
  for (const std::string& item : o.also) {
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError{"--also takes NAME=MODEL; found '" + report::escaped(item) + "'", "--also small=small.ordinal"};
    ModelOptions which = o.model;
    which.model = item.substr(equals + 1);
    models.push_back(open_served(o, which, item.substr(0, equals), n_models, most, notes));
  }
  std::vector<std::string> names;
  for (const serve::ServedModel& model : models) {
    if (std::ranges::count(names, model.name) > 0)
      throw Error("two models have one name", "a name for each", model.name, "--name, or another NAME of --also");
    names.push_back(model.name);
  }
  return models;
}

// Writes a line whole; a full disk costs the line, not the server.
void write_log(const std::string& line) {
  const std::string whole = line + "\n";
  (void)!write(STDERR_FILENO, whole.data(), whole.size());
}

// Whether a browser could be asked to open the page.
bool open_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return false;
  std::string program = "xdg-open", argument = address;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  return posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0;
}

int serve_until_signal(ServeCommand& o, int default_port, bool with_browser, const Notes& notes) {
  const std::atomic<bool>& interrupted = watch_signals();
  serve::ServerOptions options;
  options.host = o.host;
  options.port = static_cast<int>(o.port.value_or(default_port));
  options.keys = o.keys;
  options.cors = o.cors;
  options.connections = o.connections;
  options.seconds = o.seconds;
  options.idle_seconds = o.idle_seconds;
  options.json_logs = o.log == "json";
  if (!o.quiet) options.log = write_log;
  options.limits.body_bytes = o.body_kb * 1024;
  options.limits.max_tokens = o.max_tokens;
  options.limits.sequences = o.parallel + o.queue;
  options.limits.context = int64_t{1} << 40;
  std::vector<serve::ServedModel> models = open_all(o, &options.limits.context, notes);
  serve::Server server(std::move(options), std::move(models));
  server.start();
  write_log("listening on " + server.address());
  if (with_browser && !open_browser(server.address())) notes.say("open " + server.address() + " in a browser");

  constexpr auto kLook = std::chrono::milliseconds(20);
  while (!interrupted) std::this_thread::sleep_for(kLook);
  server.drain();
  notes.say("no new requests are taken; what runs has " + std::to_string(o.grace) + " s to end");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(o.grace);
  while (!server.is_idle() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kLook);
  server.stop();
  return 0;
}

}  // namespace

int run_serve(Arguments arguments) {
  ServeCommand o;
  Parser parser("serve",
                "Answers requests over HTTP, in the shapes of OpenAI's: /v1/completions, /v1/chat/completions, "
                "/v1/models; and more, see src/serve/README.md. Says its address on standard error once it does. The "
                "lab is the page at /.",
                "ordinal serve --port 8080");
  define_serve(parser, o);
  if (!parser.parse(arguments)) return 0;
  settle_serve(o);
  return serve_until_signal(o, 8080, false, parser.notes(o.quiet));
}

int run_lab(Arguments arguments) {
  ServeCommand o;
  Parser parser("lab",
                "Opens a page in the browser on which position schemes are compared: the same weights and text under "
                "several. The server behind it is that of `ordinal serve`, on a free port of this machine.",
                "ordinal lab");
  define_serve(parser, o);
  if (!parser.parse(arguments)) return 0;
  settle_serve(o);
  return serve_until_signal(o, 0, true, parser.notes(o.quiet));
}

}  // namespace ordinal::cli
