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

/// The seeds that a text means: "1-30" are 1 to 30, "1-5, 9" these and 9, in the order written.
/// UsageError, which quotes what is wrong, for what is no whole number from 0, for a range that
/// goes down and for more than kMostSeeds.
std::vector<std::uint64_t> seeds_of(std::string_view text);

/// The same of a recipe's key: such a text, or a list of whole numbers and such texts. Reports what
/// is wrong where it stands, a seed that is there twice too; what has an error is left out.
/// `refusal` says what else is wrong with a seed: nothing, where it is empty.
std::vector<std::uint64_t> read_seeds(
    const Node& node, const std::string& remedy, Diagnostics& diagnostics,
    const std::function<std::string(std::uint64_t)>& refusal = nullptr);

}  // namespace acid
