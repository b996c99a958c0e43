#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <valarray>
#include <vector>

#include "engine/recorder/event.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/worker/objective.hpp"

/// Every method of the catalog once more, written in double precision from the formula of its paper
/// and not from its listing, to compare the program's runs with.
namespace acid::test::references {

using Vector = std::valarray<double>;
/// The vectors of all workers, one after the other.
using Rows = std::valarray<double>;
/// Row i is what worker i hears.
using Matrix = std::vector<std::vector<double>>;

/// fᵢ(x) = ½ Σₖ hᵢₖ (xₖ − bᵢₖ)², whose gradients have a noise that is drawn per worker and step.
/// Curvatures differ between workers unless they are `alike`: then those of fᵢ are all 1.
class Bowls final : public Objective {
 public:
  Bowls(int workers, std::size_t dimension, double spread = 0, bool alike = false);

  /// What a run is told of the task, in single precision; …
  std::size_t dimension() const override { return dimension_; }
  std::vector<Segment> segments() const override;
  void start(int worker, std::span<float> x, std::span<float> buffers) const override;
  /// … which notes where the gradient was taken, …
  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override;
  int evaluation_chunks(EvaluationSet) const override { return 1; }
  /// … and every model that is evaluated on the test set, in that order.
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override;
  bool has_accuracy() const override { return false; }

  /// What a reference is told of it.
  Vector start(int worker) const;
  Vector gradient(int worker, std::int64_t step, const Vector& x) const;

  /// What a run told: points[w][k] is where worker w's gradient number k was taken.
  std::vector<std::vector<Vector>> points;
  std::vector<Vector> evaluated;

 private:
  std::size_t dimension_;
  double spread_;
  std::vector<Vector> curvatures_, optima_;
};

/// Where gradients were taken, and what came of it.
struct Trajectory {
  std::vector<std::vector<Vector>> points;  // by worker and number of the gradient
  std::vector<Vector> models;               // by worker, at the end
  Vector mean;                              // the run's model at the end
};
/// The largest difference of two elements, relative to the largest element of the reference; of the
/// points as many as the reference has. Infinite where one of them is not finite.
double deviation(const Trajectory& run, const Trajectory& reference);
/// The same of the run's model at the end alone.
double deviation_of_mean(const Trajectory& run, const Trajectory& reference);

/// The learning rates that runs are compared under: constant, in steps, a cosine to 0, a warm-up
/// from 0, an inverse square root after one, and one step to 0, where a run then stays.
std::vector<std::string> schedule_names();
Schedule schedule_of(const std::string& name);
/// γ after a share of all gradients in (0, 1], from the schedule's definition.
double rate_of(const std::string& name, double progress);

/// A run that is compared.
struct Variant {
  nlohmann::json options = nlohmann::json::object();  // of the method, beside its fallbacks
  double momentum = 0;                                // PyTorch's SGD
  nlohmann::json codec = {};                          // null: none
  std::vector<nlohmann::json> graphs = {};            // empty: those of the reference
  int gradients = 60;                                 // of a worker
  std::size_t dimension = 6;
  double spread = 0;                      // of the workers' start points
  std::vector<double> slow_factors = {};  // asynchronous methods
  bool late = true;                       // their messages take time
};

/// What the references of synchronous methods walk through: all workers' gradients, again and
/// again.
class Rounds {
 public:
  struct Settings {
    const Bowls& task;
    int workers;
    std::int64_t gradients;  // of each worker
    std::string schedule;
    double momentum;
    nlohmann::json options;  // all of them
    std::function<Matrix(std::int64_t exchange)> matrix;
    /// Which elements a codec that draws them lets through, for a message of all workers.
    std::function<Vector(std::int64_t exchange)> mask = {};
  };
  explicit Rounds(Settings settings);

  Rows start() const;
  bool goes_on() const { return taken_ < settings_.gradients; }
  /// The workers' next gradients, each at its own row.
  Rows gradient(const Rows& at);
  /// γ of the gradients that were taken last.
  double rate() const;
  /// What SGD makes of gradients: u ← βu + g (torch.optim.SGD, dampening 0).
  Rows direction(const Rows& g);
  double momentum() const { return settings_.momentum; }
  /// The step that SGD takes by the next gradients, at these points: γ u.
  Rows sgd_step(const Rows& at);
  /// xᵢ ← xᵢ − γ uᵢ so many times. False where the gradients come to an end before.
  bool local_steps(Rows& x, std::int64_t count);

