// training_files.h: writes what training programs save (torch.save, TensorFlow's Saver, llama2.c's export of 8 bits),
// straight from the descriptions of the formats, beside foreign_files.h.
#pragma once

#include <string>
#include <vector>

#include "convert/foreign_files.h"

namespace foreign {

// Values as opcodes of a pickle of protocol 2.
std::string pickled(const std::string& text);
std::string pickled(int64_t number);
std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& members);  // names, pickled values
std::string pickle_of(const std::string& value);                                            // a whole pickle

// A tensor that views numbers of storage `key`, which has `count` of them. `kind` as in safetensors.
struct TorchView {
  std::string kind, key;
  int64_t count = 0, offset = 0;
  std::vector<int64_t> sizes, strides;
};
std::string pickled(const TorchView& view);

struct ZipFile {
  std::string name, bytes;
};
struct ZipOptions {
  bool in_64_bits = false;  // sizes and places in the fields for large archives
  int method = 0;
};
std::string zip_of(const std::vector<ZipFile>& files, const ZipOptions& options = {});

// A file of torch.save: `values` is the pickled root; storages by their keys, in order, numbers of `kind`.
struct TorchStorage {
  std::string key, kind, bytes;
};
std::string torch_zip(const std::string& values, const std::vector<TorchStorage>& storages);
std::string torch_legacy(const std::string& values, const std::vector<TorchStorage>& storages);

// The tensors of a GPT-2 draft under nanoGPT's names: matrices are [outputs, inputs].
std::vector<SafeTensor> nanogpt_tensors(const ordinal::ModelDraft& draft);

// The tensors as a state dict.
std::string torch_file(const std::vector<SafeTensor>& tensors, bool legacy = false);

// A small GPT-2 in OpenAI's folder, which is made: hparams.json, model.ckpt.index, model.ckpt.data-00000-of-00001.
struct TfFiles {
  std::string sizes, index, data;
};
TfFiles tf_files(const ordinal::ModelDraft& draft);
void write_tf_folder(const TfFiles& files, const std::string& folder);
// An index of these entries, in this order.
std::string tf_index(const std::vector<std::pair<std::string, std::string>>& entries);

// A llama2.c model of version 2, of weights rounded to 8 bits; `draft` gets the weights that it stands for.
std::string llama2c_8bit_file(ordinal::ModelDraft& draft, int64_t group);

}  // namespace foreign
