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
inline constexpr std::string_view kRoundsLayout = "threads-sync/5";

/// What is kept of such a run between two legs, the vectors apart; of its driver's own.
struct RoundsState {
  Ensemble& ensemble;
  EventLog& log;
  std::int64_t& leg;                  // of the next gradient
  double& seconds;                    // spent on the run
  std::vector<double>& idle_seconds;  // by worker
  Sampler& sampler;
  std::vector<GradientRecords>& notes;  // by worker, since the last sample

  template <class Archive>
  void persist(Archive& archive) {
    archive(ensemble, log, leg, seconds, idle_seconds, sampler);
    for (GradientRecords& own : notes) archive(own);
  }
};

/// What all workers together send each time they say something.
inline std::int64_t bytes_per_message(const RunSpec& spec, std::size_t dimension) {
  return std::llround(
      bytes_per_message(spec.method, *spec.topology, 4.0 * static_cast<double>(dimension)));
}

/// What the workers of a synchronous method give to what they hear of their neighbours; nothing
/// where they hear all workers.
inline MixingMatrix weights_of(const RunSpec& spec) {
  if (spec.method.peers != Peers::neighbours) return {};
  return spec.method.uniform_weights ? uniform_weights(*spec.topology)
                                     : metropolis_weights(*spec.topology);
}

/// What worker w hears: its own message, then its neighbours' in ascending order.
template <class MessageOf>
std::vector<kernels::Weighted<float>> heard_by(const MixingMatrix& weights, int w,
                                               const MessageOf& message_of) {
  const auto i = static_cast<std::size_t>(w);
  std::vector<kernels::Weighted<float>> heard{{message_of(w), weights.self[i]}};
  for (const Neighbour& neighbour : weights.neighbours[i])
    heard.push_back({message_of(neighbour.worker), neighbour.weight});
  return heard;
}

}  // namespace acid
