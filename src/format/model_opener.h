// model_opener.h: opens a model file that is already an open descriptor.
#pragma once

#include <string>

#include "ordinal/model_file.h"

namespace ordinal {

// Like ModelFile::open. The descriptor is closed in any case, also by an Error; `name` stands for the path.
ModelFile open_model_descriptor(int descriptor, const std::string& name);

}  // namespace ordinal
