#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/methods/method.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/worker.hpp"

namespace acid {

/// The last message of each caller (Servers) and the reply of its server: a row each, in the memory
/// of the workers. The driver serialises access row by row.
class ServerMessages {
 public:
  /// The callers are so many workers, and the method's hubs.
  ServerMessages(const Method& method, const Backend& memory, std::size_t dimension, int workers);
  std::span<float> said(int caller) { return row(caller, 0); }
  std::span<float> reply(int caller) { return row(caller, 1); }

  /// Adds the messages to a checkpoint's vectors, borrowed.
  void add_to(std::vector<StateVectors>& vectors);

 private:
  /// The messages of one kind of caller, or the replies to them.
  struct Table {
    Table(const char* checkpoint_name, const Rule<float>& rule, const Backend& memory,
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
  std::vector<Table> tables_;  // said, replies; then the hubs', if there are any
};

/// A server hears a caller's message, at t or at its own last event, whichever is later, and
/// `reply` ← its answer.
void serve(Worker& server, double t, std::span<const float> said, std::span<float> reply,
           const StepSize& arrival);
/// The worker hears the reply to its message `said`.
void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply);

}  // namespace acid
