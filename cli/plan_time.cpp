#include "cli/plan_time.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "cli/calibrate.hpp"
#include "cli/terminal/progress.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/environment/environment.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

// Of groups that are not the plan's, the newest are looked at: a run's settings take long to read.
constexpr std::size_t kMostOtherGroups = 200;
// What a short run takes to begin and end says little about a long one.
constexpr double kFewestSeconds = 0.5, kLeastShare = 0.1;
constexpr double kProbeSeconds = 1;
constexpr std::size_t kMostProbes = 4;  // each starts a process

bool has_hosts(const MpiSettings& mpi) { return !mpi.hosts.empty() || !mpi.hostfile.empty(); }

/// How many gradients of a run are computed at once.
int at_once(const RunSettings& run) {
  if (run.execution.mpi && has_hosts(*run.execution.mpi)) return run.workers;
  return std::clamp(usable_cores() / run.execution.threads_per_worker, 1, run.workers);
}

/// What gradients cost depends on this, apart from the method's own work.
std::string costs_alike(const RunSettings& run) {
  return nlohmann::json{run.task.dataset, run.task.model, run.task.batch_size.value_or(0),
                        run.execution.threads_per_worker, run.execution.cuda}
      .dump();
}

/// Runs with equal texts take about equally long for a gradient. First the closest.
std::vector<std::string> likenesses(const RunSettings& run) {
  const std::string driver(run.execution.entry().name), alike = driver + costs_alike(run);
  return {fmt::format("{} {} {}", alike, run.workers, run.algorithm.dump()),
          fmt::format("{} {} {}", alike, run.workers, text(run.algorithm, "kind")), alike};
}

double work_of_plan(const PlannedRun& run) {
  if (run.budget_gradients > 0) return static_cast<double>(run.budget_gradients);
  return run.workers * settings_from(run.settings).budget.normalised_time;
}

/// A finished run.
struct FinishedRun {
  std::string id, group, host;
  double work = 0, seconds = 0;              // of its last attempt
  double whole = 0;                          // seconds of all of it, had it been one attempt
  std::vector<std::string> likenesses = {};  // empty: not read
  double at_once = 1;
};

/// The finished runs of a store that say how long runs of a plan take.
class FinishedRuns {
 public:
  FinishedRuns(const Store& store, const Outlook& outlook) : here_(Lease::of_this_process().host) {
    std::set<std::string> wanted, drivers;
    for (const ExpectedRun& run : outlook.runs()) {
      wanted.insert(run.plan->group);
      drivers.insert(std::string(settings_from(run.plan->settings).execution.entry().name));
    }
    std::set<std::string> others;  // groups
    std::vector<std::string> ids;
    std::map<std::string, RunSummary> runs;
    for (RunSummary& run : list_runs(store, {.state = RunState::finished})) {
      const bool of_plan = wanted.contains(run.group);
      if (!of_plan && (!drivers.contains(run.driver) || others.size() >= kMostOtherGroups ||
                       !others.insert(run.group).second))
        continue;
      ids.push_back(run.id);
      runs.emplace(run.id, std::move(run));
    }
    for (const AttemptSummary& attempt : list_attempts(store, ids))
      if (attempt.state == RunState::finished) add(attempt, runs.at(attempt.run));
    read_settings(store);
  }

  /// Seconds of a whole run; nothing if no run is like it. Notes which runs show it.
  std::optional<double> seconds_of(const PlannedRun& run, TimeLeft& notes) const {
    const auto same = chosen([&](const FinishedRun& one) { return one.group == run.group; });
    if (!same.empty()) {
      double sum = 0;
      for (const FinishedRun* one : same) sum += one->whole;
      note(same, notes);
      return sum / static_cast<double>(same.size());
    }
    const RunSettings settings = settings_from(run.settings);
    const std::vector<std::string> likeness = likenesses(settings);
    for (std::size_t level = 0; level < likeness.size(); ++level) {
      const auto alike = chosen([&](const FinishedRun& one) {
        return !one.likenesses.empty() && one.likenesses[level] == likeness[level];
      });
      double seconds = 0, work = 0, longest = 0, most_work = 0;
      for (const FinishedRun* one : alike) {
        seconds += one->seconds * one->at_once;
        work += one->work;
        longest = std::max(longest, one->seconds);
        most_work = std::max(most_work, one->work);
      }
      if (longest < kFewestSeconds && most_work < kLeastShare * work_of_plan(run)) continue;
      note(alike, notes);
      return seconds / work * work_of_plan(run) / at_once(settings);
    }
    return std::nullopt;
  }

