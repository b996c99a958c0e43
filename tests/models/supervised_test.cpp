#include <numeric>
#include <set>
#include <thread>

#include "engine/models/model.hpp"
#include "tests/catch.hpp"
#include "tests/models/fixtures.hpp"

using namespace acid;
using namespace acid::test;

namespace {

/// A model that only reports its input: its loss is the sum of features, labels and the label
/// smoothing. It calls `ready` for the second half of its gradient only.
class EchoModel : public Model {
 public:
  double loss_and_gradient(std::span<const float> x, std::span<float> /*buffers*/,
                           const Batch& batch, std::span<float> g,
                           const GradientReady& ready) override {
    std::ranges::copy(x, g.begin());
    if (ready) ready(g.size() / 2, g.size());
    return sum(batch) + 1e6 * batch.label_smoothing;
  }
  PartialEvaluation evaluate(std::span<const float> /*x*/, std::span<const float> /*buffers*/,
                             const Batch& batch) override {
    return {sum(batch) + 1e6 * batch.label_smoothing, 0,
            static_cast<std::int64_t>(batch.labels.size())};
  }

 private:
  static double sum(const Batch& batch) {
    return std::accumulate(batch.features.begin(), batch.features.end(), 0.0) +
           1e3 * std::accumulate(batch.labels.begin(), batch.labels.end(), 0.0);
  }
};

class EchoRuntime : public ModelRuntime {
 public:
  std::unique_ptr<Model> make(const nlohmann::json& /*options*/, const DataShape& /*shape*/,
                              const std::string& device) override {
    devices.push_back(device);
    return std::make_unique<EchoModel>();
  }
  StoredModel read(const std::string&, const DataShape&) override { return {}; }
  std::string torchscript(const nlohmann::json& /*options*/, const DataShape& /*shape*/,
                          std::span<const float> /*x*/, std::span<const float> /*buffers*/,
                          const nlohmann::json& /*about*/) override {
    return {};
  }
  void pin_threads(int threads) override { pinned.push_back(threads); }
  nlohmann::json environment() override { return {}; }
  nlohmann::json speed() override { return {}; }

  std::vector<std::string> devices;
  std::vector<int> pinned;
};

std::unique_ptr<Objective> make_linear(EchoRuntime& runtime, const Dataset& dataset, int batch_size,
                                       int workers, int lanes, std::uint64_t seed = 1) {
  return make_supervised(runtime, model_options("linear"), dataset, {{"kind", "shared"}},
                         batch_size, workers, 1, "cpu", Seeds(seed), lanes);
}

}  // namespace

TEST_CASE("a supervised task describes its model's tensors and starts every worker alike") {
  EchoRuntime runtime;
  const auto task = make_linear(runtime, make_dataset(kTiny, 20, 5), 4, 3, 2);
  CHECK(task->dimension() == 128 * 3 + 3);
  CHECK(task->buffer_size() == 0);
  CHECK(task->segments().size() == 2);
  CHECK(task->has_accuracy());
  CHECK(runtime.devices == std::vector<std::string>{"cpu", "cpu"});
  std::vector<float> x0(task->dimension());
  std::vector<float> x2(task->dimension());
  task->start(0, x0, {});
  task->start(2, x2, {});
  CHECK(x0 == x2);
}

TEST_CASE("a minibatch depends on seed, worker and step, and not on the lane") {
  EchoRuntime runtime;
  const Dataset dataset = make_dataset(kTiny, 50, 5);
  const auto task = make_linear(runtime, dataset, 4, 2, 2);
  const auto reseeded = make_linear(runtime, dataset, 4, 2, 1, 2);
  std::vector<float> x(task->dimension(), 1.5F);
  std::vector<float> g(task->dimension());
  const double loss = task->gradient(0, 0, 3, x, {}, g);
  CHECK(g == x);
  CHECK(task->gradient(0, 0, 4, x, {}, g) != loss);
  CHECK(task->gradient(0, 1, 3, x, {}, g) != loss);
  CHECK(reseeded->gradient(0, 0, 3, x, {}, g) != loss);
  CHECK(task->gradient(1, 0, 3, x, {}, g) == loss);
}

