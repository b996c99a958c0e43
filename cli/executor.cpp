#include "cli/executor.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <string_view>
#include <thread>

#include "cli/launcher.hpp"
#include "cli/machine.hpp"
#include "cli/progress.hpp"
#include "cli/run_json.hpp"
#include "cli/session.hpp"
#include "cli/supervisor.hpp"
#include "cli/worker_death.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr int kPollMilliseconds = 200;
constexpr double kSecondsBetweenLooksAtHeld = 1;
constexpr double kSecondsToSave = 30;
// A launcher waits for all of its hosts, those that are cut off included.
constexpr double kSecondsToOutlive = 5;
constexpr double kSecondsToEnd = 5;

std::string name_of(const RunSummary& run) {
  return fmt::format("run {} ({}, seed {})", run.id, shown_name(run.algorithm, run.label),
                     run.seed);
}

int max_restarts(const RunDetail& run) {
  constexpr int kDefault = 3;
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json execution = run.settings.value("execution", none);
  // Whoever started us has ended the other processes, too.
  if (execution.value("mpi", none).value("launcher", "") == "none") return 0;
  return execution.value("max_restarts", kDefault);
}

// What to think of when nobody admits to having killed a worker.
std::string memory_hint() {
  const std::int64_t limit = memory_limit_bytes();
  return fmt::format(
      "SIGKILL is what the system sends when memory runs out; {} are available now{}. Use fewer "
      "workers, a smaller model or batch, or a smaller --jobs",
      format_bytes(static_cast<double>(available_memory_bytes())),
      limit > 0 ? fmt::format(" and the limit is {}", format_bytes(static_cast<double>(limit)))
                : "");
}

double total_work(const std::vector<RunSummary>& runs) {
  double sum = 0;
  for (const RunSummary& run : runs) sum += work_of(run);
  return sum;
}

class Executor {
 public:
  Executor(const ExecutorOptions& options, const Store& store, const std::vector<RunSummary>& runs)
      : options_(options),
        store_(store),
        progress_(clock_, runs.size(), total_work(runs), standard_error_is_terminal()) {
    for (const RunSummary& run : runs) waiting_.push_back(run.id);
    total_ = runs.size();
  }

  Executed execute() {
    try {
      while (!over()) {
        while (!supervisor_.stopping() && !waiting_.empty() &&
               supervisor_.running().size() < options_.jobs)
          start_next();
        for (const auto& ending : supervisor_.wait(kPollMilliseconds)) settle(ending);
        look_at_held();
        look_at_running();
      }
    } catch (...) {
      let_workers_save();
      throw;
    }
    if (supervisor_.interrupted())
      progress_.say_above(
          fmt::format("interrupted: {} of {} runs finished and kept; the same "
                      "command{} goes on with the others",
                      finished_, total_, options_.fresh ? " without --force" : ""));
    if (supervisor_.interrupted()) return {Exit::interrupted, true};
    return {exit_, false};
  }

 private:
  bool over() const {
    if (!supervisor_.running().empty()) return false;
    return supervisor_.stopping() || (waiting_.empty() && held_.empty());
  }

  void look_at_running() {
    const auto running = supervisor_.running();
    if (running.empty()) return;
    try {
      const std::vector<RunSummary> runs = run_summaries(store_, running);
      progress_.show(runs);
      for (const RunSummary& run : runs) end_what_outlives(run);
    } catch (const StoreError&) {
      // No reason to stop: whatever depends on the store meets the error by itself.
    }
  }

  // A launcher that goes on although the attempt it was started for has ended.
  void end_what_outlives(const RunSummary& run) {
    Started& started = started_[run.id];
    if (!started.launched || run.state == RunState::running) return;
    if (run_detail(store_, run.id).attempts.size() == started.attempts) return;
    const double now = clock_.seconds();
    if (!started.ended) started.ended = now;
    if (now <= *started.ended + kSecondsToOutlive) return;
    started.outlived = true;
    const bool asked = now <= *started.ended + kSecondsToOutlive + kSecondsToEnd;
    supervisor_.signal(run.id, asked ? SIGTERM : SIGKILL);
  }

  // The error on its way would kill them.
  void let_workers_save() {
    const std::size_t workers = supervisor_.running().size();
    if (workers == 0) return;
    progress_.say_above(
        fmt::format("an error ends this command; {} worker{} under way may save for {} s", workers,
                    workers == 1 ? "" : "s", kSecondsToSave));
    supervisor_.stop_and_wait(kSecondsToSave);
  }

  RunSummary summary(const std::string& id) const { return run_summaries(store_, {id}).front(); }

