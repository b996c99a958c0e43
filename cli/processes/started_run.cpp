#include "cli/processes/started_run.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <string_view>

#include "cli/processes/launcher.hpp"
#include "engine/base/worker_words.hpp"
#include "engine/environment/environment.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace {

// The end of what a worker printed, without its prefix and a launcher's remarks.
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

}  // namespace

void StartedRun::start(std::size_t attempts_now) {
  StartedRun again;
  again.times = times + 1;
  again.losses = losses;
  again.attempts_at_first = times == 0 ? attempts_now : attempts_at_first;
  again.attempts = attempts_now;
  *this = again;
}

std::string StartedRun::first_words(const std::string& output) {
  said = output.substr(0, output.rfind('\n') + 1);
  return last_words(said);
}

std::string StartedRun::new_words(const std::string& output) const {
  std::string_view words = output;
  if (words.starts_with(said)) words.remove_prefix(said.size());
  return last_words(words);
}

Death StartedRun::death_of(const Supervisor::Ending& ending, const RunDetail& run) const {
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
  const bool began = run.attempts.size() > attempts;
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

void record_failed_start(const std::string& store_folder, const RunDetail& run,
                         const std::string& why) {
  const std::string& id = run.summary.id;
  const std::string message = "it did not start: " + why;
  try {
    Store store = open_existing_store(store_folder);
    if (run.attempts.empty()) {
      const std::int64_t attempt = store.begin_attempt(
          id, Lease::of_this_process(), environment(""), nlohmann::json::object(), {});
      AttemptResult result;
      result.state = RunState::failed;
      result.message = message;
      store.end_attempt(attempt, result);
    } else if (run.summary.state == RunState::interrupted) {
      store.mark_interrupted(id, run.attempts.back().pid, message, /*knows_better=*/true);
    }
  } catch (const StoreError&) {
  }
}

}  // namespace acid