TEST_CASE("augmentation and smoothing are of gradients, by worker and step, and of no evaluation") {
  EchoRuntime runtime;
  Dataset dataset = make_dataset(kTiny, 50, 5);
  const auto plain = make_linear(runtime, dataset, 4, 2, 2);
  dataset.label_smoothing = 0.25;
  const auto smooth = make_linear(runtime, dataset, 4, 2, 2);
  dataset.augmentation = {.crop_padding = 2, .resized_crop = 1, .flip = true};
  const auto augmented = make_linear(runtime, dataset, 4, 2, 2);
  std::vector<float> x(plain->dimension(), 1.5F), g(x.size());
  int different = 0;
  for (int step = 0; step < 30; ++step) {
    const double loss = augmented->gradient(0, 1, step, x, {}, g);
    CHECK(augmented->gradient(1, 1, step, x, {}, g) == loss);
    const double smoothed = smooth->gradient(0, 1, step, x, {}, g);
    different += smoothed != loss ? 1 : 0;
    CHECK(smoothed == Approx(plain->gradient(0, 1, step, x, {}, g) + 0.25e6));
  }
  CHECK(different > 25);
  for (const EvaluationSet set : {EvaluationSet::test, EvaluationSet::training})
    for (Objective* task : {smooth.get(), augmented.get()})
      CHECK(task->evaluate(0, set, 0, x, {}).loss_sum ==
            plain->evaluate(0, set, 0, x, {}).loss_sum);
}

TEST_CASE("shifted features are those of gradients and of the training loss, and not of tests") {
  EchoRuntime runtime;
  Dataset dataset = make_dataset(kTiny, 50, 5);
  const auto make = [&] {
    return make_supervised(runtime, model_options("linear"), dataset, {{"kind", "iid"}}, 4, 2, 1,
                           "cpu", Seeds(1), 2, false);
  };
  const auto plain = make();
  dataset.feature_shift = 0.5;
  const auto task = make();
  std::vector<float> x(task->dimension(), 1.5F), g(x.size());
  for (int step = 0; step < 10; ++step) {
    const double loss = task->gradient(0, 1, step, x, {}, g);
    CHECK(task->gradient(1, 1, step, x, {}, g) == loss);
    CHECK(plain->gradient(0, 1, step, x, {}, g) != loss);
  }
  CHECK(task->evaluate(0, EvaluationSet::test, 0, x, {}).loss_sum ==
        plain->evaluate(0, EvaluationSet::test, 0, x, {}).loss_sum);
  CHECK(task->evaluate(0, EvaluationSet::training, 0, x, {}).loss_sum !=
        plain->evaluate(0, EvaluationSet::training, 0, x, {}).loss_sum);
}

TEST_CASE("prefetched minibatches are the same, on any lane and in any order of the workers") {
  EchoRuntime runtime;
  const Dataset dataset = make_dataset(kTiny, 50, 5);
  const auto plain = make_linear(runtime, dataset, 7, 3, 2);
  const auto ahead = make_supervised(runtime, model_options("linear"), dataset,
                                     {{"kind", "shared"}}, 7, 3, 1, "cpu", Seeds(1), 2, true);
  std::vector<float> x(plain->dimension(), 1.5F), g(x.size());
  for (int step = 0; step < 20; ++step) {
    for (int worker = 0; worker < 3; ++worker) {
      const int lane = (step + worker) % 2;
      const double expected = plain->gradient(lane, worker, step, x, {}, g);
      CHECK(ahead->gradient(lane, worker, step, x, {}, g) == expected);
    }
    if (step % 5 == 0)  // an evaluation leaves another size in the lane's memory
      CHECK(ahead->evaluate(0, EvaluationSet::test, 0, x, {}).loss_sum ==
            plain->evaluate(0, EvaluationSet::test, 0, x, {}).loss_sum);
  }
}

TEST_CASE("a supervised task passes on which parts of a gradient are final") {
  EchoRuntime runtime;
  const auto task = make_linear(runtime, make_dataset(kTiny, 50, 5), 4, 1, 1);
  const std::size_t d = task->dimension();
  std::vector<float> x(d, 1.5F), g(d);
  std::vector<std::pair<std::size_t, std::size_t>> told;
  const double loss =
      task->gradient_in_parts(0, 0, 3, x, {}, g, [&](std::size_t first, std::size_t last) {
        told.push_back({first, last});
      });
  CHECK(told == std::vector<std::pair<std::size_t, std::size_t>>{{d / 2, d}});
  CHECK(task->gradient(0, 0, 3, x, {}, g) == loss);
  CHECK(told.size() == 1);
}

TEST_CASE("one pass of minibatches sees every example once") {
  EchoRuntime runtime;
  const Dataset dataset = make_dataset(kTiny, 24, 5);
  const Examples all(kTiny, 24, 1);  // what make_dataset drew
  const auto task = make_linear(runtime, dataset, 4, 1, 1);
  std::vector<float> x(task->dimension());
  std::vector<float> g(task->dimension());
  double sum = 0;
  for (int step = 0; step < 6; ++step) sum += task->gradient(0, 0, step, x, {}, g);
  const double expected = std::accumulate(all.features.begin(), all.features.end(), 0.0) +
                          1e3 * std::accumulate(all.labels.begin(), all.labels.end(), 0.0);
  CHECK(sum == Approx(expected));
}

