// tokenizer_facts.h: what the header of a model file says of its tokenizer, beside the lists that lie elsewhere.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "ordinal/model_file.h"

namespace ordinal {

// Keys of facts that came after the first version: absent means that the fact is at its default.
std::vector<std::string_view> late_tokenizer_facts();

// Reads the facts of a tokenizer; its keys were checked. Throws Error for a value of another type.
void read_tokenizer_facts(const Json& json, TokenizerData& data);

// Writes them as members of the object that is open, those at their default left out where they came late.
void write_tokenizer_facts(JsonWriter& json, const TokenizerData& data);

// Throws Error when the facts contradict themselves or the vocabulary.
void check_tokenizer_facts(const TokenizerData& data, int64_t vocab_size);

// Throws Error for an id below `lowest` or past the vocabulary.
void check_tokenizer_id(const char* what, TokenId id, TokenId lowest, int64_t vocab_size);

}  // namespace ordinal
