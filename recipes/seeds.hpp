#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/diagnostics.hpp"

namespace acid {

/// A list with more of them is a mistake.
inline constexpr std::size_t kMostSeeds = 10'000;

/// The seeds that a text lists, in the order written: "1-30" is 1 to 30, "1-5, 9" is 1 to 5 and 9.
/// UsageError, with the wrong part quoted, unless all are whole numbers from 0 and ranges ascend,
/// or for more than kMostSeeds.
std::vector<std::uint64_t> seeds_of(std::string_view text);

/// The seeds of a recipe's key: such a text, or a list of whole numbers and such texts. Reports
/// mistakes at their places, also repeated seeds, and leaves them out. `refusal`: returns what else
/// is wrong with a seed, empty if nothing.
std::vector<std::uint64_t> read_seeds(
    const Node& node, const std::string& remedy, Diagnostics& diagnostics,
    const std::function<std::string(std::uint64_t)>& refusal = nullptr);

}  // namespace acid
