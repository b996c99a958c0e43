#pragma once

#include <cstddef>
#include <string>

#include "store/queries.hpp"

namespace acid {

// The messages of an Executor (executor.hpp) to the user.

/// "run 1a2b3c4d5e6f (ad-psgd, seed 1)"
std::string name_of(const RunSummary& run);

/// Says that the run is continued from `there`.
std::string resuming_words(const RunSummary& run, const Position& there);

/// Says that a finished run went on without lost workers; empty: none was lost.
std::string loss_words(const RunDetail& run);

/// Says that another process executes the run; `lost`: how this executor's own process was lost,
/// empty when it was not.
std::string held_words(const RunDetail& run, const std::string& lost);

/// Says that a launcher was ended because no attempt had begun within this time.
std::string overdue_words(double seconds);

/// Possible causes when a worker was killed and the sender of the signal is unknown.
std::string memory_hint();

/// The state of a set of runs when a signal ends the command.
struct Interruption {
  std::size_t runs = 0;
  std::size_t finished = 0;
  bool fresh = false;        // all were to begin anew (--force)
  std::size_t not_anew = 0;  // those that have not begun anew, and have earlier results
};
std::string interruption_words(const Interruption& interruption);

}  // namespace acid
