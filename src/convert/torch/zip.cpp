// zip.cpp: see zip.h.
//
// At the end of the file stands where the directory is, in 22 bytes and a comment; large archives put 76 bytes before
// them that say it in 64 bits. The directory has 46 bytes an entry, its name, and fields that hold what 32 bits cannot.
#include "convert/torch/zip.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/words.h"
#include "convert/sniff.h"
#include "ordinal/error.h"

namespace ordinal::convert {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kEntryMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50;
constexpr size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr size_t kLongestComment = 65535;
constexpr uint32_t kIn64Bits = 0xffffffff;  // a field of 32 bits whose number stands elsewhere
constexpr uint16_t kField64 = 1, kEncrypted = 1;

using Bytes = std::span<const std::byte>;

uint16_t zip_u16(Bytes bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<unsigned>(bytes[at]) | static_cast<unsigned>(bytes[at + 1]) << 8);
}

struct ZipDirectory {
  uint64_t offset, bytes, count;
};

class ZipReader {
 public:
  explicit ZipReader(const MappedFile& file) : path_(file.path()), bytes_(file.bytes()) {}

  std::vector<ZipEntry> read() {
    const ZipDirectory directory = find_directory();
    const Bytes all = bytes_.subspan(directory.offset, directory.bytes);
    if (directory.count > all.size() / kEntryBytes)
      throw damaged("a directory of " + std::to_string(directory.count) + " entries",
                    bytes_text(all.size()) + " of directory");
    std::vector<Place> places;
    places.reserve(directory.count);
    size_t at = 0;
    for (uint64_t i = 0; i < directory.count; ++i) places.push_back(read_entry(all, at, directory.offset));
    check_apart(places, directory.offset);

    std::vector<ZipEntry> entries;
    entries.reserve(places.size());
    for (const Place& place : places) entries.push_back(place.entry);
    std::ranges::sort(entries, {}, &ZipEntry::name);
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].name == entries[i - 1].name)
        throw damaged("each name once", in_quotes(entries[i].name) + " twice");
    return entries;
  }

 private:
  struct Place {
    ZipEntry entry;
    uint64_t header;  // where its own header begins
  };

  Error damaged(const std::string& expected, const std::string& found) const {
    return Error(path_ + " is a damaged zip archive", expected, found, "copy or download it again");
  }

  bool has(uint64_t at, uint64_t count) const { return at <= bytes_.size() && count <= bytes_.size() - at; }

  ZipDirectory find_directory() const {
    const size_t size = bytes_.size();
    size_t end = size;
    for (size_t comment = 0; comment <= kLongestComment && kEndBytes + comment <= size; ++comment) {
      const size_t at = size - kEndBytes - comment;
      if (read_u32(bytes_, at) != kEndMagic || zip_u16(bytes_, at + 20) != comment) continue;
      end = at;
      break;
    }
    if (end == size)
      throw Error(path_ + " is a zip archive without an end: it is truncated", "a directory at its end",
                  "none in " + bytes_text(size), "copy or download it again");
    ZipDirectory found{read_u32(bytes_, end + 16), read_u32(bytes_, end + 12), zip_u16(bytes_, end + 10)};
    uint64_t limit = end;
    if (end >= kLocator64Bytes && read_u32(bytes_, end - kLocator64Bytes) == kLocator64Magic) {
      const uint64_t at = read_u64(bytes_, end - kLocator64Bytes + 8);
      if (!has(at, kEnd64Bytes) || read_u32(bytes_, at) != kEnd64Magic)
        throw damaged("the end of its directory at byte " + std::to_string(at), "something else");
      found = {read_u64(bytes_, at + 48), read_u64(bytes_, at + 40), read_u64(bytes_, at + 32)};
      limit = at;
    }
    if (found.offset > limit || found.bytes > limit - found.offset)
      throw damaged("a directory within its " + bytes_text(size),
                    std::to_string(found.bytes) + " bytes from byte " + std::to_string(found.offset) + " on");
    return found;
  }

  // The entry at `at`, which moves behind it; `limit`: where the directory begins.
  Place read_entry(Bytes all, size_t& at, uint64_t limit) const {
    if (all.size() - at < kEntryBytes || read_u32(all, at) != kEntryMagic)
      throw damaged("an entry at byte " + std::to_string(at) + " of its directory", "something else");
    const size_t name_bytes = zip_u16(all, at + 28), field_bytes = zip_u16(all, at + 30);
    const size_t tail_bytes = name_bytes + field_bytes + zip_u16(all, at + 32);
    if (all.size() - at - kEntryBytes < tail_bytes) throw damaged("whole entries in its directory", "one cut short");
    const std::string_view name = as_text(all.subspan(at + kEntryBytes, name_bytes));
    uint64_t whole = read_u32(all, at + 24), stored = read_u32(all, at + 20), header = read_u32(all, at + 42);
    read_field64(all.subspan(at + kEntryBytes + name_bytes, field_bytes), {&whole, &stored, &header});
    if (const int method = zip_u16(all, at + 10); method != 0 || (zip_u16(all, at + 8) & kEncrypted) != 0)
      throw Error(path_ + " has a compressed or encrypted entry",
                  "entries stored as they are, as torch.save writes them",
                  in_quotes(name) + ", method " + std::to_string(method), "unpack it, and pack it again with zip -0");
    if (whole != stored) throw damaged("one size of " + in_quotes(name), "two");
    at += kEntryBytes + tail_bytes;

    if (header > limit || limit - header < kLocalBytes || read_u32(bytes_, header) != kLocalMagic)
      throw damaged("the header of " + in_quotes(name) + " at byte " + std::to_string(header), "something else");
    const uint64_t data = header + kLocalBytes + zip_u16(bytes_, header + 26) + zip_u16(bytes_, header + 28);
    if (data > limit || stored > limit - data)
      throw damaged(in_quotes(name) + " within the file",
                    std::to_string(stored) + " bytes from byte " + std::to_string(data) + " on");
    if (as_text(bytes_.subspan(header + kLocalBytes, zip_u16(bytes_, header + 26))) != name ||
        zip_u16(bytes_, header + 8) != 0)
      throw damaged("a header that says the same of " + in_quotes(name) + " as the directory", "another");
    return {{name, static_cast<int64_t>(data), static_cast<int64_t>(stored)}, header};
  }

  // What did not fit 32 bits stands in the field of that number, in this order.
  void read_field64(Bytes fields, std::initializer_list<uint64_t*> numbers) const {
    while (fields.size() >= 4) {
      const size_t length = zip_u16(fields, 2);
      if (fields.size() - 4 < length) throw damaged("whole fields in its directory", "one cut short");
      if (zip_u16(fields, 0) == kField64) {
        size_t at = 4;
        for (uint64_t* number : numbers) {
          if (*number != kIn64Bits || at + 8 > 4 + length) continue;
          *number = read_u64(fields, at);
          at += 8;
        }
      }
      fields = fields.subspan(4 + length);
    }
  }

  void check_apart(std::vector<Place>& places, uint64_t limit) const {
    std::ranges::sort(places, {}, &Place::header);
    for (size_t i = 0; i < places.size(); ++i) {
      const uint64_t end = static_cast<uint64_t>(places[i].entry.offset + places[i].entry.bytes);
      if (end > (i + 1 < places.size() ? places[i + 1].header : limit))
        throw damaged("entries apart from each other", in_quotes(places[i].entry.name) + " reaches into another");
    }
  }

  const std::string& path_;
  Bytes bytes_;
};

}  // namespace

std::vector<ZipEntry> read_zip(const MappedFile& file) { return ZipReader(file).read(); }

}  // namespace ordinal::convert
