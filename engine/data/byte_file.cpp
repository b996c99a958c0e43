#include "engine/data/byte_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"

namespace acid {
namespace {

using namespace std::literals;

// In `begin` ? stands for any byte: a text may begin with BZh, and bzip2 has the size of blocks
// then, and a block, or the end of all.
constexpr std::array<Packing, 7> kPackings{
    {{"gzip", "\x1F\x8B"sv, "gzip -dk"},
     {"bzip2", "BZh?1AY&SY"sv, "bzip2 -dk"},
     {"bzip2", "BZh?\x17\x72\x45\x38\x50\x90"sv, "bzip2 -dk"},
     {"xz",
      "\xFD"
      "7zXZ\0"sv,
      "xz -dk"},
     {"zstd", "\x28\xB5\x2F\xFD"sv, "zstd -d"},
     {"zip", "PK\x03\x04"sv, "unzip"},
     {"7z", "7z\xBC\xAF\x27\x1C"sv, "7z x"}}};
constexpr std::size_t kLongestBegin = 10;

// Deflate cannot shrink data by more than this factor (RFC 1951: 258 bytes in two bits).
constexpr std::int64_t kBestDeflateRatio = 1032;
constexpr std::size_t kReadBytesAtMost = 1 << 30;  // zlib counts in unsigned int

}  // namespace

std::string Packing::remedy(std::string_view path) const {
  return fmt::format("unpack it with '{} {}', and name what comes out of it", command, path);
}

const Packing* packing_of(std::string_view first_bytes) {
  const auto found = std::ranges::find_if(kPackings, [&](const Packing& packing) {
    return std::ranges::equal(packing.begin, first_bytes.substr(0, packing.begin.size()),
                              [](char wanted, char c) { return wanted == '?' || wanted == c; });
  });
  return found == kPackings.end() ? nullptr : &*found;
}

const Packing* packing_of_file(const std::string& path) {
  try {
    const RegularFile file(path);
    std::array<char, kLongestBegin> first;
    return packing_of({first.data(), file.read(std::as_writable_bytes(std::span(first)))});
  } catch (const Error&) {
    return nullptr;
  }
}

/// The content of a file, decompressed if it is gzip. zlib's own gzread() is not used, because it
/// accepts a stream without its checksum as complete.
struct ByteFile::Handle {
  explicit Handle(const std::string& path) : file(path) {
    fill();
    packing = packing_of({reinterpret_cast<const char*>(input.data()), stream.avail_in});
    packed = begins_a_stream();
    if (packed) inside = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;  // 16: gzip only
  }
  ~Handle() {
    if (packed) inflateEnd(&stream);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Returns how many bytes it read; fewer than asked for only at the end, or with `problem`.
  std::size_t read(std::span<std::uint8_t> out);

  const RegularFile file;
  bool packed = false;
  bool inside = false;  // in a stream whose end has not come
  const Packing* packing = nullptr;
  std::string problem;

 private:
  void fill();
  bool begins_a_stream() const;
  bool at_end_of_file();

  std::array<std::uint8_t, 1 << 16> input{};
  z_stream stream{};  // also holds the input of a plain file
};

void ByteFile::Handle::fill() {
  // Moves the unread input to the front.
  std::copy_n(stream.next_in, stream.avail_in, input.data());
  stream.next_in = input.data();
  const auto rest = std::span(input).subspan(stream.avail_in);
  stream.avail_in += static_cast<unsigned>(file.read(std::as_writable_bytes(rest)));
}

bool ByteFile::Handle::begins_a_stream() const {
  const std::string_view first(reinterpret_cast<const char*>(stream.next_in), stream.avail_in);
  return first.starts_with(kPackings[0].begin);
}

bool ByteFile::Handle::at_end_of_file() {
  if (stream.avail_in == 0) fill();
  return stream.avail_in == 0;
}

std::size_t ByteFile::Handle::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size() && problem.empty() && !at_end_of_file()) {
    const auto ask = static_cast<unsigned>(std::min(out.size() - done, kReadBytesAtMost));
    if (!packed) {
      const unsigned some = std::min(ask, stream.avail_in);
      std::copy_n(stream.next_in, some, out.data() + done);
      stream.next_in += some;
      stream.avail_in -= some;
      done += some;
      continue;
    }
    // Another stream may follow; any other bytes after the last stream are no content.
    if (!inside) {
      if (stream.avail_in < 2) fill();
      if (!begins_a_stream()) break;
      inside = inflateReset(&stream) == Z_OK;
    }
    stream.next_out = out.data() + done;
    stream.avail_out = ask;
    const int code = inflate(&stream, Z_NO_FLUSH);
    done += ask - stream.avail_out;
    if (code == Z_STREAM_END)
      inside = false;
    else if (code != Z_OK && code != Z_BUF_ERROR)
      problem = stream.msg != nullptr ? stream.msg : "damaged gzip content";
  }
  return done;
}

