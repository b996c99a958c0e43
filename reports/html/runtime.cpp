#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "reports/html/markup.hpp"
#include "reports/html/scale.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"
#include "settings/drivers.hpp"

namespace acid {
namespace {

constexpr double kRuntimeWidth = 420, kRuntimeRowHeight = 24, kBarHeight = 11, kRuntimeTop = 4,
                 kRuntimeAxis = 34, kRuntimeGap = 10;
constexpr double kRuntimeCharacterWidth = 8.2, kRuntimeDigitWidth = 5.9;
constexpr int kRuntimeLongestLabel = 18, kLongestHeading = 60;

/// One group's times, over its finished runs.
struct Runtime {
  std::size_t group = 0;
  Estimate seconds;                 // per gradient of a worker
  std::optional<Estimate> waiting;  // share of that time, if it was recorded
};

std::optional<double> waiting_share(const AttemptResult& result) {
  const std::vector<double>& idle = result.worker_idle_seconds;
  if (idle.empty() || !(result.position.seconds > 0)) return std::nullopt;
  const double share = std::accumulate(idle.begin(), idle.end(), 0.0) / result.position.seconds /
                       static_cast<double>(idle.size());
  return std::clamp(share, 0.0, 1.0);
}

std::optional<Runtime> runtime_of(const ReportData& data, std::size_t g) {
  const std::string& digest = data.comparison.groups[g].runs_group;
  std::vector<double> seconds, waiting;
  for (const RunDetail& run : data.runs) {
    if (run.summary.group != digest || run.summary.state != RunState::finished || !run.result)
      continue;
    const Position& end = run.result->position;
    if (end.gradients <= 0 || !(end.seconds > 0)) continue;
    seconds.push_back(end.seconds * run.summary.workers / static_cast<double>(end.gradients));
    if (const auto share = waiting_share(*run.result)) waiting.push_back(*share);
  }
  if (seconds.empty()) return std::nullopt;
  Runtime runtime{g, estimate(seconds), std::nullopt};
  if (waiting.size() == seconds.size()) runtime.waiting = estimate(waiting);
  return runtime;
}

std::string waiting_text(const Runtime& runtime) {
  if (!runtime.waiting) return "";
  return format_number(100 * runtime.waiting->mean, 2) + " % waiting";
}

/// From zero to a little beyond the largest bar or interval, except a very wide one.
Scale fit_seconds(const std::vector<Runtime>& runtimes) {
  double high = 0;
  for (const Runtime& runtime : runtimes) {
    const double mean = runtime.seconds.mean;
    high = std::max({high, mean, std::min(runtime.seconds.ci_high.value_or(mean), 1.5 * mean)});
  }
  return {0, 1.03 * high, 0, 0, false};
}

Shapes runtime_bar(const Runtime& runtime, const Scale& x, double middle) {
  const double top = middle - kBarHeight / 2, mean = runtime.seconds.mean;
  const double computing = mean * (1 - (runtime.waiting ? runtime.waiting->mean : 0));
  Shapes out;
  for (const auto& [role, value] : {std::pair{"hollow", mean}, std::pair{"bar", computing}})
    out.path(role, path_of("M{} {}H{}v{}H{}z", x.begin, top, x(value), kBarHeight, x.begin));
  if (runtime.seconds.ci_low && *runtime.seconds.ci_high > *runtime.seconds.ci_low) {
    const double low = x(std::max(0.0, *runtime.seconds.ci_low));
    const double high = x(std::min(x.high, *runtime.seconds.ci_high));
    const double below = top + kBarHeight + 4;
    out.path("whisker", path_of("M{} {}H{}M{} {}v5M{} {}v5", low, below, high, low, below - 2.5,
                                high, below - 2.5));
  }
  return out;
}

struct Row {
  std::string label;
  std::optional<Runtime> runtime;  // absent: a heading
};

/// Its grid does not cross headings.
Shapes runtime_axis(Scale x, double bottom, const std::vector<Row>& rows,
                    const std::string& label) {
  std::string grid;
  Shapes out, labels;
  for (const double value : ticks(x, 5)) {
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (rows[k].runtime)
        grid +=
            path_of("M{} {}v{}", x(value), kRuntimeTop + kRuntimeRowHeight * static_cast<double>(k),
                    kRuntimeRowHeight);
    grid += path_of("V{}", bottom + 4);
    labels.text(x(value), bottom + 15, "middle", format_seconds(value));
  }
  out.path("grid", grid).ends_line = true;
  out.add(std::move(labels));
  out.text((x.begin + x.end) / 2, bottom + 30, "middle", label, "name");
  return out;
}

std::string runtime_table(const ReportData& data, const std::vector<Runtime>& runtimes) {
  HtmlTable table{.csv = "runtime",
                  .head = {"algorithm", "n", "time per gradient of a worker", "waiting"}};
  for (const Runtime& runtime : runtimes) {
    const Estimate& seconds = runtime.seconds;
    std::string words = format_seconds(seconds.mean);
    if (seconds.ci_low)
      words += fmt::format(" [{}, {}]", format_seconds(*seconds.ci_low),
                           format_seconds(*seconds.ci_high));
    table.rows.push_back(
        {{swatch(data.styles[runtime.group]) + escaped(full_label(data, runtime.group))},
         text(std::to_string(seconds.n)),
         number_text(words, seconds.mean),
         runtime.waiting ? number_text(waiting_text(runtime), runtime.waiting->mean)
                         : Markup{"–"}});
    table.rows.back().front().exact = full_label(data, runtime.group);
  }
  return details("Data", table.html());
}

bool all_simulated(const ReportData& data) {
  return std::all_of(data.runs.begin(), data.runs.end(),
                     [](const RunDetail& run) { return simulates(run.summary.driver); });
}

/// By sweep point, under a heading each if there are several.
std::vector<Row> rows_of(const ReportData& data) {
  std::vector<Row> rows;
  for (const ComparedPoint& point : data.comparison.points) {
    std::vector<Row> of_point;
    for (const std::size_t g : point.groups)
      if (const auto runtime = runtime_of(data, g))
        of_point.push_back({data.comparison.groups[g].label, runtime});
    if (of_point.empty()) continue;
    if (data.comparison.points.size() > 1) rows.push_back({brief_title(point), std::nullopt});
    rows.insert(rows.end(), of_point.begin(), of_point.end());
  }
  return rows;
}

}  // namespace

PageFigure runtime_figure(const ReportData& data) {
  const std::vector<Row> rows = rows_of(data);
  std::vector<Runtime> runtimes;
  std::vector<std::string> labels, headings;
  int label = 0, words = 0;
  for (const Row& row : rows) {
    if (!row.runtime) {
      headings.push_back(row.label);
      continue;
    }
    runtimes.push_back(*row.runtime);
    labels.push_back(row.label);
    words = std::max(words, terminal_columns(waiting_text(*row.runtime)));
  }
  if (runtimes.empty()) return {};
  labels = shortened_apart(labels, kRuntimeLongestLabel);
  for (const std::string& each : labels) label = std::max(label, terminal_columns(each));
  headings = shortened_apart(headings, kLongestHeading);
  auto next_label = labels.begin(), next_heading = headings.begin();
  Scale x = fit_seconds(runtimes);
  x.begin = kRuntimeCharacterWidth * label + kRuntimeGap;
  x.end = kRuntimeWidth - kRuntimeDigitWidth * words - kRuntimeGap;
  const double bottom = kRuntimeTop + kRuntimeRowHeight * static_cast<double>(rows.size()) + 2;
  Shapes out =
      runtime_axis(x, bottom, rows, all_simulated(data) ? "simulated time" : "wall-clock time");
  std::string description;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Row& row = rows[k];
    const double middle = kRuntimeTop + kRuntimeRowHeight * (static_cast<double>(k) + 0.5);
    if (!row.runtime) {
      out.text(0, middle + 5, "start", *next_heading++, "heading");
      description += row.label + ": ";
      continue;
    }
    const int style = data.styles[row.runtime->group];
    Shapes name;
    name.text(0, middle + 3.5, "start", *next_label++, "label");
    out.group(std::move(name), style);
    out.group(runtime_bar(*row.runtime, x, middle), style).ends_line = true;
    out.text(kRuntimeWidth, middle + 3.5, "end", waiting_text(*row.runtime), "figures");
    description += fmt::format("{}: {}, {}. ", row.label, format_seconds(row.runtime->seconds.mean),
                               waiting_text(*row.runtime));
  }
  const std::string title = "Time per gradient of a worker";
  return {.caption = title,
          .drawing = Drawing{"runtime", "line", kRuntimeWidth, bottom + kRuntimeAxis, title,
                             description, std::move(out)},
          .below = runtime_table(data, runtimes)};
}

std::string runtime_csv(const ReportData& data) {
  std::string csv = csv_line({"label", "n", "seconds", "ci_low", "ci_high", "waiting"});
  for (const Row& row : rows_of(data)) {
    if (!row.runtime) continue;
    const auto& [group, seconds, waiting] = *row.runtime;
    const auto& [mean, low, high] = csv_fields(seconds);
    csv += csv_line({full_label(data, group), std::to_string(seconds.n), mean, low, high,
                     waiting ? csv_number(waiting->mean) : ""});
  }
  return csv;
}

}  // namespace acid
