// The vector that replaces a gradient in a step: clipped, or by Muon.
#include "engine/worker/direction.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;
using test::Workers;

namespace {

std::vector<double> normal_numbers(std::size_t count, std::uint64_t seed) {
  Stream stream(seed);
  std::vector<double> values(count);
  for (double& value : values) value = stream.normal();
  return values;
}

/// Row-major, with a plain multiplication.
using Rows = std::vector<std::vector<double>>;

Rows product(const Rows& a, const Rows& b) {
  Rows out(a.size(), std::vector<double>(b.front().size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.front().size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}

Rows turned(const Rows& a) {
  Rows out(a.front().size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.front().size(); ++j) out[j][i] = a[i][j];
  return out;
}

Rows matrix_of(const double* values, std::size_t rows, std::size_t columns) {
  Rows out(rows);
  for (std::size_t i = 0; i < rows; ++i)
    out[i].assign(values + i * columns, values + (i + 1) * columns);
  return out;
}

/// The update of one matrix by the public description, with scaling.
Rows muon_update(Rows x) {
  const auto rows = static_cast<double>(x.size()), columns = static_cast<double>(x[0].size());
  const bool tall = rows > columns;
  if (tall) x = turned(x);
  double squares = 0;
  for (const auto& row : x)
    for (const double value : row) squares += value * value;
  for (auto& row : x)
    for (double& value : row) value /= std::sqrt(squares) + 1e-7;
  for (int step = 0; step < 5; ++step) {
    const Rows a = product(x, turned(x)), a2 = product(a, a);
    Rows b = a;
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) b[i][j] = -4.7750 * a[i][j] + 2.0315 * a2[i][j];
    const Rows bx = product(b, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x[0].size(); ++j) x[i][j] = 3.4445 * x[i][j] + bx[i][j];
  }
  if (tall) x = turned(x);
  for (auto& row : x)
    for (double& value : row) value *= std::sqrt(std::max(1.0, rows / columns));
  return x;
}

// A convolution that is a tall matrix, a wide matrix, a bias, and a matrix that is left to SGD.
const std::vector<Segment> kSegments = {{"conv.weight", {9, 2, 1, 2}, 0, 36},
                                        {"fc.weight", {3, 5}, 36, 15},
                                        {"fc.bias", {3}, 51, 3},
                                        {"head.weight", {2, 3}, 54, 6}};
constexpr std::size_t kParameters = 60;

OptimizerSettings muon(bool nesterov) {
  OptimizerSettings optimizer;
  optimizer.kind = OptimizerKind::muon;
  optimizer.momentum = 0.95;
  optimizer.nesterov = nesterov;
  optimizer.sgd_tensors = {"head"};
  optimizer.sgd_scale = 0.5;
  return optimizer;
}

template <class T>
struct OneWorker {
  WorkerSettings settings;
  std::unique_ptr<WorkerMemory<T>> memory;
  std::unique_ptr<BasicWorker<T>> worker;

  OneWorker(const OptimizerSettings& optimizer, const Backend& backend = cpu_backend(),
            int threads = 1, std::vector<Segment> segments = kSegments) {
    settings.dimension = static_cast<std::size_t>(segments.back().offset + segments.back().size);
    settings.follow(test::kAverage.rules());
    settings.optimizer = optimizer;
    settings.decay = decay_ranges(optimizer, segments, settings.dimension);
    settings.matrices = matrix_ranges(optimizer, segments);
    settings.backend = &backend;
    settings.threads = threads;
    memory = std::make_unique<WorkerMemory<T>>(settings, 1);
    worker = std::make_unique<BasicWorker<T>>(settings, *memory);
  }
  void step(const std::vector<T>& g, double rate) {
    worker->begin_gradient(0);
    worker->commit_gradient(0, g, rate);
  }
};

}  // namespace

TEST_CASE("a gradient is clipped as torch.nn.utils.clip_grad_norm_ does, and left as it is") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw}) {
    OptimizerSettings clipped, plain;
    clipped.kind = plain.kind = kind;
    clipped.momentum = plain.momentum = 0.9;
    clipped.clip_norm = 2;
    OneWorker<double> one(clipped), other(plain);
    const auto start = normal_numbers(kParameters, 1);
    one.worker->start(start);
    other.worker->start(start);
    for (const double length : {0.01, 5.0, 1e6, 1.0}) {
      std::vector<double> g = normal_numbers(kParameters, 2);
      const double norm = euclidean_norm(g);
      for (double& value : g) value *= length / norm;
      const std::vector<double> given = g;
      one.step(g, 0.1);
      CHECK(g == given);
      const double factor = std::min(1.0, 2 / (euclidean_norm(g) + 1e-6));
      for (double& value : g) value *= factor;
      other.step(g, 0.1);
    }
    for (std::size_t k = 0; k < kParameters; ++k)
      CHECK(one.worker->x()[k] == Approx(other.worker->x()[k]).margin(1e-12));
  }
}

