// tables.h: the tensors of a scheme. Each is declared once, where it is read; what a scheme reads is what it declares.
//
// Loading takes names, shapes and errors from the declaration; help and reports the names; pictures, checks and tests
// the made-up numbers. Tables lie in rows, in a plain kind: model files keep them so (TensorSource::is_table).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ordinal/position.h"

namespace ordinal {

class ParamReader;  // scheme.h

// How many numbers a tensor has along one of its dimensions.
struct TableSize {
  TableSize(int64_t exactly) : count(exactly) {}  // NOLINT(google-explicit-constructor): a number is a size

  int64_t count;
  bool is_free = false;  // as many as the tensor has; `count` in a made-up one
};
inline TableSize any_size(int64_t made_up) {
  TableSize size(made_up);
  size.is_free = true;
  return size;
}

// A number of a made-up table, from its place and from a random number (mean 0, deviation 1). `row` counts all
// dimensions but the last as one.
using MadeUp = std::function<double(int64_t row, int64_t col, double random)>;

// Random numbers of this deviation.
MadeUp random_of(double deviation);
// Of a table [distances, heads]: falls with the logarithm of the distance, steeper from head to head.
MadeUp falling_bias(int64_t heads);

// What a scheme asks for.
struct TableForm {
  std::string name;              // "attn_rel_b.weight"; "blk.N.attn_rel_k.weight": for each layer, its own or the
                                 // one without "blk.N.", which all share
  std::vector<TableSize> shape;  // one to three dimensions
  MadeUp made_up;                // numbers under which the scheme does something, and looks a little like a trained one
  bool is_optional = false;      // never made up
};

struct SchemeTable {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;  // row by row; none when it is optional and not there
};

// Hands a model's tensors to the scheme that is being made, once all of its parameters were asked for.
class TableReader {
 public:
  TableReader(const ParamReader& params, const AttentionShape& shape, const TensorLookup& lookup)
      : params_(params), n_layers_(shape.n_layers), lookup_(lookup) {}

  // For each form its tables: one, or one for each layer. A scheme calls this once, for all of its tables: what it
  // would read after that, nobody hears of who only asks what is declared.
  // Throws Error, naming tensor and scheme, when one is missing or has another form.
  std::vector<std::vector<SchemeTable>> read(const std::vector<TableForm>& forms);
  // For a scheme of one form: its tables of all layers; its single table.
  std::vector<SchemeTable> read_layers(const TableForm& form) { return std::move(read({form})[0]); }
  SchemeTable read_one(const TableForm& form) { return std::move(read({form})[0][0]); }

  bool has(std::string_view name) const { return lookup_ && lookup_(name) != nullptr; }

  const std::vector<SchemeTensor>& found() const { return found_; }

  // One that reads nothing: read() throws the forms it was given, and so ends the making of the scheme.
  struct Declared {
    std::vector<TableForm> forms;
  };
  static TableReader that_lists(const ParamReader& params) { return TableReader(params); }

 private:
  explicit TableReader(const ParamReader& params) : params_(params), lists_(true) {}
  SchemeTable load(const TableForm& form, const std::string& name);

  const ParamReader& params_;
  const bool lists_ = false;
  const int64_t n_layers_ = 0;
  const TensorLookup lookup_;
  std::vector<SchemeTensor> found_;
};

// What the scheme of a spec, modifiers included, one without layers of their own, declares. Throws Error for a bad
// spec.
std::vector<TableForm> declared_tables(std::string_view spec, const AttentionShape& shape);

// The tables that the scheme of this spec, which may have layers of their own, needs in a model of this shape, made up:
// the same numbers each time. Throws Error for a bad spec, and for tables too large to be examples.
std::vector<SchemeTable> made_up_tables(std::string_view spec, const AttentionShape& shape);

// Finds them by name, as long as they live.
TensorLookup lookup_in(const std::vector<SchemeTable>& tables);

}  // namespace ordinal
