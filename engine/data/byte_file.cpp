#include "engine/data/byte_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// Deflate cannot shrink anything by more than this factor (RFC 1951: 258 bytes in two bits).
constexpr std::int64_t kBestDeflateRatio = 1032;
constexpr std::size_t kReadBytesAtMost = 1 << 30;  // gzread counts in int

}  // namespace

struct ByteFile::Handle {
  gzFile file;
  explicit Handle(const std::string& path) : file(gzopen(path.c_str(), "rb")) {}
  ~Handle() {
    if (file != nullptr) gzclose(file);
  }
};

ByteFile::ByteFile(std::string path, std::string remedy)
    : path_(std::move(path)), remedy_(std::move(remedy)), handle_(std::make_unique<Handle>(path_)) {
  if (handle_->file == nullptr || std::filesystem::is_directory(path_))
    throw Error(fmt::format("cannot read {}: check the path and its permissions", path_));
}

ByteFile::~ByteFile() = default;
ByteFile::ByteFile(ByteFile&&) noexcept = default;

void ByteFile::fail(std::int64_t offset, std::string_view expected, std::string_view found) const {
  throw Error(fmt::format("{}: at byte {}: expected {}, found {}; {}", path_, offset, expected,
                          found, remedy_));
}

std::int64_t ByteFile::read_some(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto ask = static_cast<unsigned>(std::min(out.size() - done, kReadBytesAtMost));
    const int got = gzread(handle_->file, out.data() + done, ask);
    if (got < 0) {
      int code = 0;
      fail(offset_, "readable content", gzerror(handle_->file, &code));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    offset_ += got;
  }
  return static_cast<std::int64_t>(done);
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
  int code = Z_OK;
  const char* message = gzerror(handle_->file, &code);
  if (code != Z_OK && code != Z_STREAM_END) fail(end, "a complete gzip stream", message);
}

void ByteFile::expect_size(std::int64_t bytes, std::string_view what) const {
  std::error_code error;
  const auto on_disk = static_cast<std::int64_t>(std::filesystem::file_size(path_, error));
  if (error) throw Error(fmt::format("cannot read {}: {}", path_, error.message()));
  if (gzdirect(handle_->file) != 0) {
    if (on_disk != bytes)
      fail(std::min(bytes, on_disk), fmt::format("{} bytes in all ({})", bytes, what),
           fmt::format("a file of {}", on_disk));
  } else if (bytes / kBestDeflateRatio > on_disk) {
    fail(on_disk, fmt::format("{} bytes when decompressed ({})", bytes, what),
         fmt::format("a compressed file of {}", on_disk));
  }
}

}  // namespace acid
