// model_writer_test.cpp: drafts that contradict themselves are refused, and a failure leaves nothing behind.
#include "format/model_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>

#include "format/output_file.h"
#include "ordinal/error.h"
#include "support.h"
#include "tiny_model.h"

using ordinal::Dtype;
namespace fs = std::filesystem;

namespace {

std::string refusal(const ordinal::ModelDraft& draft, const ordinal::WriteOptions& options = {}) {
  return test::error_of([&] { (void)write_model_in_memory(draft, "draft", options); });
}

ordinal::WriteOptions written_as(Dtype dtype) {
  ordinal::WriteOptions options;
  options.keep_dtype = false;
  options.dtype = dtype;
  return options;
}

size_t entries(const test::Scratch& scratch) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(scratch.folder()), fs::directory_iterator()));
}

// The example with a matrix in the middle whose source does `action` when asked for its second panel.
ordinal::ModelDraft interrupted(std::function<void()> action) {
  ordinal::ModelDraft draft = tiny::example();
  draft.tensors.insert(draft.tensors.begin() + 1,
                       {"blk.0.ffn_up.weight", {64, 1000}, Dtype::f32, [action](int64_t first, int64_t, float* out) {
                          if (first > 0) action();
                          std::fill_n(out, 32000, 1.0f);
                        }});
  return draft;
}

}  // namespace

TEST_CASE("model_writer: a matrix is stored in the kind asked for, vectors stay f32") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const ordinal::ModelFile file = write_model_in_memory(tiny::example(), "kinds", written_as(dtype));
    CHECK(file.find("token_embd.weight")->dtype == dtype);
    CHECK(file.find("position_embd.weight")->dtype == dtype);
    CHECK(file.find("position_embd.weight")->layout == ordinal::Layout::rows);
    CHECK(file.find("output_norm.weight")->dtype == Dtype::f32);
  }
}

TEST_CASE("model_writer: sources are asked for rising rows, at most 32 at a time, each once") {
  ordinal::ModelDraft draft = tiny::example();
  std::vector<int64_t> counts;
  int64_t next = 0;
  for (ordinal::TensorSource& source : draft.tensors) source.shape = {2};
  draft.tensors[1].shape = {70, 3};
  draft.tensors[1].name = "blk.0.ffn_up.weight";
  draft.tensors[1].read_rows = [&](int64_t first, int64_t count, float* out) {
    CHECK(first == next);
    next += count;
    counts.push_back(count);
    std::fill_n(out, count * 3, 1.0f);
  };
  (void)write_model_in_memory(draft, "rows");
  CHECK(counts == std::vector<int64_t>{32, 32, 6});
}

TEST_CASE("model_writer: a number too large for its kind is an Error that names the tensor") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto with = [](float value) {
    ordinal::ModelDraft draft = tiny::example();
    draft.tensors[0] = tiny::source("token_embd.weight", {3, 2}, {0, 1, -2, 3, value, 5});
    return draft;
  };
  SUBCASE("f16") {
    for (const float value : {65520.0f, -65520.0f, 1e30f, -std::numeric_limits<float>::max()}) {
      const std::string error = refusal(with(value), written_as(Dtype::f16));
      CHECK(test::mentions(error, {"token_embd.weight"}));
      CHECK(test::mentions(error, {"65504"}));
      CHECK(test::mentions(error, {"--dtype bf16"}));
    }
    CHECK(test::mentions(refusal(with(-65520.0f), written_as(Dtype::f16)), {"-65520"}));
    for (const float value : {65504.0f, 0x1.ffdffep15f, 0.0f, 1e-30f, infinity, -infinity, nan})
      CHECK_NOTHROW((void)write_model_in_memory(with(value), "fits", written_as(Dtype::f16)));
  }
  SUBCASE("bf16") {
    CHECK(test::mentions(refusal(with(0x1.ffp127f), written_as(Dtype::bf16)), {"--dtype f32"}));
    for (const float value : {0x1.fep127f, 0x1.fefffep127f, 65520.0f, infinity, nan})
      CHECK_NOTHROW((void)write_model_in_memory(with(value), "fits", written_as(Dtype::bf16)));
  }
}

