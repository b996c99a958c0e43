#pragma once

#include <string>
#include <vector>

#include "bench/measurement.hpp"

namespace acid::bench {

/// What one start of a program took, from its start to its end.
struct Started {
  double seconds = 0;
  double cpu_seconds = 0;
};

/// Runs a program to its end; its standard output goes nowhere. Throws Error when it cannot be
/// started or its exit code is not 0.
Started time_program(const std::vector<std::string>& words);

/// A program that does nothing: what starting any program takes on this machine.
std::string idle_program();

/// Writes a store of finished runs with six metrics of `points` samples each into `folder`.
void make_big_store(const std::string& folder, int runs, int points);

/// A program whose time is measured.
struct ProgramRow {
  std::string what;
  std::vector<std::string> words;
  double most_milliseconds = 0;  // wanted, wall clock
  int starts = 1;                // in a round, of which the median counts
};
/// Adds a row for its wall clock and one for its processor time, both beside those of
/// idle_program().
void measure_program(Bench& bench, const ProgramRow& row);

}  // namespace acid::bench