TEST_CASE("a gradient shorter than the limit gives the bits of a run without one") {
  OptimizerSettings clipped, plain;
  clipped.clip_norm = 1e9;
  OneWorker<float> one(clipped), other(plain);
  const std::vector<float> start(kParameters, 0.5f);
  std::vector<float> g(kParameters, 0.125f);
  one.worker->start(start);
  other.worker->start(start);
  one.step(g, 0.1);
  other.step(g, 0.1);
  CHECK(std::ranges::equal(one.worker->x(), other.worker->x()));
  g[3] = std::numeric_limits<float>::quiet_NaN();
  one.step(g, 0.1);
  // It diverges as without clipping, and not everywhere at once.
  CHECK(std::isnan(one.worker->x()[3]));
  CHECK(std::isfinite(one.worker->x()[4]));
}

TEST_CASE("the norm of a vector is that of a sum in double precision, of every length") {
  for (std::size_t size = 0; size < 40; ++size) {
    const auto values = normal_numbers(size, size);
    double squares = 0;
    for (const double value : values) squares += value * value;
    CHECK(euclidean_norm(values) == Approx(std::sqrt(squares)));
  }
}

TEST_CASE("Muon steps as the public description, beside SGD for what is no matrix") {
  for (const bool nesterov : {false, true}) {
    OptimizerSettings optimizer = muon(nesterov);
    optimizer.weight_decay = 0.1;
    optimizer.no_decay = {"bias"};
    OneWorker<double> one(optimizer);
    std::vector<double> x = normal_numbers(kParameters, 3), m(kParameters), u(kParameters);
    one.worker->start(x);
    for (std::uint64_t step = 1; step <= 4; ++step) {
      const auto g = normal_numbers(kParameters, 10 + step);
      one.step(g, 0.02);
      for (std::size_t k = 0; k < kParameters; ++k) {
        m[k] = 0.95 * m[k] + g[k];
        u[k] = nesterov ? g[k] + 0.95 * m[k] : m[k];
      }
      const auto conv = muon_update(matrix_of(u.data(), 9, 4));
      const auto fc = muon_update(matrix_of(u.data() + 36, 3, 5));
      for (std::size_t k = 0; k < kParameters; ++k) {
        const double direction = k < 36   ? conv[k / 4][k % 4]
                                 : k < 51 ? fc[(k - 36) / 5][(k - 36) % 5]
                                          : 0.5 * u[k];
        const double decay = k >= 51 && k < 54 ? 0 : 0.1;
        x[k] = x[k] * (1 - 0.02 * decay) - 0.02 * direction;
      }
    }
    for (std::size_t k = 0; k < kParameters; ++k) {
      INFO(k);
      CHECK(one.worker->x()[k] == Approx(x[k]).margin(1e-10));
    }
  }
}

TEST_CASE("Newton and Schulz bring all singular values near one, and zero stays zero") {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, 7}, {7, 1}, {16, 16}, {40, 24}, {24, 40}}) {
    std::vector<double> matrix = normal_numbers(rows * columns, rows + columns);
    orthogonalise(cpu_backend().kernels<double>(), rows, columns, matrix.data());
    Rows a = matrix_of(matrix.data(), rows, columns);
    if (rows > columns) a = turned(a);
    double squares = 0;  // of the singular values
    for (const auto& row : a)
      for (const double value : row) squares += value * value;
    const double mean = squares / static_cast<double>(a.size());
    CHECK(mean > 0.3);
    CHECK(mean < 1.5);
    std::ranges::fill(matrix, 0.0);
    orthogonalise(cpu_backend().kernels<double>(), rows, columns, matrix.data());
    CHECK(std::ranges::all_of(matrix, [](double value) { return value == 0; }));
  }
}

TEST_CASE("clipping and Muon have the same bits on every kind of processor and with threads") {
  // Longer than what one thread takes alone, with sizes that do not fit any tile.
  const std::vector<Segment> segments = {
      {"a", {67, 130}, 0, 8710}, {"b", {131072}, 8710, 131072}, {"c", {33, 19}, 139782, 627}};
  OptimizerSettings optimizer = muon(true);
  optimizer.clip_norm = 1;
  std::vector<float> expected;
  for (const char* set : {"baseline", "avx2", "avx512"}) {
    const Backend* const backend = cpu_backend(set);
    if (backend == nullptr) continue;
    for (const int threads : {1, 3}) {
      OneWorker<float> one(optimizer, *backend, threads, segments);
      std::vector<float> g(one.settings.dimension);
      one.worker->start(g);
      for (std::uint64_t step = 0; step < 3; ++step) {
        Stream stream(step);
        for (float& value : g) value = static_cast<float>(stream.normal());
        one.step(g, 0.02);
      }
      const auto x = one.worker->x();
      if (expected.empty()) expected.assign(x.begin(), x.end());
      INFO(set << " with " << threads << " threads");
      CHECK(std::memcmp(expected.data(), x.data(), x.size_bytes()) == 0);
    }
  }
}
