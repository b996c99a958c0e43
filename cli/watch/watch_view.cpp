#include "cli/watch/watch_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr std::size_t kBarColumns = 10;

// A run that was planned or interrupted waits for a process that executes its experiment.
std::string progress_of(const RunSummary& run) {
  switch (run.state) {
    case RunState::running:
      return fmt::format("{} {:>3.0f} %", bar(fraction_done(run), kBarColumns),
                         std::floor(100 * fraction_done(run)));
    case RunState::planned:
      return "waiting";
    default:
      return std::string(state_name(run.state));
  }
}

struct Column {
  const char* title;
  TextTable::Align align;
  int leaves;  // 1: the first column to be left out on a narrow terminal; 0: stays
  std::string (*cell)(const WatchedRun&);
};

std::string gradients_of(const WatchedRun& run) {
  if (const auto& budget = run.summary.budget_time)
    return fmt::format("t {:.4g}/{:.4g}", run.summary.progress.normalised_time, *budget);
  return fmt::format("{}/{}", format_count(static_cast<double>(run.summary.progress.gradients)),
                     format_count(static_cast<double>(run.summary.budget_gradients)));
}

std::string rate_or_dash(const std::optional<double>& per_second) {
  return per_second ? format_number(*per_second, 3) : kDash;
}

std::string gradient_rate_of(const WatchedRun& run) {
  return rate_or_dash(run.gradients_per_second);
}

std::string exchange_rate_of(const WatchedRun& run) {
  return rate_or_dash(run.exchanges_per_second);
}

std::string result_of(const WatchedRun& run) { return key_result(run.summary); }

std::string history_of(const WatchedRun& run) { return sparkline(run.history); }

std::string idle_of(const WatchedRun& run) {
  const auto found = run.summary.metrics.find("idle_share");
  if (found == run.summary.metrics.end()) return kDash;
  return fmt::format("{:.1f} %", 100 * found->second);
}

std::string workers_of(const WatchedRun& run) {
  return fmt::format("{} {}", run.summary.workers, run.summary.driver);
}

std::string left_of(const WatchedRun& run) {
  const auto left = seconds_left(run);
  return left ? format_seconds(std::round(*left)) : kDash;
}

constexpr const char* kSetting = "setting";
constexpr int kGoneBeforeKeys = 6;  // from here on settings are shown by their values alone
constexpr auto kLeft = TextTable::Align::left, kRight = TextTable::Align::right;
constexpr std::array kRunColumns{
    Column{"run", kLeft, 1, [](const WatchedRun& r) { return r.summary.id; }},
    Column{"algorithm", kLeft, 0,
           [](const WatchedRun& r) {
             return shortened(shown_name(r.summary.algorithm, r.summary.label), 24);
           }},
    Column{kSetting, kLeft, 11, [](const WatchedRun& r) { return shortened(r.setting.full, 60); }},
    Column{"seed", kRight, 7,
           [](const WatchedRun& r) { return fmt::format("{}", r.summary.seed); }},
    Column{"progress", kLeft, 0, [](const WatchedRun& r) { return progress_of(r.summary); }},
    Column{"gradients", kRight, 6, gradients_of},
    Column{"gradients/s", kRight, 9, gradient_rate_of},
    Column{"result", kLeft, 8, result_of},
    Column{"history", kLeft, 5, history_of},
    Column{"exchanges/s", kRight, 2, exchange_rate_of},
    Column{"idle", kRight, 3, idle_of},
    Column{"workers", kLeft, 4, workers_of},
    Column{"left", kRight, 10, left_of},
};

