#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Makes a ZIP archive `file`, which must not exist, of files in a folder, under their paths there
/// (ASCII, with slashes). The order is that of `paths`; times, owners and modes are not kept, so
/// that equal files give equal bytes. Throws Error with the reason; then there is no file.
void write_zip(const std::string& file, const std::string& folder,
               const std::vector<std::string>& paths);

/// One file of an archive.
struct ZippedFile {
  std::string path;         // as it is written there: it may be anything
  std::uint64_t bytes = 0;  // unpacked, as the archive says
  /// Gives the content, piece by piece, and never more than `bytes`. Throws Error where the archive
  /// is damaged. Call it at most once, while read_zip() has not returned.
  std::function<void(const std::function<void(std::string_view)>&)> read;
};
/// Reads a ZIP archive and hands over its files, in order, without the entries of folders. Throws
/// Error where it is none, or damaged.
void read_zip(const std::string& file,
              const std::function<void(const std::vector<ZippedFile>&)>& take);

}  // namespace acid
