#include "cli/processes/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "cli/processes/executor_words.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/processes/started_run.hpp"
#include "cli/processes/supervisor.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/session.hpp"
#include "engine/base/names.hpp"
#include "engine/base/signals.hpp"
#include "engine/base/worker_words.hpp"
#include "engine/python/model_templates.hpp"
#include "reports/run_names.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace {

constexpr int kPollMilliseconds = 200;
constexpr double kSecondsBetweenLooksAtHeld = 1;
constexpr double kSecondsToSave = 30;
// A launcher waits for all of its hosts, including those that are cut off.
constexpr double kSecondsToOutlive = 5;
constexpr double kSecondsToEnd = 5;

int max_restarts(const ExecutionSettings& execution) {
  // The launcher that started this process has ended the other processes, too.
  return execution.mpi && execution.mpi->launcher == "none" ? 0 : execution.max_restarts;
}

double total_work(const std::vector<RunSummary>& runs) {
  return std::transform_reduce(runs.begin(), runs.end(), 0.0, std::plus(), work_of);
}

class Executor {
 public:
  Executor(const ExecutorOptions& options, const Store& store, const std::vector<RunSummary>& runs)
      : options_(options),
        store_(store),
        progress_(clock_, runs.size(), total_work(runs), setting_names(store, runs),
                  standard_error_is_terminal()) {
    for (const RunSummary& run : runs) {
      waiting_.push_back(run.id);
      if (options.fresh && run.state != RunState::planned) not_anew_.insert(run.id);
    }
    total_ = runs.size();
  }

  Executed execute() {
    try {
      while (!over()) {
        while (!supervisor_.stopping() && !waiting_.empty() &&
               supervisor_.running().size() < options_.jobs)
          start_next();
        supervisor_.dismiss_waiting();
        for (const auto& ending : supervisor_.wait(kPollMilliseconds)) settle(ending);
        look_at_held();
        look_at_running();
      }
    } catch (...) {
      let_workers_save();
      throw;
    }
    if (supervisor_.interrupted()) {
      progress_.say_above(
          interruption_words({total_, finished_, options_.fresh, not_anew_.size()}));
      return {Exit::interrupted, true};
    }
    return {exit_, false};
  }

 private:
  bool over() const {
    return supervisor_.empty() && (supervisor_.stopping() || (waiting_.empty() && held_.empty()));
  }

  void look_at_running() {
    const auto running = supervisor_.running();
    if (running.empty() || clock_.seconds() < next_progress_) return;
    next_progress_ = clock_.seconds() + kPollMilliseconds / 1000.0;
    try {
      const std::vector<RunSummary> runs = run_summaries(store_, running);
      for (const RunSummary& run : runs) look_at_beginning(run);
      progress_.show(runs);
      for (const RunSummary& run : runs) end_what_hangs(run);
    } catch (const StoreError&) {
      // Not a reason to stop: the parts that depend on the store meet the error themselves.
    }
  }

  // When a worker has begun an attempt, says from where, and prints what the worker said about it.
  void look_at_beginning(const RunSummary& run) {
    StartedRun& started = started_[run.id];
    if (started.launched && !started.begun && !started.awaited)
      if (const auto what = awaited(supervisor_.output(run.id))) {
        started.awaited = true;
        progress_.say_above(fmt::format("{}: {}", name_of(run), *what));
      }
    if (run.state != RunState::running || !started.said.empty()) return;
    if (!started.begun) return announce(run_detail(store_, run.id));
    say_words(run, started.first_words(supervisor_.output(run.id)));
  }

  void announce(const RunDetail& run) {
    const std::string& id = run.summary.id;
    StartedRun& started = started_[id];
    if (started.begun || run.attempts.size() == started.attempts) return;
    started.begun = true;
    if (run.attempts.back().resumed_from == 0) not_anew_.erase(id);
    const auto from = std::ranges::find(run.checkpoints, run.attempts.back().resumed_from,
                                        &CheckpointRow::number);
    if (from == run.checkpoints.end()) return;
    progress_.say_above(resuming_words(run.summary, from->position));
    if (started.times == 1) progress_.begins_with(work_done(run.summary, from->position));
  }

  // Ends a launcher that goes on although its attempt has ended, or that begins no attempt in time.
  void end_what_hangs(const RunSummary& run) {
    StartedRun& started = started_[run.id];
    if (!started.launched || run.state == RunState::running) return;
    const double now = clock_.seconds();
    const bool begun = run_detail(store_, run.id).attempts.size() != started.attempts;
    if (begun && !started.ended) started.ended = now;
    // A run that has not begun has nothing to save.
    if (supervisor_.stopping())
      started.begins_by = std::min(started.begins_by, now + kSecondsToEnd);
    const double due = begun ? *started.ended + kSecondsToOutlive : started.begins_by;
    if (now <= due) return;
    (begun ? started.outlived : started.overdue) = true;
    supervisor_.signal_all(run.id, now <= due + kSecondsToEnd ? SIGTERM : SIGKILL);
  }