// The same table without the first `gone` columns to be left out.
std::vector<std::string> lines_of(const std::vector<WatchedRun>& runs, int gone) {
  TextTable table;
  table.lines.cut = false;  // columns are left out instead of cutting the first cell's text
  table.rows.resize(runs.size() + 1);
  for (const Column& column : kRunColumns) {
    if (column.leaves > 0 && column.leaves <= gone) continue;
    if (column.title == kSetting &&
        std::ranges::all_of(runs, [](const WatchedRun& run) { return run.setting.full.empty(); }))
      continue;
    const bool brief = column.title == kSetting && gone >= kGoneBeforeKeys;
    table.alignment.push_back(column.align);
    table.rows[0].push_back(column.title);
    for (std::size_t r = 0; r < runs.size(); ++r)
      table.rows[r + 1].push_back(brief ? shortened(runs[r].setting.values, 40)
                                        : column.cell(runs[r]));
  }
  const std::string text = table.str();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

int widest(const std::vector<std::string>& lines) {
  int columns = 0;
  for (const std::string& line : lines) columns = std::max(columns, terminal_columns(line));
  return columns;
}

const char* colour_of(RunState state) {
  switch (state) {
    case RunState::finished:
      return "\x1b[32m";
    case RunState::failed:
    case RunState::diverged:
      return "\x1b[31m";
    case RunState::interrupted:
      return "\x1b[33m";
    case RunState::planned:
      return "\x1b[2m";
    case RunState::running:
      break;
  }
  return nullptr;
}

}  // namespace

std::optional<double> seconds_left(const WatchedRun& run) {
  if (!run.gradients_per_second || *run.gradients_per_second <= 0) return std::nullopt;
  const std::int64_t left = run.summary.budget_gradients - run.summary.progress.gradients;
  return std::max(0.0, static_cast<double>(left)) / *run.gradients_per_second;
}

std::string sparkline(const std::vector<double>& values) {
  constexpr std::array kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double least = INFINITY, most = -INFINITY;
  for (const double value : values)
    if (std::isfinite(value)) least = std::min(least, value), most = std::max(most, value);
  std::string text;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      text += "·";
      continue;
    }
    // Halves, because the difference of two large numbers could overflow.
    const double range = most / 2 - least / 2;
    const double height = range > 0 ? (value / 2 - least / 2) / range : 0.5;
    text +=
        kBlocks[std::min(kBlocks.size() - 1, static_cast<std::size_t>(height * kBlocks.size()))];
  }
  return text;
}

std::vector<std::string> to_lines(const std::vector<WatchedRun>& runs, int columns, bool colour) {
  std::vector<std::string> lines = lines_of(runs, 0);
  for (int gone = 1; widest(lines) > columns && gone <= static_cast<int>(kRunColumns.size()); ++gone)
    lines = lines_of(runs, gone);
  for (std::string& line : lines) line = shortened(line, columns);
  if (!colour) return lines;
  lines[0] = "\x1b[1m" + lines[0] + "\x1b[0m";
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (const char* sequence = colour_of(runs[r].summary.state))
      lines[r + 1] = sequence + lines[r + 1] + "\x1b[0m";
  return lines;
}

nlohmann::json to_json(const WatchedRun& run) {
  nlohmann::json document = to_json(run.summary);
  const bool begun = run.pace.has_value();
  document["attempt"] = begun ? nlohmann::json(run.pace->attempt) : nlohmann::json(nullptr);
  document["host"] = begun ? nlohmann::json(run.pace->host) : nlohmann::json(nullptr);
  document["pid"] = begun ? nlohmann::json(run.pace->pid) : nlohmann::json(nullptr);
  document["seconds"] = begun ? nlohmann::json(run.pace->seconds) : nlohmann::json(nullptr);
  document["gradients_per_second"] = or_null(run.gradients_per_second);
  document["exchanges_per_second"] = or_null(run.exchanges_per_second);
  document["seconds_left"] = or_null(seconds_left(run));
  document["fraction"] = fraction_done(run.summary);
  const std::string metric = key_metric(run.summary);
  document["metric"] = metric.empty() ? nlohmann::json(nullptr) : nlohmann::json(metric);
  document["history"] = run.history;
  return document;
}

}  // namespace acid
