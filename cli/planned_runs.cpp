#include "cli/planned_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/session.hpp"

namespace acid {
namespace {

struct Work {
  std::vector<RunSummary> to_do;
  std::size_t finished = 0;
  std::size_t diverged = 0;  // and would diverge again
};

Work work_of(const std::vector<RunSummary>& runs, bool force, bool awaited) {
  Work work;
  for (const RunSummary& run : runs)
    if (awaited)
      work.to_do.push_back(run);
    else if (!force && run.state == RunState::finished)
      ++work.finished;
    else if (!force && run.state == RunState::diverged)
      ++work.diverged;
    else
      work.to_do.push_back(run);
  return work;
}

void say_what_is_done(const Work& work, std::size_t runs) {
  std::string done;
  if (work.finished > 0) done = fmt::format("{} of {} runs already finished", work.finished, runs);
  if (work.diverged > 0)
    done += work.finished > 0 ? fmt::format(" and {} diverged", work.diverged)
                              : fmt::format("{} of {} runs already diverged", work.diverged, runs);
  if (!done.empty()) say(done + " (--force runs them again)");
}

}  // namespace

Ended execute_runs(const ExecutorOptions& executor, const Store& store,
                   const std::vector<std::string>& ids, bool awaited) {
  const std::vector<RunSummary> runs = executor.share.ordered(run_summaries(store, ids));
  const Work work = work_of(runs, executor.fresh, awaited);
  say_what_is_done(work, runs.size());
  if (work.to_do.empty()) return {{}, work.diverged};
  return {execute(executor, store, work.to_do), work.diverged};
}

}  // namespace acid
