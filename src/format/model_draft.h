// model_draft.h: a model file as a draft again, so that it can be written anew.
#pragma once

#include "format/model_writer.h"
#include "ordinal/model_file.h"

namespace ordinal {

// Everything that the file holds. The sources keep its mapping alive and give what is stored as floats, exactly; what
// stays of its kind is written byte for byte. Throws Error when the tokenizer's data is damaged; tensors are taken as
// they are, so verify() the file before its checksums are made anew.
ModelDraft draft_of(const ModelFile& file);

}  // namespace ordinal
