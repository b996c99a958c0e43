#include "reports/html/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "reports/html/markup.hpp"
#include "reports/html/scale.hpp"
#include "reports/html/sections.hpp"
#include "settings/drivers.hpp"

namespace acid {
namespace {

constexpr double kTimelineWidth = 420, kTimelineLeft = 34, kRight = 8, kTimelineTop = 4, kRow = 11,
                 kBar = 7, kTimelineAxis = 32;
constexpr double kFoot = 2.4, kThinnestMark = 0.8;  // of an exchange
constexpr double kBetween = 0.8;                    // two gradients
constexpr std::size_t kMostRows = 16;

double last_end(const std::vector<Span>& spans) {
  double end = 0;
  for (const Span& span : spans)
    if (std::isfinite(span.end)) end = std::max(end, span.end);
  return end;
}

double mean_compute(const std::vector<Span>& spans) {
  double sum = 0;
  int count = 0;
  for (const Span& span : spans)
    if (span.kind == SpanKind::compute) {
      sum += span.end - span.begin;
      ++count;
    }
  return count > 0 ? sum / count : 0;
}

/// The first rows, with the slowest in place of the last if it is not one of them.
std::vector<std::size_t> chosen_rows(const std::vector<TimelineData::Row>& rows, std::size_t most) {
  std::vector<std::size_t> chosen(std::min(most, rows.size()));
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.empty() || chosen.size() == rows.size()) return chosen;
  const auto slowest = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return mean_compute(a.spans) < mean_compute(b.spans);
  });
  chosen.back() =
      std::max(chosen.back(), static_cast<std::size_t>(std::distance(rows.begin(), slowest)));
  return chosen;
}

void keep_rows(TimelineData& timeline, std::size_t most) {
  std::vector<TimelineData::Row> kept;
  for (const std::size_t row : chosen_rows(timeline.rows, most))
    kept.push_back(std::move(timeline.rows[row]));
  timeline.rows = std::move(kept);
}

struct Paths {
  std::array<std::string, kSpanNames.size()> of_kind;
};

/// Drawn inside scale(.1), so that coordinates are short integers.
void add_span(Paths& paths, const Span& span, const Scale& x, double top) {
  if (!(span.begin < x.high) || !(span.end >= span.begin)) return;
  const auto tenths = [](double value) { return std::lround(value * 10); };
  const long left = tenths(x(std::max(0.0, span.begin)));
  long width = tenths(x(std::min(span.end, x.high))) - left;
  std::string& path = paths.of_kind[static_cast<std::size_t>(span.kind)];
  switch (span.kind) {
    case SpanKind::wait:
      if (width > 0) path += fmt::format("M{} {}h{}", left, tenths(top + kBar / 2), width);
      return;
    case SpanKind::compute:
      // A gap separates one gradient from the next.
      width -= std::min(tenths(kBetween), width / 5);
      if (width > 0)
        path += fmt::format("M{} {}h{}v{}h-{}z", left, tenths(top), width, tenths(kBar), width);
      return;
    case SpanKind::exchange:
      width = std::max(width, tenths(kThinnestMark));
      path += fmt::format("M{} {}h{}v{}h-{}z", left, tenths(top + kBar - kFoot), width,
                          tenths(kFoot + 1), width);
      return;
  }
}

/// Shares of the drawn time, over the drawn rows.
std::string shares_text(const TimelineData& timeline, double end) {
  std::array<double, kSpanNames.size()> sums{};
  for (const TimelineData::Row& row : timeline.rows)
    for (const Span& span : row.spans)
      if (span.begin < end)
        sums[static_cast<std::size_t>(span.kind)] += std::min(span.end, end) - span.begin;
  const auto percent = [&](SpanKind kind) {
    const double whole = end * static_cast<double>(timeline.rows.size());
    return std::lround(100 * sums[static_cast<std::size_t>(kind)] / whole);
  };
  std::string text = fmt::format("Computing {} % of the time, waiting {} %",
                                 percent(SpanKind::compute), percent(SpanKind::wait));
  if (const long exchanging = percent(SpanKind::exchange); exchanging > 0)
    text += fmt::format(", exchanging {} %", exchanging);
  return text + ".";
}

}  // namespace

