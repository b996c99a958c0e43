#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/html/scale.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr double kHistogramWidth = 300, kHistogramHeight = 126, kHistogramLeft = 40,
                 kHistogramTop = 6, kHistogramBottom = 32;
constexpr std::size_t kMostLabels = 9, kFewestBars = 5, kMostBars = 40;
constexpr std::size_t kCountedTo = 255;  // this staleness and more is one count
constexpr double kRare = 0.01;

struct Shares {
  std::vector<double> bars;  // by staleness
  bool open = false;         // the last bar is for that staleness and more
  double mean = 0;
  std::size_t median = 0, largest = 0;
};

/// Joins the rare bars beyond the 99th percentile and beyond the last that fits into one.
void fold_tail(Shares& shares) {
  double tail = 0;
  std::size_t keep = shares.bars.size();
  while (keep > kFewestBars && (keep > kMostBars || tail + shares.bars[keep - 1] <= kRare))
    tail += shares.bars[--keep];
  if (keep + 1 >= shares.bars.size()) return;
  shares.bars.resize(keep);
  shares.bars.push_back(tail);
  shares.open = true;
}

Shares shares_of(const std::vector<std::int64_t>& counts) {
  Shares shares;
  const auto total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  if (!(total > 0)) return shares;
  shares.largest = counts.size() - 1;
  while (counts[shares.largest] == 0) --shares.largest;
  double below = 0;
  for (std::size_t k = 0; k <= shares.largest; ++k) {
    const double share = static_cast<double>(counts[k]) / total;
    if (below < 0.5) shares.median = k;
    below += share;
    shares.mean += static_cast<double>(k) * share;
    shares.bars.push_back(share);
  }
  fold_tail(shares);
  return shares;
}

std::string summary_of(const Shares& shares) {
  const bool beyond = shares.largest >= kCountedTo;
  return fmt::format("Staleness 0: {}; median {}, mean {}{}, largest {}{}.",
                     format_percent(shares.bars.front(), 3), shares.median,
                     beyond ? "at least " : "", format_number(shares.mean, 3), shares.largest,
                     beyond ? " or more" : "");
}

Shapes bars_of(const Shares& shares, const Scale& y, double step) {
  const std::size_t bars = shares.bars.size();
  const std::size_t every = (bars + kMostLabels - 1) / kMostLabels;
  const double width = std::min(0.8 * step, 22.0);
  std::string path;
  Shapes labels;
  for (std::size_t k = 0; k < bars; ++k) {
    const double x = kHistogramLeft + (static_cast<double>(k) + 0.5) * step;
    path += path_of("M{} {}V{}h{}V{}z", x - width / 2, y.begin, y(shares.bars[k]), width, y.begin);
    const bool last = k + 1 == bars && shares.open;
    if (last || (k % every == 0 && (!shares.open || k + every < bars)))
      labels.text(x, y.begin + 13, "middle", fmt::format("{}{}", last ? "≥ " : "", k));
  }
  Shapes out;
  out.path("bar", path).ends_line = true;
  out.add(std::move(labels));
  return out;
}

}  // namespace

PageFigure draw_staleness(const std::string& id, const std::string& title, int style,
                          const std::vector<std::int64_t>& counts) {
  const Shares shares = shares_of(counts);
  if (shares.bars.empty()) return {};
  PageFigure figure{.css_class = "small", .caption = escaped(title)};
  if (shares.bars.size() == 1 && !shares.open) {
    figure.below =
        note("No gradient was stale: every one was applied to the parameters it was computed at.");
    return figure;
  }
  const std::string summary = summary_of(shares);
  const double largest = *std::max_element(shares.bars.begin(), shares.bars.end());
  const Scale y{0, largest, kHistogramHeight - kHistogramBottom, kHistogramTop, false};
  Shapes out;
  for (const double value : ticks(y, 4)) {
    out.path("grid", path_of("M{} {}H{}", kHistogramLeft, y(value), kHistogramWidth));
    out.text(kHistogramLeft - 5, y(value) + 3.5, "end", format_percent(value, 3));
  }
  const double step = (kHistogramWidth - kHistogramLeft) /
                      static_cast<double>(std::max(shares.bars.size(), kFewestBars));
  out.group(bars_of(shares, y, step), style).ends_line = true;
  out.text((kHistogramLeft + kHistogramWidth) / 2, kHistogramHeight - 3, "middle",
           "staleness, updates", "name");
  figure.csv = "staleness,share\n";
  for (std::size_t k = 0; k < shares.bars.size(); ++k)
    figure.csv +=
        fmt::format("{}{},{}\n", k, k + 1 == shares.bars.size() && shares.open ? " or more" : "",
                    shares.bars[k]);
  figure.drawing = {id, "bars", kHistogramWidth, kHistogramHeight, title, summary, std::move(out)};
  figure.below = note(summary);
  return figure;
}

}  // namespace acid
