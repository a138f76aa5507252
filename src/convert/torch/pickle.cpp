// pickle.cpp: see pickle.h. The machine: a stack of values, marks in it, and a memo of values for later use.
#include "convert/torch/pickle.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/words.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

using Kind = PickleValue::Kind;
using Makes = PickleGlobal::Makes;

constexpr size_t kMostPickleBytes = size_t{4} << 20;
constexpr int kMostDepth = 100;
constexpr std::string_view kSaveWeights = "save the weights alone: torch.save(model.state_dict(), FILE)";

// By Kind.
constexpr std::array<std::string_view, 12> kValueNames = {"None",   "a boolean", "a whole number", "a number",
                                                          "text",   "bytes",     "a tuple",        "a list",
                                                          "a dict", "the name",  "a storage",      "a tensor"};

}  // namespace

std::string description(const PickleValue& value) {
  if (value.is(Kind::opaque))
    return value.global != nullptr ? "what " + value.global->full_name() + " makes" : "a number of over 64 bits";
  std::string text(kValueNames[static_cast<size_t>(value.kind)]);
  if (value.is(Kind::global)) text += " " + value.global->full_name();
  if (value.is(Kind::text)) text += " " + in_quotes(value.text);
  if (value.is(Kind::integer)) text += " " + std::to_string(value.integer);
  return text;
}

const PickleValue* PickleValue::find(std::string_view key) const {
  const PickleValue* found = nullptr;
  for (size_t i = 0; is(Kind::dict) && i + 1 < items.size(); i += 2)
    if (items[i]->is(Kind::text) && items[i]->text == key) found = items[i + 1];
  return found;
}

