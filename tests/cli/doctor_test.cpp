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
            const std::vector<std::string>& variables = {}) {
  const acid::test::ScriptedWorker bench("cat environment.json\n");
  bench.write("environment.json", environment.dump());
  const json document = bench.done({"doctor", "--json"}, variables).json();
  json found = json::array();
  for (const json& check : document["checks"])
    if (check["name"] == name) found.push_back(check);
  return found;
}

/// The only one.
json check_of(const json& environment, const std::string& name,
              const std::vector<std::string>& variables = {}) {
  const json found = checks(environment, name, variables);
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("doctor says which SQLite acid has, how listings are executed, and how fast BLAS is") {
  CHECK(check_of(sound(), "SQLite")["found"].get<std::string>().starts_with("3."));
  const json listings = check_of(sound(), "listings");
  CHECK((listings["status"] == "ok") == (listings["found"] == "run as machine code"));
  CHECK((listings["status"] == "ok") == (listings["advice"] == ""));
  const json interpreted = check_of(sound(), "listings", {"ACID_KERNELS=baseline"});
  CHECK(interpreted["found"] == "are interpreted");
  CHECK_THAT(interpreted["advice"].get<std::string>(),
             ContainsSubstring("the kernels are those of all processors"));
  const json blas = check_of(sound(), "BLAS");
  CHECK(blas["status"] == "ok");
  CHECK(blas["advice"] == "");
  CHECK_THAT(blas["found"].get<std::string>(), ContainsSubstring("SkylakeX") &&
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

TEST_CASE(
    "doctor explains why the machine's BLAS is slow, and calls none slow that it cannot judge") {
  json unknown = {{"blas_library", "/opt/vendor/libfastblas.so"}},
       unmeasured = {{"speed", nullptr}};
  unknown["blas_config"] = unknown["blas_core"] = "";
  json reference = {{"blas_library", "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"},
                    {"speed", {{"product_flops_per_second", 2.5e9}}}};
  reference["blas_config"] = reference["blas_core"] = "";
  // What is merged into the answer, and the advice, if any.
  for (const auto& [changes, advice] :
       {std::pair<json, const char*>{{{"model_runtime", reference}},
                                     "apt-get install libopenblas0-pthread"},
        {{{"model_runtime", {{"blas_core", "Haswell"}}},
          {"variables", {{"OPENBLAS_CORETYPE", "Haswell"}}}},
         "OPENBLAS_CORETYPE=Haswell keeps OpenBLAS from this processor's AVX-512"},
        {{{"model_runtime", {{"blas_core", "Prescott"}}}, {"cpu_features", "avx2 fma"}},
         "set OPENBLAS_CORETYPE=Haswell"},
        {{{"model_runtime", {{"speed", {{"product_flops_per_second", 9e9}}}}}},
         "hardly faster than a plain loop"},
        {{{"model_runtime", unknown}}, nullptr},
        {{{"model_runtime", unmeasured}}, nullptr}}) {
    json environment = sound();
    environment.merge_patch(changes);
    INFO(changes);
    const json check = check_of(environment, "BLAS");
    CHECK(check["status"] == (advice != nullptr ? "warn" : "ok"));
    if (advice != nullptr)
      CHECK_THAT(check["advice"].get<std::string>(), ContainsSubstring(advice));
  }
}

TEST_CASE("doctor says what thread counts of the environment do to runs") {
  json environment = sound();
  environment["variables"]["OMP_NUM_THREADS"] = "8";
  const json told = check_of(environment, "thread counts");
  CHECK(told["status"] == "ok");
  CHECK_THAT(told["found"].get<std::string>(), ContainsSubstring("OMP_NUM_THREADS=8"));
  CHECK_THAT(told["advice"].get<std::string>(), ContainsSubstring("threads_per_worker"));
  environment["model_runtime"]["speed"] = {{"error", "OpenMP runs with 4 threads; unset it"}};
  const json warned = check_of(environment, "thread counts");
  CHECK(warned["status"] == "warn");
  CHECK_THAT(warned["advice"].get<std::string>(), ContainsSubstring("unset it"));
}

TEST_CASE(
    "a recipe with a model is refused once where LibTorch was left out, before anything is "
    "written") {
  const acid::test::SmallStudy folder;
  folder.write("model.toml", R"(
seeds = [1, 2]
task = { dataset = "glyphs", model = "linear", batch_size = 4 }
workers.count = 2
budget.gradients = 10
algorithms = ["ad-psgd"]
)");
  const std::vector<std::string> none{"ACID_TORCH_MODULE=/nowhere/acid-torch.so"};
  check_refused(folder.call({"run", "model.toml"}, none),
                {"model.toml trains a model, and there is no '/nowhere/acid-torch.so'",
                 "analytic tasks and Python models do not",
                 "LibTorch (on Debian: apt install libtorch-dev)"});
  CHECK_FALSE(folder.has("acid-store"));
  folder.done({"plan", "model.toml"}, none);
  folder.done({"run", "small.toml"}, none);
  const auto doctor = folder.call({"doctor", "--json"}, none).json();
  for (const json& check : doctor["checks"])
    if (check["name"] == "LibTorch")
      CHECK_THAT(check["advice"].get<std::string>(),
                 ContainsSubstring("only analytic tasks will run"));
}

TEST_CASE("doctor says of a store that it cannot be used") {
  const acid::test::ScriptedWorker bench("cat environment.json\n");
  bench.write("environment.json", sound().dump());
  const auto store = [&] {
    const json document = bench.done({"doctor", "--json"}).json();
    for (const json& check : document["checks"])
      if (check["name"] == "store") return check;
    return json();
  };
  CHECK_THAT(store()["advice"].get<std::string>(),
             !ContainsSubstring("store.db"));  // there is none
  std::filesystem::create_directories(bench.path() + "/acid-store");
  bench.write("acid-store/store.db", std::string(5000, 'x'));
  const json damaged = store();
  CHECK(damaged["status"] == "warn");
  CHECK_THAT(damaged["advice"].get<std::string>(), ContainsSubstring("acid doctor --store"));
  std::filesystem::remove_all(bench.path() + "/acid-store");
  bench.write("acid-store", "");
  CHECK_THAT(store()["advice"].get<std::string>(), ContainsSubstring("is no folder"));
}
