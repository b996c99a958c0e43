#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

/// The servers of a run: workers without gradients that answer callers. A caller says a message,
/// its server hears it and replies, and the caller hears the reply. Workers 0 to n − 1 are callers.
/// There is one server, or there are hubs, each of which serves a share of the workers, and a
/// server above them: then hub h is caller n + h, and the server above is its server. The run's
/// model is that of the only server or of the server above.
///
/// Arrivals are counted apart from the computation, so that a driver may count in one thread and
/// compute in others. The driver serialises each server; any thread may read staleness().
class Servers {
 public:
  /// For a method with a server; all servers start from x0.
  Servers(const Method& method, const WorkerSettings& of_workers, int workers,
          std::span<const float> x0);

  /// The number of servers that serve workers: one, or the hubs, which come first. The server above
  /// is the last of all().
  int size() const { return count_; }
  int all() const { return static_cast<int>(all_.size()); }
  /// The server of a caller.
  int of(int caller) const {
    return caller < workers_ ? method_.server_of(caller, workers_) : count_;
  }
  /// Hub h as a caller.
  int caller(int h) const { return workers_ + h; }
  Worker& server(int s) { return all_[index(s)]->worker; }
  /// The server above, or the only one.
  Worker& model() { return all_.back()->worker; }
  const Worker& model() const { return all_.back()->worker; }
  double latest_event() const;

  /// Messages that worker w's server has heard since the worker's last one.
  std::int64_t staleness(int w) const {
    return all_[index(of(w))]->arrivals.load() - of_worker_[index(w)];
  }

  /// The number of the worker's last message at its server, from 1.
  std::int64_t last_arrival(int w) const { return of_worker_[index(w)]; }

  // A caller's message arrives at its server and is counted. `learning_rate`: that of a worker's
  // last gradient; a hub uses that of the last message before it left.
  StepSize arrive(int caller, double learning_rate = 0);
  /// Server s, which has just heard a message, leaves for the server above. False if it stays.
  bool leave(int s);
  /// Hub h has heard the reply.
  void come_back(int h);
  /// Bytes of the hubs' messages, and of the replies.
  std::int64_t bytes_of_visits() const;

  /// The last message of each caller, and the reply to it.
  ServerMessages& messages() { return messages_; }
  /// A caller's message arrives at its server, which hears it and replies.
  void answer(int caller, double t, double learning_rate = 0);
  /// If server s, which has just replied, leaves: it visits the server above and is back at once.
  void visit(int s, double t);

  // Hub h as a caller, at t or at its last event, whichever is later.
  void say(int h, double t, std::span<float> said);
  void hear(int h, double t, std::span<const float> said, std::span<const float> reply);

  template <class Archive>
  void persist(Archive& archive) {
    for (const auto& one : all_) archive(one->worker);
    for (int s = 0; s < count_; ++s) archive(*all_[index(s)]);
    std::int64_t above = above_ ? above_->load() : 0;
    archive(of_worker_, above);
    if (Archive::kReads && above_) above_->store(above);
  }
  /// visit(name, vector) for every vector that is not empty of every server: the hubs' in order,
  /// with names such as "hub.x", then the names such as "server.x".
  template <class Visit>
  void for_each_vector(const Visit& visit) const {
    for (const auto& one : all_)
      one->worker.for_each_vector([&](std::string_view name, std::span<float> vector) {
        if (!vector.empty())
          visit((one == all_.back() ? "server." : "hub.") + std::string(name), vector);
      });
  }

 private:
  struct Server {
    Server(const WorkerSettings& of_workers, const Rules& rules, std::uint32_t number);
    WorkerSettings settings;
    WorkerMemory<float> memory;
    Worker worker;
    std::atomic<std::int64_t> arrivals{0};
    std::int64_t heard = 0;          // arrivals when the server came back last
    std::int64_t above = 0;          // number of its last arrival above, from 1
    double learning_rate = 0;        // of its last message
    double learning_rate_above = 0;  // of the last message before it left
    bool is_away = false;
    template <class Archive>
    void persist(Archive& archive) {
      std::int64_t count = arrivals.load();
      archive(count, heard, above, learning_rate, learning_rate_above, is_away);
      if constexpr (Archive::kReads) arrivals.store(count);
    }
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  const Method method_;
  const std::size_t dimension_;
  const int workers_, count_;
  ServerMessages messages_;
  std::vector<std::unique_ptr<Server>> all_;  // the hubs, then the server above; or the only server
  std::atomic<std::int64_t>* above_ = nullptr;  // arrivals at the server above, if there are hubs
  std::vector<std::int64_t> of_worker_;         // number of each worker's last arrival, from 1
};

}  // namespace acid
