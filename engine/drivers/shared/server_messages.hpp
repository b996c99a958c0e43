#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/run/ensemble.hpp"

namespace acid {

/// What each caller (Servers) has said last, and what its server replied: a row each, in the memory
/// of the workers. The driver serialises access row by row.
class ServerMessages {
 public:
  /// Callers are so many workers, and the hubs that they have.
  ServerMessages(const RunSpec& spec, std::size_t dimension, int workers);
  std::span<float> said(int caller) { return row(caller, 0); }
  std::span<float> reply(int caller) { return row(caller, 1); }

  /// Adds them to what a checkpoint holds, borrowed.
  void add_to(std::vector<StateVectors>& vectors);
  void restore(const CheckpointFile& file);

 private:
  /// What so many callers of a kind have said, or been replied.
  struct Table {
    Table(const char* checkpoint_name, const RunSpec& spec, const Rule<float>& rule,
          std::size_t dimension, int callers);
    const char* name;  // in a checkpoint
    std::size_t size;  // floats of a row
    int rows;
    Arena<float> values;
    std::span<float> row(int i) {
      return values.span().subspan(static_cast<std::size_t>(i) * size, size);
    }
  };
  std::span<float> row(int caller, std::size_t reply) {
    return caller < workers_ ? tables_[reply].row(caller)
                             : tables_[2 + reply].row(caller - workers_);
  }

  const int workers_;
  std::vector<Table> tables_;  // said, replies; likewise of hubs, if there are any
};

/// The part of its round that a worker comes to.
struct RoundPlace {
  std::int64_t leg = 0, phase = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(leg, phase);
  }
};

/// Takes a worker from there to its next gradient: act(phase) for each part before it and for the
/// gradient's begin, whose phase it stays at. Where ends() says that the run has no gradient left
/// it does not begin one, and stops at the end of a leg. False where act says so.
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

/// A server hears what a caller has said, at t or at its own last event, whichever is later, and
/// `reply` ← what it answers.
void serve(Worker& server, double t, std::span<const float> said, std::span<float> reply,
           const StepSize& arrival);
/// What a caller has said arrives at its server, which hears it and replies. A hub that leaves then
/// is at the one above and back at once. `learning_rate`: as Servers::arrive.
void call(Servers& servers, ServerMessages& messages, int caller, double t,
          double learning_rate = 0);
/// The worker hears the reply to what it has said.
void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply);

}  // namespace acid