TEST_CASE("evaluation chunks cover the test set once, the last one being shorter") {
  EchoRuntime runtime;
  for (const int size : {1, 249, 250, 251, 600}) {
    const auto task = make_linear(runtime, make_dataset(kTiny, 4, size), 2, 1, 1);
    std::vector<float> x(task->dimension());
    std::int64_t count = 0;
    for (int chunk = 0; chunk < task->evaluation_chunks(EvaluationSet::test); ++chunk)
      count += task->evaluate(0, EvaluationSet::test, chunk, x, {}).count;
    CHECK(count == size);
  }
}

TEST_CASE("the training loss is taken of the sample of the training examples") {
  EchoRuntime runtime;
  const Dataset dataset = make_dataset(kTiny, 1500, 5);
  const auto task = make_linear(runtime, dataset, 2, 3, 1, /*seed=*/8);
  std::vector<float> x(task->dimension()), features(static_cast<std::size_t>(kTiny.features()));
  double sum = 0, expected = 0;
  std::int64_t count = 0;
  for (int chunk = 0; chunk < task->evaluation_chunks(EvaluationSet::training); ++chunk) {
    const PartialEvaluation part = task->evaluate(0, EvaluationSet::training, chunk, x, {});
    sum += part.loss_sum;
    count += part.count;
  }
  CHECK(count == 1000);
  for (const std::int32_t example : training_sample(1500, 5, Seeds(8))) {
    dataset.train->copy_features(example, features);
    expected += std::accumulate(features.begin(), features.end(), 0.0) +
                1e3 * dataset.train->label(example);
  }
  CHECK(sum == Approx(expected));
}

TEST_CASE("no minibatch has a validation example, and evaluation on them has all") {
  constexpr int kExamples = 60, kHeldOut = 17, kWorkers = 4;
  EchoRuntime runtime;
  const Dataset whole = make_dataset(kTiny, kExamples, 5);
  const HeldOut parts = hold_out(kExamples, kHeldOut, 3);
  // What the model says about each example shows which one it was.
  std::vector<float> features(static_cast<std::size_t>(kTiny.features()));
  const auto echo_of = [&](std::int32_t example) {
    whole.train->copy_features(example, features);
    return std::accumulate(features.begin(), features.end(), 0.0) +
           1e3 * whole.train->label(example);
  };
  std::set<double> left;
  for (const std::int32_t example : parts.train) left.insert(echo_of(example));
  double held = 0;
  for (const std::int32_t example : parts.validation) held += echo_of(example);
  for (const char* kind : {"shared", "iid", "sorted"})
    for (const bool prefetch : {false, true}) {
      INFO(kind);
      const auto task =
          make_supervised(runtime, model_options("linear"), hold_out(whole, kHeldOut, 3),
                          {{"kind", kind}}, 1, kWorkers, 1, "cpu", Seeds(1), 1, prefetch);
      std::vector<float> x(task->dimension()), g(x.size());
      std::set<double> seen;
      for (int worker = 0; worker < kWorkers; ++worker)
        for (int step = 0; step < kExamples; ++step)
          seen.insert(task->gradient(0, worker, step, x, {}, g));
      CHECK(seen == left);
      REQUIRE(task->has_validation());
      CHECK(task->evaluation_chunks(EvaluationSet::validation) == 1);
      const PartialEvaluation part = task->evaluate(0, EvaluationSet::validation, 0, x, {});
      CHECK(part.count == kHeldOut);
      CHECK(part.loss_sum == Approx(held));
    }
  CHECK_FALSE(make_linear(runtime, whole, 1, 1, 1)->has_validation());
}

TEST_CASE("every thread pins its thread count once, before its first gradient") {
  EchoRuntime runtime;
  const auto task = make_linear(runtime, make_dataset(kTiny, 20, 5), 4, 1, 1);
  const auto two_gradients = [&] {
    std::vector<float> x(task->dimension());
    std::vector<float> g(task->dimension());
    task->gradient(0, 0, 0, x, {}, g);
    task->evaluate(0, EvaluationSet::test, 0, x, {});
  };
  std::thread(two_gradients).join();
  CHECK(runtime.pinned == std::vector<int>{1});
  std::thread(two_gradients).join();
  CHECK(runtime.pinned == std::vector<int>{1, 1});
}
