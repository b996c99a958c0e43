#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace acid {

/// Where the first dotted key of more than kMostParts parts begins in a TOML text. Tables nest as
/// deep as a key has parts, toml++ walks them by recursion without a limit, and the stack has one.
/// Takes time in proportion to the text; strings and comments are skipped, whatever is no TOML is
/// left to the parser.
std::optional<std::size_t> overlong_key(std::string_view toml);

}  // namespace acid