std::vector<TimelineData> timelines(const ReportData& data) {
  std::vector<TimelineData> result;
  std::size_t spans = 0;
  for (std::size_t g = 0; g < data.spans.size(); ++g) {
    TimelineData timeline;
    for (std::size_t w = 0; w < data.spans[g].size(); ++w) {
      if (last_end(data.spans[g][w]) <= 0) continue;
      timeline.rows.push_back({static_cast<int>(w), data.spans[g][w]});
      spans += data.spans[g][w].size();
    }
    if (timeline.rows.empty()) continue;
    timeline.group = g;
    timeline.id = fmt::format("timeline-{}", result.size());
    timeline.label = full_label(data, g);
    const RunSummary& run = data.comparison.groups[g].runs.front();
    timeline.unit = simulates(run.driver) ? "simulated s" : "s";
    timeline.style = data.styles[g];
    timeline.workers = run.workers;
    result.push_back(std::move(timeline));
  }
  if (spans <= kMostTimelineSpans) return result;
  const double share = static_cast<double>(kMostTimelineSpans) / static_cast<double>(spans);
  for (TimelineData& timeline : result)
    keep_rows(timeline,
              std::max<std::size_t>(2, static_cast<std::size_t>(share * timeline.rows.size())));
  return result;
}

double timeline_end(const std::vector<TimelineData>& timelines) {
  double end = std::numeric_limits<double>::infinity();
  for (const TimelineData& timeline : timelines)
    for (const TimelineData::Row& row : timeline.rows) end = std::min(end, last_end(row.spans));
  return std::isfinite(end) ? end : 0;
}

PageFigure draw_timeline(const TimelineData& timeline, std::size_t index, double end) {
  const std::vector<std::size_t> rows = chosen_rows(timeline.rows, kMostRows);
  const double bottom = kTimelineTop + kRow * static_cast<double>(rows.size()) + 2;
  const Scale x{0, end, kTimelineLeft, kTimelineWidth - kRight, false};
  const std::string summary = shares_text(timeline, end);
  Shapes out, spans;
  Paths paths;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const TimelineData::Row& row = timeline.rows[rows[k]];
    const double top = kTimelineTop + kRow * static_cast<double>(k);
    for (const Span& span : row.spans) add_span(paths, span, x, top);
    const bool labelled = rows.size() <= 8 || k % 2 == 0 || k + 1 == rows.size();
    if (labelled) out.text(kTimelineLeft - 6, top + kBar, "end", std::to_string(row.worker));
  }
  for (std::size_t kind = 0; kind < kSpanNames.size(); ++kind)
    if (!paths.of_kind[kind].empty())
      spans.path(fmt::format("span-{}", kSpanNames[kind]), paths.of_kind[kind]).ends_line = true;
  DrawnShape& group = out.group(std::move(spans), timeline.style);
  group.place = ShapePlace{}.scaled(.1, 1);
  group.opens_line = group.ends_line = true;
  out.add(axis_below(x, bottom, 5, timeline.unit, kTimelineAxis - 4));
  std::string rest;
  if (rows.size() < static_cast<std::size_t>(timeline.workers))
    rest = fmt::format(" {} of {} workers, the slowest among them.", rows.size(), timeline.workers);
  return {.css_class = "timeline",
          .attributes = fmt::format(" data-timeline=\"{}\"", index),
          .caption = escaped(timeline.label),
          .drawing = Drawing{timeline.id, "line", kTimelineWidth, bottom + kTimelineAxis,
                             timeline.label, summary, std::move(out)},
          .below = note(summary + rest)};
}

}  // namespace acid
