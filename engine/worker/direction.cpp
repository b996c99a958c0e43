#include "engine/worker/direction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/every_processor.hpp"
#include "engine/worker/team.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {
namespace {

constexpr int kNewtonSchulzSteps = 5;

template <class T>
[[gnu::always_inline]] inline double norm_of(std::span<const T> values) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[k + lane];
      sums[lane] += value * value;
    }
  for (std::size_t k = whole; k < values.size(); ++k)
    sums[k - whole] += static_cast<double>(values[k]) * values[k];
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

template <class T>
T clip_factor(const OptimizerSettings& optimizer, std::span<const T> gradient) {
  if (!optimizer.clip_norm) return 1;
  const double norm = euclidean_norm(gradient);
  const double factor = *optimizer.clip_norm / (norm + 1e-6);
  return factor < 1 && std::isfinite(norm) ? static_cast<T>(factor) : T{1};
}

/// out (columns × rows) ← the transpose of `matrix` (rows × columns), in blocks that caches hold.
template <class T>
void transpose(const T* matrix, std::size_t rows, std::size_t columns, T* out) {
  constexpr std::size_t kBlock = 32;
  for (std::size_t i0 = 0; i0 < rows; i0 += kBlock)
    for (std::size_t j0 = 0; j0 < columns; j0 += kBlock)
      for (std::size_t i = i0; i < std::min(rows, i0 + kBlock); ++i)
        for (std::size_t j = j0; j < std::min(columns, j0 + kBlock); ++j)
          out[j * rows + i] = matrix[i * columns + j];
}

template <class T>
void add_momentum(const WorkerView<T>& worker, T* direction) {
  T* const m = worker.moment(0);
  if (m == nullptr) return;
  const OptimizerSettings& optimizer = worker.settings.optimizer;
  const auto momentum = static_cast<T>(optimizer.momentum);
  for (std::size_t k = 0; k < worker.settings.dimension; ++k) {
    m[k] = momentum * m[k] + direction[k];
    direction[k] = optimizer.nesterov ? direction[k] + momentum * m[k] : m[k];
  }
}

template <class T>
void make_muon_direction(const WorkerView<T>& worker, T* direction) {
  const OptimizerSettings& optimizer = worker.settings.optimizer;
  const std::size_t dimension = worker.settings.dimension;
  add_momentum(worker, direction);
  const auto scale_sgd = [&](std::size_t begin, std::size_t end) {
    const auto scale = static_cast<T>(optimizer.sgd_scale);
    for (std::size_t k = begin; k < end; ++k) direction[k] *= scale;
  };
  std::size_t end = 0;
  for (const MatrixRange& range : worker.settings.matrices) {
    scale_sgd(end, range.begin);
    end = range.begin + range.rows * range.columns;
    orthogonalise(worker.kernels(), range.rows, range.columns, direction + range.begin);
    const double tallness = static_cast<double>(range.rows) / static_cast<double>(range.columns);
    const auto scale = static_cast<T>(std::sqrt(std::max(1.0, tallness)));
    for (std::size_t k = range.begin; k < end; ++k) direction[k] *= scale;
  }
  scale_sgd(end, dimension);
}

}  // namespace

ACID_EVERY_PROCESSOR
double euclidean_norm(std::span<const float> values) { return norm_of(values); }
ACID_EVERY_PROCESSOR
double euclidean_norm(std::span<const double> values) { return norm_of(values); }

template <class T>
void orthogonalise(const kernels::Table<T>& kernels, std::size_t rows, std::size_t columns,
                   T* matrix) {
  constexpr auto a = static_cast<T>(3.4445), b = static_cast<T>(-4.7750),
                 c = static_cast<T>(2.0315);
  const std::size_t few = std::min(rows, columns), many = std::max(rows, columns);
  const std::size_t size = few * many, square = few * few;
  thread_local std::vector<T> memory;
  memory.resize(3 * size + 2 * square);
  T *const x = memory.data(), *const turned = x + size, *const product = turned + size,
           *const gram = product + size, *const gram_squared = gram + square;
  if (rows > columns)
    transpose(matrix, rows, columns, x);
  else
    std::copy_n(matrix, size, x);
  const auto norm = static_cast<T>(euclidean_norm(std::span<const T>(x, size)) + 1e-7);
  for (std::size_t k = 0; k < size; ++k) x[k] /= norm;
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    transpose(x, few, many, turned);
    kernels.multiply(x, turned, gram, few, many, few);
    kernels.multiply(gram, gram, gram_squared, few, few, few);
    for (std::size_t k = 0; k < square; ++k) gram[k] = b * gram[k] + c * gram_squared[k];
    kernels.multiply(gram, x, product, few, few, many);
    for (std::size_t k = 0; k < size; ++k) x[k] = a * x[k] + product[k];
  }
  if (rows > columns)
    transpose(x, few, many, matrix);
  else
    std::copy_n(x, size, matrix);
}

template <class T>
const T* direction_of(const WorkerView<T>& worker, const T* gradient) {
  const OptimizerSettings& optimizer = worker.settings.optimizer;
  const WorkerSettings& settings = worker.settings;
  const bool muon = optimizer.kind == OptimizerKind::muon;
  const bool changes = muon || settings.decays_own_gradient() || settings.has_own_momentum();
  if (!changes && !optimizer.clip_norm) return gradient;
  const std::size_t dimension = settings.dimension;
  ACID_ASSERT(settings.backend->is_host_memory(), "gradients of {} are looked at",
              settings.backend->name());
  const T factor = clip_factor(optimizer, std::span<const T>(gradient, dimension));
  if (!changes && factor == T{1}) return gradient;
  // All workers may step by this gradient, so it is not changed.
  thread_local std::vector<T> direction;
  direction.resize(dimension);
  for (std::size_t k = 0; k < dimension; ++k) direction[k] = factor * gradient[k];
  if (settings.decays_own_gradient())
    for (const DecayRange& range : settings.decay)
      for (std::size_t k = range.begin; k < range.end; ++k)
        direction[k] += static_cast<T>(range.decay) * worker.x[k];
  if (settings.has_own_momentum()) add_momentum(worker, direction.data());
  if (muon) make_muon_direction(worker, direction.data());
  return direction.data();
}

template <class T>
void shrink_model(const WorkerView<T>& worker, double learning_rate) {
  for (const DecayRange& range : worker.settings.decay) {
    if (range.decay == 0) continue;
    const auto share = static_cast<T>(1 - learning_rate * range.decay);
    in_parts(worker.settings, range.end - range.begin, [&](std::size_t part, std::size_t size) {
      const std::size_t first = range.begin + part;
      worker.kernels().scale(worker.x + first, share, worker.x + first, size);
    });
  }
}

template void orthogonalise(const kernels::Table<float>&, std::size_t, std::size_t, float*);
template void orthogonalise(const kernels::Table<double>&, std::size_t, std::size_t, double*);
template const float* direction_of(const WorkerView<float>&, const float*);
template const double* direction_of(const WorkerView<double>&, const double*);
template void shrink_model(const WorkerView<float>&, double);
template void shrink_model(const WorkerView<double>&, double);

}  // namespace acid
