// Measures how fast the command line answers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/commands.hpp"
#include "bench/commands_programs.hpp"
#include "bench/programs.hpp"
#include "bench/scratch.hpp"

namespace acid::bench {
namespace {

struct StartupSizes {
  int listed_runs = 1000;
  int compared_runs = 60;
  int points = 10'000;
};

void measure_startup(Bench& bench, const StartupSizes& sizes) {
  const std::string acid = acid_program();
  measure_program(bench, {"acid --version", {acid, "--version"}, 10, 9});

  const Scratch scratch;
  const std::string many = scratch.path("many"), long_ones = scratch.path("long");
  make_big_store(many, sizes.listed_runs, 2);
  measure_program(bench, {fmt::format("acid list, {} runs", sizes.listed_runs),
                          {acid, "list", "--store", many},
                          50,
                          5});
  make_big_store(long_ones, sizes.compared_runs, sizes.points);
  measure_program(
      bench, {fmt::format("acid compare, {} runs × {} points", sizes.compared_runs, sizes.points),
              {acid, "compare", "--store", long_ones},
              300,
              1});
}

}  // namespace

Measure prepare_startup(CLI::App& app) {
  const auto sizes = std::make_shared<StartupSizes>();
  app.add_option("--listed-runs", sizes->listed_runs, "Runs in the store that is listed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--compared-runs", sizes->compared_runs, "Runs that are compared")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--points", sizes->points, "Points of each metric of those")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  return [sizes](Bench& bench) { measure_startup(bench, *sizes); };
}

}  // namespace acid::bench