 private:
  void add(const AttemptSummary& attempt, const RunSummary& run) {
    const double end = work_done(run, attempt.to), work = end - work_done(run, attempt.from);
    if (!(work > 0) || !(attempt.seconds > 0)) return;
    const double whole = attempt.seconds * end / work;
    shown_.push_back({run.id, run.group, attempt.host, work, attempt.seconds, whole});
  }

  // One run of each group stands for all.
  void read_settings(const Store& store) {
    std::map<std::string, std::vector<FinishedRun*>> groups;
    for (FinishedRun& one : shown_) groups[one.group].push_back(&one);
    std::vector<std::string> ids;
    for (const auto& [group, runs] : groups) ids.push_back(runs.front()->id);
    const std::vector<nlohmann::json> settings = run_settings(store, ids);
    std::size_t k = 0;
    for (const auto& [group, runs] : groups) {
      const RunSettings of_group = settings_from(settings[k++]);
      for (FinishedRun* one : runs) {
        one->likenesses = likenesses(of_group);
        one->at_once = at_once(of_group);
      }
    }
  }

  /// Those for which it holds: on this host if there are any, else on others.
  template <class Holds>
  std::vector<const FinishedRun*> chosen(const Holds& holds) const {
    std::vector<const FinishedRun*> all;
    for (const FinishedRun& one : shown_)
      if (holds(one)) all.push_back(&one);
    const auto is_here = [&](const FinishedRun* one) { return one->host == here_; };
    if (std::ranges::any_of(all, is_here))
      std::erase_if(all, [&](const FinishedRun* one) { return !is_here(one); });
    return all;
  }

  void note(const std::vector<const FinishedRun*>& runs, TimeLeft& notes) const {
    for (const FinishedRun* one : runs) {
      notes.shown.insert(one->id);
      if (one->host != here_) notes.hosts.insert(one->host);
    }
  }

  const std::string here_;
  std::vector<FinishedRun> shown_;
};

/// Computes gradients of the plan's tasks, each task once.
class Probes {
 public:
  explicit Probes(const std::vector<const PlannedRun*>& runs) {
    std::set<std::string> tasks;
    for (const PlannedRun* run : runs) tasks.insert(key_of(settings_from(run->settings)));
    seconds_ = kProbeSeconds / static_cast<double>(std::max<std::size_t>(1, tasks.size()));
  }

  /// Seconds of a whole run. Throws Error, which says why, if they are not known.
  double seconds_of(const PlannedRun& run) {
    const RunSettings settings = settings_from(run.settings);
    const std::string key = key_of(settings);
    if (problems_.contains(key)) throw Error(problems_[key]);
    if (!known_.contains(key)) {
      try {
        if (known_.size() == kMostProbes)
          throw Error(fmt::format("a probe takes the first {} tasks", kMostProbes));
        known_[key] = probe_gradient_seconds(run.settings,
                                             std::min(at_once(settings), usable_cores()), seconds_);
      } catch (const Error& error) {
        problems_[key] = error.what();
        throw;
      }
    }
    const double evaluations = run.samples && run.samples->share ? *run.samples->share : 0;
    return work_of_plan(run) * known_[key] / at_once(settings) * (1 + evaluations);
  }

 private:
  static std::string key_of(const RunSettings& run) {
    return fmt::format("{} {}", costs_alike(run), at_once(run));
  }

