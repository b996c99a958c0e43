#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace acid {

/// The offset of the first dotted key with more than kMostParts parts in a TOML text. toml++
/// recurses once per part without a limit and could overflow the stack. Linear time; skips strings
/// and comments, and leaves invalid TOML to the parser.
std::optional<std::size_t> overlong_key(std::string_view toml);

}  // namespace acid