ByteFile::ByteFile(std::string path, std::string remedy)
    : path_(std::move(path)), remedy_(std::move(remedy)), handle_(std::make_unique<Handle>(path_)) {
  if (handle_->packing != nullptr && !handle_->packed)
    throw Error(fmt::format("{}: found {} content, of which only gzip is read as it is; {}", path_,
                            handle_->packing->name, handle_->packing->remedy(path_)));
}

ByteFile::~ByteFile() = default;
ByteFile::ByteFile(ByteFile&&) noexcept = default;

void ByteFile::fail(std::int64_t offset, std::string_view expected, std::string_view found) const {
  throw Error(fmt::format("{}: at byte {}: expected {}, found {}; {}", path_, offset, expected,
                          found, remedy_));
}

std::int64_t ByteFile::read_some(std::span<std::uint8_t> out) {
  const std::size_t got = handle_->read(out);
  offset_ += static_cast<std::int64_t>(got);
  if (!handle_->problem.empty()) fail(offset_, "readable content", handle_->problem);
  return static_cast<std::int64_t>(got);
}

void ByteFile::read(std::span<std::uint8_t> out, std::string_view what) {
  const std::int64_t begin = offset_;
  const std::int64_t got = read_some(out);
  if (got < std::ssize(out))
    fail(offset_, fmt::format("{} ({} bytes from byte {})", what, out.size(), begin),
         "the end of the file");
}

std::uint32_t ByteFile::read_big_endian32(std::string_view what) {
  std::array<std::uint8_t, 4> bytes{};
  read(bytes, what);
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes) value = (value << 8) | byte;
  return value;
}

std::string ByteFile::read_rest() {
  std::string text;
  std::vector<std::uint8_t> block(1 << 16);
  while (const std::int64_t got = read_some(block))
    text.append(reinterpret_cast<const char*>(block.data()), static_cast<std::size_t>(got));
  expect_end();
  return text;
}

void ByteFile::expect_end() {
  const std::int64_t end = offset_;
  std::array<std::uint8_t, 1> extra{};
  if (read_some(extra) > 0) fail(end, "the end of the file", "more bytes");
  if (handle_->inside)
    fail(end, "the checksum that ends a gzip stream", "the end of the file: it was cut off");
}

void ByteFile::expect_size(std::int64_t bytes, std::string_view what) const {
  const std::int64_t on_disk = handle_->file.bytes();
  if (!handle_->packed) {
    if (on_disk != bytes)
      fail(std::min(bytes, on_disk), fmt::format("{} bytes in all ({})", bytes, what),
           fmt::format("a file of {}", on_disk));
  } else if (bytes / kBestDeflateRatio > on_disk) {
    fail(on_disk, fmt::format("{} bytes when decompressed ({})", bytes, what),
         fmt::format("a compressed file of {}", on_disk));
  }
}

}  // namespace acid
