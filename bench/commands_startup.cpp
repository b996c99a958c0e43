// Measures how fast the command line answers, and how long the HTML page takes and how large it is.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "cli/processes/child.hpp"
#include "engine/base/error.hpp"

namespace acid::bench {
namespace {

constexpr double kMostReportSeconds = 5, kMostMegabytes = 5;

Started median_start(const std::vector<std::string>& words, int starts) {
  std::vector<double> seconds, cpu;
  for (int k = 0; k < starts; ++k) {
    const Started started = time_program(words);
    seconds.push_back(started.seconds);
    cpu.push_back(started.cpu_seconds);
  }
  return {spread_of(std::move(seconds)).median, spread_of(std::move(cpu)).median};
}

// Adds a row for a program's wall clock and one for its processor time, both beside those of a
// program that does nothing. Of so many starts in a round the median counts.
void measure_program(Bench& bench, const std::string& what, const std::vector<std::string>& words,
                     double most_milliseconds, int starts) {
  const std::vector<std::string> idle{find_program("true")};
  if (idle[0].empty()) throw Error("there is no program 'true'; see that PATH leads to it");
  std::vector<Sample> cpu, idle_cpu;
  const auto side = [&](const std::vector<std::string>& program, std::vector<Sample>& cpu_of) {
    return [&] {
      const Started started = median_start(program, starts);
      cpu_of.push_back({1e3 * started.cpu_seconds});
      return Sample{1e3 * started.seconds};
    };
  };
  const auto samples = bench.interleave(what, {side(words, cpu), side(idle, idle_cpu)});
  const std::string peer = "starting 'true'";
  const Wanted wanted = value_at_most(most_milliseconds);
  bench.add({what, "ms", peer, wanted, samples[0], samples[1]});
  bench.add({what + ", processor time", "ms", peer, {}, cpu, idle_cpu});
}

void measure_startup(Bench& bench, int listed, int compared, int points) {
  const std::string acid = acid_program();
  measure_program(bench, "acid --version", {acid, "--version"}, 10, 9);
  const Scratch scratch;
  const std::string many = scratch.path("many"), long_ones = scratch.path("long");
  make_big_store(many, listed, 2);
  measure_program(bench, fmt::format("acid list, {} runs", listed), {acid, "list", "--store", many},
                  50, 5);
  make_big_store(long_ones, compared, points);
  measure_program(bench, fmt::format("acid compare, {} runs × {} points", compared, points),
                  {acid, "compare", "--store", long_ones}, 300, 1);
}

// Reads a file once, the least that any reader of the whole file must do.
double seconds_to_read(const std::string& path) {
  const Stopwatch watch;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size()))) {
  }
  return watch.seconds();
}

void measure_report(Bench& bench, int runs, int points) {
  const Scratch scratch;
  const std::string store = scratch.path("store"), page = scratch.path("page.html");
  const std::vector<std::string> words{acid_program(), "report",  "--html", "-o",
                                       page,           "--store", store};
  make_big_store(store, runs, points);
  std::vector<Sample> cpu, megabytes;
  const auto report = [&] {
    const Started started = time_program(words);
    cpu.push_back({started.cpu_seconds});
    megabytes.push_back({1e-6 * static_cast<double>(std::filesystem::file_size(page))});
    return Sample{started.seconds};
  };
  const auto read = [&] { return Sample{seconds_to_read(store + "/store.db")}; };
  const std::string what = fmt::format("acid report, {} runs × {} points", runs, points);
  const auto samples = bench.interleave(what, {report, read});
  const Wanted wanted = value_at_most(kMostReportSeconds);
  bench.add({what, "s", "reading the store's file", wanted, samples[0], samples[1]});
  bench.add({what + ", processor time", "s", {}, {}, cpu});
  bench.add({what + ", the page", "MB", {}, value_at_most(kMostMegabytes), megabytes});
  bench.note(
      "how soon the page opens and draws is measured in a browser: ctest --preset release "
      "-R '^page: (make-reports|speed)$' -V, where npm and Chromium were found");
}

}  // namespace

Measure prepare_startup(CLI::App& app) {
  const auto listed = add_option(app, "--listed-runs", 1000, "Runs in the store that is listed");
  const auto compared = add_option(app, "--compared-runs", 60, "Runs that are compared");
  const auto points = add_option(app, "--points", 10'000, "Points of each metric of those");
  return [=](Bench& bench) { measure_startup(bench, *listed, *compared, *points); };
}

Measure prepare_report(CLI::App& app) {
  const auto runs = add_option(app, "--runs", 60, "Runs in the store");
  const auto points = add_option(app, "--points", 100'000, "Points of each metric of a run");
  return [=](Bench& bench) { measure_report(bench, *runs, *points); };
}

}  // namespace acid::bench
