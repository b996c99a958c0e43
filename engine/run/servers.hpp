#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/methods/method.hpp"
#include "engine/worker/worker.hpp"

namespace acid {

/// The servers of a run: workers without gradients. Either one server, or hubs, each for a share of
/// the workers, and one server above them, to which the hubs talk. The run's model is that of the
/// one server or of the server above.
///
/// Counting arrivals is separate from computing, so that a driver may count in one thread and
/// compute in others. The driver serialises the calls for each hub and those for the server above;
/// any thread may call staleness().
class Servers {
 public:
  /// `method` has a server. All servers start from x0.
  Servers(const Method& method, const WorkerSettings& of_workers, int workers,
          std::span<const float> x0);

  /// Number of servers that workers talk to: 1, or the hubs.
  int size() const { return count_; }
  /// The one that worker w talks to.
  int of(int w) const { return method_.server_of(w, workers_); }
  Worker& server(int h) { return all_[static_cast<std::size_t>(h)]->worker; }
  /// The server above, or the only one.
  Worker& model() { return all_.back()->worker; }
  const Worker& model() const { return all_.back()->worker; }
  double latest_event() const;

  /// Messages that worker w's server has heard since its last one.
  std::int64_t staleness(int w) const { return hub(of(w)).arrivals.load() - of_worker_[index(w)]; }

  /// The number of worker w's last message there, from 1.
  std::int64_t last_arrival(int w) const { return of_worker_[index(w)]; }

  // Counts.
  /// A message of worker w arrives at its server.
  StepSize arrive(int w, double learning_rate);
  /// Hub h, which has just heard a message, begins a visit to the server above; false: it does not.
  bool leave(int h);
  /// Its message arrives above.
  StepSize arrive_above(int h);
  /// It has heard the reply, which ends the visit.
  void come_back(int h);
  /// Visits so far, counted as they arrive above.
  std::int64_t visits() const { return arrivals_above_.load(); }
  /// Bytes of the visits' messages and replies.
  std::int64_t bytes_of_visits() const;

  // What hub h computes in a visit, at t or at its last event, whichever is later.
  void say_above(int h, double t, std::span<float> said);
  void hear_above(int h, double t, std::span<const float> said, std::span<const float> reply);

  template <class Archive>
  void persist(Archive& archive) {
    for (const auto& one : all_) archive(one->worker);
    for (int h = 0; h < count_; ++h) archive(hubs_[index(h)]);
    std::int64_t above = arrivals_above_.load();
    archive(of_worker_, above);
    if constexpr (Archive::kReads) arrivals_above_.store(above);
  }
  /// Calls visit(name, vector) for every vector that is not empty: those of the hubs in order,
  /// named "hub.x" and so on, then those of the server, "server.x" and so on.
  template <class Visit>
  void for_each_vector(const Visit& visit) const {
    for (const auto& one : all_)
      one->worker.for_each_vector([&](std::string_view name, std::span<float> vector) {
        if (!vector.empty())
          visit((one == all_.back() ? "server." : "hub.") + std::string(name), vector);
      });
  }

 private:
  struct One {
    One(const WorkerSettings& of_workers, const Rules& rules, std::uint32_t number);
    WorkerSettings settings;
    WorkerMemory<float> memory;
    Worker worker;
  };
  /// The counts of a server that workers talk to.
  struct Hub {
    std::atomic<std::int64_t> arrivals{0};
    std::int64_t heard = 0;          // arrivals at the end of its last visit
    std::int64_t above = 0;          // the number of its last arrival above, from 1
    double learning_rate = 0;        // of its last message
    double learning_rate_above = 0;  // of its last message before the visit
    bool is_away = false;
    template <class Archive>
    void persist(Archive& archive) {
      std::int64_t count = arrivals.load();
      archive(count, heard, above, learning_rate, learning_rate_above, is_away);
      if constexpr (Archive::kReads) arrivals.store(count);
    }
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  Hub& hub(int h) { return hubs_[index(h)]; }
  const Hub& hub(int h) const { return hubs_[index(h)]; }

  const Method method_;
  const std::size_t dimension_;
  const int workers_, count_;
  std::vector<std::unique_ptr<One>> all_;  // the hubs, then the server above; or the only one
  std::unique_ptr<Hub[]> hubs_;
  std::vector<std::int64_t> of_worker_;  // the number of its last arrival, from 1
  std::atomic<std::int64_t> arrivals_above_{0};
};

}  // namespace acid
