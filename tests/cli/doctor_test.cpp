// `acid doctor` about the machine: its advice for given answers of acid-worker.
#include <nlohmann/json.hpp>

#include "tests/cli/scripted_worker.hpp"

using nlohmann::json;

namespace {

/// The output of acid-worker --environment on a sound machine.
json sound() {
  return {{"cpu_features", "avx2 fma avx512f"},
          {"variables", json::object()},
          {"model_runtime",
           {{"libtorch", "2.6.0"},
            {"cpu_capability", "AVX512"},
            {"blas_library", "/usr/lib/openblas-pthread/libblas.so.3"},
            {"blas_config", "OpenBLAS 0.3.29 DYNAMIC_ARCH SkylakeX"},
            {"blas_core", "SkylakeX"},
            {"speed", {{"product_flops_per_second", 72e9}, {"loop_flops_per_second", 8e9}}}}}};
}

/// The named checks of doctor --json when the worker prints `environment`.
json checks(const json& environment, const std::string& name,
            std::vector<std::string> variables = {}) {
  const acid::test::ScriptedWorker bench("cat environment.json\n");
  bench.write("environment.json", environment.dump());
  variables.push_back(bench.worker);
  const auto result = acid::test::acid(bench, {"doctor", "--json"}, variables);
  INFO(result.err);
  CHECK(result.code == 0);
  const json document = result.json();
  json found = json::array();
  for (const json& check : document["checks"])
    if (check["name"] == name) found.push_back(check);
  return found;
}

json blas(const json& environment) {
  const json found = checks(environment, "BLAS");
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("doctor says which SQLite acid was built with") {
  const json found = checks(sound(), "SQLite");
  REQUIRE(found.size() == 1);
  CHECK(found[0]["found"].get<std::string>().starts_with("3."));
}

TEST_CASE("doctor says how listings are executed, and why not by machine code") {
  const json found = checks(sound(), "listings");
  REQUIRE(found.size() == 1);
  CHECK((found[0]["status"] == "ok") == (found[0]["found"] == "run as machine code"));
  CHECK((found[0]["status"] == "ok") == (found[0]["advice"] == ""));
  const json interpreted = checks(sound(), "listings", {"ACID_KERNELS=baseline"});
  REQUIRE(interpreted.size() == 1);
  CHECK(interpreted[0]["found"] == "are interpreted");
  CHECK_THAT(interpreted[0]["advice"].get<std::string>(),
             ContainsSubstring("the kernels are those of all processors"));
}

TEST_CASE("doctor says how fast the machine's BLAS is, and no more where all is well") {
  const json check = blas(sound());
  CHECK(check["status"] == "ok");
  CHECK(check["advice"] == "");
  CHECK_THAT(check["found"].get<std::string>(), ContainsSubstring("SkylakeX") &&
                                                    ContainsSubstring("72 GFLOP/s") &&
                                                    ContainsSubstring("9.0 × a plain loop"));
  CHECK(checks(sound(), "thread counts").empty());
}

TEST_CASE("runs for a GPU that is not there are refused once, before anything is written") {
  const acid::test::ScriptedWorker bench("cat environment.json\n");
  bench.write("environment.json",
              R"({"cuda": {"devices": [], "error": "there is no CUDA device here: buy one"}})");
  const auto result = bench.run({"--set", "execution.device=cuda"});
  CHECK(result.code == 2);
  CHECK(result.err.ends_with("acid: error: there is no CUDA device here: buy one\n"));
  CHECK(bench.starts() == std::vector<std::string>{"--environment"});
  CHECK_FALSE(bench.has("acid-store"));
}

TEST_CASE("doctor explains why the machine's BLAS is slow, and what to do") {
  json environment = sound();
  json& runtime = environment["model_runtime"];
  const char* expected = nullptr;
  SECTION("the reference implementation") {
    runtime["blas_library"] = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0";
    runtime["blas_config"] = runtime["blas_core"] = "";
    runtime["speed"]["product_flops_per_second"] = 2.5e9;
    expected = "apt-get install libopenblas0-pthread";
  }
  SECTION("a core type from the environment that is not the processor's") {
    runtime["blas_core"] = "Haswell";
    environment["variables"]["OPENBLAS_CORETYPE"] = "Haswell";
    expected = "OPENBLAS_CORETYPE=Haswell keeps OpenBLAS from this processor's AVX-512";
  }
  SECTION("a processor that OpenBLAS does not know") {
    environment["cpu_features"] = "avx2 fma";
    runtime["blas_core"] = "Prescott";
    expected = "set OPENBLAS_CORETYPE=Haswell";
  }
  SECTION("whatever makes it hardly faster than a plain loop") {
    runtime["speed"]["product_flops_per_second"] = 9e9;
    expected = "hardly faster than a plain loop";
  }
  const json check = blas(environment);
  CHECK(check["status"] == "warn");
  CHECK_THAT(check["advice"].get<std::string>(), ContainsSubstring(expected));
}

TEST_CASE("doctor does not call a BLAS slow that it does not know, or that has not been measured") {
  json environment = sound();
  json& runtime = environment["model_runtime"];
  SECTION("an unknown one that is fast") {
    runtime["blas_library"] = "/opt/vendor/libfastblas.so";
    runtime["blas_config"] = runtime["blas_core"] = "";
  }
  SECTION("one of which there is no measurement") { runtime.erase("speed"); }
  CHECK(blas(environment)["status"] == "ok");
}

TEST_CASE("doctor says what thread counts of the environment do to runs") {
  json environment = sound();
  environment["variables"]["OMP_NUM_THREADS"] = "8";
  json found = checks(environment, "thread counts");
  REQUIRE(found.size() == 1);
  CHECK(found[0]["status"] == "ok");
  CHECK_THAT(found[0]["found"].get<std::string>(), ContainsSubstring("OMP_NUM_THREADS=8"));
  CHECK_THAT(found[0]["advice"].get<std::string>(), ContainsSubstring("threads_per_worker"));
  environment["model_runtime"]["speed"] = {{"error", "OpenMP runs with 4 threads; unset it"}};
  found = checks(environment, "thread counts");
  REQUIRE(found.size() == 1);
  CHECK(found[0]["status"] == "warn");
  CHECK_THAT(found[0]["advice"].get<std::string>(), ContainsSubstring("unset it"));
}

TEST_CASE(
    "a recipe with a model is refused once where LibTorch was left out, before anything is "
    "written") {
  const acid::test::Folder folder;
  folder.write("model.toml", R"(
name = "model"
seeds = [1, 2]
[task]
dataset = "glyphs"
model = "linear"
batch_size = 4
[optimizer]
learning_rate = 0.05
[workers]
count = 2
[topology]
kind = "ring"
[budget]
gradients = 10
[[algorithms]]
kind = "ad-psgd"
)");
  const std::vector<std::string> none{"ACID_TORCH_MODULE=/nowhere/acid-torch.so"};
  const auto refused = acid::test::acid(folder, {"run", "model.toml"}, none);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("model.toml trains a model, and there is no "
                                            "'/nowhere/acid-torch.so'") &&
                              ContainsSubstring("analytic tasks and Python models do not") &&
                              ContainsSubstring("LibTorch (on Debian: apt install libtorch-dev)"));
  CHECK_FALSE(folder.has("acid-store"));
  CHECK(acid::test::acid(folder, {"plan", "model.toml"}, none).code == 0);
  folder.write("analytic.toml", acid::test::kSmallRecipe);
  CHECK(acid::test::acid(folder, {"run", "analytic.toml"}, none).code == 0);
  const auto doctor = acid::test::acid(folder, {"doctor", "--json"}, none).json();
  for (const json& check : doctor["checks"])
    if (check["name"] == "LibTorch")
      CHECK_THAT(check["advice"].get<std::string>(),
                 ContainsSubstring("only analytic tasks will run"));
}
