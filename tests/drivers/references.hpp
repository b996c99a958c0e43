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

/// Every method of the catalog, written again in double precision from its paper's formula and not
/// from its listing, for comparison with the program's runs.
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

  /// The run's view of the task, in single precision.
  std::size_t dimension() const override { return dimension_; }
  std::vector<Segment> segments() const override;
  void start(int worker, std::span<float> x, std::span<float> buffers) const override;
  /// Notes where the gradient was taken.
  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override;
  int evaluation_chunks(EvaluationSet) const override { return 1; }
  /// Notes every model that is evaluated on the test set, in order.
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override;
  bool has_accuracy() const override { return false; }

  /// The reference's view of the task.
  Vector start(int worker) const;
  Vector gradient(int worker, std::int64_t step, const Vector& x) const;

  /// Notes of a run: points[w][k] is where worker w's gradient number k was taken.
  std::vector<std::vector<Vector>> points;
  std::vector<Vector> evaluated;

 private:
  std::size_t dimension_;
  double spread_;
  std::vector<Vector> curvatures_, optima_;
};

/// Where gradients were taken, and the resulting models.
struct Trajectory {
  std::vector<std::vector<Vector>> points;  // by worker and number of the gradient
  std::vector<Vector> models;               // by worker, at the end
  Vector mean;                              // the run's model at the end
};
/// The largest difference of two elements, relative to the largest element of the reference, over
/// the reference's number of points. Infinite if one of them is not finite.
double deviation(const Trajectory& run, const Trajectory& reference);
/// The same for the run's model at the end alone.
double deviation_of_mean(const Trajectory& run, const Trajectory& reference);

/// The learning rates of the compared runs: constant, in steps, a cosine to 0, a warm-up from 0, an
/// inverse square root after one, and one step to 0, where the run then stays.
std::vector<std::string> schedule_names();
Schedule schedule_of(const std::string& name);
/// γ after a share of all gradients in (0, 1], from the schedule's definition.
double rate_of(const std::string& name, double progress);

/// A compared run.
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

/// A reference's walk through a synchronous method: all workers' gradients, again and again.
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
    /// The elements of a message of all workers that a codec that draws them lets through.
    std::function<Vector(std::int64_t exchange)> mask = {};
  };
  explicit Rounds(Settings settings);

  Rows start() const;
  bool goes_on() const { return taken_ < settings_.gradients; }
  /// The workers' next gradients, each at its own row.
  Rows gradient(const Rows& at);
  /// γ of the last gradients.
  double rate() const;
  /// SGD's direction from gradients: u ← βu + g (torch.optim.SGD, dampening 0).
  Rows direction(const Rows& g);
  double momentum() const { return settings_.momentum; }
  /// SGD's step with the next gradients, at these points: γ u.
  Rows sgd_step(const Rows& at);
  /// xᵢ ← xᵢ − γ uᵢ so many times. Returns false if the gradients end before.
  bool local_steps(Rows& x, std::int64_t count);

  /// W of the next exchange, and its number from 0.
  Matrix next_matrix() { return settings_.matrix(exchange_++); }
  Vector next_mask() { return settings_.mask(exchange_++); }
  /// W X.
  Rows mix(const Matrix& weights, const Rows& x) const;
  Rows mix(const Rows& x) { return mix(next_matrix(), x); }
  /// The workers' mean, in every row.
  Rows mean(const Rows& x) const;
  /// The largest magnitudes of each row, this share of them, and 0 elsewhere.
  Rows largest(const Rows& x, double share) const;
  /// One number per worker as a factor of its row.
  Rows as_rows(const Vector& numbers) const;
  Vector mix_numbers(const Matrix& weights, const Vector& numbers) const;

  const nlohmann::json& options() const { return settings_.options; }
  double number(const char* key) const { return settings_.options.at(key).get<double>(); }
  /// The option's value; 0 if it is not given.
  std::int64_t whole(const char* key) const;
  double share() const { return settings_.options.at("codec").at("share").get<double>(); }
  int workers() const { return settings_.workers; }
  std::size_t dimension() const { return settings_.task.dimension(); }
  std::int64_t taken() const { return taken_; }

  /// The result, with the reference's models at its end.
  Trajectory trajectory(const Rows& models) const;

 private:
  Settings settings_;
  std::int64_t taken_ = 0, exchange_ = 0;
  Rows momentum_;
  Trajectory noted_;
};

/// What a reference knows of an asynchronous run: its events, but no numbers.
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

/// A method and its reference: one of the two functions.
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
/// A graph of 6 workers with degrees 1, 2 and 3.
inline const nlohmann::json kIrregular = {
    {"kind", "edges"}, {"edges", {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}, {3, 5}}}};
/// A graph of 6 workers that send to two each: columns of its matrices sum to 1, rows do not.
inline const nlohmann::json kPush = {{"kind", "epidemic"}, {"form", "push"}};
inline const nlohmann::json kOnePeer = {{"kind", "one-peer-exponential"}};
inline const nlohmann::json kComplete = {{"kind", "complete"}};
int workers_on(const nlohmann::json& graph);

/// A method on the virtual driver, and its reference. `entry` may be the listing of a method with
/// kernels.
struct Comparison {
  const AlgorithmEntry* entry;
  const Reference* reference;
  const Variant* variant;
  nlohmann::json graph;
  std::string schedule;
  int workers = 0;  // 0: workers_on() the graph
  std::string name() const;
  /// Whether the method allows the graph.
  bool is_possible() const;
  /// How far a run on the virtual driver, in single precision, is from the reference.
  double simulated(double (*measure)(const Trajectory&, const Trajectory&) = deviation) const;
  /// How far the method's own rule, in double precision and without a driver, is from it. Only for
  /// methods of rounds without a codec.
  double in_double_precision() const;
};
/// Every method, variant, graph and schedule.
std::vector<Comparison> all_comparisons();

}  // namespace acid::test::references
