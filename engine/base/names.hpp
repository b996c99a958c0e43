#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace acid {

/// The known name a person probably meant: smallest edit distance (a swap of neighbours counts
/// one), at most a third of the word's length plus one. Ties go to the earlier name.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> known);

/// "a, b or c".
std::string one_of(std::span<const std::string> names);

}  // namespace acid
