#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace acid {

/// A text put together when the program is compiled: choices and help of keys that name the entries
/// of a table. At most 600 bytes.
struct StaticText {
  std::array<char, 600> characters = {};
  std::size_t size = 0;
  constexpr StaticText& add(std::string_view text) {
    for (const char c : text) characters.at(size++) = c;
    return *this;
  }
  constexpr StaticText& names(const auto& entries, std::string_view between,
                              std::string_view before_last) {
    for (std::size_t k = 0; k < entries.size(); ++k)
      add(k == 0 ? "" : k + 1 < entries.size() ? between : before_last).add(entries[k].name);
    return *this;
  }
  constexpr std::string_view view() const { return {characters.data(), size}; }
};

}  // namespace acid
