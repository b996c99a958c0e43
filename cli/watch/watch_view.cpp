#include "cli/watch/watch_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
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

std::string left_of(const WatchedRun& run) {
  const auto left = seconds_left(run);
  return left ? format_seconds(std::round(*left)) : kDash;
}

// `brief`: settings are shown by their values alone.
Table table_of(const std::vector<WatchedRun>& runs, bool brief) {
  Table table{{"run", "algorithm", "setting", of_numbers("seed"), "progress",
               of_numbers("gradients"), of_numbers("gradients/s"), "result", "history",
               of_numbers("exchanges/s"), of_numbers("idle"), "workers", of_numbers("left")},
              {}};
  for (const WatchedRun& run : runs) {
    const RunSummary& summary = run.summary;
    table.rows.push_back(
        {summary.id, shortened(shown_name(summary.algorithm, summary.label), 24),
         brief ? shortened(run.setting.values, 40) : shortened(run.setting.full, 60),
         fmt::format("{}", summary.seed), progress_of(summary), gradients_of(run),
         rate_or_dash(run.gradients_per_second), key_result(summary), sparkline(run.history),
         rate_or_dash(run.exchanges_per_second), idle_of(run),
         fmt::format("{} {}", summary.workers, summary.driver), left_of(run)});
  }
  remove_if_empty(table, "setting");
  return table;
}

std::string count_or_dash(int count) { return count > 0 ? fmt::format("{}", count) : kDash; }

Table table_of(const std::vector<WatchedHost>& hosts) {
  Table table{{"host", "task", of_numbers("under way"), of_numbers("finished"),
               of_numbers("gradients/s"), of_numbers("exchanges/s"), of_numbers("lost"),
               of_numbers("taken over"), of_numbers("silent")},
              {}};
  for (const WatchedHost& host : hosts) {
    const HostWork& work = host.work;
    table.rows.push_back({shortened(work.host, 24), shortened(work.task, 24),
                          count_or_dash(static_cast<int>(work.running.size())),
                          count_or_dash(work.finished), rate_or_dash(host.gradients_per_second),
                          rate_or_dash(host.exchanges_per_second), count_or_dash(work.lost),
                          count_or_dash(work.taken_over),
                          format_seconds(std::round(work.silent_seconds))});
  }
  remove_if_empty(table, "task");
  return table;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The table in lines of at most so many columns.
std::vector<std::string> lines_of(const Table& table, int width) {
  std::vector<std::string> lines = split_lines(to_text(table, {width, /*cut=*/false}));
  for (std::string& line : lines) line = shortened(line, width);
  return lines;
}

// As many columns as fit: those that say least leave first.
std::vector<std::string> fitting_lines(const std::vector<WatchedRun>& runs, int width) {
  static const std::vector<std::string> first{"run",     "exchanges/s", "idle",
                                              "workers", "history",     "gradients"},
      then{"seed", "result", "gradients/s", "left", "setting"};
  Table table = table_of(runs, false);
  narrow(table, width, std::span(first).first(first.size() - 1));
  if (fits(table, width)) return lines_of(table, width);
  table = table_of(runs, true);
  for (const std::string& title : first) remove_column(table, title);
  narrow(table, width, then);
  return lines_of(table, width);
}

std::vector<std::string> fitting_lines(const std::vector<WatchedHost>& hosts, int width) {
  Table table = table_of(hosts);
  narrow(table, width,
         std::vector<std::string>{"exchanges/s", "taken over", "finished", "gradients/s", "task"});
  return lines_of(table, width);
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
  std::vector<std::string> lines = fitting_lines(runs, columns);
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
  std::vector<std::string> lines = fitting_lines(shown, columns);
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
