// Measures how long the HTML page takes, and how large it is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/commands.hpp"
#include "bench/commands_programs.hpp"
#include "bench/programs.hpp"
#include "bench/scratch.hpp"

namespace acid::bench {
namespace {

constexpr double kMostReportSeconds = 5, kMostMegabytes = 5;

struct ReportSizes {
  int runs = 60;
  int points = 100'000;
};

// Reads a file once, the least that any reader of the whole file must do.
double seconds_to_read(const std::string& path) {
  const Stopwatch watch;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size()))) {
  }
  return watch.seconds();
}

void measure_report(Bench& bench, const ReportSizes& sizes) {
  const Scratch scratch;
  const std::string store = scratch.path("store"), page = scratch.path("page.html");
  const std::vector<std::string> words{acid_program(), "report",  "--html", "-o",
                                       page,           "--store", store};
  make_big_store(store, sizes.runs, sizes.points);
  std::vector<Sample> cpu, megabytes;
  const auto report = [&] {
    const Started started = time_program(words);
    cpu.push_back({started.cpu_seconds});
    megabytes.push_back({1e-6 * static_cast<double>(std::filesystem::file_size(page))});
    return Sample{started.seconds};
  };
  const auto read = [&] { return Sample{seconds_to_read(store + "/store.db")}; };
  const std::string what =
      fmt::format("acid report, {} runs × {} points", sizes.runs, sizes.points);
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

Measure prepare_report(CLI::App& app) {
  const auto sizes = std::make_shared<ReportSizes>();
  app.add_option("--runs", sizes->runs, "Runs in the store")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--points", sizes->points, "Points of each metric of a run")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  return [sizes](Bench& bench) { measure_report(bench, *sizes); };
}

}  // namespace acid::bench
