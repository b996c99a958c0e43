// Measures the mpi driver: whole runs of the command line, and single exchanges beside MPI's own.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/engine_run.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"
#include "store/queries.hpp"

namespace acid::bench {
namespace {

constexpr const char* kAlgorithm = "a2cid2";

struct Speed {
  double gradients_per_second = 0;  // between the first and the last sample of the run
  double cpu_seconds = 0;           // of all its processes, from start to end
};

// Executes the recipe in a store of its own, which is then removed.
Speed run_recipe(const std::string& text) {
  const Scratch folder;
  std::ofstream(folder.path("bench.toml")) << text;
  const double cpu_seconds = run_program({acid_program(), "run", folder.path("bench.toml"),
                                          "--store", folder.path("store"), "--jobs", "1"});
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

/// A run under the mpi driver. The processor time before and after the gradients is measured once
/// and subtracted from the CPU seconds per gradient.
class MpiRun {
 public:
  MpiRun(int workers, double rate, std::int64_t gradients)
      : settings_{.workers = workers, .algorithm = kAlgorithm, .rate = rate, .driver = "mpi"},
        gradients_(gradients) {
    few_ = 4 * workers;
    if (gradients < 2 * few_)
      throw UsageError(
          fmt::format("{} gradients are too few for {} workers: give it {} (--gradients)",
                      gradients, workers, 2 * few_));
    cpu_of_few_ = run_recipe(recipe(few_)).cpu_seconds;
  }
  Sample measure() const {
    const Speed speed = run_recipe(recipe(gradients_));
    return {speed.gradients_per_second,
            (speed.cpu_seconds - cpu_of_few_) / static_cast<double>(gradients_ - few_)};
  }

 private:
  // Takes samples at the beginning, at the end and between.
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
      {fmt::format("mpi, {}, n = {}, r = 1, 0.67 M parameters", kAlgorithm, workers), "gradients/s",
       peer_at_rate_0(kAlgorithm), ratio_at_least(bound)},
      [&] { return exchanging.measure(); }, [&] { return none.measure(); });
}

// Measures three sizes of vectors, and two processes that wait `idle_seconds` for each other in
// each round.
void measure_exchanges(Bench& bench, double idle_seconds) {
  const std::string program = program_folder() + "/acid-exchange-bench";
  if (!std::filesystem::exists(program))
    throw Error(program + " is not there: build with -DACID_WITH_MPI=ON, where MPI is found");
  const Scratch folder;
  const std::string path = folder.path("numbers");
  run_program({"mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe", program, path,
               std::to_string(bench.rounds()), std::to_string(idle_seconds)},
              {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  std::map<std::int64_t, Row> rows;  // by number of floats
  std::vector<Sample> idle;
  std::ifstream file(path);
  std::int64_t floats = 0;
  double ours = 0, bare = 0;
  for (std::string name; file >> name;)
    if (name == "exchange" && file >> floats >> ours >> bare) {
      rows[floats].measured.push_back({ours});
      rows[floats].peers.push_back({bare});
    } else if (name == "idle" && file >> ours) {
      idle.push_back({ours});
    } else {
      throw Error(
          fmt::format("acid-exchange-bench wrote '{}' where a row should begin; build it and "
                      "acid-bench from the same sources",
                      name));
    }
  const auto is_whole = [&](const std::vector<Sample>& samples) {
    return samples.size() == static_cast<std::size_t>(bench.rounds());
  };
  if (rows.empty() || !is_whole(idle) ||
      !std::ranges::all_of(rows, [&](const auto& row) { return is_whole(row.second.measured); }))
    throw Error(
        "acid-exchange-bench left out a round; build it and acid-bench from the same sources");
  for (auto& [size, row] : rows) {
    row.what = fmt::format("exchange of {:.3g} MB both ways", 4e-6 * static_cast<double>(size));
    row.unit = "ms";
    row.peer = "MPI_Sendrecv";
    if (size == 670'000) row.wanted = ratio_at_most(1.3);
    bench.add(std::move(row));
  }
  bench.add({"a process that waits", "% of a core", {}, value_at_most(1), idle});
}

}  // namespace

Measure prepare_mpi(CLI::App& app) {
  const auto gradients =
      add_option(app, "--gradients", std::int64_t{3000},
                 "Gradients of every run, of all workers together", CLI::Range(50, 1 << 30));
  const auto numbers = add_workers_option(app);
  return [gradients, numbers](Bench& bench) {
    bench.note(fmt::format("only the algorithm {} is measured", kAlgorithm));
    for (const int workers : *numbers)
      measure_workers(bench, workers, workers <= as_many_as_cores() ? 0.9 : 0.85, *gradients);
  };
}

Measure prepare_exchange(CLI::App& app) {
  const auto idle =
      add_option(app, "--idle", 1.0, "For how many seconds two processes wait, in a round");
  return [idle](Bench& bench) { measure_exchanges(bench, *idle); };
}

}  // namespace acid::bench
