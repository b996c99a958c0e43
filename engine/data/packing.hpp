#pragma once

#include <string>
#include <string_view>

namespace acid {

/// How the content of a file is compressed.
struct Packing {
  std::string_view name, begin, command;  // what is called so begins so and is unpacked so
  /// "unpack it with 'xz -d FILE' and name what comes out".
  std::string remedy(std::string_view path) const;
};

/// By its first bytes; nullptr where it is not known to be compressed.
const Packing* packing_of(std::string_view first_bytes);
/// nullptr also for a file that cannot be read.
const Packing* packing_of_file(const std::string& path);

}  // namespace acid