  double seconds_ = kProbeSeconds;
  std::map<std::string, double> known_;  // of a gradient, while others are computed at once
  std::map<std::string, std::string> problems_;
};

/// With so many at a time, each begun in turn as soon as there is room.
double end_of(const std::vector<double>& durations, std::size_t jobs) {
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  double last = 0;
  for (const double seconds : durations) {
    double begin = 0;
    if (ends.size() == jobs) {
      begin = ends.top();
      ends.pop();
    }
    ends.push(begin + seconds);
    last = std::max(last, begin + seconds);
  }
  return last;
}

}  // namespace

TimeLeft estimate_time_left(const Outlook& outlook, const Store* store, bool probe,
                            std::size_t jobs) {
  TimeLeft left;
  left.jobs = jobs;
  std::vector<const ExpectedRun*> to_do;
  for (const ExpectedRun& run : outlook.runs())
    if (!run.is_over()) to_do.push_back(&run);
  left.to_do = to_do.size();
  if (to_do.empty()) return left;

  std::optional<FinishedRuns> finished;
  if (store != nullptr) finished.emplace(*store, outlook);
  std::map<const ExpectedRun*, double> seconds;
  std::vector<const PlannedRun*> others;
  for (const ExpectedRun* run : to_do) {
    const auto known = finished ? finished->seconds_of(*run->plan, left) : std::nullopt;
    if (known)
      seconds[run] = *known;
    else
      others.push_back(run->plan);
  }
  left.why = "no finished run of the store is like these, and nothing was probed (--probe)";
  Probes probes(others);
  for (const ExpectedRun* run : to_do) {
    if (!probe || seconds.contains(run)) continue;
    try {
      seconds[run] = probes.seconds_of(*run->plan);
      ++left.probed;
    } catch (const Error& error) {
      left.why = error.what();
    }
  }
  // Another process goes on with a running one meanwhile.
  std::vector<double> durations;
  for (const auto* run : to_do) {
    const auto known = seconds.find(run);
    if (known == seconds.end()) {
      ++left.unknown;
      continue;
    }
    const double rest = known->second * (1 - run->fraction());
    if (run->state() == RunState::running)
      left.seconds = std::max(left.seconds, rest);
    else
      durations.push_back(rest);
  }
  left.seconds = std::max(left.seconds, end_of(durations, jobs));
  return left;
}

std::string TimeLeft::words() const {
  if (to_do == 0) return "Nothing is left to do: 'acid run' prints the comparison.";
  if (unknown == to_do) return fmt::format("How long it takes is not known: {}.", why);
  std::string reasons;
  if (!shown.empty()) {
    reasons = fmt::format("as {} {}", counted(shown.size(), "finished run"),
                          shown.size() == 1 ? "shows" : "show");
    if (!hosts.empty()) reasons += fmt::format(" (on {})", fmt::join(hosts, ", "));
  }
  if (probed > 0)
    reasons += fmt::format("{}by a probe of a second", reasons.empty() ? "" : " and ");
  std::string text = fmt::format("What is left takes about {} on this machine, {} at a time, {}",
                                 rough_seconds(seconds),
                                 jobs == 1 ? "one run" : fmt::format("{} runs", jobs), reasons);
  if (unknown > 0)
    text += fmt::format("; of {} it is not known: {}", counted(unknown, "other run"), why);
  return text + ".";
}

nlohmann::json TimeLeft::to_json() const {
  const bool known = unknown < to_do || to_do == 0;
  return {{"seconds_estimated", known ? nlohmann::json(seconds) : nlohmann::json(nullptr)},
          {"source", probed > 0       ? nlohmann::json("probe")
                     : !shown.empty() ? nlohmann::json("runs")
                                      : nlohmann::json(nullptr)},
          {"from_runs", shown.size()},
          {"jobs", jobs},
          {"runs_to_do", to_do},
          {"runs_unknown", unknown},
          {"why_unknown", unknown > 0 ? nlohmann::json(why) : nlohmann::json(nullptr)}};
}

}  // namespace acid
