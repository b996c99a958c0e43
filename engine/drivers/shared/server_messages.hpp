#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/run/ensemble.hpp"

namespace acid {

/// What every worker of a run has said to the server last, and what that answered: a row each of
/// the size of such a message, in the memory of the workers. The driver serialises access worker by
/// worker.
class ServerMessages {
 public:
  ServerMessages(const RunSpec& spec, std::size_t dimension);
  std::span<float> said(int w) { return row(said_, said_size_, w); }
  std::span<float> reply(int w) { return row(replies_, reply_size_, w); }
  std::size_t reply_bytes() const { return sizeof(float) * reply_size_; }

  /// Adds them to what a checkpoint holds, borrowed.
  void add_to(std::vector<StateVectors>& vectors);
  void restore(const CheckpointFile& file);

 private:
  static std::span<float> row(Arena<float>& all, std::size_t size, int w) {
    return all.span().subspan(static_cast<std::size_t>(w) * size, size);
  }

  const int workers_;
  const std::size_t said_size_, reply_size_;
  Arena<float> said_, replies_;
};

/// The server hears what a worker has said, at t or at its own last event, whichever is later, and
/// `reply` ← what it answers.
void serve(Worker& server, double t, std::span<const float> said, std::span<float> reply,
           const StepSize& arrival);
/// The worker hears the reply to what it has said.
void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply);

}  // namespace acid
