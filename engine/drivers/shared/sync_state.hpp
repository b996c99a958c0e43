#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// Cut::layout of synchronous runs against the wall clock, on threads and under mpi: where one of
/// the two took a cut the other can go on.
inline constexpr std::string_view kSyncLayout = "threads-sync/4";

/// What is kept of such a run between two rounds, the vectors apart; of its driver's own.
struct SyncState {
  Ensemble& ensemble;
  EventLog& log;
  std::int64_t& round;                // of the next commit
  double& seconds;                    // spent on the run
  std::vector<double>& idle_seconds;  // by worker
  Sampler& sampler;
  std::vector<GradientRecords>& notes;  // by worker, since the last sample

  template <class Archive>
  void persist(Archive& archive) {
    archive(ensemble, log, round, seconds, idle_seconds, sampler);
    for (GradientRecords& own : notes) archive(own);
  }
};

/// Bytes that all workers together send in a round.
inline std::int64_t bytes_per_round(const RunSpec& spec, std::size_t dimension) {
  const double bytes = 4.0 * static_cast<double>(dimension);
  return static_cast<std::int64_t>(
      bytes_per_gradient(spec.method, *spec.topology, bytes) * spec.workers + 0.5);
}

}  // namespace acid
