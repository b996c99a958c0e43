// Bits, bindings, threads and errors of the LibTorch module.
#include <thread>

#include "engine/base/error.hpp"
#include "engine/models/blas_core.hpp"
#include "tests/catch.hpp"
#include "tests/models/fixtures.hpp"
#include "tests/scratch.hpp"

using namespace acid;
using namespace acid::test;

namespace {

const DataShape kImage{3, 16, 16, 10};

const DataShape& shape_of(const char* kind) {
  return find_model(kind)->tokens ? kSequence : kImage;
}

std::unique_ptr<Model> make(const char* kind) {
  ModelRuntime& runtime = load_model_runtime();
  runtime.pin_threads(1);
  return runtime.make(model_options(kind), shape_of(kind), "cpu");
}

/// Loss, gradient and updated buffers of one call on fresh arrays.
struct Result {
  double loss = 0;
  std::vector<float> g, buffers;
  bool operator==(const Result&) const = default;
};

Result gradient(Model& model, const State& state, const Batch& batch) {
  Result result{0, std::vector<float>(state.x.size()), state.buffers};
  result.loss = model.loss_and_gradient(state.x, result.buffers, batch, result.g);
  return result;
}

}  // namespace

TEST_CASE("a model follows its caller's arrays, whichever they are") {
  for (const char* kind : {"mlp", "cnn", "resnet20", "transformer-lm"}) {
    INFO(kind);
    const State a(model_options(kind), shape_of(kind), 1);
    const State b(model_options(kind), shape_of(kind), 2);
    const Examples examples(shape_of(kind), 8, 3);
    const auto model = make(kind);
    const Result ra = gradient(*model, a, examples.batch());
    const Result rb = gradient(*model, b, examples.batch());
    CHECK(ra.loss != rb.loss);
    // The same model with the first array again, and a new model that has seen nothing else.
    CHECK(gradient(*model, a, examples.batch()) == ra);
    CHECK(gradient(*make(kind), b, examples.batch()) == rb);
    // Between evaluations, and when the contents of a known array change.
    const double evaluated = model->evaluate(b.x, b.buffers, examples.batch()).loss_sum;
    CHECK(gradient(*model, a, examples.batch()) == ra);
    State c = a;
    gradient(*model, c, examples.batch());
    c.x = b.x;
    CHECK(model->evaluate(c.x, b.buffers, examples.batch()).loss_sum == evaluated);
    CHECK(gradient(*model, c, examples.batch()) == rb);
  }
}

TEST_CASE("a new gradient array for known parameters leaves the old one alone") {
  const State state(model_options("mlp"), kImage);
  const Examples examples(kImage, 8, 3);
  const Examples others(kImage, 8, 4);
  const auto model = make("mlp");
  std::vector<float> g1(state.x.size());
  std::vector<float> g2(state.x.size());
  model->loss_and_gradient(state.x, {}, examples.batch(), g1);
  const std::vector<float> kept = g1;
  model->loss_and_gradient(state.x, {}, others.batch(), g2);
  CHECK(g1 == kept);
  CHECK(g2 != kept);
  model->loss_and_gradient(state.x, {}, examples.batch(), g2);
  CHECK(g2 == kept);
}

TEST_CASE("batches of different sizes share one model") {
  const State state(model_options("cnn"), kImage);
  const auto model = make("cnn");
  for (const int rows : {1, 7, 250, 1}) {
    const Examples examples(kImage, rows, 3);
    CHECK(gradient(*model, state, examples.batch()) ==
          gradient(*make("cnn"), state, examples.batch()));
  }
}

