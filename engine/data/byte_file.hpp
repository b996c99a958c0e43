#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace acid {

/// A compression format of files.
struct Packing {
  // Name of the format, its first bytes, the program that unpacks it.
  std::string_view name, begin, command;
  /// The advice "unpack it with 'xz -dk FILE', and name what comes out of it".
  std::string remedy(std::string_view path) const;
};

/// The format with these first bytes; nullptr when no known format has them.
const Packing* packing_of(std::string_view first_bytes);
/// As above; nullptr also for a file that cannot be read.
const Packing* packing_of_file(const std::string& path);

/// A data file read front to back. Gzip content is decompressed on the way; other compressions are
/// refused. Every failure throws Error naming the file, the byte offset (in the decompressed
/// content), what was expected there, what was found, and what to do. One thread at a time.
class ByteFile {
 public:
  /// `remedy` ends every error message, such as "download it again".
  ByteFile(std::string path, std::string remedy);
  ~ByteFile();
  ByteFile(ByteFile&&) noexcept;
  ByteFile& operator=(ByteFile&&) = delete;

  /// Fills `out` with the next bytes; `what` names them in errors.
  void read(std::span<std::uint8_t> out, std::string_view what);
  std::uint32_t read_big_endian32(std::string_view what);
  /// Returns all bytes that are left.
  std::string read_rest();
  /// Throws unless everything was read and, for gzip content, the checksum is there and right.
  void expect_end();

  std::int64_t offset() const { return offset_; }
  /// Throws unless the whole content can be `bytes` long: exact for plain files, an upper bound
  /// from deflate's best ratio for compressed ones. Reads nothing, so headers can be trusted before
  /// memory is allocated from them.
  void expect_size(std::int64_t bytes, std::string_view what) const;
  [[noreturn]] void fail(std::int64_t offset, std::string_view expected,
                         std::string_view found) const;

 private:
  struct Handle;
  std::int64_t read_some(std::span<std::uint8_t> out);

  std::string path_, remedy_;
  std::unique_ptr<Handle> handle_;
  std::int64_t offset_ = 0;
};

}  // namespace acid