  /// W of the next exchange, and its number from 0.
  Matrix next_matrix() { return settings_.matrix(exchange_++); }
  Vector next_mask() { return settings_.mask(exchange_++); }
  /// W X.
  Rows mix(const Matrix& weights, const Rows& x) const;
  Rows mix(const Rows& x) { return mix(next_matrix(), x); }
  /// The workers' mean, in every row.
  Rows mean(const Rows& x) const;
  /// Of each row the largest magnitudes, this share of them, and 0 elsewhere.
  Rows largest(const Rows& x, double share) const;
  /// One number per worker as a factor of its row.
  Rows as_rows(const Vector& numbers) const;
  Vector mix_numbers(const Matrix& weights, const Vector& numbers) const;

  const nlohmann::json& options() const { return settings_.options; }
  double number(const char* key) const { return settings_.options.at(key).get<double>(); }
  /// 0 where it is not given.
  std::int64_t whole(const char* key) const;
  double share() const { return settings_.options.at("codec").at("share").get<double>(); }
  int workers() const { return settings_.workers; }
  std::size_t dimension() const { return settings_.task.dimension(); }
  std::int64_t taken() const { return taken_; }

  /// Once the reference is through: with its models.
  Trajectory trajectory(const Rows& models) const;

 private:
  Settings settings_;
  std::int64_t taken_ = 0, exchange_ = 0;
  Rows momentum_;
  Trajectory noted_;
};

/// What an asynchronous run leaves to its reference: who did what when, and nothing of numbers.
struct Logged {
  const Bowls& task;
  int workers;
  std::int64_t gradients;  // of all workers
  std::string schedule;
  double momentum;
  nlohmann::json options;
  std::vector<double> slow_factors;
  std::vector<std::vector<Event>> events;  // by worker
  double end;                              // normalised time
  double chi1, chi2;                       // of the drawn edges' rates
  double number(const char* key) const { return options.at(key).get<double>(); }

  /// By worker, γ of each of its gradients. They are counted at these events, in the order of time.
  std::vector<std::vector<double>> rates(const std::function<bool(const Event&)>& counts) const;
};

/// A method and how it is computed again: one of the two.
struct Reference {
  std::string_view method;
  Rows (*rounds)(Rounds&) = nullptr;  // returns the workers' models
  Trajectory (*logged)(const Logged&) = nullptr;
  std::vector<Variant> variants;
  std::vector<nlohmann::json> graphs;
};
std::vector<Reference> with_neighbours();
std::vector<Reference> with_corrections();
std::vector<Reference> with_all_workers();
std::vector<Reference> with_partners();
std::vector<Reference> with_meetings();
std::vector<Reference> with_servers();
/// All of them.
const std::vector<Reference>& all_references();

// Graphs, as recipes have them.
inline const nlohmann::json kRing = {{"kind", "ring"}};  // of 5: λ(W) = ⅓ + ⅔ cos(2πk/5)
/// Of 6, with degrees 1, 2 and 3.
inline const nlohmann::json kIrregular = {
    {"kind", "edges"}, {"edges", {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}, {3, 5}}}};
/// Of 6 workers, each of which sends to two: columns of its matrices sum to 1, rows do not.
inline const nlohmann::json kPush = {{"kind", "epidemic"}, {"form", "push"}};
inline const nlohmann::json kOnePeer = {{"kind", "one-peer-exponential"}};
inline const nlohmann::json kComplete = {{"kind", "complete"}};
int workers_on(const nlohmann::json& graph);

/// A method on the virtual driver, and its reference. `entry` may be the listing of one that has
/// kernels.
struct Comparison {
  const AlgorithmEntry* entry;
  const Reference* reference;
  const Variant* variant;
  nlohmann::json graph;
  std::string schedule;
  int workers = 0;  // 0: workers_on() the graph
  std::string name() const;
  /// Whether the graph is one that the method needs.
  bool is_possible() const;
  /// Of a run on the virtual driver, in single precision, from the reference.
  double simulated(double (*measure)(const Trajectory&, const Trajectory&) = deviation) const;
  /// Of the method's own rule in double precision, walked through without a driver. Methods of
  /// rounds without a codec only.
  double in_double_precision() const;
};
/// Every method, variant, graph and schedule.
std::vector<Comparison> all_comparisons();

}  // namespace acid::test::references
