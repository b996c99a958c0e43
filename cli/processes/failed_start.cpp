#include "cli/processes/failed_start.hpp"

#include "engine/environment/environment.hpp"

namespace acid {

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
