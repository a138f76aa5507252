// making.h: how a spec becomes a scheme, for the parts of this folder that do it: schemes, modifiers, layers.
#pragma once

#include <utility>
#include <vector>

#include "position/scheme.h"

namespace ordinal {

// What a maker declares with `params`, and what params are then known to be: `make` is stopped where it would read.
template <class Make>
std::vector<TableForm> forms_of(const ParamReader& params, const Make& make) {
  TableReader tables = TableReader::that_lists(params);
  std::vector<TableForm> forms;
  try {
    make(tables);
  } catch (TableReader::Declared& declared) {
    forms = std::move(declared.forms);
  }
  params.refuse_unknown();
  return forms;
}

// The scheme of "BASE;with=modifier", for a base that was made; what a modifier declares.
std::pair<SchemePtr, SchemeFacts> make_modified(std::string_view modifier,
                                                const std::shared_ptr<const PositionScheme>& base,
                                                const AttentionShape& shape, const TensorLookup& lookup);
std::pair<SchemeFacts, std::vector<TableForm>> declare_modifier(std::string_view modifier, const AttentionShape& shape);

}  // namespace ordinal
