// pickle.h: Python pickles as data. A pickle is a program for a small machine that can call anything; this machine has
// the opcodes that data needs and calls nothing: what Python would call becomes a value that says so.
//
// The opcodes: https://github.com/python/cpython/blob/main/Lib/pickletools.py
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "convert/torch/pickle_globals.h"

namespace ordinal::convert {

struct PickleValue {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    bytes,
    tuple,
    list,
    dict,
    global,
    storage,
    tensor,
    opaque
  };
  Kind kind = Kind::none;
  uint8_t depth = 0;                     // of containers within, as far as it was known when they were put in
  const PickleGlobal* global = nullptr;  // global; storage: its kind of number; opaque: what made it, nullptr: no class
  int64_t integer = 0;                   // boolean, integer; storage: how many numbers it says to have
  std::string_view text = {};            // text, bytes; storage: its key
  std::vector<PickleValue*> items = {};  // tuple, list; dict: key, value, ...; tensor: what it is rebuilt from

  // The value of a dict's key, the last one as in Python, or nullptr.
  const PickleValue* find(std::string_view key) const;
  bool is(Kind what) const { return kind == what; }
};

// "a dict", "a global, torch.Size", for messages.
std::string description(const PickleValue& value);

// One pickle; `bytes` must outlive it.
class Pickle {
 public:
  // `name` is the pickle in messages. Throws Error, with the place, for an opcode that data does not need, a global
  // that is not known to be harmless, and anything that contradicts itself. Takes memory in proportion to the bytes, of
  // which there may be 4 MiB.
  Pickle(std::string_view bytes, const std::string& name);
  Pickle(Pickle&&) = default;

  const PickleValue& root() const { return *root_; }
  size_t bytes_read() const { return bytes_read_; }  // up to its end; others may follow
  // As often as they are named.
  const std::vector<const PickleValue*>& storages() const { return storages_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  std::vector<const PickleValue*> storages_;
  const PickleValue* root_ = nullptr;
  size_t bytes_read_ = 0;
};

}  // namespace ordinal::convert
