// acid-bench measures how fast the program is, as ratios to the speed of the machine. It does not
// judge: its exit code says only whether it could measure.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "bench/commands.hpp"
#include "bench/interruption.hpp"
#include "bench/results.hpp"
#include "cli/terminal/session.hpp"
#include "engine/base/error.hpp"

namespace acid::bench {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"bandwidth", "copying and adding in memory: what the other rows are bounded by",
              prepare_bandwidth, true},
      Command{"kernels", "fused kernels beside loops with their traffic, and LibTorch tensors",
              prepare_kernels, true},
      Command{"listings", "methods that are listings beside hand-written loops", prepare_listings,
              true},
      Command{"gradients", "the engine without exchanges beside bare loops", prepare_gradients,
              true},
      Command{"threads", "the threads driver with exchanges and without", prepare_threads, true},
      Command{"virtual", "the virtual driver beside bare loops", prepare_virtual, true},
      Command{"consensus", "the virtual driver's exchanges beside a bare loop", prepare_consensus},
      Command{"mpi", "the mpi driver with exchanges and without", prepare_mpi},
      Command{"exchange", "one exchange beside MPI's own, and a process that waits",
              prepare_exchange},
      Command{"observation", "a run with the default samples and with those of its ends",
              prepare_observation},
      Command{"recording", "a run recorded and not recorded", prepare_recording},
      Command{"sweep", "what a run of a large sweep costs", prepare_sweep},
      Command{"python", "what a further run of a Python model costs", prepare_python},
      Command{"cuda", "kernels and workers on a GPU", prepare_cuda, true},
      Command{"store", "metric points and events that the store takes in a second", prepare_store},
      Command{"startup", "how fast the command line answers, on small and large stores",
              prepare_startup},
      Command{"report", "how long the HTML page of a large store takes", prepare_report},
      Command{"resume", "what SIGKILL costs a run, and how soon it goes on", prepare_resume},
  };
  return kCommands;
}

namespace {

struct Prepared {
  const Command* command;
  CLI::App* app;
  Measure measure;
};

void list_commands() {
  for (const Command& command : commands()) fmt::print("{:<12}{}\n", command.name, command.summary);
}

std::string timed_commands() {
  std::vector<const char*> names;
  for (const Command& command : commands())
    if (command.timed) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Exit measure(const std::vector<Prepared>& wanted, const Options& options,
             const std::string& json_path) {
  Bench bench(options, isatty(STDERR_FILENO) == 1);
  Exit exit = Exit::ok;
  const bool to_file = !json_path.empty() && json_path != "-";
  // A wrong path fails before an hour of measuring. A pipe's reader would take this for the end.
  if (std::error_code ignored; to_file && !std::filesystem::is_fifo(json_path, ignored)) try {
      OutputFile{json_path};
    } catch (const Error& error) {
      throw Error(fmt::format("{}; name another file after --json", error.what()));
    }
  for (const Prepared& each : wanted) {
    const std::size_t before = bench.rows().size();
    bench.begin(each.command->name);
    try {
      each.measure(bench);
    } catch (const Error& error) {
      throw_if_interrupted();  // then the error is of a process that was told to end
      if (wanted.size() == 1) throw;
      bench.note(fmt::format("cannot be measured here: {}", error.what()));
      exit = Exit::run_failed;
    }
    const std::string table = results_table(std::span(bench.rows()).subspan(before));
    if (!table.empty()) fmt::print(stderr, "{}\n{}\n", each.command->name, table);
    if (to_file) write_file(json_path, results_json(bench.rows(), options).dump(2) + "\n");
  }
  if (json_path == "-") std::cout << results_json(bench.rows(), options).dump(2) << std::endl;
  return exit;
}

// A command that does not use --seconds refuses it; `all` gives it to the commands that use it.
void check_seconds(const Options& options, const std::vector<Prepared>& wanted) {
  if (!options.seconds || wanted.size() != 1 || wanted.front().command->timed) return;
  throw UsageError(
      fmt::format("--seconds: {} does not run for a time but until something is done; its own "
                  "options (acid-bench "
                  "{} --help) say how much. --seconds is for {}",
                  wanted.front().command->name, wanted.front().command->name, timed_commands()));
}

void add_options(CLI::App& app, Options& options, std::string& json_path) {
  app.add_option(
         "--rounds", options.rounds,
         "Rounds, in each of which everything is measured once; of fewer than 7 there is no "
         "verdict")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds,
                 "How long one side of one round takes, about: " + timed_commands())
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json_path, "Write all numbers to FILE; -: to standard output")
      ->type_name("FILE");
  app.fallthrough();
}

Exit run_command_line(int argc, char** argv) {
  CLI::App app{"Measures acid against what this machine can do, in interleaved rounds.",
               "acid-bench"};
  Options options;
  std::string json_path;
  add_options(app, options, json_path);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.footer(
      "The table goes to standard error. What is wanted is the median of the rounds; busy "
      "machines need more of them.");
  CLI::App* const all = app.add_subcommand("all", "Everything below, one after the other");
  CLI::App* const list = app.add_subcommand("list", "Names what can be measured");
  std::vector<Prepared> prepared;
  for (const Command& command : commands()) {
    CLI::App* const sub = app.add_subcommand(command.name, command.summary);
    prepared.push_back({&command, sub, command.prepare(*sub)});
  }
  for (CLI::App* each : app.get_subcommands(nullptr)) each->fallthrough();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? Exit::ok : Exit::usage;
  }
  if (list->parsed()) {
    list_commands();
    return Exit::ok;
  }
  if (!all->parsed()) std::erase_if(prepared, [](const Prepared& p) { return !p.app->parsed(); });
  check_seconds(options, prepared);
  return measure(prepared, options, json_path);
}

}  // namespace
}  // namespace acid::bench

int main(int argc, char** argv) {
  const acid::bench::Interruption interruption;
  try {
    return static_cast<int>(acid::bench::run_command_line(argc, argv));
  } catch (const acid::bench::Interrupted&) {
    fmt::print(stderr, "acid-bench: interrupted\n");
    return static_cast<int>(acid::Exit::interrupted);
  } catch (const acid::Error& error) {
    fmt::print(stderr, "acid-bench: error: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "acid-bench: this is a bug in acid: {}\n", error.what());
    return static_cast<int>(acid::Exit::run_failed);
  }
}
