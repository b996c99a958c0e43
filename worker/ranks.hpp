#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "worker/compose.hpp"

namespace acid {

/// The report of a process of an MPI run to rank 0 before the run begins: which process it is, and
/// either the environment on which its bits depend or why it cannot take part.
struct RankReport {
  int rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string error;  // empty: it can take part
  Exit code = Exit::ok;
  nlohmann::json environment;  // the part of environment_of() in which ranks can differ
  std::vector<std::pair<std::string, std::string>> files;  // path, SHA-256

  std::string text() const;
  static RankReport from_text(const std::string& text);
};

/// The report of this process; `surroundings` come from environment_of().
RankReport report_of(int rank, const ComposedRun& run, const nlohmann::json& surroundings);
RankReport failed_report(int rank, const std::string& error, Exit code);

/// Checks whether the processes can execute a run together. Throws the error that hinders one of
/// them, with worker and host, as an error of its class. Throws UsageError when something on which
/// the run's bits depend differs from rank 0's, unless `allow_changed`. Returns warnings.
std::vector<std::string> compare_ranks(const std::vector<RankReport>& reports, bool allow_changed);

/// Throws UsageError for a run that is to go on without lost processes if MPI, whose environment()
/// is given, would not let it.
void require_fault_tolerance(const ComposedRun& run, const nlohmann::json& mpi);

/// [{"rank", "host", "pid"}], for the attempt's environment.
nlohmann::json processes_of(const std::vector<RankReport>& reports);

}  // namespace acid
