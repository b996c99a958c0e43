#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/base/rng.hpp"
#include "tests/drivers/references.hpp"

namespace acid::test::references {
namespace {

constexpr double kNoise = 0.1, kLearningRate = 0.05;

Vector normals(std::uint64_t key, std::uint64_t index, std::size_t size) {
  Stream stream(key, index);
  Vector drawn(size);
  for (double& value : drawn) value = stream.normal();
  return drawn;
}

// So that a run's single precision has the very same numbers.
Vector rounded(Vector values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

enum Key : std::uint64_t { kStart = 41, kOptima, kCurvatures, kOffsets, kGradients };

}  // namespace

Bowls::Bowls(int workers, std::size_t dimension, double spread, bool alike)
    : points(static_cast<std::size_t>(workers)), dimension_(dimension), spread_(spread) {
  for (int w = 0; w < workers; ++w) {
    const auto index = static_cast<std::uint64_t>(w);
    optima_.push_back(rounded(normals(kOptima, index, dimension)));
    Stream stream(kCurvatures, index);
    Vector curvatures(1.0, dimension);
    for (double& value : curvatures)
      if (!alike) value = 0.5 + 1.5 * stream.uniform();
    curvatures_.push_back(rounded(curvatures));
  }
}

std::vector<Segment> Bowls::segments() const {
  const auto size = static_cast<std::int64_t>(dimension_);
  return {{"x", {size}, 0, size}};
}

Vector Bowls::start(int worker) const {
  Vector x = normals(kStart, 0, dimension_);
  if (spread_ > 0) x += spread_ * normals(kOffsets, static_cast<std::uint64_t>(worker), dimension_);
  return rounded(x);
}

Vector Bowls::gradient(int worker, std::int64_t step, const Vector& x) const {
  const auto w = static_cast<std::size_t>(worker);
  const Vector noise = normals(kGradients + w, static_cast<std::uint64_t>(step), dimension_);
  return curvatures_[w] * (x - optima_[w]) + kNoise * noise;
}

void Bowls::start(int worker, std::span<float> x, std::span<float>) const {
  const Vector exact = start(worker);
  std::copy(std::begin(exact), std::end(exact), x.begin());
}

double Bowls::gradient(int, int worker, std::int64_t step, std::span<const float> x,
                       std::span<float>, std::span<float> g) {
  Vector at(dimension_);
  std::copy(x.begin(), x.end(), std::begin(at));
  points[static_cast<std::size_t>(worker)].push_back(at);
  const Vector exact = gradient(worker, step, at);
  std::copy(std::begin(exact), std::end(exact), g.begin());
  return (exact * exact).sum();
}

PartialEvaluation Bowls::evaluate(int, EvaluationSet set, int, std::span<const float> x,
                                  std::span<const float>) {
  Vector at(dimension_);
  std::copy(x.begin(), x.end(), std::begin(at));
  if (set == EvaluationSet::test) evaluated.push_back(at);
  return {(at * at).sum(), 0, 1};
}

double deviation(const Trajectory& run, const Trajectory& reference) {
  double largest = 0, difference = 0;
  bool finite = true;
  const auto compare = [&](const Vector& a, const Vector& b) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      finite = finite && std::isfinite(a[k]) && std::isfinite(b[k]);
      largest = std::max(largest, std::abs(b[k]));
      difference = std::max(difference, std::abs(a[k] - b[k]));
    }
  };
  for (std::size_t w = 0; w < reference.points.size(); ++w) {
    if (run.points.at(w).size() < reference.points[w].size())
      return std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < reference.points[w].size(); ++k)
      compare(run.points[w][k], reference.points[w][k]);
  }
  for (std::size_t w = 0; w < reference.models.size(); ++w)
    compare(run.models.at(w), reference.models[w]);
  compare(run.mean, reference.mean);
  return finite ? difference / largest : std::numeric_limits<double>::infinity();
}

double deviation_of_mean(const Trajectory& run, const Trajectory& reference) {
  return deviation({{}, {}, run.mean}, {{}, {}, reference.mean});
}

std::vector<std::string> schedule_names() {
  return {"constant", "step", "cosine", "warm-up", "1/sqrt", "to zero"};
}

Schedule schedule_of(const std::string& name) {
  Schedule schedule;
  schedule.learning_rate = kLearningRate;
  if (name == "step") {
    schedule.kind = ScheduleKind::step;
    schedule.milestones = {0.3, 0.6};
    schedule.gamma = 0.2;
  } else if (name == "to zero") {
    schedule.kind = ScheduleKind::step;
    schedule.milestones = {0.5};
    schedule.gamma = 0;
  } else if (name == "cosine") {
    schedule.kind = ScheduleKind::cosine;
  } else if (name == "warm-up") {
    schedule.warmup = 0.4;
  } else if (name == "1/sqrt") {
    schedule.kind = ScheduleKind::inverse_sqrt;
    schedule.warmup = 0.1;
  }
  return schedule;
}

