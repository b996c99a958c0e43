#pragma once

#include <functional>
#include <span>

#include "bench/measurement.hpp"

namespace CLI {
class App;
}

namespace acid::bench {

/// What a command does once its options are read. Throws Error when it cannot measure at all; where
/// only a part is missing, such as LibTorch, it notes so and goes on.
using Measure = std::function<void(Bench& bench)>;

/// One subcommand of acid-bench: a row of the budgets, or some that are measured together.
struct Command {
  const char* name;
  const char* summary;
  /// Adds the options of its own, with defaults that are the budget's sizes, and returns what reads
  /// them. Called once.
  Measure (*prepare)(CLI::App& app);
  /// Its sides run for as long as Bench::seconds() says, rather than until something is done.
  bool timed = false;
};

/// In the order in which `acid-bench all` runs them.
std::span<const Command> commands();

// Each in the file of its name, or of that name after commands_.
Measure prepare_bandwidth(CLI::App& app);
Measure prepare_kernels(CLI::App& app);
Measure prepare_listings(CLI::App& app);
Measure prepare_gradients(CLI::App& app);
Measure prepare_threads(CLI::App& app);
Measure prepare_virtual(CLI::App& app);
Measure prepare_consensus(CLI::App& app);
Measure prepare_mpi(CLI::App& app);
Measure prepare_exchange(CLI::App& app);
Measure prepare_recording(CLI::App& app);
Measure prepare_store(CLI::App& app);
Measure prepare_startup(CLI::App& app);
Measure prepare_report(CLI::App& app);
Measure prepare_resume(CLI::App& app);
Measure prepare_cuda(CLI::App& app);

}  // namespace acid::bench
