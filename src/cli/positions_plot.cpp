// positions_plot.cpp: `ordinal positions plot`.
#include <algorithm>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "draw/svg.h"
#include "ordinal/error.h"
#include "position/scheme.h"
#include "report/text.h"
#include "study/pictures/pictures.h"

namespace ordinal::cli {
namespace {

constexpr int64_t kMostPositions = 1 << 13, kMostDims = 1 << 13, kMostHeads = 256, kMostLayers = 256;

// The kinds of pictures that an option changes, between blanks; those not named here it changes in none.
constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
    {"--positions",
     " places heatmap waveforms buckets bias norms prior similarity circle counter orthogonality pca attention "
     "distance scores loss "},
    {"--heads", " slopes bias norms prior "},
    {"--layer", " slopes bias norms prior similarity circle attention distance scores "},
    {"--head", " slopes bias norms prior attention distance scores "},
    {"--pair", " circle "},
    {"--against", " scores loss "},
    {"--threads", " attention distance scores loss "},
    {"--special", " attention distance scores loss "},
};

struct PlotCommand {
  std::optional<std::string> spec, output, against;
  std::string kind;
  ModelOptions model;
  PromptOptions prompt;
  std::optional<int64_t> ctx, heads;
  PictureInput input;
  ThreadsOption threads;
  bool quiet = false;
};

void check(const PlotCommand& o) {
  if (!o.spec) throw UsageError{"no position scheme was named", "ordinal positions plot sinusoidal -o sinusoidal.svg"};
  if (!o.output) throw UsageError{"no file was named for the picture", "-o FILE.svg, or -o - for standard output"};
  check_position_spec(*o.spec);
  if (o.against) check_position_spec(*o.against);
  if (o.input.example && o.model.model)
    throw UsageError{"--example stands in for a model's tables; it does not go with -m", "leave one of them out"};
  if (!o.model.vocab.empty() && !o.model.model) throw UsageError{"--vocab is of a checkpoint, and there is none", "-m"};
  if (o.ctx) check_range("--ctx", *o.ctx, 1, int64_t{1} << 40);
  if (o.input.positions) check_range("--positions", *o.input.positions, 1, kMostPositions);
  if (o.input.dims) check_range("--dims", *o.input.dims, 2, kMostDims);
  if (o.heads) check_range("--heads", *o.heads, 1, kMostHeads);
  o.threads.count();
}

// Of the model, or of one made up: GPT-2's heads, and a width that a picture can show.
AttentionShape shape_of(const PlotCommand& o) {
  const Model* model = o.input.model.get();
  const int64_t trained = o.input.example ? 128 : 1024;  // a made-up table is shown whole
  int64_t layers = 1;
  for (const LayeredSpec::Part& part : parse_layered_spec(*o.spec).parts)
    for (const auto& [first, last] : part.ranges) layers = std::clamp(last + 1, layers, kMostLayers);
  if (model == nullptr)
    return {.n_layers = layers,
            .d_model = o.input.dims.value_or(64),
            .n_heads = o.heads.value_or(12),
            .n_kv_heads = o.heads.value_or(12),
            .head_dim = 64,
            .trained_length = trained,
            .length = o.ctx.value_or(trained)};
  return attention_shape(model->config(), o.ctx.value_or(model->config().max_seq_len));
}

// The text of a picture, and a session that holds it; for loss by position a window of it is enough.
void add_text(PlotCommand& o, const Picture& picture, const OpenedModel& opened, const Notes& notes) {
  PictureInput& input = o.input;
  const std::optional<std::string> text = o.prompt.read(notes);
  input.ids = prompt_ids(o.prompt, text, opened);
  const auto tokens = static_cast<int64_t>(input.ids.size());
  RunOptions run;
  run.position = input.spec;
  run.ctx = o.ctx;
  run.threads = o.threads;
  const int64_t shown = picture.name == "attention" ? 48 : distances_shown(input, input.shape.trained_length);
  int64_t needed = std::min(tokens, o.input.positions.value_or(shown));
  if (picture.name == "loss") {
    needed = std::min(tokens, o.input.positions.value_or(o.ctx.value_or(opened.model->config().max_seq_len)));
    run.ctx = needed;
  }
  input.session = open_session(opened, run, {.prompt_length = needed}, notes).options();
  if (opened.tokenizer == nullptr) return;
  TokenId previous = -1;
  for (const TokenId id : std::span(input.ids).first(static_cast<size_t>(needed))) {
    std::string piece = escaped(opened.tokenizer->decode_next(previous, id, true));
    if (piece.starts_with(' ')) piece.replace(0, 1, "·");  // a blank, which most begin with
    input.pieces.push_back(std::move(piece));
    previous = id;
  }
}

std::string kind_help() {
  std::string text = "the picture; each scheme has some of these, the first is its own:";
  for (const Picture& picture : pictures())
    text += (picture.name == pictures().front().name ? " " : "; ") + std::string(picture.name) + ", " +
            std::string(picture.summary);
  return text;
}

}  // namespace

