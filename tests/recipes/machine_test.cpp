// Machine files, and what execution.virtual.machine makes of a recipe.
#include <stdlib.h>

#include <filesystem>

#include "engine/base/quantiles.hpp"
#include "recipes/machine_use.hpp"
#include "recipes/machines.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"
#include "tests/scratch.hpp"

namespace acid::test {
namespace {

constexpr const char* kMachine = R"(
date = "2026-11-27"
source = "made up"
workers_per_node = 2
[model]
name = "a quadratic"
parameters = 16
[[gradients]]
workers_per_node = 1
mean_seconds = 0.25
[[gradients]]
workers_per_node = 4
mean_seconds = 1.0
quantiles = [1, 2, 9]
[network]
latency_seconds = 0.0125
bandwidth_bytes_per_second = 100000
backend_factor = 0.5
window_bytes = "64 KiB"
all_reduce = "direct"
overhead = { exchange_seconds = 0.03 }
[network.inside]
latency_seconds = 0.00625
[cost]
exchange_seconds = 0.02
bucket_bytes = 1048576
)";

constexpr const char* kFourWorkers = R"(
[task]
dataset = { kind = "quadratic", dimension = 16, noise = 0.1 }
[workers]
count = 4
)";

/// A folder of recipes with `machines`, in which XDG_DATA_HOME is another one.
class MachineFolder : public ScratchFolder {
 public:
  MachineFolder() {
    std::filesystem::create_directories(path("machines"));
    std::filesystem::create_directories(path("data/acid/machines"));
    ::setenv("XDG_DATA_HOME", path("data").c_str(), 1);
  }
  ~MachineFolder() { ::unsetenv("XDG_DATA_HOME"); }
  Plan plan(const std::string& keys, const std::vector<std::string>& overrides = {}) const {
    return compile_recipe(path("recipe.toml"),
                          completed(kFourWorkers + ("[execution.virtual]\n" + keys)), overrides);
  }
  std::string refusal(const std::string& keys) const {
    try {
      plan(keys);
    } catch (const RecipeError& error) {
      return error.what();
    }
    return "";
  }
};

const nlohmann::json& simulated(const Plan& plan) {
  return plan.runs.at(0).settings.at("execution").at("virtual");
}

