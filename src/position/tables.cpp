// tables.cpp: see tables.h.
#include "position/tables.h"

#include <algorithm>
#include <cmath>

#include "base/random_numbers.h"
#include "base/words.h"
#include "position/scheme.h"

namespace ordinal {
namespace {

constexpr std::string_view kEachLayer = "blk.N.";
constexpr int64_t kMostMadeUpRows = 1 << 14;

// "attn_rel_b.weight [rows, 12]", with the sizes that a table is free in by their names.
std::string wanted_text(std::string_view name, const TableForm& form) {
  std::string text = std::string(name) + " [";
  for (size_t i = 0; i < form.shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + (!form.shape[i].is_free ? std::to_string(form.shape[i].count)
                                    : i == 0               ? "rows"
                                                           : "any");
  return text + "]";
}

std::string form_text(const TensorView& view) {
  return view.name + " [" + joined(view.shape) + "], " + std::string(kLayouts[static_cast<size_t>(view.layout)]) +
         ", " + std::string(dtype_info(view.dtype).name);
}

bool has_form(const TensorView& view, const TableForm& form) {
  const auto fits = [](int64_t size, const TableSize& wanted) { return wanted.is_free || size == wanted.count; };
  return std::ranges::equal(view.shape, form.shape, fits) && view.layout == Layout::rows &&
         dtype_info(view.dtype).block_items == 1;
}

int64_t count_of(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// The names of a form in a model: its own, or one for each layer.
std::vector<std::string> names_of(const TableForm& form, int64_t n_layers) {
  if (!form.name.starts_with(kEachLayer)) return {form.name};
  std::vector<std::string> names;
  for (int64_t layer = 0; layer < n_layers; ++layer)
    names.push_back("blk." + std::to_string(layer) + "." + form.name.substr(kEachLayer.size()));
  return names;
}

SchemeTable make_up(const TableForm& form, const std::string& name) {
  SchemeTable table{.name = name, .shape = {}, .values = {}};
  for (const TableSize& size : form.shape) table.shape.push_back(size.count);
  const int64_t cols = table.shape.back(), rows = count_of(table.shape) / cols;
  if (rows > kMostMadeUpRows)
    throw Error("a made-up table is small", "at most " + std::to_string(kMostMadeUpRows) + " rows",
                name + " of " + std::to_string(rows), "smaller parameters, or -m MODEL with real tables");
  uint64_t seed = 7;
  for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
  RandomNumbers random(seed);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < cols; ++col)
      table.values.push_back(static_cast<float>(form.made_up(row, col, random.normal())));
  return table;
}

}  // namespace

MadeUp random_of(double deviation) {
  return [deviation](int64_t, int64_t, double random) { return deviation * random; };
}

MadeUp falling_bias(int64_t heads) {
  return [heads](int64_t distance, int64_t head, double random) {
    const double steepness = static_cast<double>(head) / static_cast<double>(std::max<int64_t>(1, heads - 1));
    return 0.08 * random - 1.5 * std::log1p(static_cast<double>(distance)) * steepness;
  };
}

std::vector<std::vector<SchemeTable>> TableReader::read(const std::vector<TableForm>& forms) {
  if (lists_) throw Declared{forms};
  params_.refuse_unknown();  // all were asked for by now: a wrong key is a clearer fault than the table it leads to
  params_.refuse_missing();
  std::vector<std::vector<SchemeTable>> tables;
  for (const TableForm& form : forms) {
    std::vector<SchemeTable>& loaded = tables.emplace_back();
    for (const std::string& name : names_of(form, n_layers_)) loaded.push_back(load(form, name));
  }
  return tables;
}

SchemeTable TableReader::load(const TableForm& form, const std::string& name) {
  const bool each_layer = name != form.name;
  const std::string shared = each_layer ? form.name.substr(kEachLayer.size()) : name;
  const TensorView* view = lookup_ ? lookup_(name) : nullptr;
  if (view == nullptr && each_layer && lookup_) view = lookup_(shared);
  if (view == nullptr && form.is_optional) return {.name = name, .shape = {}, .values = {}};
  const std::string scheme = params_.facts().spec;
  if (view == nullptr)
    throw Error("this model cannot run under '" + scheme + "': it lacks that scheme's tensor",
                wanted_text(name, form) + (each_layer ? ", or " + shared + " for all layers" : ""), "no " + name,
                "a scheme that needs no tensors: " + joined(schemes_without_tensors()));
  if (!has_form(*view, form))
    throw Error("a tensor of position scheme '" + scheme + "' has another form",
                wanted_text(view->name, form) + ", rows, plain", form_text(*view));
  if (std::ranges::find(found_, view->name, &SchemeTensor::name) == found_.end())
    found_.push_back({.name = view->name, .shape = view->shape, .is_optional = form.is_optional});
  SchemeTable table{.name = view->name, .shape = view->shape, .values = {}};
  table.values.resize(static_cast<size_t>(count_of(view->shape)));
  widen(view->dtype, view->data, 0, table.values);
  return table;
}

std::vector<SchemeTable> made_up_tables(std::string_view spec, const AttentionShape& shape) {
  const LayeredSpec layered = parse_layered_spec(spec);
  std::vector<std::string> parts = {layered.base};
  for (const LayeredSpec::Part& part : layered.parts) parts.push_back(part.spec);
  std::vector<SchemeTable> tables;
  for (const std::string& part : parts)
    for (const TableForm& form : declared_tables(part, shape))
      for (const std::string& name : names_of(form, shape.n_layers))
        if (!form.is_optional && std::ranges::find(tables, name, &SchemeTable::name) == tables.end())
          tables.push_back(make_up(form, name));
  return tables;
}

TensorLookup lookup_in(const std::vector<SchemeTable>& tables) {
  std::vector<TensorView> views;
  for (const SchemeTable& table : tables)
    views.push_back({.name = table.name,
                     .dtype = Dtype::f32,
                     .layout = Layout::rows,
                     .shape = table.shape,
                     .data = reinterpret_cast<const std::byte*>(table.values.data()),
                     .bytes = static_cast<int64_t>(table.values.size() * sizeof(float))});
  return [views = std::move(views)](std::string_view name) {
    const auto found = std::ranges::find(views, name, &TensorView::name);
    return found == views.end() ? nullptr : &*found;
  };
}

}  // namespace ordinal
