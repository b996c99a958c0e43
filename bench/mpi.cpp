// The mpi driver: whole runs of the command line, and single exchanges beside MPI's own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "bench/commands.hpp"
#include "bench/engine_run.hpp"
#include "bench/programs.hpp"
#include "bench/scratch.hpp"
#include "cli/child.hpp"
#include "cli/worker_environment.hpp"
#include "engine/base/error.hpp"
#include "store/queries.hpp"

namespace acid::bench {
namespace {

struct Speed {
  double gradients_per_second = 0;  // between the first and the last sample of the run
  double cpu_seconds = 0;           // of all its processes, from start to end
};

// Executes the recipe in a store of its own, which is removed.
Speed run_recipe(const std::string& text) {
  const Scratch folder;
  std::ofstream(folder.path("bench.toml")) << text;
  const Stopwatch watch(Stopwatch::Cpu::children);
  run_program({acid_program(), "run", folder.path("bench.toml"), "--store", folder.path("store"),
               "--jobs", "1"});
  const double cpu_seconds = watch.cpu_seconds();
  const Store store(folder.path("store"), Store::Access::read);
  const auto series =
      read_series(store, list_runs(store).front().id, "exchanges", /*whole_run_only=*/true);
  if (series.empty() || series.front().points.size() < 2)
    throw Error("a run left fewer than two samples; give it more gradients (--gradients)");
  const Position& first = series.front().points.front().position;
  const Position& last = series.front().points.back().position;
  return {static_cast<double>(last.gradients - first.gradients) / (last.seconds - first.seconds),
          cpu_seconds};
}

/// A run under the mpi driver. What its processes cost before and after their gradients is measured
/// once and left out of its CPU seconds per gradient.
class MpiRun {
 public:
  MpiRun(int workers, double rate, std::int64_t gradients)
      : settings_(larger_model(workers, "a2cid2", rate)), gradients_(gradients) {
    settings_.driver = "mpi";
    few_ = 4 * workers;
    cpu_of_few_ = run_recipe(recipe(few_)).cpu_seconds;
  }
  Sample measure() const {
    const Speed speed = run_recipe(recipe(gradients_));
    return {speed.gradients_per_second,
            (speed.cpu_seconds - cpu_of_few_) / static_cast<double>(gradients_ - few_)};
  }

 private:
  // Samples at the beginning, at the end and between.
  std::string recipe(std::int64_t gradients) const {
    return recipe_of(settings_, gradients, static_cast<double>(gradients) / settings_.workers / 8);
  }
  EngineRun settings_;
  std::int64_t gradients_, few_ = 0;
  double cpu_of_few_ = 0;
};

void measure_workers(Bench& bench, int workers, double bound, std::int64_t gradients) {
  const MpiRun exchanging(workers, 1, gradients), none(workers, 0, gradients);
  bench.compare(
      {fmt::format("mpi, a2cid2, n = {}, r = 1, 0.67 M parameters", workers),
       "gradients/s",
       {},
       "rate 0",
       {},
       ratio_at_least(bound),
       {}},
      [&] { return exchanging.measure(); }, [&] { return none.measure(); });
}

// What acid-exchange-bench prints: lines of a name and numbers.
std::map<std::string, std::vector<std::vector<double>>> numbers_of(const std::string& output) {
  std::map<std::string, std::vector<std::vector<double>>> numbers;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<double> values;
    for (double value = 0; words >> value;) values.push_back(value);
    numbers[name].push_back(std::move(values));
  }
  return numbers;
}

}  // namespace

Measure prepare_mpi(CLI::App& app) {
  const auto gradients = std::make_shared<std::int64_t>(3000);
  app.add_option("--gradients", *gradients, "Of every run, all workers together (3000)")
      ->check(CLI::Range(200, 1 << 30));
  return [gradients](Bench& bench) {
    const int cores = std::max(2, usable_cores());
    measure_workers(bench, cores, 0.9, *gradients);
    measure_workers(bench, 4 * cores, 0.85, *gradients);
  };
}

Measure prepare_exchange(CLI::App& app) {
  const auto idle = std::make_shared<double>(5);
  app.add_option("--idle", *idle, "For how many seconds two processes wait (5)")
      ->check(CLI::PositiveNumber);
  return [idle](Bench& bench) {
    const std::string program = program_folder() + "/acid-exchange-bench";
    if (!std::filesystem::exists(program))
      throw Error(program + " is not there: build with -DACID_WITH_MPI=ON, where MPI is found");
    auto numbers =
        numbers_of(run_program({"mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe",
                                program, std::to_string(bench.rounds()), std::to_string(*idle)},
                               {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}));
    std::map<std::int64_t, Row> rows;
    for (const auto& round : numbers["exchange"]) {
      Row& row = rows[std::llround(round.at(0))];
      row.measured.push_back({round.at(1), {}});
      row.peers.push_back({round.at(2), {}});
    }
    for (auto& [floats, row] : rows) {
      row.what = fmt::format("exchange of {:.3g} MB both ways", 4e-6 * static_cast<double>(floats));
      row.unit = "ms";
      row.peer = "MPI_Sendrecv";
      if (floats == 670'000) row.wanted = ratio_at_most(1.3);
      bench.add(std::move(row));
    }
    bench.add({"a process that waits",
               "% of a core",
               {{numbers["idle"].at(0).at(0), {}}},
               {},
               {},
               value_at_most(1),
               {}});
  };
}

}  // namespace acid::bench
