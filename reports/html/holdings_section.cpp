// The examples from which the workers draw their minibatches.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostFigures = 8;
constexpr std::size_t kMostClasses = 100;
constexpr const char* kPartition = "task.partition.";

/// The details of the group's first seed.
const RunDetail* run_of(const ReportData& data, std::size_t g) {
  for (const RunSummary& run : data.comparison.groups[g].runs) {
    const auto found = std::ranges::find_if(
        data.runs, [&](const RunDetail& each) { return each.summary.id == run.id; });
    if (found != data.runs.end() && !found->holdings.empty()) return &*found;
  }
  return nullptr;
}

/// "glyphs, dirichlet alpha 0.1, 16 workers, seed 1".
std::string title_of(const RunDetail& run) {
  const FlatSettings flat = flatten(run.settings);
  const auto kind = flat.find(kPartition + std::string("kind"));
  std::string title = value_text(value_at(flat, "task.dataset.kind"));
  if (kind != flat.end()) title += ", " + value_text(kind->second);
  for (const auto& [key, value] : flat)
    if (key.starts_with(kPartition) && !key.ends_with(".kind") && !value.is_null())
      title +=
          fmt::format(" {} {}", key.substr(std::string_view(kPartition).size()), value_text(value));
  return fmt::format("{}, {}, seed {}", title, counted(run.holdings.size(), "worker"),
                     run.summary.seed);
}

/// Whether workers have different examples; else the partition is not worth showing.
bool differ(const std::vector<std::vector<std::int64_t>>& holdings) {
  return std::ranges::any_of(holdings, [&](const auto& each) { return each != holdings.front(); });
}

std::string sizes(const std::vector<std::vector<std::int64_t>>& holdings) {
  std::vector<std::int64_t> sums;
  for (const auto& counts : holdings) {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    sums.push_back(sum);
  }
  std::ranges::sort(sums);
  return fmt::format("A worker holds {} to {} examples, the median {}.", sums.front(), sums.back(),
                     sums[sums.size() / 2]);
}

}  // namespace

PageFigure holdings_figure(const ReportData& data, std::size_t group) {
  const RunDetail* run = run_of(data, group);
  if (run == nullptr || !differ(run->holdings)) return {};
  const std::string title = title_of(*run), id = fmt::format("holdings-{}", group);
  const std::size_t classes = run->holdings.front().size();
  if (classes == 1) {
    std::vector<double> examples;
    for (const auto& counts : run->holdings)
      examples.push_back(static_cast<double>(counts.front()));
    return draw_bars(id, "Examples: " + title, data.styles[group], examples, false);
  }
  if (std::ssize(run->holdings) <= kMostDrawnWorkers && classes <= kMostClasses)
    return draw_holdings(id, title, run->holdings);
  return {.css_class = "small",
          .caption = escaped(title),
          .below = note(fmt::format("{} Not drawn: more than {} workers or {} classes.",
                                    sizes(run->holdings), kMostDrawnWorkers, kMostClasses))};
}

std::string holdings_section(const ReportData& data) {
  std::string figures;
  std::set<std::vector<std::vector<std::int64_t>>> drawn;  // several algorithms have the same
  std::size_t left_out = 0;
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g) {
    const RunDetail* run = run_of(data, g);
    if (run == nullptr || !differ(run->holdings) || !drawn.insert(run->holdings).second) continue;
    if (drawn.size() <= kMostFigures)
      figures += holdings_figure(data, g).html();
    else
      ++left_out;
  }
  if (figures.empty()) return "";
  return fmt::format(
      "{}<div class=\"smalls\">\n{}</div>\n{}",
      paragraph("The examples that each worker draws its minibatches from, by class."), figures,
      left_out > 0 ? paragraph(fmt::format("{} more: acid figure … --chart holdings --where "
                                           "KEY=VALUE draws one.",
                                           counted(left_out, "partition")))
                   : "");
}

}  // namespace acid