std::string error_in(const std::string& text) {
  try {
    machine_of("m.toml", text);
  } catch (const RecipeError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a machine file says what its keys say, and lacks what it lacks") {
  const Machine machine = machine_of("m.toml", kMachine);
  CHECK(machine.gradients.size() == 2);
  CHECK(machine.gradients[1].quantiles == std::vector<double>{1, 2, 9});
  CHECK(machine.network.between.bytes_per_second == 100000);
  CHECK(machine.network.window_bytes == 65536);
  CHECK_FALSE(machine.network.inside->bytes_per_second);
  CHECK_FALSE(machine.cost.sample_seconds);
  CHECK(machine.document["workers_per_node"] == 2);
}

TEST_CASE("a broken machine file is refused with the line and what is wrong in it") {
  const std::string head = "date = \"2026\"\nsource = \"x\"\n";
  CHECK(error_in(head).empty());
  for (const auto& [text, says] :
       {std::pair<std::string, const char*>{"", "date is required"},
        {"date = 2026-11-27\nsource = \"x\"", "m.toml:1:8"},
        {"date = \"soon\"\nsource = \"x\"", "'soon' is no date"},
        {"date = \"2026-13\"\nsource = \"x\"", "'2026-13' is no date"},
        {head + "[[gradients]]\nmean_seconds = 1\n[[gradients]]\nhost = \"a\"\n"
                "mean_seconds = 2",
         "some of machine.gradients name their host"},
        {head + "sauce = 1", "unknown key 'sauce'"},
        {head + "network.latency = 1", "latency_seconds"},
        {head + "network.latency_seconds = -1", "at least 0"},
        {head + "network.window_bytes = \"1 furlong\"", "no size"},
        {head + "[[gradients]]\nthreads = 2", "mean_seconds is required"},
        {head + "[[gradients]]\nmean_seconds = 1\nquantiles = [2, 1]", "below the one before"},
        {head + "[[gradients]]\nmean_seconds = 1\nquantiles = []", "fewer than two"},
        {head + "[[gradients]]\nmean_seconds = 1\n[[gradients]]\n"
                "mean_seconds = 2",
         "twice"},
        {head + "network.all_reduce = \"rign\"", "ring"},
        {head + "\nnetwork.overhead.exchange = 1", "m.toml:4:18"},
        {head + "x = ", "not valid TOML"}}) {
    INFO(text);
    CHECK_THAT(error_in(text), ContainsSubstring(says));
  }
}

TEST_CASE("a recipe has the numbers of its machine, and its own where it has them") {
  const MachineFolder folder;
  folder.write("machines/made.toml", kMachine);
  const Plan plan = folder.plan("machine = \"made\"\n");
  for (const Diagnostic& warning : plan.warnings) FAIL(warning.message);
  const nlohmann::json& all = simulated(plan);
  CHECK(all["machine"] == "made");
  CHECK(all["network"]["gradient_seconds"] == 0.5);  // a third of the way from 1 to 4 workers
  CHECK(all["network"]["workers_per_node"] == nlohmann::json{2});
  CHECK(all["network"]["inside"]["latency_seconds"] == 0.00625);
  CHECK(all["network"]["inside"]["bandwidth_bytes_per_second"].is_null());
  CHECK(all["network"]["backend_factor"] == 0.5);
  CHECK(all["network"]["all_reduce"] == "direct");
  CHECK(all["network"]["overhead"]["exchange_seconds"] == 0.03);
  CHECK(all["cost"]["exchange_seconds"] == 0.02);
  CHECK(all["cost"]["bucket_bytes"] == 1048576);
  CHECK(all["compute"]["kind"] == "measured");
  const auto quantiles = all["compute"]["quantiles"].get<std::vector<double>>();
  CHECK(mean_of_quantiles(quantiles) == Approx(1));
  CHECK(quantiles.back() / quantiles.front() ==
        Approx((2.0 / 3 * 0.25 + 1.0 / 3 * 9 / 3.5) / (2.0 / 3 * 0.25 + 1.0 / 3 * 1 / 3.5)));

  const Plan own = folder.plan(
      "machine = \"made\"\ncompute = \"exponential\"\n[execution.virtual.network]\n"
      "latency_seconds = 7\nworkers_per_node = 1\n[execution.virtual.network.inside]\n"
      "latency_seconds = 3\n[execution.virtual.cost]\nexchange_seconds = 0\n");
  CHECK(simulated(own)["network"]["latency_seconds"] == 7);
  CHECK(simulated(own)["network"]["bandwidth_bytes_per_second"] == 100000);
  CHECK(simulated(own)["network"]["gradient_seconds"] == 0.25);
  CHECK(simulated(own)["compute"] == nlohmann::json{{"kind", "exponential"}});
  CHECK_FALSE(simulated(own)["cost"].contains("exchange_seconds"));
}

TEST_CASE("a recipe that describes its network keeps it beside a machine of one node") {
  const MachineFolder folder;
  folder.write("machines/alone.toml",
               "date = \"2026\"\nsource = \"x\"\n[[gradients]]\nmean_seconds = 2\n"
               "[[gradients]]\nworkers_per_node = 4\nmean_seconds = 3\n");
  const std::string alone = "machine = \"alone\"\n";
  const Plan together = folder.plan(alone);
  CHECK(simulated(together)["network"]["workers_per_node"] == nlohmann::json{4});
  CHECK(simulated(together)["network"]["gradient_seconds"] == 3);
  const Plan apart = folder.plan(alone + "network.latency_seconds = 0.5\n");
  CHECK_FALSE(simulated(apart)["network"].contains("workers_per_node"));
  CHECK(simulated(apart)["network"]["gradient_seconds"] == 2);
  CHECK(apart.warnings.empty());
  const Plan unused =
      folder.plan(alone + "network.latency_seconds = 0.5\nnetwork.workers_per_node = 4\n");
  REQUIRE(unused.warnings.size() == 1);
  CHECK_THAT(unused.warnings[0].message, ContainsSubstring("all workers are on one node"));
}

TEST_CASE("a digest depends on a machine's numbers, not on its name or place") {
  const MachineFolder folder;
  folder.write("machines/made.toml", kMachine);
  folder.write("other.toml", "environment.processor = \"another\"" + std::string(kMachine));
  const auto digest = [&](const std::string& keys) { return folder.plan(keys).runs[0].digest; };
  const std::string named = digest("machine = \"made\"\n");
  CHECK(digest("machine = \"other.toml\"\n") == named);
  CHECK(digest("") != named);
  // The same numbers, written by hand.
  nlohmann::json all = simulated(folder.plan("machine = \"made\"\n"));
  CHECK(folder
            .plan("", {"execution.virtual.compute={kind=\"measured\",quantiles=" +
                           all["compute"]["quantiles"].dump() + "}",
                       "execution.virtual.network={latency_seconds=0.0125,"
                       "bandwidth_bytes_per_second=100000,gradient_seconds=0.5,workers_per_node=2,"
                       "backend_factor=0.5,window_bytes=65536,inside={latency_seconds=0.00625},"
                       "all_reduce=\"direct\",overhead={exchange_seconds=0.03}}",
                       "execution.virtual.cost={exchange_seconds=0.02,bucket_bytes=1048576}"})
            .runs[0]
            .digest == named);
  // Other drivers simulate nothing.
  CHECK(folder.plan("machine = \"made\"\n", {"execution.driver=threads"}).runs[0].digest ==
        folder.plan("", {"execution.driver=threads"}).runs[0].digest);
}

TEST_CASE("a machine that was not measured for a run is refused, with what it was measured for") {
  const MachineFolder folder;
  folder.write("machines/made.toml", kMachine);
  folder.write("machines/alone.toml",
               "date = \"2026\"\nsource = \"x\"\n[[gradients]]\nmean_seconds = 2\n");
  folder.write("machines/broken.toml", "date = \"2026\"\n");
  const std::string made = "machine = \"made\"\n";
  CHECK_THAT(folder.refusal(made + "network.workers_per_node = 4\n[execution]\n"
                                   "threads_per_worker = 2\n"),
             ContainsSubstring("not measured with 2 threads"));
  CHECK_THAT(folder.refusal("machine = \"alone\"\n"),
             ContainsSubstring("measured with 1 workers on a host, not with 4"));
  CHECK_THAT(folder.refusal("machine = \"alone\"\nnetwork.workers_per_node = 1\n"),
             ContainsSubstring("its network was not measured"));
  CHECK_THAT(folder.refusal("machine = \"mad\"\n"),
             ContainsSubstring("did you mean 'made'?") && ContainsSubstring("recipe.toml:"));
  CHECK_THAT(folder.refusal("machine = \"broken\"\n"), ContainsSubstring("source is required"));
  CHECK_THAT(folder.refusal("machine = \"nowhere.toml\"\n"), ContainsSubstring("no such file"));
  // A cell of a sweep that no machine was measured for can be left out like any other.
  const Plan plan = folder.plan(
      made + "[sweep]\nskip_inapplicable = true\nexecution.threads_per_worker = [1, 2]\n");
  CHECK(plan.runs.size() == 1);
  CHECK(plan.left_out.size() == 1);
}

TEST_CASE("names are looked up beside the recipe, then among one's own, then among acid's") {
  const MachineFolder folder;
  const std::string shipped(machine_texts()[0].name);
  CHECK(find_machine(shipped, folder.path()).path.empty());
  folder.write("data/acid/machines/" + shipped + ".toml", kMachine);
  CHECK(find_machine(shipped, folder.path()).path == machine_folder() + "/" + shipped + ".toml");
  folder.write("machines/" + shipped + ".toml", kMachine + std::string("# another\n"));
  CHECK(find_machine(shipped, folder.path()).path ==
        folder.path() + "/machines/" + shipped + ".toml");
  int hidden = 0;
  for (const NamedMachine& one : known_machines(folder.path())) hidden += one.is_hidden ? 1 : 0;
  CHECK(hidden == 2);
}

TEST_CASE("hosts of different speed keep their own, and nodes take hosts in turn") {
  const MachineFolder folder;
  folder.write("machines/two.toml",
               "date = \"2026\"\nsource = \"x\"\nworkers_per_node = 1\n"
               "network.latency_seconds = 0.1\n"
               "[[gradients]]\nhost = \"a\"\nmean_seconds = 1\nquantiles = [1, 1]\n"
               "[[gradients]]\nhost = \"b\"\nmean_seconds = 3\n");
  folder.write("machines/four.toml",
               "date = \"2026\"\nsource = \"x\"\nworkers_per_node = 4\n"
               "network.latency_seconds = 0.1\n"
               "[[gradients]]\nhost = \"a\"\nmean_seconds = 1\n"
               "[[gradients]]\nhost = \"a\"\nworkers_per_node = 4\nmean_seconds = 1\n"
               "[[gradients]]\nhost = \"b\"\nmean_seconds = 1\n"
               "[[gradients]]\nhost = \"b\"\nworkers_per_node = 4\nmean_seconds = 1\n");
  // As a launcher places them: four workers are two on each host.
  CHECK(simulated(folder.plan("machine = \"four\"\n"))["network"]["workers_per_node"] ==
        nlohmann::json{2});
  // Three workers are two and one; the second host was measured with one alone.
  folder.write("machines/three.toml",
               "date = \"2026\"\nsource = \"x\"\nworkers_per_node = 2\n"
               "network.latency_seconds = 0.1\n"
               "[[gradients]]\nhost = \"a\"\nmean_seconds = 1\n"
               "[[gradients]]\nhost = \"a\"\nworkers_per_node = 2\nmean_seconds = 3\n"
               "[[gradients]]\nhost = \"b\"\nmean_seconds = 1\n");
  CHECK(simulated(folder.plan("machine = \"three\"\n", {"workers.count=3"}))["slow_workers"] ==
        nlohmann::json{{"0", 1.5}, {"1", 1.5}, {"2", 0.5}});
  const Plan plan = folder.plan("machine = \"two\"\n");
  CHECK(simulated(plan)["network"]["gradient_seconds"] == 2);
  CHECK(simulated(plan)["slow_workers"] ==
        nlohmann::json{{"0", 0.5}, {"1", 1.5}, {"2", 0.5}, {"3", 1.5}});
}

TEST_CASE("a machine measured with another model is used with a warning that says what to write") {
  const MachineFolder folder;
  for (const MachineText& shipped : machine_texts()) {
    INFO(shipped.name);
    const Machine machine = machine_of(std::string(shipped.name), shipped.text);
    const std::string keys = "machine = \"" + std::string(shipped.name) + "\"\n";
    const std::string many =
        "workers.count=" + std::to_string(machine.workers_per_node.value_or(2));
    const Plan plan = folder.plan(keys, {many});
    REQUIRE(plan.warnings.size() == 1);
    CHECK_THAT(plan.warnings[0].remedy, ContainsSubstring("vector_bytes = "));
    CHECK(folder.plan(keys + "network.vector_bytes = \"260 MB\"\n", {many}).warnings.empty());
  }
}

TEST_CASE("quantiles in a recipe must be those of a distribution") {
  for (const auto& [list, says] : {std::pair{"[1.0]", "fewer than two"},
                                   {"[1.0, 0.9]", "below the one before"},
                                   {"[0, 0.0]", "no duration above 0"}}) {
    check_only_error(
        std::string("[execution.virtual]\ncompute = { kind = \"measured\", quantiles = ") + list +
            " }",
        2, says);
  }
}

}  // namespace acid::test
