#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/methods/listed.hpp"

namespace acid {

/// What the symbols in a listing's recursion mean, those that occur in it: "x: a worker's
/// parameters", "lr: …".
std::vector<std::string> notation_of(const AlgorithmEntry& entry, const Listing& listing);
/// The round as its listing has it: "max(1, steps) * (gradient step) say hear", of what has a blank
/// around every sign.
std::string written_round(std::string_view spaced);

}  // namespace acid
