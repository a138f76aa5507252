// fixture.h: small random models on disk for tests of the program.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ordinal/model_file.h"
#include "process.h"
#include "support.h"

namespace test {

// A random model of context 40 with learned positions and a byte tokenizer; id 256 is the end token <|end|>.
// Made once; gone when the tests are.
const std::string& byte_model();

// The same weights without a tokenizer and without start and end token.
const std::string& bare_model();

// A model of a few million parameters, slow enough to be interrupted: context 8192, no positions, byte tokenizer.
const std::string& slow_model();

// Standard output as JSON; fails the test when it is none.
nlohmann::json json_of(const Outcome& outcome);

// The new ids of a generate run with --json.
std::vector<int> new_ids(const Outcome& outcome);

// The handed-over fixture of 40 ids, converted; "" (and a message) when the material is absent.
const std::string& model_h();

}  // namespace test
