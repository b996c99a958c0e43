// A run's settings as a struct, from the JSON that is stored.
#include "engine/base/error.hpp"
#include "settings/run_settings.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

json resolved(const std::string& recipe) { return compiled(recipe).runs.at(0).settings; }

const std::string kUnderSrun =
    "[execution]\ndriver = \"mpi\"\n[execution.mpi]\nlauncher = \"srun\"\narguments = [\"-v\"]\n"
    "processes_per_host = 2\nslow_workers = { 1 = 3.0 }\nstart_seconds = 7\n"
    "[[algorithms]]\nkind = \"ad-psgd\"\n";

}  // namespace

TEST_CASE("what a recipe says is in the members") {
  const RunSettings settings = settings_from(resolved(
      "[task]\ndataset = { kind = \"glyphs\", train = 1000 }\nmodel = \"linear\"\n"
      "batch_size = 16\nbuffers = \"local\"\n"
      "[optimizer]\nkind = \"adamw\"\nlearning_rate = 0.5\nbeta1 = 0.8\nweight_decay = 0.25\n"
      "schedule = { kind = \"step\", gamma = 0.2, milestones = [0.5], warmup = 0.1, "
      "scale_with_workers = \"linear\", reference_batch = 32 }\n"
      "[budget]\ngradients = 40\nseconds = 9\ntarget = { metric = \"eval_loss\", value = 0.5 }\n"
      "[streams]\ngossip = 3\n[checkpoint]\nevery_seconds = 5\nkeep = 4\n"
      "[evaluation]\nevery_time = 2\nconsensus_every_time = 1\nworkers = \"always\"\n"
      "[record]\nmetrics = [\"eval_loss\"]\n"
      "[execution]\nthreads_per_worker = 2\nmax_backlog = 6\nmax_restarts = 1\n"
      "[execution.virtual]\ncompute = { kind = \"pareto\", shape = 2.5 }\n"
      "slow_workers = { 2 = 4.0 }\nrandom_slowdown = { probability = 0.1, factor = 3.0 }\n"
      "pauses = [{ worker = 1, at_seconds = 4, for_seconds = 2 },"
      " { worker = 1, at_seconds = 1, for_seconds = 4 }]\n"
      "[execution.virtual.network]\nlatency_seconds = 0.5\nall_reduce = \"tree\"\n"
      "edges = [{ edge = [1, 0], latency_seconds = 0.75 }]\n"
      "[execution.virtual.cost]\nbuckets = 3\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\n"));
  CHECK(settings.workers == 4);
  CHECK(settings.algorithm["kind"] == "ad-psgd");
  CHECK(settings.topology["kind"] == "ring");
  CHECK(settings.task.dataset["train"] == 1000);
  CHECK(settings.task.model["kind"] == "linear");
  CHECK(settings.task.partition["kind"] == "shared");
  CHECK(settings.task.batch_size == 16);
  CHECK_FALSE(settings.task.average_buffers);
  CHECK(settings.optimizer.kind == OptimizerKind::adamw);
  CHECK(settings.optimizer.beta1 == 0.8);
  CHECK(settings.optimizer.weight_decay == 0.25);
  CHECK(settings.schedule.kind == ScheduleKind::step);
  CHECK(settings.schedule.learning_rate == 0.5);
  CHECK(settings.schedule.milestones == std::vector{0.5});
  CHECK(settings.schedule.scale == 16 * 4 / 32.0);
  CHECK(settings.scales_with_workers);
  CHECK(settings.budget.gradients == 40);
  CHECK(settings.budget.seconds == 9);
  CHECK(settings.budget.bytes == kNever);
  CHECK(settings.budget.normalised_time == kNever);
  REQUIRE(settings.budget.target);
  CHECK(settings.budget.target->value == 0.5);
  CHECK(settings.cadence.evaluate_every == 2);
  CHECK(settings.cadence.consensus_every == 1);
  CHECK(settings.cadence.every_seconds == kNever);
  CHECK(settings.cadence.workers == WorkerEvaluation::always);
  CHECK(settings.checkpoint.every_seconds == 5);
  CHECK_FALSE(settings.checkpoint.every_time);
  CHECK(settings.checkpoint.keep == 4);
  REQUIRE(settings.record.metrics);
  CHECK(settings.record.metrics->contains("eval_loss"));
  CHECK_FALSE(settings.record.events);
  CHECK(settings.seeds().gossip == 3);
  CHECK(settings.seeds().data == settings.seed);

  const ExecutionSettings& execution = settings.execution;
  CHECK(execution.driver == DriverKind::virtual_time);
  CHECK_FALSE(execution.cuda);
  CHECK(execution.threads_per_worker == 2);
  CHECK(execution.max_backlog == 6);
  CHECK(execution.max_restarts == 1);
  CHECK_FALSE(execution.mpi);
  const ComputeModel& compute = execution.simulation.compute;
  CHECK(compute.kind == ComputeKind::pareto);
  CHECK(compute.parameter == 2.5);
  CHECK(compute.slow_factors == std::vector{1.0, 1.0, 4.0, 1.0});
  CHECK(compute.slowdown_probability == 0.1);
  REQUIRE(compute.pauses.size() == 1);  // they overlap
  CHECK(compute.pauses[0].at_seconds == 1);
  CHECK(compute.pauses[0].for_seconds == 5);
  const NetworkModel& network = execution.simulation.network;
  CHECK(network.all_reduce == AllReduceKind::tree);
  CHECK(network.between(0, 1).latency_seconds == 0.75);
  CHECK(network.between(1, 2).latency_seconds == 0.5);
  CHECK(network.between(1, 2).bytes_per_second == 0);
  CHECK(execution.simulation.cost.buckets == 3);
}