int run_positions_plot(Arguments arguments) {
  PlotCommand o;
  Parser parser(
      "positions plot",
      "Draws a position scheme as an SVG file: its vectors, slopes, buckets or wavelengths; with -m also those "
      "of trained tables, and what a model does with a text. SPEC as for --position; native needs -m.",
      "ordinal positions plot alibi --heads 12 -o alibi.svg");
  parser.positional("spec", o.spec, "the position scheme");
  o.prompt.add_to(parser, "text");
  parser.option("--ids", "1,2,3", o.prompt.ids, "the text as token ids");
  parser.option("-o,--output", "FILE.svg", o.output, "write the picture to this file; - for standard output");
  parser.option("--kind", "KIND", o.kind, kind_help());
  parser.option("--against", "SPEC", o.against, "a second scheme beside the first, for kinds scores and loss");
  parser.option("-m,--model", "MODEL", o.model.model,
                "a model file, or a checkpoint of another program: its shape, its tables, and what it does with a text "
                "[default: none, a made-up shape]");
  parser.option("--vocab", "DIR", o.model.vocab,
                "where a foreign checkpoint's tokenizer is [default: beside its weights]");
  parser.flag("--example", o.input.example, "made-up tables for a scheme that has some, in place of a model's");
  parser.option("--ctx", "N", o.ctx, "the context, for schemes that depend on it [default: the trained length]");
  parser.option("--positions", "N", o.input.positions,
                "positions, distances or tokens to show [default: by kind, with -m the trained length at most]");
  parser.option("--dims", "N", o.input.dims, "dimensions to show; without -m, the width of the made-up model");
  parser.option("--heads", "N", o.heads, "heads of the made-up model [default: 12]");
  parser.option("--layer", "N", o.input.layer, "the layer to show [default: 0]");
  parser.option("--head", "N", o.input.head, "the head to show, from 0 [default: all]");
  parser.option("--pair", "N", o.input.pair, "the pair of channels of kind circle [default: a quarter of the way]");
  o.threads.add_to(parser);
  parser.flag("-q,--quiet", o.quiet, "no notes on standard error");
  if (!parser.parse(arguments)) return 0;
  check(o);

  watch_signals();
  const Notes notes = parser.notes(o.quiet);
  PictureInput& input = o.input;
  OpenedModel opened;
  if (o.model.model) {
    opened = open_model(o.model, notes);
    input.model = opened.model;
    if (o.heads) throw UsageError{"--heads is for a made-up model; it does not go with -m", "--head N for one of them"};
    input.spec = expand_native(*o.spec, input.model->file().notes().position);
    if (o.against) input.against = expand_native(*o.against, input.model->file().notes().position);
  } else {
    if (expand_native(*o.spec, "none") != *o.spec)
      throw Error("'native' is the scheme that a model file names", "-m MODEL, or a scheme by name", "no -m",
                  "ordinal positions plot sinusoidal -o sinusoidal.svg");
    input.spec = *o.spec;
  }
  input.shape = shape_of(o);
  // Refuses a wrong spec before its picture is looked for, and wherever no table is missing.
  describe_position_scheme(input.spec.substr(0, input.spec.find(';')), input.shape);
  const Picture& picture = find_picture(o.kind, input.spec);
  bool has_layers = true;
  for (const auto& [option, kinds] : kChanges) {
    if (kinds.find(" " + std::string(picture.name) + " ") != std::string_view::npos) continue;
    parser.idle({option}, "the picture '" + std::string(picture.name) + "' is the same for all");
    has_layers = has_layers && option != "--layer";
  }
  parser.notes(o.quiet);
  if (has_layers && (input.layer < 0 || input.layer >= input.shape.n_layers))
    throw Error("there is no layer " + std::to_string(input.layer),
                "layers 0 to " + std::to_string(input.shape.n_layers - 1), "--layer " + std::to_string(input.layer));
  if (picture.needs_text) {
    if (!input.model)
      throw Error("the picture '" + std::string(picture.name) + "' is of what a model does with a text",
                  "-m MODEL and a text", "no -m", "-m MODEL and a text as the last argument, -f FILE or --ids 1,2,3");
    add_text(o, picture, opened, notes);
  } else if (o.prompt.text || o.prompt.file || o.prompt.ids) {
    throw UsageError{"the picture '" + std::string(picture.name) + "' takes no text",
                     "--kind attention, distance, scores or loss"};
  }
  Progress progress("plot", o.quiet);
  input.progress = [&](int64_t done, int64_t total) {
    throw_if_interrupted();
    progress.update(done, total);
  };
  const std::string svg = draw::to_svg(draw_picture(picture, input));
  write_result(*o.output, svg);
  if (*o.output != "-")
    notes.say("wrote " + *o.output + ": " + std::string(picture.name) + " of " + input.spec + ", " +
              report::byte_size(static_cast<int64_t>(svg.size())));
  return 0;
}

}  // namespace ordinal::cli
