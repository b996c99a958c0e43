#include "engine/drivers/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.hpp"
#include "engine/worker/kernels.hpp"

namespace acid {

double RunSpec::backlog_limit(int worker) const {
  return max_backlog * std::max(1.0, topology->worker_rate(worker, method.rate));
}

Ensemble::Ensemble(const RunSpec& spec, Objective& objective)
    : segments_(objective.segments()),
      buffer_segments_(objective.buffer_segments()),
      average_buffers_(spec.average_buffers) {
  settings_.dimension = objective.dimension();
  settings_.buffer_size = objective.buffer_size();
  settings_.mixing = spec.method.mixing;
  settings_.optimizer = spec.optimizer;
  settings_.decay = decay_ranges(spec.optimizer, segments_, settings_.dimension);
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  for (int i = 0; i < spec.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(settings_));
    gradients_.emplace_back(settings_.dimension);
    objective.start(i, x0, buffers);
    workers_.back()->start(x0, buffers);
  }
}

double Ensemble::latest_event() const {
  double latest = 0;
  for (const auto& worker : workers_) latest = std::max(latest, worker->last_event());
  return latest;
}

std::vector<StateVectors> Ensemble::vectors() const {
  std::vector<StateVectors> list;
  for (const auto& worker : workers_) {
    std::size_t index = 0;
    worker->for_each_vector([&](std::string_view name, const Arena<float>& arena) {
      if (arena.size() == 0) return;
      if (index == list.size())
        list.push_back({std::string(name), name == "buffers" ? buffer_segments_ : segments_, {}});
      list[index++].values.push_back(arena.span());
    });
  }
  return list;
}

void Ensemble::restore(const CheckpointFile& file) {
  for (const StateVectors& vectors : this->vectors()) {
    std::vector<std::span<float>> out;
    for (const auto& worker : workers_)
      worker->for_each_vector([&](std::string_view name, Arena<float>& arena) {
        if (name == vectors.name) out.push_back(arena.span());
      });
    file.read(vectors.name, vectors.segments, out);
  }
  for (const auto& worker : workers_) worker->restart_gradient();
}

MeanModel Ensemble::mean_at(double t, std::span<const ExchangeInHand> in_hand) const {
  const std::size_t n = workers_.size(), d = settings_.dimension;
  // Blocks small enough that all workers' copies of one stay in cache for the second pass.
  const std::size_t block = std::clamp<std::size_t>((1u << 16) / n, 16, 4096);
  std::vector<float> values(n * block);
  std::vector<double> sum(block);
  MeanModel mean;
  mean.x.resize(d);
  double distance = 0;
  for (std::size_t first = 0; first < d; first += block) {
    const std::size_t size = std::min(block, d - first);
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i)
      workers_[i]->read_at(t, first, std::span(values.data() + i * block, size));
    for (const ExchangeInHand& exchange : in_hand) {
      const auto step = static_cast<float>(apply_steps(settings_.mixing, t - exchange.offered).x);
      float* xi = values.data() + static_cast<std::size_t>(exchange.i) * block;
      float* xj = values.data() + static_cast<std::size_t>(exchange.j) * block;
      for (std::size_t k = 0; k < size; ++k) {
        const float m = exchange.offer_i[first + k] - exchange.offer_j[first + k];
        xi[k] -= step * m;
        xj[k] += step * m;
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < size; ++k) sum[k] += values[i * block + k];
    for (std::size_t k = 0; k < size; ++k) sum[k] /= static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < size; ++k) {
        const double difference = values[i * block + k] - sum[k];
        distance += difference * difference;
      }
    std::copy_n(sum.begin(), size, mean.x.begin() + static_cast<std::ptrdiff_t>(first));
  }
  mean.consensus_distance = distance / static_cast<double>(n);
  if (!std::isfinite(distance)) find_not_finite(mean);

  mean.buffers.assign(workers_[0]->buffers().begin(), workers_[0]->buffers().end());
  if (average_buffers_)
    for (std::size_t k = 0; k < mean.buffers.size(); ++k) {
      double total = 0;
      for (const auto& worker : workers_) total += worker->buffers()[k];
      mean.buffers[k] = static_cast<float>(total / static_cast<double>(n));
    }
  return mean;
}

void Ensemble::find_not_finite(MeanModel& mean) const {
  for (int i = 0; i < size() && mean.not_finite < 0; ++i)
    for (const float value : worker(i).x())
      if (!std::isfinite(value)) {
        mean.not_finite = i;
        mean.not_finite_gradients = worker(i).gradients();
        break;
      }
}

Evaluation evaluate(Objective& objective, std::span<const float> x, std::span<const float> buffers,
                    const ParallelFor& parallel_for) {
  std::vector<PartialEvaluation> parts(static_cast<std::size_t>(objective.evaluation_chunks()));
  parallel_for(static_cast<int>(parts.size()), [&](int lane, int chunk) {
    parts[static_cast<std::size_t>(chunk)] = objective.evaluate(lane, chunk, x, buffers);
  });
  PartialEvaluation total;
  for (const PartialEvaluation& part : parts) {
    total.loss_sum += part.loss_sum;
    total.correct += part.correct;
    total.count += part.count;
  }
  const auto count = static_cast<double>(total.count);
  return {.loss = total.loss_sum / count,
          .accuracy = objective.has_accuracy() ? static_cast<double>(total.correct) / count
                                               : std::numeric_limits<double>::quiet_NaN()};
}

template <class T>
void mean_in_order(std::span<const T* const> vectors, T* out, std::size_t first, std::size_t last) {
  const T share = T(1) / static_cast<T>(vectors.size());
  std::copy(vectors[0] + first, vectors[0] + last, out + first);
  for (std::size_t i = 1; i < vectors.size(); ++i)
    kernels::add_scaled(vectors[i] + first, T(1), out + first, last - first);
  for (std::size_t k = first; k < last; ++k) out[k] *= share;
}

template <class T>
void neighbour_average(double self_weight, const T* own, std::span<const Neighbour> neighbours,
                       std::span<const T* const> vectors, T* out, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) out[k] = static_cast<T>(self_weight) * own[k];
  for (const Neighbour& neighbour : neighbours)
    kernels::add_scaled(vectors[static_cast<std::size_t>(neighbour.worker)],
                        static_cast<T>(neighbour.weight), out, size);
}

template void mean_in_order(std::span<const float* const>, float*, std::size_t, std::size_t);
template void mean_in_order(std::span<const double* const>, double*, std::size_t, std::size_t);
template void neighbour_average(double, const float*, std::span<const Neighbour>,
                                std::span<const float* const>, float*, std::size_t);
template void neighbour_average(double, const double*, std::span<const Neighbour>,
                                std::span<const double* const>, double*, std::size_t);

}  // namespace acid
