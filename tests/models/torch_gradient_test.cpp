// The results of the LibTorch models. These tests use only the Model interface.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/models/fixtures.hpp"

using namespace acid;
using namespace acid::test;

namespace {

struct Case {
  nlohmann::json options;
  DataShape shape;
  bool batch_norm;
};

/// Every kind of layer and shortcut, small enough to be quick.
std::vector<Case> small_models() {
  const DataShape image{3, 16, 16, 10};
  return {
      {model_options("linear"), kTiny, false},
      {model_options("mlp", {{"hidden", {16, 8}}, {"activation", "relu"}}), kTiny, false},
      {model_options("mlp", {{"hidden", {16}}, {"activation", "tanh"}}), kTiny, false},
      {model_options("mlp", {{"hidden", {16}}, {"activation", "gelu"}}), kTiny, false},
      {model_options("cnn", {{"channels", {8, 8}}, {"hidden", {16}}}), kTiny, false},
      {model_options("cnn", {{"channels", {8, 8, 8}}, {"hidden", nlohmann::json::array()}}), kTiny,
       false},  // one pixel is left of the image
      {model_options("resnet20"), image, true},
      {model_options("resnet20", {{"shortcut", "projection"}}), image, true},
      {model_options("resnet20", {{"norm", "group"}, {"groups", 4}}), image, false},
      {model_options("resnet20", {{"norm", "evonorm"}, {"shortcut", "projection"}}), image, false},
      {model_options("resnet18"), kTiny, true},
      {model_options("resnet50", {{"stem", "imagenet"}}), DataShape{3, 32, 32, 4}, true},
      {model_options("transformer-lm", {{"width", 16}}), kSequence, false}};
}

std::unique_ptr<Model> make(const Case& c) {
  ModelRuntime& runtime = load_model_runtime();
  runtime.pin_threads(1);
  return runtime.make(c.options, c.shape, "cpu");
}

double norm(const std::vector<float>& v) {
  double squares = 0;
  for (const float value : v) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("a batch norm of one value per channel is refused when it trains") {
  const Case c{model_options("resnet20"), DataShape{3, 4, 4, 10}, true};
  const State state(c.options, c.shape);
  const auto model = make(c);
  std::vector<float> g(state.x.size());
  std::vector<float> buffers = state.buffers;
  const Examples one(c.shape, 1, 3), two(c.shape, 2, 3);
  CHECK_THROWS_WITH(model->loss_and_gradient(state.x, buffers, one.batch(), g),
                    ContainsSubstring("one value per channel"));
  CHECK(std::isfinite(model->loss_and_gradient(state.x, buffers, two.batch(), g)));
  CHECK(model->evaluate(state.x, state.buffers, one.batch()).count == 1);
}

TEST_CASE("the loss of an untrained classifier is near ln(classes)") {
  for (const char* kind : {"linear", "mlp", "cnn"}) {
    INFO(kind);
    const Case c{model_options(kind), kGlyphs, false};
    const State state(c.options, c.shape);
    Examples examples(c.shape, 64, 3);
    for (float& value : examples.features) value *= 0.2F;
    const PartialEvaluation sums = make(c)->evaluate(state.x, {}, examples.batch());
    CHECK(sums.count == 64);
    CHECK(sums.correct <= 40);
    CHECK(sums.loss_sum / 64 == Approx(std::log(10.0)).margin(0.3));
  }
}

TEST_CASE("the loss of an untrained language model is near ln(vocabulary) per token") {
  const DataShape bytes{1, 1, 32, 256, true};
  const Case c{model_options("transformer-lm"), bytes, false};
  const State state(c.options, c.shape);
  const PartialEvaluation sums = make(c)->evaluate(state.x, {}, Examples(bytes, 8, 3).batch());
  CHECK(sums.count == 8 * 32);
  CHECK(sums.correct < 16);
  CHECK(sums.loss_sum / (8 * 32) == Approx(std::log(256.0)).margin(0.1));
}

TEST_CASE("a token changes no prediction before it, and those from it on") {
  const Case c{model_options("transformer-lm", {{"width", 16}}), kSequence, false};
  State state(c.options, c.shape);
  for (float& value : state.x) value *= 5;  // so that every part matters
  const auto model = make(c);
  const Examples original(kSequence, 1, 3);
  // The loss at one position: the loss over all positions, minus the loss with another label there.
  const auto losses = [&](const Examples& examples) {
    std::vector<double> found;
    for (int place = 0; place < kSequence.width; ++place) {
      Examples alone = examples;
      const auto at = static_cast<std::size_t>(place);
      const double all = model->evaluate(state.x, {}, alone.batch()).loss_sum;
      alone.labels[at] = (alone.labels[at] + 1) % kSequence.classes;
      found.push_back(all - model->evaluate(state.x, {}, alone.batch()).loss_sum);
    }
    return found;
  };
  const std::vector<double> before = losses(original);
  for (const int changed : {0, 5, 11}) {
    Examples other = original;
    float& token = other.features[static_cast<std::size_t>(changed)];
    token = token == 0 ? 1 : 0;
    const std::vector<double> after = losses(other);
    for (int place = 0; place < kSequence.width; ++place) {
      INFO("token " << changed << ", position " << place);
      const auto at = static_cast<std::size_t>(place);
      CHECK((std::abs(after[at] - before[at]) > 1e-6) == (place >= changed));
    }
  }
}

TEST_CASE(
    "the gradient is the slope of the loss, which evaluation finds too, unless batch norm "
    "differs") {
  for (const Case& c : small_models()) {
    INFO(c.options.dump());
    State state(c.options, c.shape);
    const Examples examples(c.shape, 16, 3);
    const auto model = make(c);
    std::vector<float> g(state.x.size(), 42);  // must be overwritten, not added to
    const double evaluated = model->evaluate(state.x, state.buffers, examples.batch()).loss_sum /
                             static_cast<double>(examples.labels.size());
    const double trained = model->loss_and_gradient(state.x, state.buffers, examples.batch(), g);
    if (c.batch_norm)
      CHECK(evaluated != Approx(trained).epsilon(1e-3));
    else
      CHECK(evaluated == Approx(trained).epsilon(1e-6));
    // Along the gradient itself the slope is ‖g‖, the largest possible, so the rounding of
    // single-precision kernels does not hide it.
    const double length = norm(g);
    REQUIRE(length > 1e-3);
    const double h = 1e-2 / length;
    const auto loss_at = [&](double distance) {
      std::vector<float> x = state.x;
      for (std::size_t k = 0; k < x.size(); ++k)
        x[k] += static_cast<float>(distance * g[k] / length);
      std::vector<float> buffers = state.buffers;
      std::vector<float> unused(x.size());
      return model->loss_and_gradient(x, buffers, examples.batch(), unused);
    };
    const double slope = (loss_at(h) - loss_at(-h)) / (2 * h);
    CHECK(slope == Approx(length).epsilon(0.03));
  }
}

TEST_CASE("parts of a gradient are told in backward order, once each, and are final then") {
  for (const Case& c : small_models()) {
    INFO(c.options.dump());
    State state(c.options, c.shape);
    const Examples examples(c.shape, 16, 3);
    const auto model = make(c);
    const State fresh = state;
    std::vector<float> plain(state.x.size()), g(state.x.size());
    const double loss = model->loss_and_gradient(state.x, state.buffers, examples.batch(), plain);
    for (int repetition = 0; repetition < 2; ++repetition) {
      state.buffers = fresh.buffers;
      std::vector<int> told(g.size());
      std::vector<float> seen(g.size());
      std::vector<std::size_t> ends;
      const double again = model->loss_and_gradient(state.x, state.buffers, examples.batch(), g,
                                                    [&](std::size_t first, std::size_t last) {
                                                      for (std::size_t k = first; k < last; ++k)
                                                        ++told[k], seen[k] = g[k];
                                                      ends.push_back(last);
                                                    });
      CHECK(again == loss);
      CHECK(g == plain);
      CHECK(seen == plain);
      CHECK(told == std::vector<int>(g.size(), 1));
      const auto layout =
          find_model(c.options.at("kind").get<std::string>())->layout(c.options, c.shape);
      REQUIRE(ends.size() == layout.parameters.size());
      // The classifier's weight and bias come before all layers before it.
      CHECK(std::max(ends[0], ends[1]) == g.size());
      const Segment& second = layout.parameters[1].segment;
      CHECK(ends.back() <= static_cast<std::size_t>(second.offset + second.size));
    }
    // Without a listener the existing hooks call nothing.
    state.buffers = fresh.buffers;
    CHECK(model->loss_and_gradient(state.x, state.buffers, examples.batch(), g) == loss);
    CHECK(g == plain);
  }
}

TEST_CASE("a model that moves to other arrays tells of the gradient in those") {
  const Case c{model_options("mlp", {{"hidden", {16, 8}}}), kTiny, false};
  const State first(c.options, c.shape, 1), second(c.options, c.shape, 2);
  const Examples examples(c.shape, 16, 3);
  const auto model = make(c);
  for (const State* state : {&first, &second, &first}) {
    std::vector<float> g(state->x.size());
    std::size_t told = 0;
    model->loss_and_gradient(state->x, {}, examples.batch(), g,
                             [&](std::size_t from, std::size_t to) { told += to - from; });
    CHECK(told == g.size());
  }
}

// −Σₖ qₖ log pₖ with q = (1 − s) for the label plus s / classes for all classes.
TEST_CASE("a linear model's loss and gradient are the closed form, with smoothed labels too") {
  const Case c{model_options("linear"), kTiny, false};
  const State state(c.options, c.shape);
  const Examples examples(c.shape, 5, 3);
  for (const double smoothing : {0.0, 0.3}) {
    Batch batch = examples.batch();
    const auto model = make(c);
    const double plain = model->evaluate(state.x, {}, batch).loss_sum;
    batch.label_smoothing = smoothing;
    std::vector<float> g(state.x.size());
    const double loss = model->loss_and_gradient(state.x, {}, batch, g);
    CHECK(model->evaluate(state.x, {}, batch).loss_sum == plain);  // evaluation stays plain

    const std::size_t width = 128;
    std::vector<double> expected(g.size());
    double expected_loss = 0;
    for (std::size_t row = 0; row < 5; ++row) {
      const float* input = examples.features.data() + row * width;
      double logits[3];
      double total = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        logits[k] = state.x[3 * width + k];
        for (std::size_t j = 0; j < width; ++j)
          logits[k] += static_cast<double>(state.x[k * width + j]) * input[j];
        total += std::exp(logits[k]);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        const bool is_label = static_cast<std::size_t>(examples.labels[row]) == k;
        const double wanted = smoothing / 3 + (is_label ? 1 - smoothing : 0);
        expected_loss += wanted * (std::log(total) - logits[k]) / 5;
        const double slope = (std::exp(logits[k]) / total - wanted) / 5;
        for (std::size_t j = 0; j < width; ++j) expected[k * width + j] += slope * input[j];
        expected[3 * width + k] += slope;
      }
    }
    CHECK(loss == Approx(expected_loss).epsilon(1e-5));
    if (smoothing > 0) CHECK(loss != Approx(plain / 5).epsilon(1e-3));
    for (std::size_t k = 0; k < g.size(); ++k) REQUIRE(g[k] == Approx(expected[k]).margin(2e-6));
  }
}

TEST_CASE("the loss of a language model with smoothed labels is that of all tokens' mixtures") {
  const Case c{model_options("transformer-lm", {{"width", 16}}), kSequence, false};
  State state(c.options, c.shape);
  const Examples examples(kSequence, 2, 3);
  const auto model = make(c);
  std::vector<float> g(state.x.size());
  // The loss is linear in the labels' distribution: the smoothing adds the mean over the classes.
  double all_classes = 0;
  for (std::int64_t token = 0; token < kSequence.classes; ++token) {
    Examples same = examples;
    std::ranges::fill(same.labels, token);
    all_classes += model->loss_and_gradient(state.x, {}, same.batch(), g) /
                   static_cast<double>(kSequence.classes);
  }
  Batch batch = examples.batch();
  const double plain = model->loss_and_gradient(state.x, {}, batch, g);
  batch.label_smoothing = 0.25;
  CHECK(model->loss_and_gradient(state.x, {}, batch, g) ==
        Approx(0.75 * plain + 0.25 * all_classes).epsilon(1e-5));
}

TEST_CASE("running statistics move by a tenth towards the batch's, in the caller's buffers only") {
  const Case c{model_options("resnet20"), kCifar, true};
  State state(c.options, c.shape);
  const Examples examples(c.shape, 8, 3);
  const auto model = make(c);
  std::vector<float> g(state.x.size());
  const State fresh(c.options, c.shape);
  model->evaluate(state.x, state.buffers, examples.batch());
  CHECK(state.buffers == fresh.buffers);

  model->loss_and_gradient(state.x, state.buffers, examples.batch(), g);
  CHECK(state.x == fresh.x);
  CHECK(state.buffers != fresh.buffers);
  // The same batch again and again: running statistics converge to the batch's at rate 0.9.
  std::vector<std::vector<float>> history = {fresh.buffers, state.buffers};
  model->loss_and_gradient(state.x, state.buffers, examples.batch(), g);
  history.push_back(state.buffers);
  for (std::size_t k = 0; k < state.buffers.size(); ++k) {
    const double first = history[1][k] - history[0][k];
    const double second = history[2][k] - history[1][k];
    REQUIRE(second == Approx(0.9 * first).margin(1e-5));
  }
}

TEST_CASE("training on a data set through the objective classifies the test set") {
  ModelRuntime& runtime = load_model_runtime();
  const auto task = make_supervised(runtime, model_options("mlp"), make_dataset(kTiny, 600, 300),
                                    {{"kind", "shared"}}, 32, 1, 1, "cpu", Seeds(1), 1);
  std::vector<float> x(task->dimension());
  std::vector<float> g(task->dimension());
  task->start(0, x, {});
  for (int step = 0; step < 40; ++step) {
    task->gradient(0, 0, step, x, {}, g);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] -= 0.05F * g[k];
  }
  PartialEvaluation sums;
  for (int chunk = 0; chunk < task->evaluation_chunks(EvaluationSet::test); ++chunk) {
    const PartialEvaluation part = task->evaluate(0, EvaluationSet::test, chunk, x, {});
    sums.correct += part.correct;
    sums.count += part.count;
  }
  CHECK(sums.count == 300);
  CHECK(static_cast<double>(sums.correct) > 0.8 * 300);
}
