#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/data/analytic.hpp"

namespace acid {
namespace {

constexpr auto kQuadraticFields = std::to_array<Field>({
    {"dimension", FieldType::integer, "64", "number of parameters", 1, 1e9},
    {"curvature", FieldType::number, "1.0",
     "largest eigenvalue of the Hessian; 0: no gradient but the noise", 0, 1e12},
    {"condition_number", FieldType::number, "1.0",
     "largest eigenvalue / smallest; those between are spaced logarithmically", 1, 1e12},
    {"noise", FieldType::number, "0.0", "standard deviation of the gradient noise per parameter", 0,
     1e12},
    {"heterogeneity", FieldType::number, "0.0",
     "standard deviation over the workers of each coordinate of their optima", 0, 1e12},
    {"initial_spread", FieldType::number, "0.0",
     "standard deviation of each worker's own offset from the common start", 0, 1e12},
});

std::vector<float> log_spaced(std::size_t count, double curvature, double condition_number) {
  std::vector<float> values(count, static_cast<float>(curvature));
  for (std::size_t k = 0; k + 1 < count; ++k) {
    const double below_top = 1 - static_cast<double>(k) / static_cast<double>(count - 1);
    values[k] = static_cast<float>(curvature * std::pow(condition_number, -below_top));
  }
  return values;
}

/// f_i(x) = ½ Σ_k h_k (x_k − b_ik)², with gradient h(x − b_i) + noise · N(0, I).
/// Σ_i b_i = 0, so f = (1/n) Σ_i f_i has its optimum f* at 0, and f(x) − f* = ½ Σ_k h_k x_k².
class Quadratic final : public Objective {
 public:
  Quadratic(const nlohmann::json& options, int workers, const Seeds& seeds)
      : dimension_(static_cast<std::size_t>(integer(options, "dimension"))),
        workers_(workers),
        seeds_(seeds),
        noise_(number(options, "noise")),
        initial_spread_(number(options, "initial_spread")) {
    const double curvature = number(options, "curvature");
    common_start_.resize(dimension_, 0.0f);
    if (curvature > 0) {
      curvatures_ = log_spaced(dimension_, curvature, number(options, "condition_number"));
      Stream stream(seeds_.derived(Purpose::init));
      for (float& value : common_start_) value = static_cast<float>(stream.normal());
      if (number(options, "heterogeneity") > 0) draw_optima(number(options, "heterogeneity"));
    }
  }

  std::size_t dimension() const override { return dimension_; }
  std::vector<Segment> segments() const override {
    const auto size = static_cast<std::int64_t>(dimension_);
    return {{"x", {size}, 0, size}};
  }

  void start(int worker, std::span<float> x, std::span<float> buffers) const override {
    ACID_ASSERT(x.size() == dimension_ && buffers.empty(), "{} of {} parameters, {} buffers",
                x.size(), dimension_, buffers.size());
    std::copy(common_start_.begin(), common_start_.end(), x.begin());
    if (initial_spread_ == 0) return;
    Stream stream(stream_of(Purpose::initial_spread, worker));
    for (float& value : x) value = static_cast<float>(value + initial_spread_ * stream.normal());
  }

  double gradient(int, int worker, std::int64_t step, std::span<const float> x, std::span<float>,
                  std::span<float> g) override {
    ACID_ASSERT(x.size() == dimension_ && g.size() == dimension_, "{}, {} of {} parameters",
                x.size(), g.size(), dimension_);
    const double loss = exact_gradient(worker, x, g);
    if (noise_ > 0) {
      Stream stream(stream_of(Purpose::gradient_noise, worker), static_cast<std::uint64_t>(step));
      add_noise(stream, g);
    }
    return loss;
  }

  int evaluation_chunks(EvaluationSet) const override { return 1; }
  /// On the test set f(x) − f*, the suboptimality; on the training set f(x), the mean of the
  /// functions that the workers' gradients belong to.
  PartialEvaluation evaluate(int, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float>) override {
    ACID_ASSERT(chunk == 0, "chunk {}", chunk);
    double sum = 0;
    for (std::size_t k = 0; k < curvatures_.size(); ++k)
      sum += curvatures_[k] * static_cast<double>(x[k]) * x[k];
    return {sum / 2 + (set == EvaluationSet::training ? least_loss_ : 0), 0, 1};
  }
  bool has_accuracy() const override { return false; }

