#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/error.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr double kHeatmapSize = 200, kHeatmapLeft = 22, kHeatmapTop = 16, kScaleHeight = 36;
constexpr int kLevels = 9;  // h0 … h8 in the style sheet

int level_of(double value, double largest) {
  if (!(largest > 0)) return 0;
  return std::clamp(static_cast<int>(value / largest * kLevels), 0, kLevels - 1);
}

struct Cell {
  int row, column;
  double value;
};

/// One path per colour, in units of one cell's height: far fewer bytes than a rectangle per cell.
void add_cells(Shapes& out, int rows, int columns, const std::vector<Cell>& cells, double largest) {
  std::array<std::string, kLevels> paths;
  const double width = static_cast<double>(rows) / columns;
  for (const Cell& cell : cells)
    paths[static_cast<std::size_t>(level_of(cell.value, largest))] +=
        fmt::format("M{0:.5g} {1}h{2:.5g}v1h-{2:.5g}z", cell.column * width, cell.row, width);
  Shapes shapes;
  for (int level = 0; level < kLevels; ++level)
    if (const std::string& path = paths[static_cast<std::size_t>(level)]; !path.empty())
      shapes.path(fmt::format("h{}", level), path).ends_line = true;
  DrawnShape& group = out.group(std::move(shapes));
  group.place = shifted(kHeatmapLeft, kHeatmapTop).scaled(kHeatmapSize / rows, 4);
  group.opens_line = group.ends_line = true;
}

/// The square around the cells, with the numbers of its first and last row and column.
void add_frame(Shapes& out, int rows, int columns) {
  out.path("axis", path_of("M{0} {1}h{2}v{2}h-{2}z", kHeatmapLeft, kHeatmapTop, kHeatmapSize))
      .ends_line = true;
  const double height = kHeatmapSize / rows, width = kHeatmapSize / columns;
  for (const int row : {0, rows - 1}) {
    out.text(kHeatmapLeft - 4, kHeatmapTop + (row + 0.5) * height + 3, "end", std::to_string(row));
    if (rows == 1) break;
  }
  for (const int column : {0, columns - 1}) {
    out.text(kHeatmapLeft + (column + 0.5) * width, kHeatmapTop - 4, "middle",
             std::to_string(column));
    if (columns == 1) break;
  }
}

/// Explains the cells, above them, and the scale of colours.
void add_legend(Shapes& out, std::string_view above, double largest, const std::string& unit) {
  out.text(kHeatmapLeft + kHeatmapSize / 2, kHeatmapTop - 4, "middle", above);
  const double y = kHeatmapTop + kHeatmapSize + 10, width = kHeatmapSize / kLevels;
  for (int level = 0; level < kLevels; ++level)
    out.rect(fmt::format("h{}", level), kHeatmapLeft + level * width, y, width, 8);
  out.text(kHeatmapLeft, y + 20, "start", "0");
  out.text(kHeatmapLeft + kHeatmapSize, y + 20, "end", format_number(largest, 3) + " " + unit);
}

/// The realised rates compared with the nominal ones, edge by edge.
std::string ratio_text(const std::vector<RatedEdge>& edges) {
  std::vector<std::pair<double, const RatedEdge*>> ratios;
  for (const RatedEdge& edge : edges)
    if (edge.nominal > 0) ratios.emplace_back(edge.realised / edge.nominal, &edge);
  if (ratios.empty()) return "There are no nominal rates.";
  std::stable_sort(ratios.begin(), ratios.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto at = [](const std::pair<double, const RatedEdge*>& ratio) {
    return fmt::format("{} (edge {}–{})", format_number(ratio.first, 3), ratio.second->i,
                       ratio.second->j);
  };
  return fmt::format("Realised ÷ nominal: {} to {}, median {}.", at(ratios.front()),
                     at(ratios.back()), format_number(ratios[ratios.size() / 2].first, 3));
}

PageFigure figure(const std::string& id, const std::string& title, const std::string& summary,
                  std::string csv, Shapes shapes) {
  return {.css_class = "small",
          .caption = escaped(title),
          .drawing =
              Drawing{id, "heat", kHeatmapLeft + kHeatmapSize + 4,
                      kHeatmapTop + kHeatmapSize + kScaleHeight, title, summary, std::move(shapes)},
          .below = note(summary),
          .csv = std::move(csv)};
}

}  // namespace

PageFigure draw_pairing(const std::string& id, const std::string& title, int workers,
                        const std::vector<RatedEdge>& edges) {
  ACID_ASSERT(workers >= 1 && workers <= kMostDrawnWorkers, "{} workers", workers);
  double largest = 0;
  for (const RatedEdge& edge : edges) largest = std::max({largest, edge.nominal, edge.realised});
  const std::string summary =
      "Nominal exchange rates above the diagonal, realised ones below. " + ratio_text(edges);
  std::vector<Cell> cells;
  std::string csv = "i,j,nominal,realised\n";
  for (const RatedEdge& edge : edges) {
    const int low = std::min(edge.i, edge.j), high = std::max(edge.i, edge.j);
    cells.push_back({low, high, edge.nominal});
    cells.push_back({high, low, edge.realised});
    csv += fmt::format("{},{},{},{}\n", edge.i, edge.j, edge.nominal, edge.realised);
  }
  Shapes out;
  out.path("axis", path_of("M{0} {1}l{2} {2}", kHeatmapLeft, kHeatmapTop, kHeatmapSize)).ends_line =
      true;
  add_cells(out, workers, workers, cells, largest);
  add_frame(out, workers, workers);
  add_legend(out, "nominal ◹  realised ◺", largest, "exchanges per unit time");
  return figure(id, title, summary, csv, std::move(out));
}

PageFigure draw_holdings(const std::string& id, const std::string& title,
                         const std::vector<std::vector<std::int64_t>>& holdings) {
  const int workers = static_cast<int>(holdings.size());
  ACID_ASSERT(workers >= 1 && workers <= kMostDrawnWorkers, "{} workers", workers);
  const int classes = static_cast<int>(holdings[0].size());
  std::vector<Cell> cells;
  std::string csv = "worker,class,examples\n";
  std::int64_t largest = 0, least = std::numeric_limits<std::int64_t>::max(), most = 0;
  int fewest = classes, widest = 0;
  for (int worker = 0; worker < workers; ++worker) {
    std::int64_t sum = 0;
    int held = 0;
    for (int k = 0; k < classes; ++k) {
      const std::int64_t count =
          holdings[static_cast<std::size_t>(worker)][static_cast<std::size_t>(k)];
      sum += count;
      largest = std::max(largest, count);
      if (count == 0) continue;
      ++held;
      cells.push_back({k, worker, static_cast<double>(count)});
      csv += fmt::format("{},{},{}\n", worker, k, count);
    }
    least = std::min(least, sum), most = std::max(most, sum);
    fewest = std::min(fewest, held), widest = std::max(widest, held);
  }
  const auto range = [](auto from, auto to) {
    return from == to ? fmt::format("{}", from) : fmt::format("{} to {}", from, to);
  };
  const std::string summary = fmt::format("A worker holds {} examples, of {} of the {} classes.",
                                          range(least, most), range(fewest, widest), classes);
  Shapes out;
  add_cells(out, classes, workers, cells, static_cast<double>(largest));
  add_frame(out, classes, workers);
  add_legend(out, "workers →, classes ↓", static_cast<double>(largest), "examples");
  return figure(id, title, summary, csv, std::move(out));
}

}  // namespace acid
