#include "cli/processes/executor_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/processes/machine.hpp"
#include "cli/terminal/run_json.hpp"
#include "reports/numbers.hpp"

namespace acid {

std::string name_of(const RunSummary& run) {
  return fmt::format("run {} ({}, seed {})", run.id, shown_name(run.algorithm, run.label),
                     run.seed);
}

std::string resuming_words(const RunSummary& run, const Position& there) {
  if (run.budget_time)
    return fmt::format("{}: resuming from normalised time {:.6g} of {:.6g}", name_of(run),
                       there.normalised_time, *run.budget_time);
  return fmt::format("{}: resuming from gradient {} of {}", name_of(run), there.gradients,
                     run.budget_gradients);
}

std::string loss_words(const RunDetail& run) {
  std::vector<std::size_t> lost;
  if (run.result)
    for (std::size_t worker = 0; worker < run.result->worker_digests.size(); ++worker)
      if (run.result->worker_digests[worker].empty()) lost.push_back(worker);
  if (lost.empty()) return {};
  return fmt::format("went on without worker{} {}, which {} lost; 'acid show {}' says when",
                     lost.size() == 1 ? "" : "s", fmt::join(lost, ", "),
                     lost.size() == 1 ? "was" : "were", run.summary.id);
}

std::string memory_hint() {
  const std::int64_t limit = memory_limit_bytes();
  return fmt::format(
      "SIGKILL is what the system sends when memory runs out; {} are available now{}. Use fewer "
      "workers, a smaller model or batch, or a smaller --jobs",
      format_bytes(static_cast<double>(available_memory_bytes())),
      limit > 0 ? fmt::format(" and the limit is {}", format_bytes(static_cast<double>(limit)))
                : "");
}

std::string held_words(const RunDetail& run, const std::string& lost) {
  const AttemptRow holder = run.attempts.empty() ? AttemptRow{} : run.attempts.back();
  const std::string name = name_of(run.summary);
  if (!holder.outcome.empty())  // two that end at the same time
    return fmt::format("{} was executed by process {} on {} meanwhile; its result is used", name,
                       holder.pid, holder.host);
  if (lost.empty())
    return fmt::format("{} is being executed by process {} on {}; its result will be used", name,
                       holder.pid, holder.host);
  return fmt::format("{}: {}; it is taken up again once process {} on {} is sure to be gone", name,
                     lost, holder.pid, holder.host);
}

std::string overdue_words(double seconds) {
  return fmt::format(
      "the launcher has begun nothing within {:.0f} s, so it was ended: see whether "
      "'mpirun -n 2 hostname' comes to its end here; execution.mpi.start_seconds is how long each "
      "step of a start may take",
      seconds);
}

std::string interruption_words(const Interruption& interruption) {
  const auto [runs, finished, fresh, not_anew] = interruption;
  std::string words = fmt::format("interrupted: {} of {} runs finished and kept", finished, runs);
  if (not_anew > 0)  // without --force they would count as done, or be continued
    words += fmt::format(
        "; {} {} not begun again and stay as they were: for those it takes --force, which begins "
        "all runs again",
        not_anew, not_anew == 1 ? "was" : "were");
  if (finished + not_anew < runs)
    words += fmt::format("; the same command{} goes on with the others",
                         fresh ? " without --force" : "");
  return words;
}

}  // namespace acid
