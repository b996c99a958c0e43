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
inline std::int64_t bytes_per_message(const RunSpec& spec, std::size_t dimension,
                                      AllReduceKind all_reduce = AllReduceKind::ring) {
  return std::llround(bytes_per_message(spec.method, *spec.topology,
                                        4.0 * static_cast<double>(dimension), all_reduce));
}

/// What the workers of a synchronous method give to what they hear of their neighbours; nothing
/// where they hear all workers.
inline MixingMatrix weights_of(const RunSpec& spec) {
  if (spec.method.peers != Peers::neighbours) return {};
  return spec.method.uniform_weights ? uniform_weights(*spec.topology)
                                     : metropolis_weights(*spec.topology);
}

/// Takes one worker through a leg: act(phase, exchange) for each of its parts, where `exchange` is
/// the number of the message that is said or heard. Before the first part that changes the worker
/// may_go_on() is asked. False where one of them says so.
template <class MayGoOn, class Act>
bool go_through(const Round& round, std::int64_t leg, const MayGoOn& may_go_on, const Act& act) {
  std::int64_t exchange = round.said_before(leg);
  bool goes_on = false;
  for (const Phase phase : round.leg(leg)) {
    const bool changes = phase == Phase::hear || phase == Phase::step;
    if (changes && !goes_on && !may_go_on()) return false;
    goes_on = goes_on || changes;
    if (!act(phase, exchange)) return false;
    if (phase == Phase::hear) ++exchange;
  }
  return true;
}

/// Worker w hears, at the time of its last event, and the event is logged.
inline void hear(int w, Worker& worker, const Heard<float>& heard, EventLog& log) {
  const double t = worker.last_event();
  worker.hear(t, heard);
  log.add(w, EventKind::assign, t, worker);
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
