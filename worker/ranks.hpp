#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "worker/compose.hpp"

namespace acid {

/// What a process of an MPI run tells rank 0 before the run begins: who it is, and either what its
/// bits depend on or why it cannot take part.
struct RankReport {
  int rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string error;  // empty: it can take part
  Exit code = Exit::ok;
  nlohmann::json environment;  // environment_of(), as far as ranks can differ
  std::vector<std::pair<std::string, std::string>> files;  // path, SHA-256

  std::string text() const;
  static RankReport from_text(const std::string& text);
};

/// Of this process; `surroundings` as environment_of() gives them.
RankReport report_of(int rank, const ComposedRun& run, const nlohmann::json& surroundings);
RankReport failed_report(int rank, const std::string& error, Exit code);

/// Whether the processes can execute a run together. Throws what hinders one of them, naming worker
/// and host, as an error of its class, and UsageError when what the bits of the run depend on
/// differs from rank 0's, unless `allow_changed`. Returns what is worth a warning.
std::vector<std::string> compare_ranks(const std::vector<RankReport>& reports, bool allow_changed);

/// Throws UsageError where a run is to go on without lost processes, and MPI, whose environment()
/// is given, would not let it.
void require_fault_tolerance(const ComposedRun& run, const nlohmann::json& mpi);

/// [{"rank", "host", "pid"}], for the attempt's environment.
nlohmann::json processes_of(const std::vector<RankReport>& reports);

}  // namespace acid
