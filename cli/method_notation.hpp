#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/methods/listed.hpp"

namespace acid {

/// Explains the symbols that occur in a listing's recursion: "x: a worker's parameters", "lr: …".
std::vector<std::string> notation_of(const AlgorithmEntry& entry, const Listing& listing);
/// A round in the listing's notation: "max(1, steps) * (gradient step) say hear". `spaced` is the
/// same with a blank around every sign.
std::string written_round(std::string_view spaced);

}  // namespace acid
