#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// A run's setting for a line on a terminal.
struct SettingName {
  std::string full;    // "learning_rate 0.1, exponential, workers 16"
  std::string values;  // "0.1, exponential, 16"
};

/// By run id, what distinguishes a run from others of its algorithm besides the seed. Settings that
/// have one value for each algorithm are left out, how often a run is measured and saved, and keys
/// that are `told` elsewhere; empty if nothing differs.
std::map<std::string, SettingName> setting_names(const Store& store,
                                                 const std::vector<RunSummary>& runs,
                                                 const std::set<std::string>& told = {});
/// By run, in their order: SettingName::full among the runs of its experiment.
std::vector<std::string> settings_in_experiments(const Store& store,
                                                 const std::vector<RunSummary>& runs,
                                                 const std::set<std::string>& told);

}  // namespace acid
