#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/run/ensemble.hpp"

namespace acid {

/// What so many workers of a run have said to their servers last, and what those answered: a row
/// each of the size of such a message, in the memory of the workers. Likewise what hubs have said
/// to the server above them, if there are any. The driver serialises access row by row.
class ServerMessages {
 public:
  ServerMessages(const RunSpec& spec, std::size_t dimension, int workers);
  std::span<float> said(int w) { return row(said_, said_size_, w); }
  std::span<float> reply(int w) { return row(replies_, reply_size_, w); }
  std::size_t reply_bytes() const { return sizeof(float) * reply_size_; }
  std::span<float> said_above(int h) { return row(said_above_, said_above_size_, h); }
  std::span<float> reply_above(int h) { return row(replies_above_, reply_above_size_, h); }
  std::size_t said_above_bytes() const { return sizeof(float) * said_above_size_; }
  std::size_t reply_above_bytes() const { return sizeof(float) * reply_above_size_; }

  /// Adds them to what a checkpoint holds, borrowed.
  void add_to(std::vector<StateVectors>& vectors);
  void restore(const CheckpointFile& file);

 private:
  static std::span<float> row(Arena<float>& all, std::size_t size, int w) {
    return all.span().subspan(static_cast<std::size_t>(w) * size, size);
  }

  const int workers_, hubs_;
  const std::size_t said_size_, reply_size_, said_above_size_, reply_above_size_;
  Arena<float> said_, replies_, said_above_, replies_above_;
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

/// A server hears what a worker, or a hub, has said, at t or at its own last event, whichever is
/// later, and `reply` ← what it answers.
void serve(Worker& server, double t, std::span<const float> said, std::span<float> reply,
           const StepSize& arrival);
/// Hub h, which has left, is at the one above and back at once.
void visit(Servers& servers, int h, double t, ServerMessages& messages);
/// The worker hears the reply to what it has said.
void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply);

}  // namespace acid
