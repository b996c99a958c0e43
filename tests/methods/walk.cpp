#include "tests/methods/walk.hpp"

#include <nlohmann/json.hpp>

namespace acid::test {

Walk::Walk(const Topology& graph, std::string_view name, const nlohmann::json& options,
           const std::vector<double>& start, OptimizerSettings optimizer)
    : weights(metropolis_weights(graph)), gradients(static_cast<std::size_t>(graph.workers())) {
  const AlgorithmEntry* entry = find_algorithm(name);
  method = entry->make(with_fallbacks(entry->fields, options), nullptr);
  settings.dimension = start.size();
  settings.optimizer = optimizer;
  settings.decay = {{0, start.size(), optimizer.weight_decay}};
  settings.snapshots = !method.rules.doubles->point_is_x();
  settings.follow(method.rules);
  memory = std::make_unique<WorkerMemory<double>>(settings, gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    workers.emplace_back(settings, *memory, i);
    workers.back().start(start);
  }
}

void Walk::go(int legs, double learning_rate, const Gradient& gradient) {
  std::vector<std::vector<double>> messages(workers.size());
  for (int k = 0; k < legs; ++k, ++leg_)
    for (const Phase phase : method.round.leg(leg_)) {
      if (phase == Phase::hear) {
        hear(messages);
        continue;
      }
      for (std::size_t i = 0; i < workers.size(); ++i) {
        BasicWorker<double>& worker = workers[i];
        const double t = worker.last_event();
        if (phase == Phase::gradient) {
          worker.begin_gradient(t);
          const std::span<const double> at = worker.snapshot();
          gradients[i] = gradient(static_cast<int>(i), {at.begin(), at.end()});
        } else if (phase == Phase::step) {
          worker.commit_gradient(static_cast<double>(leg_ + 1), gradients[i], learning_rate);
        } else {
          messages[i].resize(method.rules.doubles->message().floats(settings.dimension));
          worker.offer(t, messages[i]);
        }
      }
    }
}

void Walk::hear(const std::vector<std::vector<double>>& messages) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    std::vector<kernels::Weighted<double>> sources;
    if (method.peers == Peers::all) {
      for (const auto& message : messages)
        sources.push_back({message.data(), 1 / static_cast<double>(messages.size())});
    } else {
      sources.push_back({messages[i].data(), weights.self[i]});
      for (const Neighbour& neighbour : weights.neighbours[i])
        sources.push_back(
            {messages[static_cast<std::size_t>(neighbour.worker)].data(), neighbour.weight});
    }
    workers[i].hear(workers[i].last_event(), {.sources = sources});
  }
}

std::vector<double> Walk::x(int worker) const {
  const auto values = workers[static_cast<std::size_t>(worker)].x();
  return {values.begin(), values.end()};
}

std::vector<double> Walk::mean() const {
  std::vector<double> sum(settings.dimension);
  for (const auto& worker : workers)
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] += worker.x()[k] / static_cast<double>(workers.size());
  return sum;
}

double Walk::distance(const std::vector<double>& to) const {
  double total = 0;
  for (const auto& worker : workers)
    for (std::size_t k = 0; k < to.size(); ++k)
      total += (worker.x()[k] - to[k]) * (worker.x()[k] - to[k]);
  return total / static_cast<double>(workers.size());
}

}  // namespace acid::test
