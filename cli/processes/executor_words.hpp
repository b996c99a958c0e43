#pragma once

#include <cstddef>
#include <string>

#include "store/queries.hpp"

namespace acid {

// What an Executor (executor.hpp) says to the person, in words.

/// "run 1a2b3c4d5e6f (ad-psgd, seed 1)"
std::string name_of(const RunSummary& run);

/// That the run goes on from there.
std::string resuming_words(const RunSummary& run, const Position& there);

/// That a finished run went on without workers that were lost; empty: none was.
std::string loss_words(const RunDetail& run);

/// That another process executes the run; `lost`: how our own was lost, empty when it was not.
std::string held_words(const RunDetail& run, const std::string& lost);

/// That a launcher was ended which had begun nothing in this time.
std::string overdue_words(double seconds);

/// What to think of when nobody admits to having killed a worker.
std::string memory_hint();

/// How a set of runs stands when a signal ends the command.
struct Interruption {
  std::size_t runs = 0;
  std::size_t finished = 0;
  bool fresh = false;        // all were to begin anew (--force)
  std::size_t not_anew = 0;  // of those the ones that have not, and have earlier results
};
std::string interruption_words(const Interruption& interruption);

}  // namespace acid
