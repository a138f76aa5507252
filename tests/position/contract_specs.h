// contract_specs.h: what the contract suite runs over: specs of every kind, and a model that all of them can run in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ordinal/model.h"

namespace test {

constexpr int64_t kTrained = 24;  // the trained length of the model

// Every scheme by its bare name, every scaling of rope, every modifier, and variants that take other ways through the
// hooks.
std::vector<std::string> contract_specs();

// Grouped heads, three layers, and every table that one of the specs declares.
std::shared_ptr<const ordinal::Model> model_with_everything(int64_t n_heads = 4, int64_t n_kv_heads = 2,
                                                            const std::string& native = "none");

// Runs `check` for every spec, with the spec in the message when it fails.
void for_every_spec(const std::function<void(const std::string&)>& check);

}  // namespace test
