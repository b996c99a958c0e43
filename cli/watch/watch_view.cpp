#include "cli/watch/watch_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr std::size_t kBarColumns = 10;
constexpr std::size_t kMostLost = 5;
constexpr double kSecondsOfSilence = 20;  // signs of life come every two seconds
constexpr const char* kYellow = "\x1b[33m";

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

// A column of rows of one kind. `cell` gets whether there is little room.
template <class Row>
struct Column {
  const char* title;
  TextTable::Align align;
  int leaves;  // 1: the first column to be left out on a narrow terminal; 0: stays
  std::string (*cell)(const Row&, bool);
  bool is_optional = false;  // left out where all its cells are empty
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

constexpr int kGoneBeforeKeys = 6;  // from here on settings are shown by their values alone
constexpr auto kLeft = TextTable::Align::left, kRight = TextTable::Align::right;
constexpr std::array kRunColumns{
    Column<WatchedRun>{"run", kLeft, 1, [](const WatchedRun& r, bool) { return r.summary.id; }},
    Column<WatchedRun>{"algorithm", kLeft, 0,
                       [](const WatchedRun& r, bool) {
                         return shortened(shown_name(r.summary.algorithm, r.summary.label), 24);
                       }},
    Column<WatchedRun>{"setting", kLeft, 11,
                       [](const WatchedRun& r, bool brief) {
                         return brief ? shortened(r.setting.values, 40)
                                      : shortened(r.setting.full, 60);
                       },
                       true},
    Column<WatchedRun>{"seed", kRight, 7,
                       [](const WatchedRun& r, bool) { return fmt::format("{}", r.summary.seed); }},
    Column<WatchedRun>{"progress", kLeft, 0,
                       [](const WatchedRun& r, bool) { return progress_of(r.summary); }},
    Column<WatchedRun>{"gradients", kRight, 6,
                       [](const WatchedRun& r, bool) { return gradients_of(r); }},
    Column<WatchedRun>{
        "gradients/s", kRight, 9,
        [](const WatchedRun& r, bool) { return rate_or_dash(r.gradients_per_second); }},
    Column<WatchedRun>{"result", kLeft, 8,
                       [](const WatchedRun& r, bool) { return key_result(r.summary); }},
    Column<WatchedRun>{"history", kLeft, 5,
                       [](const WatchedRun& r, bool) { return sparkline(r.history); }},
    Column<WatchedRun>{
        "exchanges/s", kRight, 2,
        [](const WatchedRun& r, bool) { return rate_or_dash(r.exchanges_per_second); }},
    Column<WatchedRun>{"idle", kRight, 3, [](const WatchedRun& r, bool) { return idle_of(r); }},
    Column<WatchedRun>{"workers", kLeft, 4,
                       [](const WatchedRun& r, bool) { return workers_of(r); }},
    Column<WatchedRun>{"left", kRight, 10, [](const WatchedRun& r, bool) { return left_of(r); }},
};

std::string count_or_dash(int count) { return count > 0 ? fmt::format("{}", count) : kDash; }

constexpr std::array kHostColumns{
    Column<WatchedHost>{"host", kLeft, 0,
                        [](const WatchedHost& h, bool) { return shortened(h.work.host, 24); }},
    Column<WatchedHost>{"task", kLeft, 5,
                        [](const WatchedHost& h, bool) { return shortened(h.work.task, 24); },
                        true},
    Column<WatchedHost>{"under way", kRight, 0,
                        [](const WatchedHost& h, bool) {
                          return count_or_dash(static_cast<int>(h.work.running.size()));
                        }},
    Column<WatchedHost>{"finished", kRight, 3,
                        [](const WatchedHost& h, bool) { return count_or_dash(h.work.finished); }},
    Column<WatchedHost>{
        "gradients/s", kRight, 4,
        [](const WatchedHost& h, bool) { return rate_or_dash(h.gradients_per_second); }},
    Column<WatchedHost>{
        "exchanges/s", kRight, 1,
        [](const WatchedHost& h, bool) { return rate_or_dash(h.exchanges_per_second); }},
    Column<WatchedHost>{"lost", kRight, 0,
                        [](const WatchedHost& h, bool) { return count_or_dash(h.work.lost); }},
    Column<WatchedHost>{
        "taken over", kRight, 2,
        [](const WatchedHost& h, bool) { return count_or_dash(h.work.taken_over); }},
    Column<WatchedHost>{"silent", kRight, 0,
                        [](const WatchedHost& h, bool) {
                          return format_seconds(std::round(h.work.silent_seconds));
                        }},
};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The table without the first `gone` columns to be left out.
template <class Row, std::size_t n>
std::vector<std::string> lines_of(const std::array<Column<Row>, n>& columns,
                                  const std::vector<Row>& rows, int gone) {
  TextTable table;
  table.lines.cut = false;  // columns are left out instead of cutting the first cell's text
  table.rows.resize(rows.size() + 1);
  for (const Column<Row>& column : columns) {
    if (column.leaves > 0 && column.leaves <= gone) continue;
    std::vector<std::string> cells;
    for (const Row& row : rows) cells.push_back(column.cell(row, gone >= kGoneBeforeKeys));
    if (column.is_optional && std::ranges::all_of(cells, &std::string::empty)) continue;
    table.alignment.push_back(column.align);
    table.rows[0].push_back(column.title);
    for (std::size_t r = 0; r < rows.size(); ++r) table.rows[r + 1].push_back(cells[r]);
  }
  return split_lines(table.str());
}

int widest(const std::vector<std::string>& lines) {
  int columns = 0;
  for (const std::string& line : lines) columns = std::max(columns, terminal_columns(line));
  return columns;
}

// As many columns as fit.
template <class Row, std::size_t n>
std::vector<std::string> fitting_lines(const std::array<Column<Row>, n>& columns,
                                       const std::vector<Row>& rows, int width) {
  std::vector<std::string> lines = lines_of(columns, rows, 0);
  for (int gone = 1; widest(lines) > width && gone <= static_cast<int>(n); ++gone)
    lines = lines_of(columns, rows, gone);
  for (std::string& line : lines) line = shortened(line, width);
  return lines;
}

void embolden(std::string& line) { line = "\x1b[1m" + line + "\x1b[0m"; }

// Those that say most: hosts with runs under way, then those that lost some, then the last heard
// of.
std::vector<WatchedHost> most_telling(std::vector<WatchedHost> hosts, std::size_t most) {
  if (hosts.size() <= most) return hosts;
  std::vector<std::size_t> order(hosts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t k) {
    const HostWork& work = hosts[k].work;
    return std::tuple(work.running.empty(), work.lost == 0, work.silent_seconds);
  });
  order.resize(most);
  std::ranges::sort(order);
  std::vector<WatchedHost> chosen;
  for (const std::size_t k : order) chosen.push_back(std::move(hosts[k]));
  return chosen;
}

