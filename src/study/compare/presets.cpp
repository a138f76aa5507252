// presets.cpp: see presets.h.
#include "study/compare/presets.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/number_text.h"
#include "base/words.h"
#include "ordinal/error.h"
#include "position/rope_scaling.h"
#include "position/scheme.h"
#include "study/compare/standing.h"

namespace ordinal {
namespace {

using Specs = std::vector<std::string>;
using Lengths = std::span<const int64_t>;

std::string native_of(const Model& model) { return model.make_scheme("native", model.config().max_seq_len)->spec(); }

Specs trained_specs(const Model& model, Lengths) {
  const ModelNotes& notes = model.file().notes();
  Specs specs = {notes.position};
  specs.insert(specs.end(), notes.trained_positions.begin(), notes.trained_positions.end());
  if (notes.trained_positions.size() < 2) std::ranges::move(schemes_without_tensors(), std::back_inserter(specs));
  return specs;
}

// Every rope of a spec, of all layers or of some, without what stretches it and changed instead.
std::string with_ropes_changed(const std::string& native,
                               const std::function<std::string(const std::string&)>& change) {
  const auto changed = [&](const std::string& spec) {
    return parse_first_scheme(spec).name == "rope" ? change(unstretched(spec)) : spec;
  };
  const LayeredSpec spec = parse_layered_spec(native);
  std::string text = changed(spec.base);
  for (const LayeredSpec::Part& part : spec.parts) text += part.head() + changed(part.spec);
  return text;
}

std::string with_scaling(const std::string& native, const std::string& params) {
  return with_ropes_changed(native, [&](const std::string& rope) {
    ModifiedSpec cut = parse_modified_spec(rope);
    cut.base += (cut.base.find(':') == std::string::npos ? ":" : ",") + params;
    return cut.text();
  });
}

std::string with_modifier(const std::string& native, std::string_view modifier) {
  return with_ropes_changed(native, [&](const std::string& rope) { return rope + ";with=" + std::string(modifier); });
}

Specs extension_specs(const Model& model, Lengths lengths) {
  const std::string native = native_of(model);
  const int64_t trained = model.config().max_seq_len;
  Specs wanted;
  for (const char* beyond : {"clamp", "wrap", "resample", "hierarchical"})
    if (native.starts_with("learned"))
      wanted.push_back(unstretched(native) + (unstretched(native) == "learned" ? ":" : ",") + "beyond=" + beyond);
  if (native.find("rope") != std::string::npos) {
    wanted.push_back(with_scaling(native, "scaling=dynamic"));
    for (const SchemeInfo& modifier : position_modifiers())
      if (modifier.acts_on == "views") wanted.push_back(with_modifier(native, modifier.name));
    for (const int64_t length : lengths)
      if (length > trained)
        for (const RopeScaling& scaling : rope_scaling_table())
          if (scaling.info.name != "none" && scaling.info.name != "dynamic")
            wanted.push_back(with_scaling(
                native, "scaling=" + std::string(scaling.info.name) +
                            ",factor=" + number_text(static_cast<double>(length) / static_cast<double>(trained))));
  }
  // Those that need tables which this model has not are no way for it.
  Specs specs = {native};
  for (const std::string& spec : wanted) try {
      model.make_scheme(spec, trained);
      specs.push_back(spec);
    } catch (const Error&) {
    }
  return specs;
}

// The spec of every layer by itself.
Specs by_layer(const LayeredSpec& spec, int64_t n_layers) {
  Specs layers(static_cast<size_t>(n_layers), spec.base);
  for (const LayeredSpec::Part& part : spec.parts)
    for (const auto& [first, last] : part.ranges)
      for (int64_t layer = first; layer <= last; ++layer) layers[static_cast<size_t>(layer)] = part.spec;
  return layers;
}

// Throws Error where positions are of no layer, so that none can be taken from one.
LayeredSpec with_positions_in_layers(const Model& model) {
  const std::string native = native_of(model);
  const LayeredSpec spec = parse_layered_spec(native);
  const SchemeInfo& info = scheme_info(parse_first_scheme(spec.base).name);
  if ((info.kind != "relative" && info.kind != "anchored") || native == "none")
    throw Error("positions cannot be taken from single layers or heads of this model",
                "a scheme that acts in every layer, as rope and alibi do",
                native + (native == "none" ? ", which has none" : ", which acts on the embedding"),
                "--positions native,none");
  return spec;
}

Specs layer_specs(const Model& model, Lengths) {
  const LayeredSpec spec = with_positions_in_layers(model);
  const Specs layers = by_layer(spec, model.config().n_layers);
  Specs specs = {native_of(model)};
  for (size_t taken = 0; taken < layers.size(); ++taken) {
    if (layers[taken] == "none") continue;
    std::string text = spec.base;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      const std::string& own = layer == taken ? "none" : layers[layer];
      if (own != spec.base) text += ";layers=" + std::to_string(layer) + ":" + own;
    }
    specs.push_back(text);
  }
  return specs;
}

// Heads that share keys go together.
Specs head_specs(const Model& model, Lengths) {
  const LayeredSpec spec = with_positions_in_layers(model);
  if (!spec.parts.empty())
    throw Error("positions cannot be taken from single heads of this model", "one scheme for all layers",
                native_of(model), "--positions @layers");
  const ModelConfig& c = model.config();
  const int64_t together = c.n_heads / c.n_kv_heads;
  Specs specs = {spec.base};
  for (int64_t layer = 0; layer < c.n_layers; ++layer)
    for (int64_t head = 0; head < c.n_heads; head += together)
      specs.push_back(spec.base + ";heads=" + std::to_string(layer) + "." + std::to_string(head) +
                      (together > 1 ? "-" + std::to_string(head + together - 1) : "") + ":none");
  return specs;
}

// Every set that this model has something for.
Specs all_specs(const Model& model, Lengths lengths) {
  Specs specs;
  for (const Preset& preset : presets()) try {
      if (preset.specs != all_specs) std::ranges::move(preset.specs(model, lengths), std::back_inserter(specs));
    } catch (const Error&) {
    }
  return specs;
}

constexpr Preset kPresets[] = {
    {"@trained", "what the weights were trained under; where that is one scheme, also all that need no tensors",
     trained_specs},
    {"@extensions", "every way past the trained length for this model's own scheme, as far as the lengths go",
     extension_specs},
    {"@layers", "the model's own scheme with positions taken from one layer at a time", layer_specs},
    {"@heads", "the same head by head; heads that share keys go together", head_specs},
    {"@all", "all of these", all_specs},
};

const Preset& preset_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kPresets, name, &Preset::name);
  if (found != std::end(kPresets)) return *found;
  const std::string near = nearest_word(name, kPresets, &Preset::name);
  throw Error("there is no set of position schemes '" + escaped(name) + "'", joined(kPresets, ", ", &Preset::name),
              escaped(name), near.empty() ? "" : near);
}

}  // namespace

