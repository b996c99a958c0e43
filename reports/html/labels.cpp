#include <fmt/format.h>

#include <map>

#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {
constexpr std::string_view kKind = ".kind";
}

std::string brief_title(const ComparedPoint& point) {
  std::map<std::string, std::string> kinds;  // by table; a kind's own settings follow it
  for (const auto& [key, value] : point.settings)
    if (key.ends_with(kKind) && !value.is_null()) kinds[table_of_key(key)] = value_text(value);
  for (const auto& [key, value] : point.settings)
    if (const auto kind = kinds.find(table_of_key(key));
        kind != kinds.end() && !key.ends_with(kKind) && !value.is_null())
      kind->second += fmt::format(" {} {}", last_word(key), value_text(value));
  std::string title;
  for (const auto& [key, value] : point.settings) {
    if (value.is_null()) continue;
    const auto kind = kinds.find(table_of_key(key));
    if (kind != kinds.end() && !key.ends_with(kKind)) continue;
    const std::string name = kind != kinds.end() ? last_word(kind->first) : brief_key(key);
    title += fmt::format("{}{} = {}", title.empty() ? "" : ", ", name,
                         kind != kinds.end() ? kind->second : value_text(value));
  }
  return title.empty() ? point_title(point) : title;
}

Markup setting_cell(const nlohmann::json& value) {
  Markup cell = text(value_text(value));
  if (value.is_number_float() && cell.html != exact_text(value)) cell.exact = exact_text(value);
  return cell;
}

std::string full_label(const ReportData& data, std::size_t group) {
  for (const ComparedPoint& point : data.comparison.points)
    for (const std::size_t other : point.groups)
      if (other == group && !point.settings.empty())
        return fmt::format("{} ({})", data.comparison.groups[group].label, brief_title(point));
  return data.comparison.groups[group].label;
}

std::string place_words(const Comparison& comparison) {
  if (comparison.at.kind == ReadAt::Kind::last) return "";
  return comparison.at.kind == ReadAt::Kind::best ? "best" : "at " + place_of(comparison.at);
}

std::string curve_label(const ComparedGroup& group) {
  if (group.diverged.empty()) return group.label;
  return fmt::format("{} ({} of {} diverged)", group.label, group.diverged.size(),
                     group.outcomes());
}

std::string figures_by_point(const ReportData& data, std::string_view grid, std::string_view what,
                             const std::vector<std::string>& of_group) {
  constexpr std::size_t kMostOpenPoints = 4;
  std::vector<std::string> grids;
  for (const ComparedPoint& point : data.comparison.points) {
    std::string figures;
    for (const std::size_t g : point.groups) figures += of_group[g];
    if (!figures.empty())
      grids.push_back(fmt::format("<div class=\"{}\">\n{}</div>\n", grid, figures));
  }
  std::string open, folded;
  for (std::size_t k = 0; k < grids.size(); ++k)
    (k == 0 || grids.size() <= kMostOpenPoints ? open : folded) += grids[k];
  if (folded.empty()) return open;
  return open + details(fmt::format("{} of {} more settings", what, grids.size() - 1), folded);
}

}  // namespace acid
