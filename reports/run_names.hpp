#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// A run's setting for a line on a terminal.
struct SettingName {
  std::string full;    // "learning_rate 0.1, exponential, workers 16"
  std::string values;  // "0.1, exponential, 16"
};

/// By run id, what tells a run from others of its algorithm beside the seed. Settings that no
/// algorithm has several values of are left out, and how often a run is measured and saved; empty
/// where nothing differs.
std::map<std::string, SettingName> setting_names(const Store& store,
                                                 const std::vector<RunSummary>& runs);

}  // namespace acid