  // Called on an error, which would otherwise kill the workers at once.
  void let_workers_save() {
    const std::size_t workers = supervisor_.running().size();
    if (workers == 0) return;
    progress_.say_above(fmt::format("an error ends this command; {} under way may save for {} s",
                                    counted(workers, "worker"), kSecondsToSave));
    supervisor_.stop_and_wait(kSecondsToSave);
  }

  RunSummary summary(const std::string& id) const { return run_summaries(store_, {id}).front(); }

  // When a launcher was killed, its processes take a moment to end.
  RunDetail detail_after(const std::string& id) const {
    constexpr int kLooks = 10;
    const bool waits = started_.at(id).launched;
    for (int k = 0; waits && k < kLooks && summary(id).state == RunState::running; ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
    return run_detail(store_, id);
  }

  void start_next() {
    const std::string id = waiting_.front();
    waiting_.pop_front();
    const RunDetail detail = run_detail(store_, id);
    const RunSummary& run = detail.summary;
    if (run.state == RunState::running) return hold(run);
    std::vector<std::string> arguments{options_.worker, "--store", options_.store_folder, "--run",
                                       id};
    StartedRun& started = started_[id];
    started.start(detail.attempts.size());
    // A run that this process has begun anew is continued from its checkpoint.
    const bool anew = options_.fresh && started.attempts == started.attempts_at_first;
    if (anew) arguments.push_back("--fresh");
    if (options_.allow_changed) arguments.push_back("--allow-changed");
    try {
      const RunSettings settings = settings_from(detail.settings);
      ModelTemplates::prepare(settings.task.model, settings.execution.threads_per_worker);
      started.launched = settings.execution.mpi.has_value();
      started.max_restarts = max_restarts(settings.execution);
      const bool shares = may_share_a_process(settings, detail.attempts.empty());
      if (shares && supervisor_.hand_on(id, anew ? id + " --fresh" : id)) return;
      Command command(arguments);
      if (started.launched) {
        started.begins_by = clock_.seconds() + seconds_to_begin(settings);
        command = launch_command(settings, arguments, Surroundings::of_this_process());
      }
      command.takes_more = shares && !waiting_.empty();
      if (command.takes_more) command.arguments.push_back("--more");
      supervisor_.start(id, command);
    } catch (const Error& error) {  // others may start all the same, and some may be running
      progress_.run_ended(run);
      progress_.say_above(
          fmt::format("{} was not started: {}, then {}", name_of(run), error.what(),
                      options_.fresh ? "try again" : fmt::format("'acid resume {}'", id)));
      fail(error.code());
    }
  }

  // Another process executes the run: its result is as good.
  void hold(const RunSummary& run) {
    const auto& lost = started_[run.id].lost;
    progress_.say_above(
        held_words(run_detail(store_, run.id), lost ? lost->death.how : std::string()));
    held_.push_back(run.id);
  }

  void look_at_held() {
    if (held_.empty() || clock_.seconds() < next_look_) return;
    next_look_ = clock_.seconds() + kSecondsBetweenLooksAtHeld;
    std::erase_if(held_, [&](const std::string& id) {
      const RunSummary run = summary(id);
      if (run.state == RunState::running) return false;
      const bool left = run.state == RunState::interrupted || run.state == RunState::planned;
      left ? take_over(run) : finish(run);
      return true;
    });
  }

  // The lease has ended, so the loss of our own process now counts like any other death.
  void take_over(const RunSummary& run) {
    const auto lost = std::exchange(started_[run.id].lost, std::nullopt);
    if (!lost) return waiting_.push_back(run.id);
    settle_killed(run, lost->ending, lost->death);
  }

  void settle(const Supervisor::Ending& ending) {
    const RunDetail detail = detail_after(ending.name);
    const RunSummary& run = detail.summary;
    announce(detail);
    StartedRun& started = started_.at(run.id);
    const Death death = started.death_of(ending, detail);
    // The worker has ended, so a run with a living lease belongs to a faster process, or its worker
    // died on a host that cannot be seen from here.
    if (run.state == RunState::running) {
      if (death.alone && detail.attempts.size() > started.attempts) started.lost = {ending, death};
      return hold(run);
    }
    if (started.overdue || started.outlived) kill(-ending.pid, SIGKILL);  // what a script left
    if (started.overdue && detail.attempts.size() == started.attempts) {
      const double seconds = seconds_to_begin(settings_from(detail.settings));
      return settle_killed(run, ending, {.how = overdue_words(seconds)});
    }
    const std::optional<Exit> exit = ending.exit();
    // Also true when another process was faster; then the output of our worker does not matter.
    const bool done = run.state == RunState::finished && !options_.fresh;
    // An mpirun that goes on without lost processes reports no error.
    const bool well = exit == Exit::ok && run.state != RunState::interrupted;
    if (done || well) {
      if (exit.value_or(Exit::ok) == Exit::ok) say_words(run, new_words(ending));
      return finish(run);
    }
    if (death.alone) return settle_killed(run, ending, death);
    if (exit == Exit::interrupted && supervisor_.stopping())
      return say_words(run, new_words(ending));
    mark_interrupted(run, death);
    progress_.run_ended(run);
    if (exit == Exit::usage) {
      progress_.say_above(fmt::format("{} was not started: {}", name_of(run), new_words(ending)));
      return fail(Exit::usage);
    }
    // An mpirun that is told to stop has an exit code of its own.
    const bool stopped = detail.attempts.size() > started.attempts &&
                         detail.attempts.back().message == kStoppedBySignal;
    if (exit == Exit::interrupted || stopped) {
      say_words(run, new_words(ending));
      progress_.say_above(
          fmt::format("{} was stopped by a signal from elsewhere; 'acid resume {}' "
                      "continues it",
                      name_of(run), run.id));
      return fail(Exit::interrupted);
    }
    leave_failed_start(detail, ending, death);
    report_failure(run, ending, death);
    fail(exit == Exit::store ? Exit::store : Exit::run_failed);
  }

  // A process that died gives no reason against a restart. A launcher that began nothing is
  // restarted once: mpirun waits for ever when one of its first processes is killed.
  void settle_killed(const RunSummary& run, const Supervisor::Ending& ending, const Death& death) {
    StartedRun& started = started_[run.id];
    mark_interrupted(run, death);
    if (supervisor_.stopping() && (started.overdue || asks_to_stop(death.signal)))
      return progress_.run_ended(run);
    const RunDetail detail = run_detail(store_, run.id);
    // The process may have recorded its end before it died; an end from before it began does not
    // count.
    const bool ended =
        detail.attempts.size() > started.attempts && detail.summary.state != RunState::interrupted;
    if (ended && detail.summary.state == RunState::finished) {
      say_words(run, new_words(ending));
      return finish(detail.summary);
    }
    const int most = started.overdue ? std::min(1, started.max_restarts) : started.max_restarts;
    ++started.losses;
    if (!supervisor_.stopping() && !ended && started.losses <= most) {
      const bool anew = options_.fresh && detail.attempts.size() == started.attempts_at_first;
      const bool continues =
          !anew && !std::ranges::all_of(detail.checkpoints, &CheckpointRow::removed);
      progress_.say_above(fmt::format("{}: {}; restarting from its {} ({} of {})", name_of(run),
                                      death.how, continues ? "last checkpoint" : "beginning",
                                      started.losses, most));
      if (const std::string words = new_words(ending); words != death.how) say_words(run, words);
      waiting_.push_front(run.id);
      return;
    }
    progress_.run_ended(run);
    leave_failed_start(detail, ending, death);
    report_failure(detail.summary, ending, death);
    if (death.signal == SIGKILL && !ended) progress_.say_above(memory_hint());
    fail(Exit::run_failed);
  }

  // Records why there is no result, so that it is known later and on other hosts.
  void leave_failed_start(const RunDetail& run, const Supervisor::Ending& ending,
                          const Death& death) {
    if (run.attempts.size() != started_[run.summary.id].attempts || supervisor_.interrupted())
      return;
    const std::string words = new_words(ending);
    record_failed_start(options_.store_folder, run, words.empty() ? death.how : words);
  }

  void mark_interrupted(const RunSummary& run, const Death& death) {
    if (run.state != RunState::interrupted) return;  // its attempt has ended, or there is none
    try {
      open_existing_store(options_.store_folder)
          .mark_interrupted(run.id, death.pid, death.how, death.told);
    } catch (const StoreError&) {
      // The run shows as interrupted without this record. Other workers go on and need us.
    }
  }

  std::string new_words(const Supervisor::Ending& ending) const {
    return started_.at(ending.name).new_words(ending.output);
  }

  // The worker ended well, but printed something.
  void say_words(const RunSummary& run, const std::string& words) {
    if (words.empty()) return;
    const bool one_line = words.find('\n') == std::string::npos;
    progress_.say_above(fmt::format("{}:{}{}", name_of(run), one_line ? " " : "\n", words));
  }

  void finish(const RunSummary& run) {
    progress_.run_ended(run);
    not_anew_.erase(run.id);
    if (run.state == RunState::finished) {
      ++finished_;
      if (started_[run.id].launched) say_words(run, loss_words(run_detail(store_, run.id)));
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
    const std::string words = new_words(ending);
    if (run.state == RunState::diverged || words.empty() || words == death.how) return;
    progress_.say_above(fmt::format("its last words:\n{}", words));
  }

  void fail(Exit exit) {
    progress_.run_failed();
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
  std::map<std::string, StartedRun> started_;
  std::set<std::string> not_anew_;  // with --force: has earlier results and was not begun again yet
  double next_look_ = 0, next_progress_ = 0;
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
