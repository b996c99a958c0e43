#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/methods/method.hpp"
#include "engine/worker/worker.hpp"

namespace acid::test {

/// A synchronous method of the catalog in double precision, executed without a driver.
struct Walk {
  using Gradient = std::function<std::vector<double>(int worker, const std::vector<double>& x)>;

  Method method;
  std::shared_ptr<const MixingSchedule> mixing;  // null: all are always heard
  WorkerSettings settings;
  std::unique_ptr<WorkerMemory<double>> memory;
  std::vector<BasicWorker<double>> workers;
  std::vector<std::vector<double>> gradients;  // each worker's last

  Walk(const Topology& graph, const AlgorithmEntry& entry, const nlohmann::json& options,
       const std::vector<double>& start, OptimizerSettings optimizer = {});

  /// Executes `legs` gradients of every worker, with the says and hears around them.
  void go(int legs, double learning_rate, const Gradient& gradient);
  std::vector<double> x(int worker) const;
  std::vector<double> mean() const;
  /// The mean over the workers of ‖xᵢ − to‖².
  double distance(const std::vector<double>& to) const;

 private:
  std::span<const double> direction(std::size_t i);
  void hear();

  std::vector<std::vector<double>> messages_;
  std::vector<double> mean_;  // of all messages

  std::int64_t leg_ = 0, exchange_ = 0;
};

}  // namespace acid::test