const char* colour_of(RunState state) {
  switch (state) {
    case RunState::finished:
      return "\x1b[32m";
    case RunState::failed:
    case RunState::diverged:
      return "\x1b[31m";
    case RunState::interrupted:
      return kYellow;
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
  std::vector<std::string> lines = fitting_lines(kRunColumns, runs, columns);
  if (!colour) return lines;
  embolden(lines[0]);
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (const char* sequence = colour_of(runs[r].summary.state))
      lines[r + 1] = sequence + lines[r + 1] + "\x1b[0m";
  return lines;
}

std::vector<std::string> to_lines(const std::vector<WatchedHost>& hosts,
                                  const std::vector<LostAttempt>& lost, std::size_t most,
                                  int columns, bool colour) {
  // Who took a run over is at the end of its words, so they are broken and not cut.
  std::vector<std::string> told;
  std::size_t losses = 0;
  for (; losses < std::min(lost.size(), kMostLost); ++losses) {
    std::vector<std::string> words =
        split_lines(wrapped(lost[losses].words(), columns, "  ") + "\n");
    if (losses > 0 && told.size() + words.size() > most / 3) break;
    for (std::string& line : words) {
      line = shortened(line, columns);
      if (colour && lost[losses].next.empty()) line = kYellow + line + "\x1b[0m";
      told.push_back(std::move(line));
    }
  }
  const std::size_t rows = std::max<std::size_t>(1, most - std::min(most, told.size() + 1));
  const std::vector<WatchedHost> shown = most_telling(hosts, rows);
  std::vector<std::string> lines = fitting_lines(kHostColumns, shown, columns);
  if (colour) embolden(lines[0]);
  for (std::size_t h = 0; colour && h < shown.size(); ++h)
    if (!shown[h].work.running.empty() && shown[h].work.silent_seconds > kSecondsOfSilence)
      lines[h + 1] = kYellow + lines[h + 1] + "\x1b[0m";
  std::string more;
  if (shown.size() < hosts.size())
    more = fmt::format("… and {} more {}", hosts.size() - shown.size(),
                       hosts.size() - shown.size() == 1 ? "host" : "hosts");
  if (losses < lost.size())
    more += fmt::format("{}{} more lost {}", more.empty() ? "… and " : ", ", lost.size() - losses,
                        lost.size() - losses == 1 ? "run" : "runs");
  lines.insert(lines.end(), told.begin(), told.end());
  if (!more.empty()) lines.push_back(shortened(more, columns));
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

nlohmann::json to_json(const WatchedHost& host) {
  const HostWork& work = host.work;
  return {{"host", work.host},
          {"task", work.task.empty() ? nlohmann::json(nullptr) : nlohmann::json(work.task)},
          {"running", work.running},
          {"finished", work.finished},
          {"gradients_per_second", or_null(host.gradients_per_second)},
          {"exchanges_per_second", or_null(host.exchanges_per_second)},
          {"lost", work.lost},
          {"taken_over", work.taken_over},
          {"last_sign", work.last_sign},
          {"silent_seconds", work.silent_seconds}};
}

nlohmann::json to_json(const LostAttempt& lost) {
  const bool waits = lost.next.empty();
  return {{"run", lost.run},
          {"lost_on", lost.name},
          {"gradients", lost.gradients},
          {"taken_over_by", waits ? nlohmann::json(nullptr) : nlohmann::json(lost.next)},
          {"from_gradients", waits ? nlohmann::json(nullptr) : nlohmann::json(lost.from)}};
}

}  // namespace acid
