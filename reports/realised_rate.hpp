#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/comparison.hpp"

namespace acid {

/// The exchanges per worker and gradient that a run's settings ask for; absent without pairwise
/// exchanges.
std::optional<double> nominal_rate(const nlohmann::json& settings);

/// "AD-PSGD 2, A²CiD² 1" if compared methods exchange at different rates of their own. Empty if all
/// exchange equally often, and if one method has several rates: a study of the rate.
std::string different_rates(const Comparison& comparison);

/// Words for a realised rate, 2 × exchanges ÷ gradients over runs with so many gradients in all,
/// that is more than 5 % off the nominal one: "0.538 exchanges per gradient instead of 1 (−46 %)…".
/// They say so if chance explains it. `saturated`: the nominal rate is the one that a plan expected
/// of exchanges as often as possible.
std::optional<std::string> rate_doubt(double nominal, double realised, double gradients,
                                      bool saturated = false);
/// Whether the run's workers exchange as often as they can.
bool saturates(const nlohmann::json& settings);

}  // namespace acid
