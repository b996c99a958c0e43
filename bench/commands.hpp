#pragma once

#include <functional>
#include <span>

#include "bench/measurement.hpp"

namespace CLI {
class App;
}

namespace acid::bench {

/// The measurement of a command, once its options are read. Throws Error when nothing can be
/// measured; when only a part is missing, such as LibTorch, it adds a note and goes on.
using Measure = std::function<void(Bench& bench)>;

/// One subcommand of acid-bench: a row of the budgets, or several that are measured together.
struct Command {
  const char* name;
  const char* summary;
  /// Adds the command's own options, with defaults that are the budget's sizes, and returns the
  /// function that reads them. Called once.
  Measure (*prepare)(CLI::App& app);
  /// Its sides run for the time of Bench::seconds(), rather than until a task is done.
  bool timed = false;
};

/// In the order of `acid-bench all`.
std::span<const Command> commands();

Measure prepare_bandwidth(CLI::App& app);
Measure prepare_kernels(CLI::App& app);
Measure prepare_listings(CLI::App& app);
Measure prepare_gradients(CLI::App& app);
Measure prepare_threads(CLI::App& app);
Measure prepare_virtual(CLI::App& app);
Measure prepare_consensus(CLI::App& app);
Measure prepare_mpi(CLI::App& app);
Measure prepare_exchange(CLI::App& app);
Measure prepare_observation(CLI::App& app);
Measure prepare_recording(CLI::App& app);
Measure prepare_sweep(CLI::App& app);
Measure prepare_python(CLI::App& app);
Measure prepare_store(CLI::App& app);
Measure prepare_startup(CLI::App& app);
Measure prepare_report(CLI::App& app);
Measure prepare_resume(CLI::App& app);
Measure prepare_cuda(CLI::App& app);

}  // namespace acid::bench