  // A launcher that was killed takes a moment to take its processes with it.
  RunSummary summary_after(const std::string& id) const {
    constexpr int kLooks = 10;
    RunSummary run = summary(id);
    for (int k = 0; started_.at(id).launched && k < kLooks && run.state == RunState::running; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
      run = summary(id);
    }
    return run;
  }

  struct Started {
    int times = 0;
    std::size_t attempts_at_first = 0;  // that the run had before we started it the first time
    std::size_t attempts = 0;           // the last time
    bool launched = false;              // by a launcher
    std::optional<double> ended;        // when its last attempt was seen to have ended
    bool outlived = false;              // by its launcher, which was told to end
  };

  void start_next() {
    const std::string id = waiting_.front();
    waiting_.pop_front();
    const RunDetail detail = run_detail(store_, id);
    const RunSummary& run = detail.summary;
    if (run.state == RunState::running) return hold(run);
    std::vector<std::string> arguments{options_.worker, "--store", options_.store_folder, "--run",
                                       id};
    Started& started = started_[id];
    started.attempts = detail.attempts.size();
    started.launched = needs_launcher(detail.settings);
    started.ended.reset();
    started.outlived = false;
    if (started.times++ == 0) started.attempts_at_first = started.attempts;
    // What we began anew ourselves is continued from there.
    if (options_.fresh && started.attempts == started.attempts_at_first)
      arguments.push_back("--fresh");
    else if (run.state != RunState::planned && run.state != RunState::finished)
      announce_resuming(run, started.times == 1);
    if (options_.allow_changed) arguments.push_back("--allow-changed");
    try {
      supervisor_.start(id, started.launched ? launch_command(detail.settings, arguments,
                                                              Surroundings::of_this_process())
                                             : Command(arguments));
    } catch (const Error& error) {  // The others may have more luck, and some may be under way.
      progress_.run_ended(run);
      progress_.say_above(
          fmt::format("{} was not started: {}, then {}", name_of(run), error.what(),
                      options_.fresh ? "try again" : fmt::format("'acid resume {}'", id)));
      fail(error.code());
    }
  }

  std::optional<CheckpointRow> newest_checkpoint(const std::string& id) const {
    auto checkpoints = checkpoints_of(store_, id);
    while (!checkpoints.empty() && checkpoints.back().removed) checkpoints.pop_back();
    if (checkpoints.empty()) return std::nullopt;
    return checkpoints.back();
  }

  void announce_resuming(const RunSummary& run, bool first_time) {
    const auto checkpoint = newest_checkpoint(run.id);
    if (!checkpoint) return;
    const Position& there = checkpoint->position;
    progress_.say_above(run.budget_time
                            ? fmt::format("{}: resuming from normalised time {:.6g} of {:.6g}",
                                          name_of(run), there.normalised_time, *run.budget_time)
                            : fmt::format("{}: resuming from gradient {} of {}", name_of(run),
                                          there.gradients, run.budget_gradients));
    if (first_time) progress_.begins_with(work_done(run, there));
  }

  // Another process executes the run: its result will serve as well.
  void hold(const RunSummary& run) {
    const RunDetail detail = run_detail(store_, run.id);
    const AttemptRow holder = detail.attempts.empty() ? AttemptRow{} : detail.attempts.back();
    progress_.say_above(
        fmt::format("{} is being executed by process {} on {}; its result will be "
                    "used",
                    name_of(run), holder.pid, holder.host));
    held_.push_back(run.id);
  }

  void look_at_held() {
    if (held_.empty() || clock_.seconds() < next_look_) return;
    next_look_ = clock_.seconds() + kSecondsBetweenLooksAtHeld;
    for (auto id = held_.begin(); id != held_.end();) {
      const RunSummary run = summary(*id);
      if (run.state == RunState::running) {
        ++id;
        continue;
      }
      if (run.state == RunState::interrupted || run.state == RunState::planned)
        waiting_.push_back(*id);
      else
        finish(run);
      id = held_.erase(id);
    }
  }

