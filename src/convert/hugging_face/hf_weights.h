// hf_weights.h: weights by the names that Hugging Face and PyTorch give them: of a folder, in one file or in shards, or
// of any other file.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "convert/hugging_face/safetensors.h"
#include "convert/stored.h"

namespace ordinal::convert {

// Names lose what trainers and wrappers put before them ("_orig_mod.", "module.", "transformer.", ...), in any nesting.
class HfWeights {
 public:
  // Throws Error when there are no weights, a file is damaged, or two tensors have one name.
  HfWeights(std::string folder, const Note& note);
  // Tensors that were read from `path`.
  HfWeights(std::vector<StoredTensor> tensors, std::string path, const Note& note);

  bool has(std::string_view name) const { return tensors_.contains(name); }
  const StoredTensor& at(const std::string& name) const { return tensors_.at(name); }
  std::vector<std::string> names_with(std::string_view beginning) const;

  // The place of a tensor, which counts as used. Throws Error when it is absent, has another shape, or holds a kind of
  // number that weights cannot have.
  Stored take(const std::string& name, const std::vector<int64_t>& shape);

  // Throws Error when a tensor was not taken and could change what the model computes; those of masks and of heads for
  // other tasks cannot. `expected`: what the model is, for the message.
  void refuse_rest(const std::string& expected) const;

 private:
  void add(StoredTensor tensor);
  void add_shards(const std::string& index);

  std::string folder_;
  const Note& note_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace ordinal::convert