TEST_CASE("model_writer: a draft that contradicts itself is refused") {
  ordinal::ModelDraft draft = tiny::example();
  std::string expected;
  SUBCASE("config") { draft.config.d_model = 0, expected = "d_model is out of range"; }
  SUBCASE("enum") { draft.config.norm = static_cast<ordinal::NormKind>(9), expected = "has no name"; }
  SUBCASE("epsilon") { draft.config.norm_epsilon = std::numeric_limits<float>::quiet_NaN(), expected = "norm_epsilon"; }
  SUBCASE("pieces") { draft.tokenizer.pieces.pop_back(), expected = "3, one an id"; }
  SUBCASE("scores") { draft.tokenizer.scores = {1, 2, 3}, expected = "has no scores"; }
  SUBCASE("merges") { draft.tokenizer.kind = "bpe", draft.tokenizer.merges = {{0, 1, 3}}, expected = "merges is not"; }
  SUBCASE("score") {
    draft.tokenizer.kind = "scores";
    draft.tokenizer.scores = {1, 2, std::numeric_limits<float>::infinity()};
    expected = "not a number";
  }
  SUBCASE("kind") { draft.tokenizer.kind = "words", expected = "unknown kind of tokenizer"; }
  SUBCASE("provenance") { draft.notes.provenance_json = "{\"a\":1}", expected = "a string"; }
  SUBCASE("provenance that would close the header") {
    draft.notes.provenance_json = "{}},\"x\":{", expected = "end of input";
  }
  SUBCASE("provenance that is not UTF-8") { draft.notes.provenance_json = "{\"a\":\"\xc3\"}", expected = "UTF-8"; }
  SUBCASE("spec") {
    draft.notes.position = "rope theta", draft.notes.trained_positions.clear(), expected = "position spec";
  }
  SUBCASE("trained") { draft.notes.trained_positions = {"alibi"}, expected = "not among the trained"; }
  SUBCASE("twice") { draft.tensors.push_back(draft.tensors[0]), expected = "two tensors of one name"; }
  SUBCASE("name") { draft.tensors[0].name = "a\tb", expected = "no proper name"; }
  SUBCASE("shape") { draft.tensors[0].shape = {3, 0}, expected = "token_embd.weight: "; }
  SUBCASE("no shape") { draft.tensors[0].shape = {}, expected = "one to three dimensions"; }
  SUBCASE("three dimensions") { draft.tensors[0].shape = {3, 2, 1}, expected = "one or two dimensions"; }
  SUBCASE("source") { draft.tensors[0].read_rows = nullptr, expected = "no source of rows"; }
  const test::Scratch scratch;
  CHECK(test::mentions(test::error_of([&] { write_model_file(draft, scratch.path("x")); }), {expected}));
  CHECK(entries(scratch) == 0);
}

TEST_CASE("model_writer: a failure half way leaves the folder as it was") {
  const test::Scratch scratch;
  const std::string path = scratch.path("model.ordinal");
  SUBCASE("with nothing there") {}
  SUBCASE("with a file there") { test::write_file(path, "the old one"); }
  const size_t before = entries(scratch);
  CHECK_THROWS_AS(write_model_file(interrupted([] { throw ordinal::Error("cut"); }), path), ordinal::Error);
  CHECK_THROWS_AS(write_model_file(interrupted([] { throw std::runtime_error("x"); }), path), std::runtime_error);
  ordinal::WriteOptions options;
  options.progress = [](int64_t, int64_t) { throw std::runtime_error("progress"); };
  CHECK_THROWS_AS(write_model_file(interrupted([] {}), path, options), std::runtime_error);
  CHECK(entries(scratch) == before);
  if (before != 0) CHECK(test::read_file(path) == "the old one");
}

TEST_CASE("output_file: without nameless files, a hidden one becomes the target or goes") {
  const test::Scratch scratch;
  const std::string path = scratch.path("out");
  const std::string text(3000000, 'x');
  {
    ordinal::OutputFile out = ordinal::OutputFile::on_disk(path, false);
    out.write(std::as_bytes(std::span(text)));
    CHECK(entries(scratch) == 1);
    CHECK(!fs::exists(path));
  }
  CHECK(entries(scratch) == 0);

  ordinal::OutputFile out = ordinal::OutputFile::on_disk(path, false);
  out.write(std::as_bytes(std::span(text)));
  out.write(std::as_bytes(std::span(text).first(3)));
  out.overwrite(std::as_bytes(std::span("ab", 2)));
  out.commit();
  CHECK(entries(scratch) == 1);
  CHECK(test::read_file(path) == "ab" + text + "x");
}

