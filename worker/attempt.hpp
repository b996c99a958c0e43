#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "store/queries.hpp"
#include "store/writer.hpp"
#include "worker/compose.hpp"
#include "worker/execute_run.hpp"
#include "worker/resume.hpp"
#include "worker/watched_files.hpp"

namespace acid {

/// One attempt at a run, from where it starts to what it leaves behind. One thread at a time.
class Attempt {
 public:
  /// Executes the run, reporting to the recorder.
  using Drive = std::function<Outcome(Recorder& recorder, const Checkpointing& checkpointing)>;

  /// Begins an attempt in the store, from the newest whole checkpoint unless options.fresh is set.
  /// `surroundings`: environment_of() and other facts to be recorded; `remarks`: notes about
  /// them. All arguments but these two must outlive this object. Throws UsageError for a refusal to
  /// go on, and Overtaken as Store::begin_attempt does.
  Attempt(const ExecuteOptions& options, Store& store, const RunDetail& run, ComposedRun& composed,
          const nlohmann::json& surroundings, std::vector<std::string> remarks = {});

  /// Records how the attempt ends, also when `drive` throws: after a lost process or a failed write
  /// to the store it ends as interrupted, after other errors as failed; then the exception goes on.
  /// Returns the exit code of acid-worker.
  Exit execute(const Drive& drive);

 private:
  AttemptResult drive_to_end(const Drive& drive);
  AttemptResult drive_and_save(const Drive& drive, RunWriter& writer);
  void go_on_with_log(const RunDetail& run);
  void end_quietly(const AttemptResult& result);

  const ExecuteOptions& options_;
  Store& store_;
  ComposedRun& run_;
  std::optional<Resumption> from_;
  std::vector<std::string> remarks_;  // also about checkpoints that cannot be used
  WatchedFiles files_;
  std::int64_t id_ = 0;
};

}  // namespace acid
