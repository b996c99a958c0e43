#pragma once

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "engine/methods/method.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/worker.hpp"

namespace acid::bench {

/// Two workers of a method of meetings in a backend's memory, and what they do at once: each event
/// is one pass over vectors. Numbers are so small that values stay what they are.
class Pair {
 public:
  Pair(std::size_t size, const Backend& backend, OptimizerKind kind = OptimizerKind::sgd,
       std::string_view method = "a2cid2")
      : offers_{Arena<float>(size, backend), Arena<float>(size, backend)} {
    const AlgorithmEntry& entry = *find_algorithm(method);
    const Spectral spectral{.chi1 = 2, .chi2 = 1, .eta = 0.35, .alpha_tilde = 0.7};
    settings_.dimension = size;
    settings_.backend = &backend;
    settings_.optimizer.kind = kind;
    settings_.optimizer.momentum = 0.9;
    settings_.decay = {{0, size, 0}};
    settings_.follow(
        entry.make(with_fallbacks(entry.fields, nlohmann::json::object()), &spectral).rules);
    memory_ = std::make_unique<WorkerMemory<float>>(settings_, 2);
    std::vector<float> start(size);
    for (std::size_t k = 0; k < size; ++k) start[k] = 1.0f + 1e-6f * static_cast<float>(k % 1000);
    for (std::size_t k = 0; k < 2; ++k) {
      workers_.emplace_back(settings_, *memory_, k);
      workers_[k].start(start);
      std::ranges::copy(start, offers_[k].data());
    }
    std::ranges::copy(start, workers_[0].gradient().begin());
  }

  void exchange() { Worker::exchange(workers_[0], workers_[1], after()); }
  void apply() {
    const double t = after();
    workers_[0].apply(t, t, offers_[0].span(), offers_[1].span());
  }
  void offer() { workers_[0].offer(after(), offers_[0].span()); }
  /// A gradient's step; with `begin_next` the next one's snapshot is taken, too.
  void step(bool begin_next) {
    workers_[0].commit_gradient(after(), workers_[0].gradient(), 1e-9, begin_next);
  }

 private:
  double after() { return t_ += 1e-4; }

  WorkerSettings settings_;
  std::unique_ptr<WorkerMemory<float>> memory_;
  std::vector<Worker> workers_;
  Arena<float> offers_[2];
  double t_ = 0;
};

}  // namespace acid::bench