TEST_CASE("the table of the mpi driver is there for that driver alone") {
  const RunSettings settings = settings_from(resolved(kUnderSrun));
  CHECK(settings.execution.driver == DriverKind::mpi);
  REQUIRE(settings.execution.mpi);
  const MpiSettings& mpi = *settings.execution.mpi;
  CHECK(mpi.launcher == "srun");
  CHECK(mpi.arguments == std::vector<std::string>{"-v"});
  CHECK(mpi.hosts.empty());
  CHECK(mpi.hostfile.empty());
  CHECK(mpi.processes_per_host == 2);
  CHECK(mpi.start_seconds == 7);
  CHECK(settings.execution.slow_factors == std::vector{1.0, 3.0, 1.0, 1.0});
  CHECK_FALSE(mpi.library_sum);
  CHECK(mpi.transport.ports.empty());
  const RunSettings threads = settings_from(resolved("[execution]\ndriver = \"threads\"\n"));
  CHECK(threads.execution.driver == DriverKind::threads);
  CHECK(threads.record.events);
  CHECK_FALSE(threads.execution.exchange_threads);
  CHECK_FALSE(threads.execution.mpi);
}

TEST_CASE("only a run under MPI whose method has no rounds can go on without who is lost") {
  json settings = resolved(kUnderSrun);
  CHECK_FALSE(goes_on_without_lost(settings_from(settings)));
  settings["execution"]["mpi"]["on_loss"] = "go-on";
  CHECK(goes_on_without_lost(settings_from(settings)));
  settings["algorithm"]["kind"] = "ar-sgd";
  CHECK_FALSE(goes_on_without_lost(settings_from(settings)));
  CHECK_FALSE(goes_on_without_lost(settings_from(resolved(""))));
}

TEST_CASE("settings of an earlier acid lack some keys, and a group's its seed") {
  json settings = resolved(kUnderSrun);
  for (const char* key : {"start_seconds", "on_loss"}) settings["execution"]["mpi"].erase(key);
  settings["execution"].erase("max_restarts");
  settings.erase("seed");
  const RunSettings older = settings_from(settings);
  CHECK_FALSE(older.execution.mpi->start_seconds);
  CHECK_FALSE(older.execution.mpi->go_on);
  CHECK(older.execution.max_restarts == 3);
  CHECK(older.seed == 0);
}

TEST_CASE("what is no run's settings is refused with an error of the store") {
  const json settings = resolved("");
  for (const auto& [section, value] : settings.items()) {
    if (section == "seed") continue;
    INFO(section);
    json without = settings, other = settings;
    without.erase(section);
    CHECK_THROWS_AS(settings_from(without), StoreError);
    if (section == "topology" || section == "algorithm") continue;  // the entries' own
    other[section] = "x";
    CHECK_THROWS_AS(settings_from(other), StoreError);
  }
  CHECK_THROWS_AS(settings_from(json::array()), StoreError);
  CHECK_THROWS_AS(settings_from(json()), StoreError);
  CHECK_THROWS_AS(task_from(json::object()), StoreError);
  json none = settings;
  none["execution"]["driver"] = "x";
  CHECK_THROWS_AS(settings_from(none), StoreError);
  json unknown = settings;
  for (const char* worker : {"4", "x"}) {
    unknown["execution"]["virtual"]["slow_workers"] = {{worker, 2.0}};
    CHECK_THROWS_AS(settings_from(unknown), StoreError);
  }
}

TEST_CASE("every setting but those of catalog entries is read: another form of it is refused") {
  const json settings =
      resolved("[optimizer.schedule]\nscale_with_workers = \"linear\"\n" + kUnderSrun);
  const json flat = settings.flatten();
  for (const auto& item : flat.items()) {
    const std::string key = item.key();
    const auto is_of_entry = [&](const char* begin) { return key.starts_with(begin); };
    if (is_of_entry("/task/dataset") || is_of_entry("/task/model") ||
        is_of_entry("/task/partition") || is_of_entry("/topology") || is_of_entry("/algorithm"))
      continue;
    INFO(key);
    json other = settings;
    other[json::json_pointer(key)] = json::array({nullptr});
    CHECK_THROWS_AS(settings_from(other), StoreError);
  }
}

TEST_CASE("every driver has the name that recipes call it by") {
  for (const DriverEntry& driver : driver_catalog()) {
    const json settings = resolved(fmt::format("[execution]\ndriver = \"{}\"\n", driver.name));
    CHECK(settings_from(settings).execution.driver == driver.kind);
    CHECK(&entry_of(driver.kind) == &driver);
  }
}

}  // namespace acid::test
