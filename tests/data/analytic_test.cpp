#include <cmath>
#include <set>

#include "engine/data/sparse_rows.hpp"
#include "tests/data/scratch.hpp"

namespace acid::testing {
namespace {

using Vector = std::vector<float>;

std::unique_ptr<Objective> make(const std::string& name, const nlohmann::json& given, int workers,
                                int batch_size = 1, std::uint64_t seed = 11,
                                const nlohmann::json& partition = {{"kind", "shared"}},
                                std::int64_t validation = 0) {
  const AnalyticEntry* entry = find_analytic(name);
  REQUIRE(entry != nullptr);
  return entry->make(with_fallbacks(entry->fields, given), workers, batch_size, partition,
                     validation, Seeds(seed), 1);
}

Vector start(const Objective& objective, int worker) {
  Vector x(objective.dimension());
  objective.start(worker, x, {});
  return x;
}

Vector gradient(Objective& objective, int worker, std::int64_t step, const Vector& x) {
  Vector g(x.size(), NAN);
  objective.gradient(0, worker, step, x, {}, g);
  return g;
}

double loss(Objective& objective, int worker, std::int64_t step, const Vector& x) {
  Vector g(x.size());
  return objective.gradient(0, worker, step, x, {}, g);
}

PartialEvaluation evaluate(Objective& objective, const Vector& x,
                           EvaluationSet set = EvaluationSet::test) {
  PartialEvaluation total;
  for (int chunk = 0; chunk < objective.evaluation_chunks(set); ++chunk) {
    const PartialEvaluation part = objective.evaluate(0, set, chunk, x, {});
    total.loss_sum += part.loss_sum;
    total.correct += part.correct;
    total.count += part.count;
  }
  return total;
}

// Compares central differences of the minibatch loss with the gradient.
void check_gradient(Objective& objective, int worker, std::int64_t step, const Vector& x) {
  const Vector g = gradient(objective, worker, step, x);
  for (std::size_t k = 0; k < x.size(); ++k) {
    constexpr float kStep = 1.0f / 64;
    Vector up = x, down = x;
    up[k] += kStep;
    down[k] -= kStep;
    const double slope = (loss(objective, worker, step, up) - loss(objective, worker, step, down)) /
                         (double{up[k]} - down[k]);
    INFO("parameter " << k);
    CHECK(g[k] == Approx(slope).epsilon(1e-3).margin(1e-4));
  }
}

Vector some_point(std::size_t size) {
  Vector x(size);
  for (std::size_t k = 0; k < size; ++k) x[k] = 0.5f * std::sin(static_cast<float>(3 * k + 1));
  return x;
}

void check_segments(const Objective& objective) {
  std::int64_t next = 0;
  for (const Segment& segment : objective.segments()) {
    CHECK_FALSE(segment.name.empty());
    CHECK(segment.offset == next);
    next += segment.size;
  }
  CHECK(next == static_cast<std::int64_t>(objective.dimension()));
}

}  // namespace

TEST_CASE("Every analytic task has a distinct name, and inspect agrees with make") {
  std::set<std::string_view> names;
  for (const AnalyticEntry& entry : analytic_catalog()) {
    CHECK(names.insert(entry.name).second);
    CHECK(find_analytic(entry.name) == &entry);
    CHECK(find_dataset(entry.name) == nullptr);
    const auto options = with_fallbacks(entry.fields, nlohmann::json::object());
    const auto objective = make(std::string(entry.name), options, 3);
    CHECK(entry.inspect(options).dimension == static_cast<std::int64_t>(objective->dimension()));
    CHECK((entry.inspect(options).train_size > 0) == entry.uses_batches);
    check_segments(*objective);
  }
  CHECK(find_analytic("cubic") == nullptr);
}

TEST_CASE("The gradient of a quadratic is the derivative of its loss") {
  for (const int dimension : {1, 2, 5}) {
    const auto objective = make("quadratic",
                                {{"dimension", dimension},
                                 {"curvature", 2.0},
                                 {"condition_number", 10.0},
                                 {"heterogeneity", 1.5}},
                                3);
    for (int worker = 0; worker < 3; ++worker)
      check_gradient(*objective, worker, 0, some_point(objective->dimension()));
  }
}

TEST_CASE("Curvatures run logarithmically from curvature / condition_number to curvature") {
  const auto objective =
      make("quadratic", {{"dimension", 3}, {"curvature", 4.0}, {"condition_number", 100.0}}, 1);
  const Vector g = gradient(*objective, 0, 0, Vector(3, 1.0f));
  CHECK(g[0] == Approx(0.04));
  CHECK(g[1] == Approx(0.4));
  CHECK(g[2] == Approx(4.0));
}

TEST_CASE("The workers' optima are centred and spread as asked: the mean objective's is 0") {
  constexpr int kWorkers = 500, kDimension = 8;
  const auto objective =
      make("quadratic", {{"dimension", kDimension}, {"heterogeneity", 3.0}}, kWorkers);
  const Vector zero(kDimension);
  std::vector<double> sum(kDimension);
  double squares = 0, mean_loss_at_zero = 0;
  const Vector x = some_point(kDimension);
  double mean_loss_at_x = 0;
  for (int i = 0; i < kWorkers; ++i) {
    const Vector g = gradient(*objective, i, 0, zero);  // −b_i
    for (std::size_t k = 0; k < kDimension; ++k) {
      sum[k] += g[k];
      squares += double{g[k]} * g[k];
    }
    mean_loss_at_zero += loss(*objective, i, 0, zero) / kWorkers;
    mean_loss_at_x += loss(*objective, i, 0, x) / kWorkers;
  }
  for (const double value : sum) CHECK(std::abs(value) < 2e-6);
  CHECK(squares / (kWorkers * kDimension) == Approx(9).epsilon(4 * std::sqrt(2.0 / 4000)));
  CHECK(evaluate(*objective, zero).loss_sum == 0);
  CHECK(evaluate(*objective, x).loss_sum ==
        Approx(mean_loss_at_x - mean_loss_at_zero).epsilon(1e-5));
  CHECK(evaluate(*objective, x).count == 1);
  CHECK_FALSE(objective->has_accuracy());
}

TEST_CASE("Gradient noise has mean 0 and the stated variance, fresh for each worker and step") {
  const auto objective =
      make("quadratic", {{"dimension", 65}, {"curvature", 0.0}, {"noise", 2.0}}, 2);
  const Vector x(65, 1.0f);
  double sum = 0, squares = 0;
  constexpr int kSteps = 400;
  for (int step = 0; step < kSteps; ++step)
    for (const float value : gradient(*objective, 1, step, x)) {
      sum += value;
      squares += double{value} * value;
    }
  const double count = 65.0 * kSteps;
  CHECK(sum / count == Approx(0).margin(4 * 2 / std::sqrt(count)));
  CHECK(squares / count == Approx(4).epsilon(4 * std::sqrt(2 / count)));
  CHECK(gradient(*objective, 0, 7, x) == gradient(*objective, 0, 7, x));
  CHECK(gradient(*objective, 0, 7, x) != gradient(*objective, 0, 8, x));
  CHECK(gradient(*objective, 0, 7, x) != gradient(*objective, 1, 7, x));
  CHECK(loss(*objective, 0, 7, x) == 0);
}

TEST_CASE("Noise is added to the exact gradient") {
  const nlohmann::json quiet{{"dimension", 7}, {"heterogeneity", 1.0}};
  nlohmann::json noisy = quiet;
  noisy["noise"] = 0.5;
  nlohmann::json flat = noisy;
  flat["curvature"] = 0.0;
  const auto a = make("quadratic", quiet, 2), b = make("quadratic", noisy, 2);
  const auto c = make("quadratic", flat, 2);
  const Vector x = some_point(7);
  const Vector exact = gradient(*a, 1, 3, x), both = gradient(*b, 1, 3, x);
  const Vector noise = gradient(*c, 1, 3, x);
  for (std::size_t k = 0; k < 7; ++k)
    CHECK(both[k] == Approx(double{exact[k]} + noise[k]).epsilon(1e-6).margin(1e-6));
}

TEST_CASE("Without curvature and noise the gradient is zero and workers start at zero") {
  const auto objective = make("quadratic", {{"curvature", 0.0}, {"heterogeneity", 1.0}}, 2);
  CHECK(gradient(*objective, 1, 0, Vector(64, 3.0f)) == Vector(64));
  CHECK(start(*objective, 1) == Vector(64));
  CHECK(evaluate(*objective, Vector(64, 3.0f)).loss_sum == 0);
}

TEST_CASE("Workers start together, or apart by the initial spread") {
  const auto together = make("quadratic", {{"dimension", 64}}, 300);
  CHECK(start(*together, 0) == start(*together, 299));
  CHECK(start(*together, 0) != Vector(64));
  const auto apart = make("quadratic", {{"dimension", 64}, {"initial_spread", 0.5}}, 300);
  const Vector common = start(*together, 0);
  double squares = 0;
  for (int i = 0; i < 300; ++i) {
    const Vector x = start(*apart, i);
    for (std::size_t k = 0; k < 64; ++k) squares += std::pow(double{x[k]} - common[k], 2);
  }
  CHECK(squares / (300 * 64) == Approx(0.25).epsilon(4 * std::sqrt(2 / (300 * 64.0))));
  CHECK(start(*apart, 3) == start(*apart, 3));
  CHECK(start(*apart, 3) != start(*apart, 4));
  CHECK(start(*make("quadratic", {{"dimension", 64}}, 1, 1, 12), 0) != common);
}

TEST_CASE("The gradient of the logistic task is the derivative of its loss") {
  for (const int batch_size : {1, 3, 16}) {
    const auto objective =
        make("logistic", {{"dimension", 6}, {"train", 40}, {"regularisation", 0.1}}, 2, batch_size);
    CHECK(objective->dimension() == 7);
    for (const std::int64_t step : {0, 5})
      check_gradient(*objective, 1, step, some_point(objective->dimension()));
  }
}

TEST_CASE("The logistic task starts at zero, where the loss is log 2") {
  const auto objective = make("logistic", {{"test", 2500}}, 2, 8);
  const Vector x = start(*objective, 1);
  CHECK(x == Vector(33));
  CHECK(loss(*objective, 0, 0, x) == Approx(std::log(2)));
  CHECK(objective->evaluation_chunks(EvaluationSet::test) == 3);
  const PartialEvaluation total = evaluate(*objective, x);
  CHECK(total.count == 2500);
  CHECK(total.loss_sum == Approx(2500 * std::log(2)));
}

TEST_CASE("Logistic evaluation chunks add up to the loss of a file's examples") {
  const ScratchFolder folder;
  std::string content;
  for (int i = 0; i < 1500; ++i)
    content += fmt::format("{} 1:{} 2:1\n", i % 2, (i % 7) - 3 + 2 * (i % 2));
  folder.write("d", content);
  const nlohmann::json given{{"path", folder.path("d")}, {"test_fraction", 0.0}};
  const auto objective = make("logistic", given, 1, 4);
  const Vector x{0.7f, -0.2f, 0.1f};
  const SparseRows rows = read_libsvm(folder.path("d"));
  double expected = 0;
  std::int64_t correct = 0;
  for (std::int64_t e = 0; e < rows.size(); ++e) {
    const Vector f = features(rows, e, 2);
    const double score = double{x[0]} * f[0] + double{x[1]} * f[1] + x[2];
    const int sign = rows.label(e) == 1 ? 1 : -1;
    expected += std::log(1 + std::exp(-sign * score));
    correct += sign * score > 0 ? 1 : 0;
  }
  CHECK(objective->evaluation_chunks(EvaluationSet::test) == 2);
  const PartialEvaluation total = evaluate(*objective, x);
  CHECK(total.count == 1500);
  CHECK(total.loss_sum == Approx(expected));
  CHECK(total.correct == correct);
}

TEST_CASE("The training loss of a quadratic is the mean of the workers' own objectives") {
  const nlohmann::json options{{"dimension", 20},
                               {"curvature", 2.0},
                               {"condition_number", 50.0},
                               {"heterogeneity", 1.5},
                               {"noise", 3.0}};
  const auto objective = make("quadratic", options, 7);
  const Vector x = some_point(20);
  double mean = 0;
  for (int w = 0; w < 7; ++w) mean += loss(*objective, w, 0, x) / 7;
  const PartialEvaluation total = evaluate(*objective, x, EvaluationSet::training);
  CHECK(total.loss_sum / static_cast<double>(total.count) == Approx(mean));
  CHECK(mean > evaluate(*objective, x).loss_sum + 1);  // the optima differ
}

TEST_CASE("The training loss of the logistic task is what its gradients are of, on all examples") {
  const nlohmann::json options{
      {"dimension", 4}, {"train", 600}, {"label_noise", 0.1}, {"regularisation", 0.3}};
  const Vector x{1.0f, -2.0f, 0.5f, 0.7f, 0.1f};
  // A pass over a shared training set gives the training set for every worker.
  const auto whole = make("logistic", options, 1, 600);
  for (const char* kind : {"shared", "sorted", "iid"}) {
    const auto objective = make("logistic", options, 3, 8, 11, {{"kind", kind}});
    const PartialEvaluation total = evaluate(*objective, x, EvaluationSet::training);
    CHECK(total.count == 600);
    CHECK(total.loss_sum / 600 == Approx(loss(*whole, 0, 0, x)));
  }
}

TEST_CASE("The training sample is fixed, seeded, and as dear as the test set within bounds") {
  struct Sizes {
    std::int64_t train, test, sample;
  };
  for (const auto [train, test, sample] :
       {Sizes{5, 100, 5}, Sizes{60'000, 100, 1000}, Sizes{60'000, 5000, 5000},
        Sizes{60'000, 20'000, 10'000}, Sizes{1, 1, 1}}) {
    const std::vector<std::int32_t> drawn = training_sample(train, test, Seeds(3));
    CHECK(std::ssize(drawn) == sample);
    const std::set<std::int32_t> distinct(drawn.begin(), drawn.end());
    CHECK(std::ssize(distinct) == sample);
    CHECK(*distinct.begin() >= 0);
    CHECK(*distinct.rbegin() < train);
    CHECK(training_sample(train, test, Seeds(3)) == drawn);
    Seeds other(4);
    other.data = 3;  // other seeds have no effect
    CHECK(training_sample(train, test, other) == drawn);
    if (sample < train) CHECK(training_sample(train, test, Seeds(4)) != drawn);
  }
}

TEST_CASE("The loss of a far too confident logistic model is large, not infinite") {
  const auto objective = make("logistic", {{"dimension", 2}}, 1, 64);
  const Vector x{1e6f, -1e6f, 0.0f};
  CHECK(std::isfinite(loss(*objective, 0, 0, x)));
  CHECK(std::isfinite(evaluate(*objective, x).loss_sum));
  for (const float value : gradient(*objective, 0, 0, x)) CHECK(std::isfinite(value));
}

TEST_CASE("A LIBSVM file is split into training and test examples") {
  const ScratchFolder folder;
  std::string content;
  for (int i = 0; i < 50; ++i) content += fmt::format("{} {}:1\n", i % 2, i % 9 + 1);
  folder.write("d", content);
  const AnalyticEntry& entry = *find_analytic("logistic");
  nlohmann::json options = with_fallbacks(entry.fields, {{"path", folder.path("d")}});
  const DataInfo info = entry.inspect(options);
  CHECK(info.dimension == 10);
  CHECK(info.train_size == 40);
  CHECK(info.test_size == 10);
  CHECK(info.files == std::vector<std::string>{folder.path("d")});
  CHECK(evaluate(*make("logistic", options, 2), Vector(10)).count == 10);
  options["test_fraction"] = 0.0;
  CHECK(entry.inspect(options).train_size == 50);
  CHECK(entry.inspect(options).test_size == 50);
  options["test_fraction"] = 0.001;
  CHECK(entry.inspect(options).train_size == 49);
  CHECK(entry.inspect(options).test_size == 1);
  options["test_fraction"] = 0.999;
  CHECK_THROWS_AS(entry.inspect(options), UsageError);
}

TEST_CASE("Gradient descent on the logistic task beats chance by far, and honours partitions") {
  const auto objective = make("logistic", {{"dimension", 10}, {"separation", 4.0}}, 1, 100);
  Vector x = start(*objective, 0);
  for (int step = 0; step < 200; ++step) {
    const Vector g = gradient(*objective, 0, step, x);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] -= 0.3f * g[k];
  }
  const PartialEvaluation total = evaluate(*objective, x);
  CHECK(total.correct > 0.95 * static_cast<double>(total.count));

  // Sorted by class, worker 0 of two sees only negatives, so its bias can only fall.
  const auto sorted = make("logistic", {{"dimension", 3}}, 2, 8, 11, {{"kind", "sorted"}});
  CHECK(gradient(*sorted, 0, 0, Vector(4)).back() == Approx(0.5));
  CHECK(gradient(*sorted, 1, 0, Vector(4)).back() == Approx(-0.5));
}

// Every example of the file has a column of its own, so that gradients show which examples they
// used.
TEST_CASE("No gradient of the logistic task is of a validation example, and all others are used") {
  constexpr int kExamples = 40, kHeldOut = 11, kWorkers = 3, kBatch = 3;
  const ScratchFolder folder;
  std::string content;
  for (int e = 0; e < kExamples; ++e) content += fmt::format("{} {}:1\n", e % 2, e + 1);
  folder.write("d", content);
  const nlohmann::json given{
      {"path", folder.path("d")}, {"test_fraction", 0.0}, {"regularisation", 0.0}};
  const HeldOut parts = hold_out(kExamples, kHeldOut, validation_key({{"seed", 0}}));
  const std::set<std::int32_t> left(parts.train.begin(), parts.train.end());
  for (const char* kind : {"shared", "iid", "sorted"})
    for (const std::uint64_t seed : {1, 2}) {
      INFO(kind << ", seed " << seed);
      const auto objective =
          make("logistic", given, kWorkers, kBatch, seed, {{"kind", kind}}, kHeldOut);
      std::set<std::int32_t> seen;
      for (int worker = 0; worker < kWorkers; ++worker)
        for (int step = 0; step < kExamples; ++step) {
          const Vector g = gradient(*objective, worker, step, Vector(kExamples + 1));
          for (std::int32_t k = 0; k < kExamples; ++k)
            if (g[static_cast<std::size_t>(k)] != 0) seen.insert(k);
        }
      CHECK(seen == left);
      CHECK(objective->has_validation());
      // A weight on the held-out columns changes only their loss.
      Vector x(kExamples + 1);
      for (const std::int32_t k : parts.validation) x[static_cast<std::size_t>(k)] = 1;
      const PartialEvaluation held = evaluate(*objective, x, EvaluationSet::validation);
      CHECK(held.count == kHeldOut);
      CHECK(held.loss_sum != Approx(kHeldOut * std::log(2)));
      const PartialEvaluation training = evaluate(*objective, x, EvaluationSet::training);
      CHECK(training.count == kExamples - kHeldOut);
      CHECK(training.loss_sum == Approx((kExamples - kHeldOut) * std::log(2)));
    }
  CHECK_FALSE(make("logistic", given, 1)->has_validation());
}

}  // namespace acid::testing
