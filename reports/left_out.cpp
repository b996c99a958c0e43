#include "reports/left_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/base/names.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostNamedSettings = 4;

std::string text_in(const nlohmann::json& cell, const char* key) {
  const auto found = cell.find(key);
  return found != cell.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "topology.kind = ring, workers.count = 4"; without a sweep empty.
std::string setting_words(const nlohmann::json& settings) {
  std::vector<std::string> words;
  for (const auto& [key, value] : settings.items())
    words.push_back(fmt::format("{} = {}", key, value_text(value)));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::optional<std::vector<LeftOutCell>> left_out_from(const nlohmann::json& list) {
  std::vector<LeftOutCell> cells;
  if (list.is_null()) return cells;
  if (!list.is_array()) return std::nullopt;
  for (const nlohmann::json& one : list) {
    if (!one.is_object() || !one.contains("settings") || !one.at("settings").is_object())
      return std::nullopt;
    cells.push_back({text_in(one, "label"), one.at("settings"), text_in(one, "reason")});
    if (cells.back().label.empty() || cells.back().reason.empty()) return std::nullopt;
  }
  return cells;
}

std::vector<std::string> left_out_words(const std::vector<LeftOutCell>& cells) {
  // In the order in which they come.
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> settings;
  for (const LeftOutCell& cell : cells) {
    const std::pair which(cell.label, cell.reason);
    auto known = std::ranges::find(settings, which, [](const auto& one) { return one.first; });
    if (known == settings.end()) known = settings.insert(known, {which, {}});
    const std::string setting = setting_words(cell.settings);
    if (!setting.empty() && std::ranges::find(known->second, setting) == known->second.end())
      known->second.push_back(setting);
  }
  std::vector<std::string> words;
  for (const auto& [which, at] : settings) {
    const std::string where = at.size() > kMostNamedSettings
                                  ? counted(at.size(), "setting")
                                  : fmt::format("{}", fmt::join(at, " and at "));
    words.push_back(
        fmt::format("{}{}{}: {}", which.first, where.empty() ? "" : " at ", where, which.second));
  }
  return words;
}

}  // namespace acid
