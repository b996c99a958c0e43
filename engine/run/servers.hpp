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

/// The servers of a run: workers without gradients. There is one, or there are hubs, each of which
/// talks to a share of the workers, and one above them, which the hubs talk to. The run's model is
/// that of the one, or of the one above.
///
/// What arrives is counted apart from what is done with it, so that a driver may count in one
/// thread and compute in others. The driver serialises what concerns one hub, and what concerns the
/// one above; of the counts any thread may read staleness().
class Servers {
 public:
  /// Of a method that has a server; all start from x0.
  Servers(const Method& method, const WorkerSettings& of_workers, int workers,
          std::span<const float> x0);

  /// That the workers talk to: the one, or the hubs.
  int size() const { return count_; }
  /// Which of them worker w talks to.
  int of(int w) const { return method_.server_of(w, workers_); }
  Worker& server(int h) { return all_[static_cast<std::size_t>(h)]->worker; }
  /// The one above, or the one there is.
  Worker& model() { return all_.back()->worker; }
  const Worker& model() const { return all_.back()->worker; }
  double latest_event() const;

  /// Messages that worker w's server has heard since its last one.
  std::int64_t staleness(int w) const { return hub(of(w)).arrivals.load() - of_worker_[index(w)]; }

  /// The number of its last message there, from 1.
  std::int64_t last_arrival(int w) const { return of_worker_[index(w)]; }

  // Counts.
  /// A message of worker w arrives at its server.
  StepSize arrive(int w, double learning_rate);
  /// Hub h, which has just heard a message, leaves for the one above. False where it does not.
  bool leave(int h);
  /// What it says there arrives.
  StepSize arrive_above(int h);
  /// It has heard the reply.
  void come_back(int h);
  /// So many have been made: arrivals above.
  std::int64_t visits() const { return arrivals_above_.load(); }
  /// Bytes of these, and of the replies.
  std::int64_t bytes_of_visits() const;

  // What hub h does then, at t or at its last event, whichever is later.
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
  /// visit(name, vector) for every vector of every server that has any: those of the hubs in order,
  /// named "hub.x", …, then "server.x", ….
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
  /// What is counted of a server that workers talk to.
  struct Hub {
    std::atomic<std::int64_t> arrivals{0};
    std::int64_t heard = 0;          // of these, when it came back last
    std::int64_t above = 0;          // the number of its last arrival above, from 1
    double learning_rate = 0;        // of its last message
    double learning_rate_above = 0;  // of the last before it left
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
  std::vector<std::unique_ptr<One>> all_;  // the hubs, then the one above; or the one
  std::unique_ptr<Hub[]> hubs_;
  std::vector<std::int64_t> of_worker_;  // the number of its last arrival, from 1
  std::atomic<std::int64_t> arrivals_above_{0};
};

}  // namespace acid
