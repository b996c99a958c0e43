#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace acid {

/// A cell of a sweep of which nothing runs, as ExperimentRecord::comparison has it.
struct LeftOutCell {
  std::string label;
  nlohmann::json settings;  // swept values by dotted key
  std::string reason;
  bool operator==(const LeftOutCell&) const = default;
};

/// From to_json(Plan::left_out); null: none. Nothing if acid did not write it.
std::optional<std::vector<LeftOutCell>> left_out_from(const nlohmann::json& list);

/// One text for each algorithm and reason: "D² at topology.kind ring, star: d2 needs …". Many
/// settings are counted.
std::vector<std::string> left_out_words(const std::vector<LeftOutCell>& cells);

}  // namespace acid
