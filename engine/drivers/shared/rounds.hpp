#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/shared/run_shell.hpp"

namespace acid {

/// Cut::layout of synchronous runs against the wall clock. A cut taken on threads can be resumed
/// under mpi, and the reverse.
inline constexpr std::string_view kRoundsLayout = "threads-sync/5";

/// The state of such a run between two legs, without vectors and without the driver's own state.
struct RoundsState {
  RunShell& shell;
  std::int64_t& leg;                    // of the next gradient
  double& seconds;                      // spent on the run
  std::vector<double>& idle_seconds;    // by worker
  std::vector<GradientRecords>& notes;  // by worker, since the last sample

  template <class Archive>
  void persist(Archive& archive) {
    archive(shell.ensemble, shell.log, leg, seconds, idle_seconds, shell.sampler);
    for (GradientRecords& own : notes) archive(own);
  }
};

/// Takes one worker through a leg: act(phase, exchange) for each of its parts, where `exchange` is
/// the number of the message that is said or heard. Calls may_go_on() before the first part that
/// changes the worker. Returns false as soon as one of the two does.
template <class MayGoOn, class Act>
bool go_through(const Method& method, std::int64_t leg, const MayGoOn& may_go_on, const Act& act) {
  const Round& round = method.round;
  std::int64_t said = round.said_before(leg), heard = round.heard_before(leg);
  const bool saying_changes = method.rules.floats->changes_when_saying();
  bool goes_on = false;
  for (const Phase phase : round.leg(leg)) {
    const bool changes =
        phase == Phase::hear || phase == Phase::step || (phase == Phase::say && saying_changes);
    if (changes && !goes_on && !may_go_on()) return false;
    goes_on = goes_on || changes;
    if (!act(phase, phase == Phase::hear ? heard : said)) return false;
    if (phase == Phase::say) ++said;
    if (phase == Phase::hear) ++heard;
  }
  return true;
}

/// The part of the round that a worker does next.
struct RoundPlace {
  std::int64_t leg = 0, phase = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(leg, phase);
  }
};

/// Takes a worker from `at` to its next gradient: act(phase) for each part before it and for the
/// gradient's begin, where `at` stays. Where ends() says that the run has no gradient left the
/// worker begins none and stops at the end of a leg. Returns false as soon as act() does.
template <class Ends, class Act>
bool go_to_next_gradient(const Round& round, RoundPlace& at, const Ends& ends, const Act& act) {
  while (true) {
    const Leg& leg = round.leg(at.leg);
    if (at.phase == static_cast<std::int64_t>(leg.size())) {
      at = {at.leg + 1, 0};
      if (ends()) return true;
      continue;
    }
    const Phase phase = leg[static_cast<std::size_t>(at.phase)];
    if (phase == Phase::gradient) return ends() || act(phase);
    if (!act(phase)) return false;
    ++at.phase;
  }
}

/// Worker w hears at the time of its last event; the event is logged.
inline void hear(int w, Worker& worker, const Heard<float>& heard, EventLog& log) {
  const double t = worker.last_event();
  worker.hear(t, heard);
  log.add(w, EventKind::assign, t, worker);
}

/// What worker w hears: its own message, then the others' in ascending order.
template <class MessageOf>
std::vector<kernels::Weighted<float>> heard_by(const PeerSchedule::Exchange& exchange, int w,
                                               const MessageOf& message_of) {
  const auto i = static_cast<std::size_t>(w);
  std::vector<kernels::Weighted<float>> heard{{message_of(w), exchange.excess[i]}};
  for (const Neighbour& neighbour : exchange.weights.neighbours[i])
    heard.push_back({message_of(neighbour.worker), neighbour.weight});
  return heard;
}

/// Worker w hears its peers' messages, as heard_by() has them.
template <class MessageOf>
void hear(int w, Worker& worker, const PeerSchedule::Exchange& exchange,
          const MessageOf& message_of, EventLog& log) {
  const std::vector<kernels::Weighted<float>> sources = heard_by(exchange, w, message_of);
  hear(w, worker, {.sources = sources}, log);
}

}  // namespace acid