TEST_CASE("model_writer: a program that is killed half way leaves nothing behind") {
  const test::Scratch scratch;
  const int probe = open(scratch.folder().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (probe < 0) {
    MESSAGE("skipped: this file system has no files without a name");
    return;
  }
  close(probe);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      write_model_file(interrupted([] { raise(SIGKILL); }), scratch.path("model.ordinal"));
    } catch (...) {
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(entries(scratch) == 0);
}

TEST_CASE("model_writer: no room is an Error, and nothing is left behind") {
  // The limit on a file's size stands in for a full disk: the same call fails, half way through the file.
  const test::Scratch scratch;
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{4096, old.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const std::string error = test::error_of([&] { write_model_file(interrupted([] {}), scratch.path("m")); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  CHECK(test::mentions(error, {"cannot write"}));
  CHECK(entries(scratch) == 0);
}

TEST_CASE("model_writer: says what is wrong with a target") {
  const test::Scratch scratch;
  const auto error = [](const std::string& path) {
    return test::error_of([&] { write_model_file(tiny::example(), path); });
  };
  CHECK(test::mentions(error(scratch.folder().string()), {"is a directory"}));
  CHECK(test::mentions(error(scratch.path("no/such/model.ordinal")), {"no folder"}));
  CHECK(test::mentions(error(scratch.path("new/")), {"no folder"}));
  CHECK(test::mentions(error(""), {"no path"}));
  CHECK(test::mentions(error("/dev/null"), {"not a regular file"}));
  test::write_file(scratch.path("file"), "x");
  CHECK(test::mentions(error(scratch.path("file/model")), {"no folder"}));
  CHECK(entries(scratch) == 1);
}

TEST_CASE("model_writer: a folder that may not be written is an Error") {
  const test::Scratch scratch;
  REQUIRE(chmod(scratch.folder().c_str(), 0555) == 0);
  const bool is_root = geteuid() == 0;
  if (is_root) REQUIRE(seteuid(65534) == 0);  // root may write anywhere
  std::string error;
  try {
    write_model_file(tiny::example(), scratch.path("m"));
  } catch (const ordinal::Error& thrown) {
    error = thrown.what();
  }
  if (is_root) REQUIRE(seteuid(0) == 0);
  REQUIRE(chmod(scratch.folder().c_str(), 0755) == 0);
  CHECK(test::mentions(error, {"cannot write into"}));
  CHECK(entries(scratch) == 0);
}

TEST_CASE("model_writer: replaces a file, also one that is open, and follows a link") {
  const test::Scratch scratch;
  const std::string path = scratch.path("model.ordinal"), link = scratch.path("link");
  write_model_file(tiny::example(), path);
  fs::create_symlink("model.ordinal", link);
  const ordinal::ModelFile opened = ordinal::ModelFile::open(path);
  write_model_file(tiny::odd_shapes(), link);
  CHECK(fs::is_symlink(link));
  CHECK(ordinal::ModelFile::open(path).config().n_layers == 3);
  CHECK_NOTHROW(opened.verify());
  CHECK(entries(scratch) == 2);
}

TEST_CASE("model_writer: a new file is as readable as the user's umask says") {
  const test::Scratch scratch;
  const mode_t old = umask(027);
  write_model_file(tiny::example(), scratch.path("m"));
  umask(old);
  struct stat facts {};
  REQUIRE(stat(scratch.path("m").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0640);
}

TEST_CASE("model_writer: progress rises to the size of the file") {
  const test::Scratch scratch;
  ordinal::WriteOptions options;
  int64_t last = 0, size = 0, calls = 0;
  options.progress = [&](int64_t done, int64_t total) {
    CHECK(done > last);
    last = done;
    size = total;
    ++calls;
  };
  ordinal::ModelDraft draft = tiny::example();
  draft.tensors.push_back({"big", {2000, 500}, Dtype::f32, [](int64_t, int64_t count, float* out) {
                             std::fill_n(out, count * 500, 1.0f);
                           }});
  write_model_file(draft, scratch.path("m"), options);
  CHECK(last == size);
  CHECK(size == static_cast<int64_t>(fs::file_size(scratch.path("m"))));
  CHECK(calls > 2);
}
