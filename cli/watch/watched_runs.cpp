#include "cli/watch/watched_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/terminal/run_json.hpp"
#include "store/at_work.hpp"

namespace acid {
namespace {

constexpr double kSecondsWithoutRun = 10, kSecondsWithoutSignFromElsewhere = 60;
constexpr double kSecondsOfPace = 10;
constexpr int kHistoryColumns = 16;

bool is_running(const WatchedRun& run) { return run.summary.state == RunState::running; }

bool is_waiting(const WatchedRun& run) {
  return run.summary.state == RunState::planned || run.summary.state == RunState::interrupted;
}

}  // namespace

WatchedRuns::WatchedRuns(const Store& store, std::vector<std::string> ids)
    : store_(store),
      here_(Lease::of_this_process().host),
      ids_(std::move(ids)),
      last_at_work_(clock_.seconds()) {}

void WatchedRuns::look() {
  std::map<std::string, const WatchedRun*> before;
  for (const WatchedRun& run : runs_) before[run.summary.id] = &run;
  std::vector<WatchedRun> found;
  std::vector<RunSummary> summaries = run_summaries(store_, ids_);
  if (settings_.empty()) settings_ = setting_names(store_, summaries);
  for (RunSummary& summary : summaries) {
    const std::string id = summary.id;
    const auto known = before.find(id);
    const WatchedRun* last = known == before.end() ? nullptr : known->second;
    found.push_back(watched(std::move(summary), last));
    found.back().setting = settings_[id];
    if (is_running(found.back()))
      ended_here_.erase(id);
    else if (last != nullptr && is_running(*last))
      ended_here_[id] = clock_.seconds();
  }
  runs_ = std::move(found);
  hosts_ = hosts_at_work(list_attempts(store_, ids_));
  const auto others = runs_at_work(store_.folder());
  at_work_ = std::ranges::any_of(runs_, [&](const WatchedRun& run) {
    return is_waiting(run) && others.contains(run.summary.id);
  });
  if (at_work()) last_at_work_ = clock_.seconds();
}

std::size_t WatchedRuns::running() const { return count({RunState::running}); }

std::size_t WatchedRuns::waiting() const {
  return count({RunState::planned, RunState::interrupted});
}

bool WatchedRuns::idle() const {
  if (at_work() || waiting() == 0) return !at_work();
  const bool heard_of_others = std::ranges::any_of(hosts_.hosts, [&](const HostWork& host) {
    return host.host != here_ && host.silent_seconds < kSecondsWithoutSignFromElsewhere;
  });
  return !heard_of_others && clock_.seconds() - last_at_work_ > kSecondsWithoutRun;
}

std::vector<WatchedRun> WatchedRuns::going() const {
  std::vector<WatchedRun> chosen;
  std::ranges::copy_if(runs_, std::back_inserter(chosen), is_running);
  return chosen;
}

std::vector<WatchedHost> WatchedRuns::hosts() const {
  std::map<std::string_view, const WatchedRun*> by_id;
  for (const WatchedRun& run : runs_) by_id[run.summary.id] = &run;
  const auto add = [](std::optional<double>& sum, const std::optional<double>& rate) {
    if (rate) sum = sum.value_or(0) + *rate;
  };
  std::vector<WatchedHost> watched;
  for (const HostWork& host : hosts_.hosts) {
    watched.push_back({host, {}, {}});
    for (const std::string& id : host.running) {
      const WatchedRun& run = *by_id.at(id);
      add(watched.back().gradients_per_second, run.gradients_per_second);
      add(watched.back().exchanges_per_second, run.exchanges_per_second);
    }
  }
  return watched;
}

std::string WatchedRuns::counts() const {
  std::string text = fmt::format("{} running", running());
  if (const std::size_t some = waiting(); some > 0) text += fmt::format(", {} waiting", some);
  for (const RunState state : {RunState::finished, RunState::failed, RunState::diverged})
    if (const std::size_t some = count({state}); some > 0)
      text += fmt::format(", {} {}", some, state_name(state));
  return text;
}

std::vector<WatchedRun> WatchedRuns::active() const {
  std::vector<WatchedRun> chosen;
  std::ranges::copy_if(runs_, std::back_inserter(chosen),
                       [](const WatchedRun& run) { return is_running(run) || is_waiting(run); });
  return chosen;
}

std::vector<WatchedRun> WatchedRuns::on_screen(std::size_t most) const {
  struct Ranked {
    int group;
    double seconds_ago;
    const WatchedRun* run;
  };
  std::vector<Ranked> ranked;
  for (const WatchedRun& run : runs_) {
    const auto ended = ended_here_.find(run.summary.id);
    if (is_running(run))
      ranked.push_back({0, 0, &run});
    else if (ended != ended_here_.end())
      ranked.push_back({1, clock_.seconds() - ended->second, &run});
    else if (is_waiting(run))
      ranked.push_back({2, 0, &run});
  }
  std::ranges::stable_sort(ranked, {},
                           [](const Ranked& one) { return std::pair(one.group, one.seconds_ago); });
  ranked.resize(std::min(ranked.size(), most));
  std::ranges::sort(ranked, {}, &Ranked::run);
  std::vector<WatchedRun> chosen;
  for (const Ranked& each : ranked) chosen.push_back(*each.run);
  return chosen;
}

std::size_t WatchedRuns::count(std::initializer_list<RunState> states) const {
  return static_cast<std::size_t>(std::ranges::count_if(runs_, [&](const WatchedRun& run) {
    return std::ranges::count(states, run.summary.state) > 0;
  }));
}

WatchedRun WatchedRuns::watched(RunSummary summary, const WatchedRun* before) {
  WatchedRun run;
  run.summary = std::move(summary);
  if (run.summary.state == RunState::planned) return run;
  const bool at_rest = before != nullptr && !is_running(run) && !is_running(*before);
  run.pace = at_rest ? before->pace : newest_pace(store_, run.summary.id);
  if (is_running(run) && run.pace) {
    Progress& progress = progress_[run.summary.id];
    if (progress.attempt != run.pace->attempt) progress = {run.pace->attempt, {}, {}, {}};
    run.gradients_per_second = pace(run, progress);
    run.exchanges_per_second = exchange_rate(run, progress);
  }
  const std::string metric = key_metric(run.summary);
  if (before != nullptr && before->summary.metrics == run.summary.metrics)
    run.history = before->history;
  else if (!metric.empty())
    run.history = series_outline(store_, run.summary.id, metric, kHistoryColumns);
  return run;
}

// The pace over the last seconds; while too little has been seen, since the attempt began.
std::optional<double> WatchedRuns::pace(const WatchedRun& run, Progress& progress) const {
  const double now = clock_.seconds();
  const std::int64_t gradients = run.summary.progress.gradients;
  progress.seen.push_back({now, gradients});
  while (progress.seen.size() > 2 && now - progress.seen[1].at_seconds >= kSecondsOfPace)
    progress.seen.pop_front();
  const Seen& first = progress.seen.front();
  if (now - first.at_seconds > kSecondsOfPace / 2)
    return static_cast<double>(gradients - first.gradients) / (now - first.at_seconds);
  if (!(run.pace->seconds > 0)) return std::nullopt;
  return static_cast<double>(gradients - run.pace->resumed_gradients) / run.pace->seconds;
}

// The rate between the changes of the last seconds. While there are too few, the rate since the
// attempt began, unless an earlier attempt made exchanges before it.
std::optional<double> WatchedRuns::exchange_rate(const WatchedRun& run, Progress& progress) const {
  const auto metric = run.summary.metrics.find("exchanges");
  if (metric == run.summary.metrics.end()) return std::nullopt;
  const double now = clock_.seconds(), exchanges = metric->second;
  auto& changes = progress.changes;
  if (progress.exchanges && *progress.exchanges != exchanges) changes.push_back({now, exchanges});
  progress.exchanges = exchanges;
  while (changes.size() > 2 && now - changes[1].first >= kSecondsOfPace) changes.pop_front();
  if (changes.size() > 1)
    return (changes.back().second - changes.front().second) /
           (changes.back().first - changes.front().first);
  if (run.pace->resumed_gradients > 0 || !(run.pace->seconds > 0)) return std::nullopt;
  return exchanges / run.pace->seconds;
}

}  // namespace acid
