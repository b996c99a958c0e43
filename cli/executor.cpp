#include "cli/executor.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <string_view>

#include "cli/progress.hpp"
#include "cli/run_json.hpp"
#include "cli/session.hpp"
#include "cli/supervisor.hpp"

namespace acid {
namespace {

constexpr int kPollMilliseconds = 200;
constexpr double kSecondsBetweenLooksAtHeld = 1;

std::string name_of(const RunSummary& run) {
  return fmt::format("run {} ({}, seed {})", run.id, shown_name(run.algorithm, run.label),
                     run.seed);
}

std::int64_t total_budget(const std::vector<RunSummary>& runs) {
  std::int64_t sum = 0;
  for (const RunSummary& run : runs) sum += run.budget_gradients;
  return sum;
}

class Executor {
 public:
  Executor(const ExecutorOptions& options, const Store& store, const std::vector<RunSummary>& runs)
      : options_(options),
        store_(store),
        progress_(clock_, runs.size(), total_budget(runs), standard_error_is_terminal()) {
    for (const RunSummary& run : runs) waiting_.push_back(run.id);
    total_ = runs.size();
  }

  Exit execute() {
    while (!over()) {
      while (!supervisor_.stopping() && !waiting_.empty() &&
             supervisor_.running().size() < options_.jobs)
        start_next();
      for (const auto& ending : supervisor_.wait(kPollMilliseconds)) settle(ending);
      look_at_held();
      if (const auto running = supervisor_.running(); !running.empty())
        progress_.show(run_summaries(store_, running));
    }
    if (supervisor_.interrupted())
      progress_.say_above(
          fmt::format("interrupted: {} of {} runs finished and kept; the same "
                      "command goes on with the others",
                      finished_, total_));
    return supervisor_.interrupted() ? Exit::interrupted : exit_;
  }

 private:
  bool over() const {
    if (!supervisor_.running().empty()) return false;
    return supervisor_.stopping() || (waiting_.empty() && held_.empty());
  }

  RunSummary summary(const std::string& id) const { return run_summaries(store_, {id}).front(); }

  void start_next() {
    const std::string id = waiting_.front();
    waiting_.pop_front();
    const RunSummary run = summary(id);
    if (run.state == RunState::running)
      hold(run);
    else
      supervisor_.start(id, {options_.worker, "--store", options_.store_folder, "--run", id});
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
    RunSummary run = summary(ending.name);
    const int code = WIFEXITED(ending.status) ? WEXITSTATUS(ending.status) : -1;
    // Our worker is gone, so a run that lives belongs to someone else who was faster.
    if (run.state == RunState::running) return hold(run);
    if (code == static_cast<int>(Exit::interrupted) && supervisor_.stopping()) return;
    if (code != static_cast<int>(Exit::ok)) {
      Store(options_.store_folder, Store::Access::write)
          .mark_interrupted(run.id,
                            fmt::format("the worker ended with {}", status_text(ending.status)));
      if (code < 0 && supervisor_.interrupted()) return;  // The second ^C.
      report_failure(run, ending);
      fail(code == static_cast<int>(Exit::store) ? Exit::store : Exit::run_failed);
      progress_.run_ended(run);
      return;
    }
    finish(run);
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

  void report_failure(const RunSummary& run, const Supervisor::Ending& ending) {
    if (run.state == RunState::failed || run.state == RunState::diverged)
      progress_.say_above(
          fmt::format("{} {}: {}", name_of(run), state_name(run.state), run.message));
    else
      progress_.say_above(
          fmt::format("{}: acid-worker ended with {}", name_of(run), status_text(ending.status)));
    if (run.state == RunState::diverged || ending.output.empty()) return;
    std::string_view words = ending.output;
    constexpr std::size_t kShown = 4000;
    if (words.size() > kShown) words.remove_prefix(words.size() - kShown);
    while (!words.empty() && words.back() == '\n') words.remove_suffix(1);
    progress_.say_above(fmt::format("its last words:\n{}", words));
  }

  void fail(Exit exit) {
    if (exit_ != Exit::store) exit_ = exit;
    if (options_.fail_fast) supervisor_.stop();
  }

  const ExecutorOptions& options_;
  const Store& store_;
  const SteadyClock clock_;
  Supervisor supervisor_;
  Progress progress_;
  std::deque<std::string> waiting_;  // run ids, in order
  std::vector<std::string> held_;    // run ids that another process executes
  double next_look_ = 0;
  std::size_t total_ = 0;
  std::size_t finished_ = 0;
  Exit exit_ = Exit::ok;
};

}  // namespace

Exit execute(const ExecutorOptions& options, const Store& store,
             const std::vector<RunSummary>& runs) {
  return Executor(options, store, runs).execute();
}

}  // namespace acid
