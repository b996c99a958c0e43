#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// The comparison in one line: experiment, data, model, graph and workers, driver, stragglers and
/// simulated network, seeds: "first · quadratic(64) · ring 16 · virtual (simulated seconds) ·
/// worker 0 10 × as slow · network 1 GB/s, 100 µs · seeds 1-3". Where runs differ in one of these
/// all values are named, or counted if they are many. Parts that no run has are left out.
std::string heading_of(const std::vector<ComparedRun>& runs);
/// "1-3, 7", or "9 of them" where that would be long.
std::string seeds_text(const std::set<std::uint64_t>& seeds);

/// "as of 260 MB vectors": whose bytes and seconds a simulated run has that stands for a large
/// model; empty: its own.
std::string stand_in_words(const nlohmann::json& settings);

}  // namespace acid