 private:
  std::uint64_t stream_of(Purpose purpose, int worker) const {
    ACID_ASSERT(worker >= 0 && worker < workers_, "worker {} of {}", worker, workers_);
    return seeds_.derived(purpose, static_cast<std::uint32_t>(worker));
  }

  // The optima are centred in double. Each rounding to float is carried to the next worker, so the
  // stored optima also sum to zero, to within one rounding.
  void draw_optima(double heterogeneity) {
    const auto count = static_cast<std::size_t>(workers_);
    std::vector<double> drawn(count * dimension_), mean(dimension_, 0.0), carry(dimension_, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      Stream stream(stream_of(Purpose::data_set, static_cast<int>(i)));
      for (std::size_t k = 0; k < dimension_; ++k) {
        drawn[i * dimension_ + k] = heterogeneity * stream.normal();
        mean[k] += drawn[i * dimension_ + k] / workers_;
      }
    }
    optima_.resize(drawn.size());
    for (std::size_t j = 0; j < drawn.size(); ++j) {
      const std::size_t k = j % dimension_;
      const double exact = drawn[j] - mean[k] + carry[k];
      optima_[j] = static_cast<float>(exact);
      carry[k] = exact - optima_[j];
      least_loss_ += curvatures_[k] * static_cast<double>(optima_[j]) * optima_[j] / 2 / workers_;
    }
  }

  void add_noise(Stream& stream, std::span<float> g) const {
    std::array<double, 64> drawn;
    for (std::size_t first = 0; first < g.size(); first += drawn.size()) {
      const std::span part = g.subspan(first, std::min(drawn.size(), g.size() - first));
      stream.normals(std::span(drawn).first(part.size()));
      for (std::size_t k = 0; k < part.size(); ++k)
        part[k] = static_cast<float>(part[k] + noise_ * drawn[k]);
    }
  }

  // Returns f_i(x), and its gradient in g.
  double exact_gradient(int worker, std::span<const float> x, std::span<float> g) const {
    if (curvatures_.empty()) {
      std::fill(g.begin(), g.end(), 0.0f);
      return 0;
    }
    double loss = 0;
    if (optima_.empty()) {
      for (std::size_t k = 0; k < dimension_; ++k) {
        g[k] = curvatures_[k] * x[k];
        loss += static_cast<double>(g[k]) * x[k];
      }
    } else {
      const float* optimum = optima_.data() + static_cast<std::size_t>(worker) * dimension_;
      for (std::size_t k = 0; k < dimension_; ++k) {
        const float distance = x[k] - optimum[k];
        g[k] = curvatures_[k] * distance;
        loss += static_cast<double>(g[k]) * distance;
      }
    }
    return loss / 2;
  }

  std::size_t dimension_;
  int workers_;
  Seeds seeds_;
  double noise_, initial_spread_;
  std::vector<float> curvatures_;    // h; empty: all zero
  std::vector<float> common_start_;  // x₀
  std::vector<float> optima_;        // b, one row per worker; empty: all zero
  double least_loss_ = 0;            // f* = (1/n) Σ_i ½ Σ_k h_k b_ik²
};

DataInfo inspect_quadratic(const nlohmann::json& options) {
  DataInfo info;
  info.dimension = integer(options, "dimension");
  return info;
}

std::optional<double> noise_of_quadratic(const nlohmann::json& options) {
  if (number(options, "curvature") != 0) return std::nullopt;
  return number(options, "noise");
}

std::unique_ptr<Objective> make_quadratic(const nlohmann::json& options, int workers, int,
                                          const nlohmann::json&, std::int64_t, const Seeds& seeds,
                                          int) {
  return std::make_unique<Quadratic>(options, workers, seeds);
}

}  // namespace

/// Optima and start points are redrawn with the run's seeds: the start from `init`, optima and
/// noise from `data`. Workers start at one point N(0, I), or at 0 where curvature is 0, plus their
/// own offset. Evaluation reports f(x) − f*, the suboptimality of the mean objective, and f(x)
/// itself as its training loss.
AnalyticEntry analytic_quadratic() {
  return {"quadratic",       "convex quadratics with known optimum, one per worker",
          kQuadraticFields,  false,
          inspect_quadratic, make_quadratic,
          nullptr,           noise_of_quadratic};
}

}  // namespace acid
