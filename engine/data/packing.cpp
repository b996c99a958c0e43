#include "engine/data/packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"

namespace acid {
namespace {

using namespace std::literals;

constexpr std::array<Packing, 6> kPackings{{{"gzip", "\x1F\x8B"sv, "gzip -dk"},
                                            {"bzip2", "BZh"sv, "bzip2 -dk"},
                                            {"xz",
                                             "\xFD"
                                             "7zXZ\0"sv,
                                             "xz -dk"},
                                            {"zstd", "\x28\xB5\x2F\xFD"sv, "zstd -d"},
                                            {"zip", "PK\x03\x04"sv, "unzip"},
                                            {"7z", "7z\xBC\xAF\x27\x1C"sv, "7z x"}}};
constexpr std::size_t kLongestBegin = 6;

}  // namespace

std::string Packing::remedy(std::string_view path) const {
  return fmt::format("unpack it with '{} {}', and name what comes out of it", command, path);
}

const Packing* packing_of(std::string_view first_bytes) {
  const auto found = std::ranges::find_if(
      kPackings, [&](const Packing& packing) { return first_bytes.starts_with(packing.begin); });
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

}  // namespace acid
