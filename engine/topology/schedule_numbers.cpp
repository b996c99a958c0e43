#include "engine/topology/schedule_numbers.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/topology/laplacian.hpp"

namespace acid {
namespace {

constexpr int kMostDrawnWorkers = 64;

Eigen::MatrixXd dense(const MixingMatrix& mixing) {
  const auto n = static_cast<Eigen::Index>(mixing.self.size());
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    matrix(i, i) = mixing.self[at(i)];
    for (const Neighbour& heard : mixing.neighbours[at(i)]) matrix(i, heard.worker) = heard.weight;
  }
  return matrix;
}

double largest_eigenvalue(const Eigen::MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric, Eigen::EigenvaluesOnly);
  return std::max(0.0, solver.eigenvalues().maxCoeff());
}

void find_left(ScheduleNumbers& numbers, const MixingSchedule& schedule, int workers) {
  const Eigen::MatrixXd mean = Eigen::MatrixXd::Constant(workers, workers, 1.0 / workers);
  if (schedule.period() > 0) {
    Eigen::MatrixXd product = Eigen::MatrixXd::Identity(workers, workers);
    for (std::int64_t e = 0; e < schedule.period(); ++e)
      product = dense(schedule.matrix(e, 0)) * product;
    product -= mean;
    numbers.left = std::sqrt(largest_eigenvalue(product.transpose() * product));
    if (schedule.stochastic() != Stochastic::doubly) return;
    const Eigen::EigenSolver<Eigen::MatrixXd> solver(product, /*computeEigenvectors=*/false);
    numbers.left_in_long_run = std::min(*numbers.left, solver.eigenvalues().cwiseAbs().maxCoeff());
    return;
  }
  // Differences from the mean before and after: a change of the mean is no difference.
  const Eigen::MatrixXd apart = Eigen::MatrixXd::Identity(workers, workers) - mean;
  Eigen::MatrixXd squares = Eigen::MatrixXd::Zero(workers, workers);
  const std::int64_t exchanges = telling_exchanges(schedule, workers);
  for (std::int64_t e = 0; e < exchanges; ++e) {
    const Eigen::MatrixXd w = apart * dense(schedule.matrix(e, 0)) * apart;
    squares += w.transpose() * w;
  }
  numbers.left = numbers.left_in_long_run =
      std::sqrt(largest_eigenvalue(squares / static_cast<double>(exchanges)));
}

const char* name_of(Stochastic stochastic) {
  switch (stochastic) {
    case Stochastic::doubly:
      return "doubly";
    case Stochastic::columns:
      return "columns";
    case Stochastic::rows:
      return "rows";
  }
  return "";
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ScheduleNumbers schedule_numbers(const MixingSchedule& schedule, int workers) {
  ScheduleNumbers numbers;
  numbers.period = schedule.period();
  numbers.stochastic = schedule.stochastic();
  const std::int64_t exchanges = telling_exchanges(schedule, workers);
  std::map<std::pair<int, int>, double> rates;
  std::int64_t messages = 0;
  for (std::int64_t e = 0; e < exchanges; ++e) {
    const MixingMatrix matrix = schedule.matrix(e, 0);
    messages += messages_of(matrix);
    for (int i = 0; i < workers; ++i)
      for (const Neighbour& heard : matrix.neighbours[at(i)])
        rates[std::minmax(i, heard.worker)] += heard.weight / static_cast<double>(exchanges);
  }
  std::vector<Edge> edges;
  for (const auto& [pair, rate] : rates) edges.push_back({pair.first, pair.second, rate});
  numbers.messages = static_cast<double>(messages) / static_cast<double>(exchanges);
  numbers.expected = spectral_of_rates(workers, edges);
  // The cost is cubic in the workers for each matrix.
  if (workers <= (numbers.period > 0 ? kMostMixingWorkers : kMostDrawnWorkers))
    find_left(numbers, schedule, workers);
  return numbers;
}

nlohmann::json document_of(const ScheduleNumbers& schedule) {
  using nlohmann::json;
  return {{"period", schedule.period > 0 ? json(schedule.period) : json()},
          {"stochastic", name_of(schedule.stochastic)},
          {"messages", schedule.messages},
          {"chi1", schedule.expected.chi1},
          {"chi2", schedule.expected.chi2},
          {"left", schedule.left ? json(*schedule.left) : json()}};
}

MixingNumbers mixing_numbers(const MixingMatrix& weights) {
  const auto n = static_cast<Eigen::Index>(weights.self.size());
  if (n > kMostMixingWorkers) return {kUnknown, kUnknown, kUnknown};
  // Eigenvalues ascend: the last is the mean's 1.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(dense(weights),
                                                              Eigen::EigenvaluesOnly);
  constexpr double kNothing = 1e-12;
  const auto exact = [](double value) { return std::abs(value) < kNothing ? 0 : value; };
  const double least = exact(solver.eigenvalues()[0]), second = exact(solver.eigenvalues()[n - 2]);
  return {std::max(std::abs(least), std::abs(second)), second, least};
}

MixingNumbers mixing_numbers(const ScheduleNumbers& schedule) {
  constexpr double kNothing = 1e-7;  // square root of rounding errors
  MixingNumbers numbers{kUnknown, kUnknown, kUnknown};
  if (!schedule.left_in_long_run || schedule.stochastic != Stochastic::doubly) return numbers;
  const double exchanges = std::max(1.0, static_cast<double>(schedule.period));
  const double left = *schedule.left_in_long_run;
  numbers.rho = left < kNothing ? 0 : std::pow(left, 1 / exchanges);
  return numbers;
}

}  // namespace acid
