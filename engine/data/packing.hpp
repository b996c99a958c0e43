#pragma once

#include <string>
#include <string_view>

namespace acid {

/// A compression format of files.
struct Packing {
  // Name of the format, its first bytes, the program that unpacks it.
  std::string_view name, begin, command;
  /// The advice "unpack it with 'xz -d FILE' and name what comes out".
  std::string remedy(std::string_view path) const;
};

/// The format with these first bytes; nullptr when no known format has them.
const Packing* packing_of(std::string_view first_bytes);
/// As above; nullptr also for a file that cannot be read.
const Packing* packing_of_file(const std::string& path);

}  // namespace acid