double rate_of(const std::string& name, double progress) {
  if (name == "step") return kLearningRate * (progress < 0.3 ? 1 : progress < 0.6 ? 0.2 : 0.04);
  if (name == "to zero") return progress < 0.5 ? kLearningRate : 0;
  if (name == "cosine") return kLearningRate * (1 + std::cos(std::numbers::pi * progress)) / 2;
  if (name == "warm-up") return kLearningRate * std::min(1.0, progress / 0.4);
  if (name == "1/sqrt")
    return kLearningRate * (progress < 0.1 ? progress / 0.1 : std::sqrt(0.1 / progress));
  return kLearningRate;
}

Rounds::Rounds(Settings settings)
    : settings_(std::move(settings)),
      momentum_(0.0, static_cast<std::size_t>(settings_.workers) * settings_.task.dimension()) {
  noted_.points.resize(static_cast<std::size_t>(settings_.workers));
}

Rows Rounds::start() const {
  Rows x(0.0, momentum_.size());
  for (int w = 0; w < workers(); ++w)
    x[std::slice(static_cast<std::size_t>(w) * dimension(), dimension(), 1)] =
        settings_.task.start(w);
  return x;
}

Rows Rounds::gradient(const Rows& at) {
  Rows g(0.0, at.size());
  for (int w = 0; w < workers(); ++w) {
    const std::slice row(static_cast<std::size_t>(w) * dimension(), dimension(), 1);
    noted_.points[static_cast<std::size_t>(w)].push_back(at[row]);
    g[row] = settings_.task.gradient(w, taken_, at[row]);
  }
  ++taken_;
  return g;
}

double Rounds::rate() const {
  return rate_of(settings_.schedule,
                 static_cast<double>(taken_) / static_cast<double>(settings_.gradients));
}

Rows Rounds::direction(const Rows& g) {
  momentum_ = settings_.momentum * momentum_ + g;
  return momentum_;
}

Rows Rounds::sgd_step(const Rows& at) {
  const Rows u = direction(gradient(at));
  return rate() * u;
}

bool Rounds::local_steps(Rows& x, std::int64_t count) {
  for (; count > 0 && goes_on(); --count) x -= sgd_step(x);
  return count == 0;
}

Rows Rounds::mix(const Matrix& weights, const Rows& x) const {
  Rows mixed(0.0, x.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < weights.size(); ++j)
      for (std::size_t k = 0; k < dimension(); ++k)
        mixed[i * dimension() + k] += weights[i][j] * x[j * dimension() + k];
  return mixed;
}

Rows Rounds::mean(const Rows& x) const {
  const auto n = static_cast<std::size_t>(workers());
  return mix(Matrix(n, std::vector<double>(n, 1.0 / workers())), x);
}

Rows Rounds::largest(const Rows& x, double share) const {
  const auto kept = static_cast<std::size_t>(std::round(share * static_cast<double>(dimension())));
  Rows sent = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t first = i / dimension() * dimension();
    std::size_t larger = 0;
    for (std::size_t k = first; k < first + dimension(); ++k)
      if (std::abs(x[k]) > std::abs(x[i]) || (k < i && std::abs(x[k]) == std::abs(x[i]))) ++larger;
    if (larger >= kept) sent[i] = 0;
  }
  return sent;
}

Rows Rounds::as_rows(const Vector& numbers) const {
  Rows rows(0.0, momentum_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = numbers[i / dimension()];
  return rows;
}

Vector Rounds::mix_numbers(const Matrix& weights, const Vector& numbers) const {
  Vector mixed(0.0, numbers.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < weights.size(); ++j) mixed[i] += weights[i][j] * numbers[j];
  return mixed;
}

std::int64_t Rounds::whole(const char* key) const {
  const auto found = settings_.options.find(key);
  if (found == settings_.options.end() || found->is_null()) return 0;
  return std::llround(found->get<double>());
}

Trajectory Rounds::trajectory(const Rows& models) const {
  Trajectory whole = noted_;
  const Rows mean = this->mean(models);
  whole.mean = mean[std::slice(0, dimension(), 1)];
  for (int w = 0; w < workers(); ++w)
    whole.models.push_back(
        models[std::slice(static_cast<std::size_t>(w) * dimension(), dimension(), 1)]);
  return whole;
}

}  // namespace acid::test::references