std::span<const Preset> presets() { return kPresets; }

std::vector<std::string> split_choice(std::string_view text) {
  std::vector<std::string> choice;
  std::string specs;  // pieces that are of no preset, which may go on with each other
  const auto flush = [&] {
    if (!specs.empty()) std::ranges::move(split_position_list(specs), std::back_inserter(choice));
    specs.clear();
  };
  for (std::string_view rest = text;;) {
    const size_t end = rest.find(',');
    std::string_view piece = rest.substr(0, end);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    if (piece.starts_with('@')) {
      flush();
      while (piece.ends_with(' ')) piece.remove_suffix(1);
      choice.emplace_back(preset_from_name(piece).name);
    } else {
      specs += (specs.empty() ? "" : ",") + std::string(piece);
      if (piece.empty()) specs += " ";  // an empty piece is for split_position_list() to refuse
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  flush();
  return choice;
}

std::vector<std::string> chosen_positions(const Model& model, std::span<const std::string> choice,
                                          std::span<const int64_t> lengths) {
  if (choice.empty()) return trained_specs(model, lengths);
  std::vector<std::string> specs;
  for (const std::string& item : choice) {
    if (item.starts_with('@')) {
      std::ranges::move(preset_from_name(item).specs(model, lengths), std::back_inserter(specs));
      continue;
    }
    check_position_spec(item);  // text that is no spec at all is the user's slip, not a row
    specs.push_back(item);
  }
  return specs;
}

}  // namespace ordinal
