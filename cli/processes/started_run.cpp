#include "cli/processes/started_run.hpp"

#include <string_view>

#include "engine/environment/environment.hpp"
#include "store/sqlite.hpp"

namespace acid {

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

RunDetail patient_detail(const Store& store, const std::string& id) {
  constexpr int kMost = 5;  // each waits for a minute
  for (int k = 1;; ++k) {
    try {
      return run_detail(store, id);
    } catch (const sqlite::SqliteError& error) {
      if (!error.locked() || k == kMost) throw;
    }
  }
}

std::vector<RunSummary> summaries_unless_locked(const Store& store,
                                                const std::vector<std::string>& ids) {
  try {
    return run_summaries(store, ids);
  } catch (const sqlite::SqliteError& error) {
    if (!error.locked()) throw;
    return {};
  }
}

void record_failed_start(const std::string& store_folder, const RunDetail& run,
                         const std::string& why) {
  const std::string& id = run.summary.id;
  const std::string message = "it did not start: " + why;
  try {
    Store store(store_folder, Store::Access::write);
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
