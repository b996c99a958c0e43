#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/run/servers.hpp"
#include "engine/worker/objective.hpp"
#include "engine/worker/worker.hpp"

namespace acid {

/// Runs body(lane, index) for every index below a count, on the driver's threads.
using ParallelFor = std::function<void(int count, const std::function<void(int lane, int index)>&)>;

/// The mean of all workers at one normalised time, and the distance to it.
struct MeanModel {
  /// Accumulated in double, in worker order, rounded once. With a server: the server's model.
  std::vector<float> x;
  /// Buffers for evaluation: one entry, their mean, or, with RunSpec::average_buffers off, one
  /// entry per worker. A model without buffers has one empty entry.
  std::vector<std::vector<float>> buffers;
  double consensus_distance = 0;
  double length = 0;    // of the mean of the workers, ‖x̄‖
  int not_finite = -1;  // first worker with a parameter that is not finite; −1: none
  std::int64_t not_finite_gradients = 0;    // how many gradients that worker had committed
  std::vector<std::uint32_t> fingerprints;  // full ones, by worker, of x as it is; see Look
  /// The workers' own models, by worker; see Look.
  struct OwnModel {
    std::vector<float> x, buffers;
  };
  std::vector<OwnModel> workers;
  std::vector<int> members;  // the workers in the mean; empty: all
  /// Replaces the places 0, 1, … that the mean was computed with by the workers' numbers.
  void name_members(const std::vector<int>& workers_in_order);
};

/// What Ensemble::mean_at() returns besides the mean.
struct Look {
  bool mean = true;  // x and buffers; without them only the distance, the length, and what follows
  bool fingerprints = false;
  bool workers = false;           // their own models
  std::vector<bool> absent = {};  // workers that are left out; empty: none
};

/// An exchange between its offers and its applies.
struct ExchangeInFlight {
  int i = 0, j = 0;
  double offered = 0;  // normalised time
  const float* offer_i = nullptr;
  const float* offer_j = nullptr;
};

/// Runs every body on the calling thread, on this lane.
ParallelFor sequential_for(int lane);

struct Evaluation {
  double loss = 0;
  double accuracy = 0;             // NaN when the objective has none
  std::vector<double> named = {};  // means, in the order of Objective::evaluated_names()
};

/// The settings that the workers of a run share, for a driver that keeps workers without an
/// Ensemble. `gradients`: false for a run without them, which then takes no memory for any.
WorkerSettings worker_settings(const RunSpec& spec, const Objective& objective,
                               bool gradients = true);

/// The workers of one run with the vectors beside them, and the method's servers, if any. Owned by
/// a driver, which serialises access worker by worker.
class Ensemble {
 public:
  /// `gradients` as above.
  Ensemble(const RunSpec& spec, Objective& objective, bool gradients = true);
  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }
  std::size_t dimension() const { return settings_.dimension; }
  Worker& worker(int i) { return workers_[static_cast<std::size_t>(i)]; }
  const Worker& worker(int i) const { return workers_[static_cast<std::size_t>(i)]; }
  /// For methods with servers only. They start from the mean of the workers' start points.
  Servers& servers() { return *servers_; }
  /// The memory for the gradient of worker i.
  std::span<float> gradient(int i) { return worker(i).gradient(); }

  /// Bytes of one vector of parameters.
  double vector_bytes() const { return 4.0 * static_cast<double>(dimension()); }

  /// Mean and consensus distance (1/n) Σ‖xᵢ − x̄‖² of all workers mixed to time t, which is not
  /// before any worker's last event, with the exchanges in flight applied. Works on copies: reads
  /// every worker, changes none. One call at a time.
  MeanModel mean_at(double t, std::span<const ExchangeInFlight> in_flight = {},
                    const Look& look = {}) const;

  /// Largest last_event() over the workers and the servers.
  double latest_event() const;

  /// The vectors of all workers, for a checkpoint; x comes first. Those of servers are "server.x"
  /// and the like, and their messages follow.
  std::vector<StateVectors> vectors() const;
  /// Fills the vectors from a checkpoint. Gradients in flight will be computed again.
  void restore(const CheckpointFile& file);
  /// Bytes that the workers received beside their messages since the run began; where the run
  /// stands for a large model, the same share of its vectors. Any thread.
  std::int64_t extra_bytes() const;
  /// Bytes that hubs and the server above them sent each other. Any thread.
  std::int64_t bytes_of_visits() const { return servers_ ? servers_->bytes_of_visits() : 0; }

  /// The workers' state besides vectors.
  template <class Archive>
  void persist(Archive& archive) {
    for (Worker& one : workers_) archive(one);
    if (servers_) archive(*servers_);
  }

 private:
  WorkerSettings settings_;
  std::vector<Segment> segments_, buffer_segments_;
  bool average_buffers_;
  std::size_t travelling_;  // RunSpec::travelling
  WorkerMemory<float> memory_;
  /// Where mean_at() mixes the workers on a device; empty on the host, and where events are kept.
  mutable Arena<float> spread_;
  std::vector<Worker> workers_;
  std::unique_ptr<Servers> servers_;
};

/// The bits of Ensemble::mean_at(t) for workers with these vectors (x mixed to t, Worker::read_at),
/// buffers and numbers of committed gradients, all by worker, and no exchange in flight. At least
/// one worker. Of `look`, only mean and workers count.
MeanModel mean_of(std::span<const std::span<const float>> x,
                  std::span<const std::span<const float>> buffers,
                  std::span<const std::int64_t> gradients, bool average_buffers,
                  const Look& look = {});

/// Loss and accuracy of a model; chunks are added in order, so the result does not depend on the
/// number of threads.
Evaluation evaluate(Objective& objective, EvaluationSet set, std::span<const float> x,
                    std::span<const float> buffers, const ParallelFor& parallel_for);
/// The same for the mean model. With several sets of buffers: the mean over them, in worker order.
Evaluation evaluate(Objective& objective, EvaluationSet set, const MeanModel& mean,
                    const ParallelFor& parallel_for);

/// out[first … last) ← the mean of the vectors, summed in order (one order per element), by the
/// kernels of the backend whose memory they lie in.
template <class T>
void mean_in_order(std::span<const T* const> vectors, T* out, std::size_t first, std::size_t last,
                   const Backend& backend = cpu_backend()) {
  backend.kernels<T>().mean(vectors.data(), vectors.size(), first, out + first, last - first);
}

}  // namespace acid
