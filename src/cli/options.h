// options.h: options that several commands share, and what they lead to: a model, a prompt, a session.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/parser.h"
#include "cli/terminal.h"
#include "ordinal/model.h"
#include "ordinal/session.h"
#include "ordinal/tokenizer.h"

namespace ordinal {
struct ImportOptions;
}  // namespace ordinal

namespace ordinal::cli {

// Which model.
struct ModelOptions {
  std::optional<std::string> model;  // as given to -m
  // Of checkpoints of other programs.
  std::string vocab;
  std::optional<int64_t> heads;
  std::optional<std::string> activation;
  std::optional<std::string> dtype;

  void add_to(Parser& parser);
  void add_dtype_to(Parser& parser);  // for commands that compute with the weights: also what goes with ranks
  void add_ranks_to(Parser& parser);
  void add_import_to(Parser& parser);  // all but -m
};

struct OpenedModel {
  std::string path;
  std::shared_ptr<const Model> model;
  std::unique_ptr<Tokenizer> tokenizer;  // null when the model has none
  double load_ms = 0;
};

// Where default models are looked for, in this order.
std::vector<std::filesystem::path> model_folders();
// The path to use: -m, ORDINAL_MODEL, or the default model. Throws Error, naming the places, when there is none.
std::string model_path(const ModelOptions& options);
// What an importer is told of a checkpoint at `path`. Throws Error for options that it cannot have. `notes` must
// outlive what is returned.
ImportOptions import_options(const ModelOptions& options, const std::string& path, const Notes& notes);
// The checksum of a model's header, in which the checksums of all else are: one for the whole file.
std::string header_checksum(const ModelFile& file);
// Opens an Ordinal file, or converts a foreign checkpoint in memory, saying so.
ModelFile open_model_file(const ModelOptions& options, const std::string& path, const Notes& notes);
// The same on every rank, or an Error on all.
OpenedModel open_model(const ModelOptions& options, const Notes& notes);
// The tokenizer alone: reads no weights. Throws Error when there is none.
std::unique_ptr<Tokenizer> open_tokenizer(const ModelOptions& options, const Notes& notes);
// Whether a path is, or is meant to be, a file of our own format.
bool is_model_file(const std::string& path);

inline constexpr int64_t kMostThreads = 1024;

// Throws Error unless `value` is in low .. high; `meaning` follows the range in the message.
void check_range(const std::string& what, int64_t value, int64_t low, int64_t high, const std::string& meaning = "");

// -t, how many threads. Not given, or 0: what OMP_NUM_THREADS says, or every processor that the process may use.
struct ThreadsOption {
  int64_t wanted = 0;

  void add_to(Parser& parser, const std::string& what = "threads");
  // Throws Error for a number that is out of range.
  int count() const;
};

// How the model is run.
struct RunOptions {
  std::string position = "native";
  std::optional<int64_t> ctx;
  ThreadsOption threads;
  int64_t chunk = 256;
  std::string kv_dtype = "f32";

  void add_to(Parser& parser);
  // Throws Error for what is wrong whatever the model.
  void check() const;
};

// What the model is given.
struct PromptOptions {
  std::optional<std::string> text, file, ids, chat;
  bool special = false;

  // `what` names the text in help: "prompt", "text".
  void add_to(Parser& parser, const std::string& what);
  // The text: the argument, a file, or standard input (-f -, or when nothing is given and it is not a terminal); no
  // text when ids are given. Throws UsageError when there are two sources or none.
  std::optional<std::string> read(const Notes& notes) const;
};

// Ids from "1,2,3" or "1 2 3". Throws Error for anything but ids of the vocabulary.
std::vector<TokenId> parse_ids(const std::string& text, int64_t vocab_size);

// The ids of a prompt. An empty one begins with the model's start token, else its end token; Error without either.
std::vector<TokenId> prompt_ids(const PromptOptions& options, const std::optional<std::string>& text,
                                const OpenedModel& opened);

// What a session is for.
struct SessionNeeds {
  int64_t prompt_length = 0;
  int64_t new_tokens = 0;
  int64_t n_sessions = 1;  // as many will be alive at once
  bool can_slide = false;  // the command has --overflow
  bool slides = false;     // and it is slide: a prompt may be cut
};

// The kind of number that keys and values are kept in, by name. Throws Error for one that they cannot be kept in.
Dtype kv_dtype_from_name(const std::string& name);

// Bytes of memory that this machine has; nothing above 0 when the system does not say.
double machine_memory();

// Throws Error when the machine's memory cannot hold the keys and values of this many sessions under a scheme with so
// many views of its keys.
void check_memory(const ModelConfig& config, int64_t capacity, Dtype kv_dtype, int64_t n_sessions,
                  int64_t key_views = 1);
// Says what they will take, when that is much.
void announce_memory(const ModelConfig& config, int64_t capacity, Dtype kv_dtype, int64_t n_sessions,
                     const Notes& notes, int64_t key_views = 1);

// How the weights stand to the session's scheme over the first `length` positions, as a word (standing.h).
std::string standing_word(const Session& session, int64_t length);

// A session that has room for the prompt, with a note where the weights never saw its scheme. Without --ctx the context
// is the trained length; where the position scheme has no end, a longer prompt gets what it and the new tokens need,
// with a note, but for one that is far longer and would take much memory. Throws Error for a prompt that is too long,
// unless it may be cut.
Session open_session(const OpenedModel& opened, const RunOptions& options, const SessionNeeds& needs,
                     const Notes& notes);

}  // namespace ordinal::cli
