#include "tests/methods/walk.hpp"

#include <nlohmann/json.hpp>

namespace acid::test {
namespace {
constexpr std::uint64_t kSeed = 5;  // of drawn graphs
}

Walk::Walk(const Topology& graph, const AlgorithmEntry& entry, const nlohmann::json& options,
           const std::vector<double>& start, OptimizerSettings optimizer)
    : gradients(static_cast<std::size_t>(graph.workers())) {
  method = method_of(entry, with_fallbacks(entry.fields, options), nullptr);
  mixing = mixing_of(method, graph);
  settings.dimension = start.size();
  settings.optimizer = optimizer;
  settings.decay = {{0, start.size(), optimizer.weight_decay}};
  settings.snapshots = !method.rules.doubles->point_is_x();
  settings.follow(method.rules);
  memory = std::make_unique<WorkerMemory<double>>(settings, gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    workers.emplace_back(settings, *memory, i, static_cast<std::uint32_t>(i));
    workers.back().start(start);
  }
}

void Walk::go(int legs, double learning_rate, const Gradient& gradient) {
  messages_.resize(workers.size());
  settings.planned_rate = [rate = learning_rate](std::int64_t) { return rate; };
  for (int k = 0; k < legs; ++k, ++leg_)
    for (const Phase phase : method.round.leg(leg_)) {
      if (phase == Phase::hear) {
        hear();
        continue;
      }
      for (std::size_t i = 0; i < workers.size(); ++i) {
        BasicWorker<double>& worker = workers[i];
        const double t = worker.last_event();
        if (phase == Phase::gradient) {
          worker.begin_gradient(t);
          const std::span<const double> at = worker.snapshot();
          gradients[i] = gradient(static_cast<int>(i), {at.begin(), at.end()});
          std::ranges::copy(gradients[i], worker.gradient().begin());
        } else if (phase == Phase::step) {
          worker.commit_gradient(static_cast<double>(leg_ + 1), direction(i), learning_rate);
        } else {
          messages_[i].resize(method.rules.doubles->message().floats(settings.dimension));
          if (method.reduces_gradients)
            messages_[i] = gradients[i];
          else
            worker.offer(t, messages_[i]);
        }
      }
    }
}

std::span<const double> Walk::direction(std::size_t i) {
  return method.reduces_gradients ? std::span<const double>(mean_) : workers[i].gradient();
}

void Walk::hear() {
  const auto& messages = messages_;
  const std::int64_t exchange = exchange_++;
  mean_.assign(messages[0].size(), 0.0);
  for (const auto& message : messages)
    for (std::size_t k = 0; k < mean_.size(); ++k)
      mean_[k] += message[k] / static_cast<double>(messages.size());
  if (method.reduces_gradients) return;
  const bool with_all = method.hears_all_in(exchange);
  const MixingMatrix weights = with_all ? MixingMatrix() : mixing->matrix(exchange, kSeed);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Heard<double> heard{.mean = mean_.data(), .own = messages[i].data()};
    std::vector<kernels::Weighted<double>> sources;
    if (!with_all) {
      sources.push_back({messages[i].data(), weights.excess(static_cast<int>(i))});
      for (const Neighbour& neighbour : weights.neighbours[i])
        sources.push_back(
            {messages[static_cast<std::size_t>(neighbour.worker)].data(), neighbour.weight});
      heard = {.sources = sources};
    }
    workers[i].hear(workers[i].last_event(), heard);
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
