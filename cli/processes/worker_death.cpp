#include "cli/processes/worker_death.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/processes/child.hpp"
#include "cli/processes/launcher.hpp"
#include "engine/base/error.hpp"
#include "engine/base/worker_words.hpp"

namespace acid {

std::string last_words(std::string_view all) {
  constexpr std::size_t kShown = 4000;
  constexpr std::string_view kPrefix = kWorkerErrorPrefix;
  const std::string kept = without_launcher_remarks(all);
  std::string_view output = kept;
  if (output.size() > kShown) output.remove_prefix(output.size() - kShown);
  while (!output.empty() && output.back() == '\n') output.remove_suffix(1);
  if (output.substr(0, kPrefix.size()) == kPrefix) output.remove_prefix(kPrefix.size());
  return std::string(output);
}

Death death_of(const Supervisor::Ending& ending, const RunDetail& run, std::size_t attempts_before,
               bool launched, bool outlived) {
  Death death;
  death.how = fmt::format("acid-worker ended with {}", status_text(ending.status));
  death.alone = WIFSIGNALED(ending.status);
  death.signal = death.alone ? WTERMSIG(ending.status) : 0;
  death.pid = ending.pid;
  const std::optional<Exit> exit = ending.exit();
  if (!launched && exit == Exit::lost) {  // a process died that computes for the worker
    death.alone = death.told = true;
    death.how = last_words(ending.output);
  }
  if (!launched) return death;
  const bool began = run.attempts.size() > attempts_before;
  const AttemptRow last = began ? run.attempts.back() : AttemptRow{};
  death.pid = began ? last.pid : 0;
  if (death.alone && !outlived) return death;
  const nlohmann::json processes = last.environment.is_object()
                                       ? last.environment.value("processes", nlohmann::json())
                                       : nullptr;
  if (const auto killed = killed_process(ending.output); killed && !outlived)
    return {describe(*killed, processes), true, true, killed->signal, death.pid};
  if (const auto host = lost_host(ending.output))
    return {describe_lost_host(*host, processes), true, true, 0, death.pid};
  if (outlived || exit == Exit::lost || exit == Exit::ok) {
    // A process that was stopped and wakes up to be killed blames the end of the others, so the
    // first complaint is the best.
    const auto complaint = first_complaint(ending.output);
    death.alone = true;
    death.told = complaint.has_value();
    death.signal = 0;
    death.how = complaint.value_or(last.message.empty() ? death.how : last.message);
  }
  return death;
}

}  // namespace acid
