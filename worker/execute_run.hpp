#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "engine/base/error.hpp"
#include "store/store.hpp"
#include "worker/compose.hpp"

namespace acid {

struct ExecuteOptions {
  std::string store_folder;
  std::string run_id;
  std::string command_line;
  bool fresh = false;          // start again, even if there is a checkpoint
  bool allow_changed = false;  // go on though the program or its data changed
  /// Called before anything is recorded: from then on a stop request is heard.
  std::function<void()> begins = [] {};
  double start_seconds = 300;  // under MPI: how long to wait for each process to start
};

/// Executes one run of the store, open for writing, from its newest whole checkpoint or from its
/// start; all settings come from the store. Records the attempt, however it ends. Returns the exit
/// code of acid-worker. Throws Error for a failure before there was an attempt to record it in, and
/// UsageError for a refusal to go on.
Exit execute_run(Store& store, const ExecuteOptions& options, std::stop_token stop);

/// The environment to record and compare: the machine, the programs, the model's libraries, and the
/// digest of the run's settings, which are given as stored.
nlohmann::json environment_of(const ComposedRun& run, const nlohmann::json& settings,
                              const std::string& command_line);

}  // namespace acid