  void settle(const Supervisor::Ending& ending) {
    const RunSummary run = summary_after(ending.name);
    // Our worker is gone, so a run that lives belongs to someone else who was faster.
    if (run.state == RunState::running) return hold(run);
    const bool exited = WIFEXITED(ending.status);
    const auto code = static_cast<Exit>(WEXITSTATUS(ending.status));
    // Also when someone else was faster and ours was turned away: then its words do not matter.
    const bool done = run.state == RunState::finished && !options_.fresh;
    if (done || (exited && code == Exit::ok)) {
      if (!exited || code == Exit::ok) say_words(run, ending);
      return finish(run);
    }
    const Started& started = started_.at(run.id);
    const Death death =
        death_of(ending, run_detail(store_, run.id), started.attempts, started.outlived);
    if (death.alone) return settle_killed(run, ending, death);
    if (code == Exit::interrupted && supervisor_.stopping()) return say_words(run, ending);
    mark_interrupted(run, death);
    progress_.run_ended(run);
    if (code == Exit::usage) {
      progress_.say_above(
          fmt::format("{} was not started: {}", name_of(run), last_words(ending.output)));
      return fail(Exit::usage);
    }
    if (code == Exit::interrupted) {
      say_words(run, ending);
      progress_.say_above(
          fmt::format("{} was stopped by a signal from elsewhere; 'acid resume {}' "
                      "continues it",
                      name_of(run), run.id));
      return fail(Exit::interrupted);
    }
    report_failure(run, ending, death);
    fail(code == Exit::store ? Exit::store : Exit::run_failed);
  }

  // A process that died has nothing to say against starting it again.
  void settle_killed(const RunSummary& run, const Supervisor::Ending& ending, const Death& death) {
    mark_interrupted(run, death);
    const bool could_be_ours =
        death.signal == SIGTERM || death.signal == SIGKILL || death.signal == SIGUSR1;
    if (supervisor_.stopping() && could_be_ours) return;
    const RunDetail detail = run_detail(store_, run.id);
    const Started& started = started_[run.id];
    // It may have recorded its end before it died; what was recorded before it began does not
    // count.
    const bool ended =
        detail.attempts.size() > started.attempts && detail.summary.state != RunState::interrupted;
    if (ended && detail.summary.state == RunState::finished) {
      say_words(run, ending);
      return finish(detail.summary);
    }
    const int most = max_restarts(detail);
    if (!supervisor_.stopping() && !ended && started.times <= most) {
      const bool anew = options_.fresh && detail.attempts.size() == started.attempts_at_first;
      const bool continues = !anew && newest_checkpoint(run.id);
      progress_.say_above(fmt::format("{}: {}; restarting from its {} ({} of {})", name_of(run),
                                      death.how, continues ? "last checkpoint" : "beginning",
                                      started.times, most));
      say_words(run, ending);
      waiting_.push_front(run.id);
      return;
    }
    progress_.run_ended(run);
    report_failure(detail.summary, ending, death);
    if (death.signal == SIGKILL && !ended) progress_.say_above(memory_hint());
    fail(Exit::run_failed);
  }

  void mark_interrupted(const RunSummary& run, const Death& death) {
    try {
      Store(options_.store_folder, Store::Access::write)
          .mark_interrupted(run.id, death.pid, death.how, death.told);
    } catch (const StoreError&) {
      // The run shows as interrupted without it. Other workers still go on and may need us.
    }
  }

  // Nothing went wrong, but the worker had something to say.
  void say_words(const RunSummary& run, const Supervisor::Ending& ending) {
    const std::string words = last_words(ending.output);
    if (words.empty()) return;
    const bool one_line = words.find('\n') == std::string::npos;
    progress_.say_above(fmt::format("{}:{}{}", name_of(run), one_line ? " " : "\n", words));
  }

  void finish(const RunSummary& run) {
    progress_.run_ended(run);
    if (run.state == RunState::finished) {
      ++finished_;
      return;
    }
    progress_.say_above(fmt::format("{} {}: {}", name_of(run), state_name(run.state), run.message));
    fail(Exit::run_failed);
  }

  void report_failure(const RunSummary& run, const Supervisor::Ending& ending, const Death& death) {
    if (run.state == RunState::failed || run.state == RunState::diverged)
      progress_.say_above(
          fmt::format("{} {}: {}", name_of(run), state_name(run.state), run.message));
    else
      progress_.say_above(fmt::format("{}: {}", name_of(run), death.how));
    const std::string words = last_words(ending.output);
    if (run.state == RunState::diverged || words.empty() || words == death.how) return;
    progress_.say_above(fmt::format("its last words:\n{}", words));
  }

  void fail(Exit exit) {
    exit_ = worse(exit_, exit);
    if (options_.fail_fast) supervisor_.stop();
  }

  const ExecutorOptions& options_;
  const Store& store_;
  const SteadyClock clock_;
  Supervisor supervisor_;
  Progress progress_;
  std::deque<std::string> waiting_;  // run ids, in order
  std::vector<std::string> held_;    // run ids that another process executes
  std::map<std::string, Started> started_;
  double next_look_ = 0;
  std::size_t total_ = 0;
  std::size_t finished_ = 0;
  Exit exit_ = Exit::ok;
};

}  // namespace

Executed execute(const ExecutorOptions& options, const Store& store,
                 const std::vector<RunSummary>& runs) {
  return Executor(options, store, runs).execute();
}

}  // namespace acid