TEST_CASE("a gradient has the same bits on any thread, also when threads compute at once") {
  for (const char* kind : {"mlp", "cnn", "resnet20", "transformer-lm"}) {
    INFO(kind);
    const State state(model_options(kind), shape_of(kind));
    const Examples examples(shape_of(kind), 16, 3);
    const Result expected = gradient(*make(kind), state, examples.batch());
    std::vector<Result> results(4);
    std::vector<std::thread> threads;
    for (Result& result : results) {
      threads.emplace_back([&] {
        const auto model = make(kind);
        for (int repeat = 0; repeat < 3; ++repeat)
          result = gradient(*model, state, examples.batch());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Result& result : results) CHECK(result == expected);
  }
}

TEST_CASE("a gradient has the same bits for arrays of any alignment") {
  for (const char* kind : {"mlp", "cnn", "resnet20", "transformer-lm"}) {
    INFO(kind);
    const State state(model_options(kind), shape_of(kind));
    const Examples examples(shape_of(kind), 16, 3);
    const auto model = make(kind);
    const Result expected = gradient(*model, state, examples.batch());
    for (const std::size_t shift : {1U, 3U, 8U}) {
      const auto shifted = [&](const std::vector<float>& values) {
        std::vector<float> moved(shift);
        moved.insert(moved.end(), values.begin(), values.end());
        return moved;
      };
      std::vector<float> x = shifted(state.x);
      std::vector<float> buffers = shifted(state.buffers);
      std::vector<float> features = shifted(examples.features);
      std::vector<float> g(x.size());
      const Batch batch{std::span(features).subspan(shift), examples.labels};
      const double loss =
          model->loss_and_gradient(std::span(x).subspan(shift), std::span(buffers).subspan(shift),
                                   batch, std::span(g).subspan(shift));
      CHECK(loss == expected.loss);
      CHECK(std::equal(expected.g.begin(), expected.g.end(), g.begin() + shift));
      CHECK(g[0] == 0);
    }
  }
}

TEST_CASE("non-finite parameters give a non-finite loss, not a crash") {
  State state(model_options("mlp"), kImage);
  state.x[0] = std::numeric_limits<float>::infinity();
  const Examples examples(kImage, 4, 3);
  const auto model = make("mlp");
  CHECK_FALSE(std::isfinite(gradient(*model, state, examples.batch()).loss));
  CHECK(model->evaluate(state.x, {}, examples.batch()).count == 4);
}

TEST_CASE("a TorchScript file depends on the model, its values and its description alone") {
  ModelRuntime& runtime = load_model_runtime();
  const auto options = model_options("resnet20");
  State state(options, kImage);
  const auto file = [&](const char* about) {
    return runtime.torchscript(options, kImage, state.x, state.buffers, {{"about", about}});
  };
  const std::string first = file("a");
  CHECK(first.starts_with("PK"));
  CHECK(file("a") == first);
  CHECK(file("b") != first);
  state.buffers.back() += 1;
  CHECK(file("a") != first);
  state.buffers.pop_back();
  CHECK_THROWS_AS(file("a"), AssertionError);
}

TEST_CASE("what is no TorchScript file is refused, whatever it is") {
  ModelRuntime& runtime = load_model_runtime();
  const auto options = model_options("linear");
  const State state(options, kImage);
  const std::string whole = runtime.torchscript(options, kImage, state.x, {}, {});
  const ScratchFolder folder;
  const auto refused = ContainsSubstring("is no TorchScript file");
  for (const std::string& bytes : {std::string("a model"), std::string(), whole.substr(0, 100),
                                   whole.substr(0, whole.size() / 2)}) {
    CHECK_THROWS_WITH(runtime.read(folder.write("bad.pt", bytes), kImage), refused);
  }
  CHECK_THROWS_WITH(runtime.read(folder.path(), kImage), refused);
}

TEST_CASE("wrong sizes are our own bug, a label or a token out of range is an error") {
  const State state(model_options("linear"), kImage);
  Examples examples(kImage, 4, 3);
  const auto model = make("linear");
  std::vector<float> g(state.x.size()), short_g(3);
  CHECK_THROWS_AS(model->loss_and_gradient(state.x, {}, examples.batch(), short_g), AssertionError);
  examples.labels[2] = 10;
  CHECK_THROWS_AS(model->loss_and_gradient(state.x, {}, examples.batch(), g), Error);
  const State of_text(model_options("transformer-lm"), kSequence);
  Examples text(kSequence, 4, 3);
  text.features[20] = 17;
  CHECK_THROWS_AS(make("transformer-lm")->evaluate(of_text.x, {}, text.batch()), Error);
}

TEST_CASE("thread counts are set and read back in every thread") {
  ModelRuntime& runtime = load_model_runtime();
  for (const int threads : {2, 1}) {
    int seen = 0;
    std::thread([&] {
      runtime.pin_threads(threads);
      seen = runtime.environment().at("blas_threads");
    }).join();
    CHECK(seen == threads);
  }
}

TEST_CASE("the environment names what the bits of a gradient depend on") {
  const nlohmann::json environment = load_model_runtime().environment();
  for (const char* key : {"libtorch", "blas_library", "blas_core", "blas_threads", "cpu_capability",
                          "mkldnn", "cuda"})
    CHECK(environment.contains(key));
  CHECK_FALSE(environment.at("libtorch").get<std::string>().empty());
  CHECK(environment.at("cpu_capability") != "unknown");
}

TEST_CASE("the speed of a matrix product is measured beside a plain loop's") {
  const nlohmann::json speed = load_model_runtime().speed();
  CHECK(speed.at("product_flops_per_second").get<double>() > 1e6);
  CHECK(speed.at("loop_flops_per_second").get<double>() > 1e6);
}

TEST_CASE("a GPU that is not there is an error that says what to do") {
  ModelRuntime& runtime = load_model_runtime();
  if (runtime.environment().at("cuda").get<bool>()) {
    CHECK_NOTHROW(runtime.make(model_options("linear"), kImage, "cuda"));
  } else {
    CHECK_THROWS_WITH(runtime.make(model_options("linear"), kImage, "cuda"),
                      ContainsSubstring("no CUDA") && ContainsSubstring("execution.device"));
  }
}

TEST_CASE("OpenBLAS uses this processor's vectors, unless an earlier attempt had other kernels") {
  const std::string core = load_model_runtime().environment()["blas_core"];
#if defined(__x86_64__)
  if (!core.empty() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    CHECK(vectors_of_core(core) != Vectors::other);
#endif

  const char* const kVariable = "OPENBLAS_CORETYPE";
  const char* const given = std::getenv(kVariable);
  const std::string kept = given == nullptr ? "" : given;
  unsetenv(kVariable);
  prefer_blas_core("");
  CHECK(std::getenv(kVariable) == nullptr);
  prefer_blas_core("Prescott");
  CHECK(std::string(std::getenv(kVariable)) == "Prescott");
  prefer_blas_core("Nehalem");
  choose_blas_core();
  CHECK(std::string(std::getenv(kVariable)) == "Prescott");  // what is set stays
  unsetenv(kVariable);
  choose_blas_core();  // the library is loaded: too late
  CHECK(std::getenv(kVariable) == nullptr);
  if (given != nullptr) setenv(kVariable, kept.c_str(), 1);
  CHECK(vectors_of_core("SkylakeX") == Vectors::avx512);
  CHECK(vectors_of_core("Zen") == Vectors::avx2);
  CHECK(vectors_of_core("Prescott") == Vectors::other);
}
