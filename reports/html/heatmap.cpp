#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/html/svg.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr double kHeatmapSize = 200, kHeatmapLeft = 22, kHeatmapTop = 16, kScaleHeight = 36;
constexpr int kLevels = 9;  // h0 … h8 in the style sheet

int level_of(double value, double largest) {
  if (!(largest > 0)) return 0;
  return std::clamp(static_cast<int>(value / largest * kLevels), 0, kLevels - 1);
}

/// One path per colour, in units of one cell: far fewer bytes than a rectangle per pair.
std::string cells(int workers, const std::vector<RatedEdge>& edges, double largest) {
  std::array<std::string, kLevels> paths;
  const auto fill = [&](int row, int column, double value) {
    paths[static_cast<std::size_t>(level_of(value, largest))] +=
        fmt::format("M{} {}h1v1h-1z", column, row);
  };
  for (const RatedEdge& edge : edges) {
    const int low = std::min(edge.i, edge.j), high = std::max(edge.i, edge.j);
    fill(low, high, edge.nominal);
    fill(high, low, edge.realised);
  }
  const double cell = kHeatmapSize / workers;
  std::string out = fmt::format("<g transform=\"translate({} {}) scale({:.4f})\">\n",
                                svg_number(kHeatmapLeft), svg_number(kHeatmapTop), cell);
  for (int level = 0; level < kLevels; ++level)
    if (const std::string& path = paths[static_cast<std::size_t>(level)]; !path.empty())
      out += fmt::format("<path class=\"h{}\" d=\"{}\"/>\n", level, path);
  return out + "</g>\n";
}

std::string colour_scale(double largest) {
  const double y = kHeatmapTop + kHeatmapSize + 10, width = kHeatmapSize / kLevels;
  std::string out;
  for (int level = 0; level < kLevels; ++level)
    out += fmt::format("<rect class=\"h{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"8\"/>", level,
                       svg_number(kHeatmapLeft + level * width), svg_number(y), svg_number(width));
  out += svg_text(kHeatmapLeft, y + 20, "start", "0");
  return out + svg_text(kHeatmapLeft + kHeatmapSize, y + 20, "end",
                        format_number(largest, 3) + " exchanges per unit time");
}

/// How far realised rates are from nominal ones, edge by edge.
std::string ratio_text(const std::vector<RatedEdge>& edges) {
  std::vector<std::pair<double, const RatedEdge*>> ratios;
  for (const RatedEdge& edge : edges)
    if (edge.nominal > 0) ratios.emplace_back(edge.realised / edge.nominal, &edge);
  if (ratios.empty()) return "";
  std::stable_sort(ratios.begin(), ratios.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto at = [](const std::pair<double, const RatedEdge*>& ratio) {
    return fmt::format("{} (edge {}–{})", format_number(ratio.first, 3), ratio.second->i,
                       ratio.second->j);
  };
  return fmt::format("Realised ÷ nominal: {} to {}, median {}.", at(ratios.front()),
                     at(ratios.back()), format_number(ratios[ratios.size() / 2].first, 3));
}

}  // namespace

std::string draw_pairing(const std::string& id, const std::string& title, int workers,
                         const std::vector<RatedEdge>& edges) {
  ACID_ASSERT(workers >= 1 && workers <= kMostDrawnWorkers, "{} workers", workers);
  double largest = 0;
  for (const RatedEdge& edge : edges) largest = std::max({largest, edge.nominal, edge.realised});
  const std::string summary =
      "Nominal exchange rates above the diagonal, realised ones below. " + ratio_text(edges);
  std::string out = svg_open(id, "heat", kHeatmapLeft + kHeatmapSize + 4,
                             kHeatmapTop + kHeatmapSize + kScaleHeight, title, summary);
  out += fmt::format("<path class=\"axis\" d=\"M{0} {1}h{2}v{2}h-{2}zl{2} {2}\"/>\n",
                     svg_number(kHeatmapLeft), svg_number(kHeatmapTop), svg_number(kHeatmapSize));
  out += cells(workers, edges, largest);
  const double cell = kHeatmapSize / workers;
  for (const int i : {0, workers - 1}) {
    out += svg_text(kHeatmapLeft - 4, kHeatmapTop + (i + 0.5) * cell + 3, "end", std::to_string(i));
    out += svg_text(kHeatmapLeft + (i + 0.5) * cell, kHeatmapTop - 4, "middle", std::to_string(i));
    if (workers == 1) break;
  }
  out +=
      svg_text(kHeatmapLeft + kHeatmapSize / 2, kHeatmapTop - 4, "middle", "nominal ◹  realised ◺");
  out += colour_scale(largest) + "</svg>\n";
  std::string csv = "i,j,nominal,realised\n";
  for (const RatedEdge& edge : edges)
    csv += fmt::format("{},{},{},{}\n", edge.i, edge.j, edge.nominal, edge.realised);
  return fmt::format(
      "<figure class=\"small\"{}>\n<figcaption>{}</figcaption>\n{}<p class=\"note\">{}</p>\n"
      "</figure>\n",
      data_values(csv), escaped(title), out, escaped(summary));
}

}  // namespace acid
