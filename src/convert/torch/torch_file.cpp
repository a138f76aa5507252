// torch_file.cpp: see torch_file.h.
#include "convert/torch/torch_file.h"

#include <algorithm>

#include "base/words.h"
#include "convert/sniff.h"
#include "convert/stored.h"
#include "convert/torch/zip.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kZipMagic = "PK\x03\x04", kDataPickle = "/data.pkl";
// 0x1950a86a20f9469cfc6c, as the first pickle of a legacy file holds it.
constexpr std::string_view kTorchMagic = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.";
constexpr int64_t kLegacyVersion = 1001;
constexpr size_t kMostDimensions = 8;
// Tensors may share numbers, as a head does with the embedding; a small file must not become a huge model by it.
constexpr int64_t kMostViews = 4;

// What the weights may be called in the file of a trainer.
constexpr std::string_view kWeightNames[] = {"model", "state_dict", "model_state_dict"};

bool has_tensors(const PickleValue& value) {
  for (size_t i = 1; value.is(Kind::dict) && i < value.items.size(); i += 2)
    if (value.items[i]->is(Kind::tensor)) return true;
  return false;
}

std::vector<int64_t> sizes_of(const PickleValue& value, const std::string& what, const char* which) {
  std::vector<int64_t> sizes;
  if (!value.is(Kind::tuple) || value.items.size() > kMostDimensions)
    throw Error(what + " has " + which + " that are none", "a tuple of up to 8 whole numbers", description(value));
  for (const PickleValue* item : value.items) {
    if (!item->is(Kind::integer) || item->integer < 0)
      throw Error(what + " has " + which + " that are none", "whole numbers of 0 or more", description(*item));
    sizes.push_back(item->integer);
  }
  return sizes;
}

// Whether numbers with these steps lie one after another.
bool is_dense(const std::vector<int64_t>& sizes, const std::vector<int64_t>& steps) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && steps[i] != expected) return false;
    expected = capped_product({expected, sizes[i]});
  }
  return true;
}

}  // namespace

bool is_torch_bytes(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes.first(std::min<size_t>(bytes.size(), 32)));
  return text.starts_with(kZipMagic) || text.starts_with(kTorchMagic);
}

TorchFile::TorchFile(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {
  if (!is_torch_bytes(file_->bytes())) {
    const Likeness like = likeness(file_->bytes());
    throw Error(path() + " is not a file of torch.save", "a zip archive, or the pickle that begins older ones",
                like.what.empty() ? "something else" : like.what, like.suggestion);
  }
  if (as_text(file_->bytes()).starts_with(kZipMagic))
    read_zip_file();
  else
    read_legacy_file();
}

void TorchFile::read_zip_file() {
  const std::vector<ZipEntry> entries = read_zip(*file_);
  const auto* const data =
      std::ranges::find_if(
          entries, [](std::string_view name) { return name.ends_with(kDataPickle); }, &ZipEntry::name)
          .base();
  if (data == entries.data() + entries.size())
    throw Error(path() + " is a zip archive, but not one of torch.save", "an entry NAME/data.pkl",
                entries.empty() ? "no entries" : "entries such as " + in_quotes(entries.front().name),
                "give the model itself; .keras and .npz files are such archives too");
  const std::string stem(data->name.substr(0, data->name.size() - kDataPickle.size() + 1));  // with its slash
  const std::string storage_prefix = stem + "data/";
  const auto content = [&](const ZipEntry& entry) {
    return as_text(file_->bytes()).substr(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.bytes));
  };
  for (const ZipEntry& entry : entries) {
    if (entry.name == stem + "constants.pkl" || entry.name.starts_with(stem + "code/"))
      throw Error(path() + " is a TorchScript program, which holds code beside its weights", "a file of weights alone",
                  in_quotes(entry.name),
                  "save the weights in Python: torch.save(torch.jit.load(FILE).state_dict(), NEW)");
    if (entry.name == stem + "byteorder" && content(entry) != "little")
      throw Error(path() + " was written on a machine of another byte order", "'little'", in_quotes(content(entry)),
                  "load and save it again on a little-endian machine");
    if (entry.name.starts_with(storage_prefix))
      storages_[entry.name.substr(storage_prefix.size())] = {entry.offset, entry.bytes};
  }
  pickle_.emplace(content(*data), in_quotes(data->name) + " in " + path());
}

void TorchFile::read_legacy_file() {
  const std::string_view all = as_text(file_->bytes());
  size_t at = 0;
  const auto next = [&](const char* what) {
    Pickle pickle(all.substr(at), std::string("the pickle of ") + what + " in " + path());
    at += pickle.bytes_read();
    return pickle;
  };
  next("its magic number");
  if (const Pickle version = next("its version");
      !version.root().is(Kind::integer) || version.root().integer != kLegacyVersion)
    throw Error(path() + " is a file of torch.save of a version that is not known", "1001",
                description(version.root()));
  const Pickle machine = next("the machine");
  const PickleValue* little = machine.root().find("little_endian");
  if (little == nullptr || !little->is(Kind::boolean) || little->integer == 0)
    throw Error(path() + " was written on a machine of another byte order", "little_endian: True",
                little == nullptr ? "nothing on it" : "another", "load and save it again on a little-endian machine");
  pickle_.emplace(next("the values"));
  const Pickle keys = next("the keys of the storages");

  std::map<std::string_view, const PickleValue*, std::less<>> known;
  for (const PickleValue* storage : pickle_->storages()) known.emplace(storage->text, storage);
  if (!keys.root().is(Kind::list))
    throw Error(path() + " has no list of its storages", "a list of keys", description(keys.root()));
  for (const PickleValue* key : keys.root().items) {
    const auto storage = key->is(Kind::text) ? known.find(key->text) : known.end();
    if (storage == known.end())
      throw Error(path() + " lists a storage that nothing views", "the keys of its tensors' storages",
                  description(*key));
    const uint64_t count = all.size() - at < 8 ? 0 : read_u64(file_->bytes(), at);
    const auto width = static_cast<uint64_t>(storage->second->global->bytes);
    if (all.size() - at < 8 || count > (all.size() - at - 8) / width)
      throw Error(path() + " is truncated: it ends before its numbers do",
                  std::to_string(count) + " numbers of storage " + in_quotes(key->text),
                  bytes_text(all.size() - at) + " left", "copy or download it again");
    // The view is into the pickle of the values, which stays.
    storages_[storage->second->text] = {static_cast<int64_t>(at + 8), static_cast<int64_t>(count * width)};
    at += 8 + count * width;
  }
  if (at != all.size()) throw Error(path() + " has trailing bytes", bytes_text(at), bytes_text(all.size()));
}