class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, std::string_view bytes, const std::string& name)
      : pickle_(pickle), bytes_(bytes), name_(name) {}

  void run() {
    while (!stopped_) {
      opcode_at_ = at_;
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      const auto opcode = std::ranges::find(kOpcodes, byte, &Opcode::byte);
      if (opcode == kOpcodes.end() || opcode->step == nullptr)
        fail("has an opcode that weights do not need", "the opcodes of dicts, lists, numbers, names and tensors",
             opcode == kOpcodes.end() ? "byte " + std::to_string(byte) : std::string(opcode->name));
      (this->*opcode->step)();
    }
  }

 private:
  using Value = PickleValue;
  struct Opcode {
    uint8_t byte;
    std::string_view name;
    void (PickleMachine::*step)();  // nullptr: Python knows it, data does not need it
  };
  static const std::array<Opcode, 65> kOpcodes;
  // What comes of a call.
  struct Maker {
    std::string_view takes;
    bool (*fits)(const std::vector<Value*>& given);
    Value* (PickleMachine::*make)(Value& callee, Value& arguments);
  };
  static const std::array<Maker, 5> kMakers;  // by PickleGlobal::Makes; storages are not called

  [[noreturn]] void fail(const std::string& what, const std::string& expected, const std::string& found) const {
    throw Error(name_ + " " + what + ", at byte " + std::to_string(opcode_at_), expected, found,
                std::string(kSaveWeights));
  }

  // The bytes of the pickle, from the front.
  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_ && bytes_.size() == kMostPickleBytes)
      fail("is larger than those of weights are", "at most " + bytes_text(kMostPickleBytes), "more");
    if (count > bytes_.size() - at_)
      throw Error(name_ + " ends before it is complete",
                  std::to_string(count) + " bytes from byte " + std::to_string(at_) + " on",
                  bytes_text(bytes_.size() - at_), "copy or download it again");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  template <int count>
  uint64_t take_number() {
    uint64_t number = 0;
    const std::string_view bytes = take(count);
    for (int i = count; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
    return number;
  }
  std::string_view take_line() {
    const size_t length = bytes_.substr(at_).find('\n');
    if (length == std::string_view::npos) take(bytes_.size() - at_ + 1);
    return take(length + 1).substr(0, length);
  }

  // The stack.
  void push(Value* value) { stack_.push_back(value); }
  Value* make(Value value) { return &pickle_.values_.emplace_back(std::move(value)); }
  void push_new(Value value) { push(make(std::move(value))); }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void need(size_t count) const {
    if (stack_.size() - floor() < count)
      fail("takes more from its stack than is there", std::to_string(count) + " values", "fewer");
  }
  Value* pop() {
    need(1);
    Value* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  // What stands above the last mark, which goes.
  std::vector<Value*> pop_to_mark() {
    if (marks_.empty()) fail("has no mark where it needs one", "a mark", "none");
    std::vector<Value*> values(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return values;
  }

  void put(Value& into, std::span<Value* const> values) {
    for (Value* value : values) {
      if (value->depth >= kMostDepth)
        fail("nests its values too deeply", "at most " + std::to_string(kMostDepth) + " deep", "more");
      into.depth = std::max(into.depth, static_cast<uint8_t>(value->depth + 1));
      into.items.push_back(value);
    }
  }
  // Into the container on top of the stack. What is opaque swallows anything.
  void put_into_top(Kind kind, std::span<Value* const> values) {
    need(1);
    Value& into = *stack_.back();
    if (into.is(Kind::opaque)) return;
    if (!into.is(kind) || (kind == Kind::dict && values.size() % 2 != 0))
      fail("fills something else than a list or a dict", std::string(kValueNames[static_cast<size_t>(kind)]),
           description(into));
    put(into, values);
  }
  template <size_t count>
  std::array<Value*, count> pop_some() {
    need(count);
    std::array<Value*, count> values;
    for (size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }
  void push_tuple(std::span<Value* const> values) {
    Value tuple{.kind = Kind::tuple};
    put(tuple, values);
    push_new(std::move(tuple));
  }

  // The memo. No pickle needs more places than it has bytes.
  void keep(uint64_t index) {
    need(1);
    if (index >= bytes_.size()) fail("keeps a value at a place beyond any that it can need", "less", "more");
    if (memo_.size() <= index) memo_.resize(index + 1);
    memo_[index] = stack_.back();
  }
  void recall(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == nullptr)
      fail("recalls a value that it never kept", "a value kept before", "number " + std::to_string(index));
    push(memo_[index]);
  }

  void push_whole(int64_t number) { push_new({.kind = Kind::integer, .integer = number}); }
  void push_text(Kind kind, uint64_t length) { push_new({.kind = kind, .text = take(length)}); }
  void push_global(std::string_view module, std::string_view name) {
    const PickleGlobal* global = find_pickle_global(module, name);
    if (global == nullptr)
      fail("names something that weights do not need; it is not run", "tensors, and Python's own containers",
           in_quotes(std::string(module) + "." + std::string(name)));
    push_new({.kind = Kind::global, .global = global});
  }

  // One function an opcode, or a kind of opcode.
  void protocol() {
    if (const uint64_t version = take_number<1>(); version < 2 || version > 5)
      fail("is of a protocol that is not known", "2 to 5", std::to_string(version));
  }
  void frame() {
    if (take_number<8>() > bytes_.size() - at_) fail("is cut short", "a whole frame", "less");
  }
  void stop() {
    pickle_.root_ = pop();
    if (!stack_.empty() || !marks_.empty()) fail("ends with more than one value", "one", "more");
    stopped_ = true;
    pickle_.bytes_read_ = at_;
  }
  void mark() { marks_.push_back(stack_.size()); }
  void drop() { pop(); }
  void drop_to_mark() { pop_to_mark(); }
  void memoize() { keep(memo_.size()); }
  template <int width>
  void keep_at() {
    keep(take_number<width>());
  }
  template <int width>
  void recall_from() {
    recall(take_number<width>());
  }
  void none() { push(&none_); }
  template <bool value>
  void boolean() {
    push(value ? &true_ : &false_);
  }
  template <int width>
  void whole_number() {
    push_whole(static_cast<int64_t>(take_number<width>()));
  }
  void signed_number() { push_whole(static_cast<int32_t>(take_number<4>())); }
  void long_number() {
    std::string_view bytes = take(take_number<1>());
    const auto is_needless = [&] {  // the last byte only repeats the sign
      const auto last = static_cast<int8_t>(bytes.back()), before = static_cast<int8_t>(bytes[bytes.size() - 2]);
      return (last == 0 && before >= 0) || (last == -1 && before < 0);
    };
    while (bytes.size() > 8 && is_needless()) bytes.remove_suffix(1);
    if (bytes.size() > 8) return push_new({.kind = Kind::opaque});
    uint64_t number = !bytes.empty() && static_cast<int8_t>(bytes.back()) < 0 ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
    push_whole(static_cast<int64_t>(number));
  }
  void real_number() {
    take(8);
    push_new({.kind = Kind::real});
  }
  template <Kind kind, int width>
  void text() {
    push_text(kind, take_number<width>());
  }
  template <Kind kind>
  void empty() {
    push_new({.kind = kind});
  }
  void tuple_to_mark() { push_tuple(pop_to_mark()); }
  template <size_t count>
  void tuple_of() {
    push_tuple(pop_some<count>());
  }
  void append() { put_into_top(Kind::list, pop_some<1>()); }
  void appends() { put_into_top(Kind::list, pop_to_mark()); }
  void set_item() { put_into_top(Kind::dict, pop_some<2>()); }
  void set_items() { put_into_top(Kind::dict, pop_to_mark()); }
  void global() {
    const std::string_view module = take_line();
    push_global(module, take_line());
  }
  void stack_global() {
    const auto [module, name] = pop_some<2>();
    if (!module->is(Kind::text) || !name->is(Kind::text))
      fail("names something by other things than text", "a module and a name", description(*module));
    push_global(module->text, name->text);
  }

  // ('storage', kind, key, location, count[, view]); the location is a device of old and means nothing.
  void storage() {
    const Value* id = pop();
    const auto is = [&](size_t i, Kind kind) { return id->items.size() > i && id->items[i]->is(kind); };
    if (!id->is(Kind::tuple) || id->items.size() > 6 || !is(0, Kind::text) || id->items[0]->text != "storage" ||
        !is(1, Kind::global) || id->items[1]->global->makes != Makes::storage || !is(2, Kind::text) ||
        !is(4, Kind::integer) || id->items[4]->integer < 0)
      fail("refers to something outside of it that is no storage of numbers", "('storage', kind, key, device, count)",
           description(*id));
    if (id->items.size() == 6 && !is(5, Kind::none))
      fail("has a storage that is a part of another, as PyTorch before 0.4 wrote them", "whole storages", "a part");
    push_new({.kind = Kind::storage,
              .global = id->items[1]->global,
              .integer = id->items[4]->integer,
              .text = id->items[2]->text});
    pickle_.storages_.push_back(stack_.back());
  }

  // What Python would call; here it only becomes a value that says what it was to be.
  void call() {
    const auto [callee, arguments] = pop_some<2>();
    if (!callee->is(Kind::global) || !arguments->is(Kind::tuple) || callee->global->makes == Makes::storage)
      fail("calls something that makes no data", "a name, and a tuple of what it is given", description(*callee));
    const Maker& maker = kMakers[static_cast<size_t>(callee->global->makes)];
    if (!maker.fits(arguments->items))
      fail("gives " + callee->global->full_name() + " other things than PyTorch does", std::string(maker.takes),
           grouped(static_cast<int64_t>(arguments->items.size())) + " values, or of other kinds");
    push((this->*maker.make)(*callee, *arguments));
  }
  Value* make_opaque(Value& callee, Value& arguments) {
    return make({.kind = Kind::opaque, .depth = arguments.depth, .global = callee.global});
  }
  Value* make_dict(Value&, Value&) { return make({.kind = Kind::dict}); }
  Value* make_tensor(Value&, Value& arguments) {
    return make({.kind = Kind::tensor, .depth = arguments.depth, .items = arguments.items});
  }
  Value* give_first(Value&, Value& arguments) { return arguments.items[0]; }

  // State of a class: of an OrderedDict the versions of its modules.
  void build() {
    pop();
    need(1);
    if (!stack_.back()->is(Kind::dict) && !stack_.back()->is(Kind::opaque))
      fail("gives state to something that has none", "a dict", description(*stack_.back()));
  }

  Pickle& pickle_;
  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0, opcode_at_ = 0;
  bool stopped_ = false;
  std::vector<Value*> stack_, memo_;
  std::vector<size_t> marks_;
  Value &none_ = *make({}), &true_ = *make({.kind = Kind::boolean, .integer = 1}),
        &false_ = *make({.kind = Kind::boolean});
};

using M = PickleMachine;
const std::array<M::Opcode, 65> M::kOpcodes = {{
    {0x80, "PROTO", &M::protocol},
    {0x95, "FRAME", &M::frame},
    {'.', "STOP", &M::stop},
    {'(', "MARK", &M::mark},
    {'0', "POP", &M::drop},
    {'1', "POP_MARK", &M::drop_to_mark},
    {0x94, "MEMOIZE", &M::memoize},
    {'q', "BINPUT", &M::keep_at<1>},
    {'r', "LONG_BINPUT", &M::keep_at<4>},
    {'h', "BINGET", &M::recall_from<1>},
    {'j', "LONG_BINGET", &M::recall_from<4>},
    {'N', "NONE", &M::none},
    {0x88, "NEWTRUE", &M::boolean<true>},
    {0x89, "NEWFALSE", &M::boolean<false>},
    {'K', "BININT1", &M::whole_number<1>},
    {'M', "BININT2", &M::whole_number<2>},
    {'J', "BININT", &M::signed_number},
    {0x8a, "LONG1", &M::long_number},
    {'G', "BINFLOAT", &M::real_number},
    {'X', "BINUNICODE", &M::text<Kind::text, 4>},
    {0x8c, "SHORT_BINUNICODE", &M::text<Kind::text, 1>},
    {0x8d, "BINUNICODE8", &M::text<Kind::text, 8>},
    {'C', "SHORT_BINBYTES", &M::text<Kind::bytes, 1>},
    {'B', "BINBYTES", &M::text<Kind::bytes, 4>},
    {')', "EMPTY_TUPLE", &M::empty<Kind::tuple>},
    {']', "EMPTY_LIST", &M::empty<Kind::list>},
    {'}', "EMPTY_DICT", &M::empty<Kind::dict>},
    {'t', "TUPLE", &M::tuple_to_mark},
    {0x85, "TUPLE1", &M::tuple_of<1>},
    {0x86, "TUPLE2", &M::tuple_of<2>},
    {0x87, "TUPLE3", &M::tuple_of<3>},
    {'a', "APPEND", &M::append},
    {'e', "APPENDS", &M::appends},
    {'s', "SETITEM", &M::set_item},
    {'u', "SETITEMS", &M::set_items},
    {'c', "GLOBAL", &M::global},
    {0x93, "STACK_GLOBAL", &M::stack_global},
    {'Q', "BINPERSID", &M::storage},
    {'R', "REDUCE", &M::call},
    {0x81, "NEWOBJ", &M::call},
    {'b', "BUILD", &M::build},
    {'i', "INST", nullptr},
    {'o', "OBJ", nullptr},
    {0x92, "NEWOBJ_EX", nullptr},
    {0x82, "EXT1", nullptr},
    {0x83, "EXT2", nullptr},
    {0x84, "EXT4", nullptr},
    {'P', "PERSID", nullptr},
    {'2', "DUP", nullptr},
    {'I', "INT", nullptr},
    {'L', "LONG", nullptr},
    {'F', "FLOAT", nullptr},
    {0x8b, "LONG4", nullptr},
    {'S', "STRING", nullptr},
    {'T', "BINSTRING", nullptr},
    {'U', "SHORT_BINSTRING", nullptr},
    {'V', "UNICODE", nullptr},
    {0x8e, "BINBYTES8", nullptr},
    {0x96, "BYTEARRAY8", nullptr},
    {'l', "LIST", nullptr},
    {'d', "DICT", nullptr},
    {'p', "PUT", nullptr},
    {'g', "GET", nullptr},
    {0x8f, "EMPTY_SET", nullptr},
    {0x90, "ADDITEMS", nullptr},
}};

// Whatever a value can be given many times is shared, never copied: copies of copies would grow without bounds.
const std::array<M::Maker, 5> M::kMakers = {{
    {"anything", [](const auto&) { return true; }, &M::make_opaque},
    {"nothing", [](const auto& given) { return given.empty(); }, &M::make_dict},
    {"a tuple", [](const auto& given) { return given.size() == 1 && given[0]->is(Kind::tuple); }, &M::give_first},
    {"a storage, an offset, sizes, strides, and up to three remarks",
     [](const auto& given) { return given.size() >= 4 && given.size() <= 7 && given[0]->is(Kind::storage); },
     &M::make_tensor},
    {"a tensor, and remarks", [](const auto& given) { return !given.empty() && given[0]->is(Kind::tensor); },
     &M::give_first},
}};

Pickle::Pickle(std::string_view bytes, const std::string& name) {
  PickleMachine machine(*this, bytes.substr(0, kMostPickleBytes), name);
  machine.run();
}

}  // namespace ordinal::convert
