// standing.cpp: see standing.h.
#include "study/compare/standing.h"

#include <algorithm>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal {
namespace {

// Tables that the weights were trained with and that this scheme does not read.
std::vector<std::string> ignored_tables(const PositionScheme& native, const PositionScheme& scheme) {
  std::vector<std::string> names;
  const auto& read = scheme.facts().tensors;
  for (const SchemeTensor& tensor : native.facts().tensors)
    if (std::ranges::find(read, tensor.name, &SchemeTensor::name) == read.end()) names.push_back(tensor.name);
  return names;
}

}  // namespace

Stand stand_of(const Model& model, const std::string& spec, int64_t length) {
  using enum Standing;
  const std::vector<std::string>& trained_specs = model.file().notes().trained_positions;
  const ModelConfig& c = model.config();
  Stand stand;
  try {
    stand.scheme = model.make_scheme(spec, length);
  } catch (const Error& error) {
    return {refused, error.summary(), nullptr};
  }
  const PositionScheme& scheme = *stand.scheme;
  if (std::ranges::find(trained_specs, scheme.spec()) != trained_specs.end()) {
    const bool alone = trained_specs.size() == 1;
    stand.standing = alone ? trained : jointly;
    stand.reason =
        alone ? "the weights were trained under it"
              : "the weights were trained under " + std::to_string(trained_specs.size()) + " schemes, this among them";
    return stand;
  }
  const AttentionShape shape = attention_shape(c, length);
  for (const std::string& other : trained_specs)
    if (schemes_agree(scheme, *model.make_scheme(other, length), shape, std::min(length, c.max_seq_len))) {
      stand.standing = exact;
      stand.reason = "the same bits as " + other + ", which the weights were trained under, at the first " +
                     std::to_string(std::min(length, c.max_seq_len)) + " positions";
      return stand;
    }
  stand.standing = untrained;
  stand.reason = "the weights never saw these positions; this shows how they lean on " + joined(trained_specs) +
                 " and is no verdict on the scheme";
  const std::vector<std::string> ignored = ignored_tables(*model.make_scheme("native", length), scheme);
  if (!ignored.empty()) stand.reason += " (" + joined(ignored) + " ignored)";
  return stand;
}

}  // namespace ordinal