StoredTensor TorchFile::tensor_of(std::string_view name, const PickleValue& value) const {
  const std::string what = "tensor " + in_quotes(name) + " in " + path();
  const PickleValue& storage = *value.items[0];
  const int64_t width = storage.global->bytes;
  const auto extent = storages_.find(storage.text);
  if (extent == storages_.end())
    throw Error(what + " has its numbers in a storage that is not there", "storage " + in_quotes(storage.text),
                std::to_string(storages_.size()) + " others", "copy or download it again");
  if (extent->second.bytes != capped_product({storage.integer, width}))
    throw Error("storage " + in_quotes(storage.text) + " in " + path() + " has another size than its tensors say",
                grouped(storage.integer) + " numbers of " + bytes_text(static_cast<uint64_t>(width)),
                bytes_text(static_cast<uint64_t>(extent->second.bytes)), "copy or download it again");
  if (value.items.size() == 7 && !(value.items[6]->is(Kind::dict) && value.items[6]->items.empty()))
    throw Error(what + " has flags that change its numbers", "none", description(*value.items[6]));

  StoredTensor tensor;
  tensor.name = name;
  tensor.kind = storage.global->kind;
  tensor.file = file_;
  const PickleValue& first = *value.items[1];
  tensor.shape = sizes_of(*value.items[2], what, "sizes");
  tensor.steps = sizes_of(*value.items[3], what, "strides");
  if (!first.is(Kind::integer) || first.integer < 0 || tensor.steps.size() != tensor.shape.size())
    throw Error(what + " is not a view of a storage", "an offset, and a stride for each size", description(first));
  // The last number that it views, counted from the storage's first. An empty tensor views none.
  int64_t last = first.integer;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const int64_t far = capped_product({tensor.shape[i] - 1, tensor.steps[i]});
    if (__builtin_add_overflow(last, far, &last)) last = INT64_MAX;
  }
  const bool is_empty = std::ranges::find(tensor.shape, 0) != tensor.shape.end();
  if (is_empty || last >= storage.integer)
    throw Error(what + (is_empty ? " is empty" : " views numbers outside of its storage"),
                "numbers 0 to " + std::to_string(storage.integer - 1) + " of storage " + in_quotes(storage.text),
                is_empty ? "a size of 0" : "numbers up to " + std::to_string(last));
  tensor.offset = extent->second.offset + first.integer * width;
  tensor.bytes = (last - first.integer + 1) * width;
  if (is_dense(tensor.shape, tensor.steps)) tensor.steps.clear();
  return tensor;
}

std::vector<StoredTensor> TorchFile::tensors(const PickleValue& dict) const {
  std::vector<StoredTensor> found;
  int64_t total = 0;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue &key = *dict.items[i], &value = *dict.items[i + 1];
    if (value.is(Kind::opaque) && key.is(Kind::text))
      throw Error(in_quotes(key.text) + " in " + path() + " is no plain tensor", "tensors of numbers",
                  description(value), "save the weights alone: torch.save(model.state_dict(), FILE)");
    if (!value.is(Kind::tensor) || !key.is(Kind::text)) continue;
    found.push_back(tensor_of(key.text, value));
    int64_t bytes = value.items[0]->global->bytes;
    for (const int64_t size : found.back().shape) bytes = capped_product({bytes, size});
    total = bytes > INT64_MAX - total ? INT64_MAX : total + bytes;
  }
  if (const auto size = static_cast<int64_t>(file_->bytes().size()); total / kMostViews > size)
    throw Error(path() + " has tensors that view the same numbers again and again",
                "at most " + std::to_string(kMostViews) + " times the " + grouped(size) + " bytes of the file",
                (total == INT64_MAX ? "more than any memory holds" : grouped(total) + " bytes"));
  return found;
}

const PickleValue& weights_in(const TorchFile& file) {
  const PickleValue& root = file.root();
  // By name first: nanoGPT keeps its best loss, a tensor too, beside the weights.
  for (const std::string_view name : kWeightNames)
    if (const PickleValue* weights = root.find(name); weights != nullptr && has_tensors(*weights)) return *weights;
  if (has_tensors(root)) return root;
  std::string found = description(root);
  for (size_t i = 0; root.is(Kind::dict) && i < std::min<size_t>(root.items.size(), 16); i += 2)
    found += (i == 0 ? " of " : ", ") + description(*root.items[i]);
  throw Error("there are no weights in " + file.path(),
              "a dict of tensors, or one in it called " + joined(kWeightNames, " or "), found,
              "save the weights alone: torch.save(model.state_dict(), FILE)");
}

}  // namespace ordinal::convert
