#include "engine/drivers/threads/threads.hpp"

#include "engine/drivers/shared/rounds.hpp"
#include "engine/drivers/threads/threads_async.hpp"
#include "engine/drivers/threads/threads_sync.hpp"

namespace acid {

Outcome run_threads(const Run& run, const ThreadsOptions& options) {
  if (run.spec.method.is_asynchronous()) return ThreadsAsync(run, options).execute();
  return ThreadsSync(run, options).execute();
}

std::string_view threads_state_layout(const RunSpec& spec) {
  if (!spec.method.is_asynchronous()) return kRoundsLayout;
  return spec.method.has_server() ? "threads-server/3" : "threads-async/4";
}

}  // namespace acid
