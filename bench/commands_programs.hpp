#pragma once

#include <string>
#include <vector>

#include "bench/measurement.hpp"

namespace acid::bench {

/// The time of one start of a program, from its start to its end.
struct Started {
  double seconds = 0;
  double cpu_seconds = 0;
};

/// Runs a program to its end and discards its standard output. Throws Error when it cannot be
/// started or its exit code is not 0.
Started time_program(const std::vector<std::string>& words);

/// A program that does nothing: its time is that of starting any program on this machine.
std::string idle_program();

/// Writes a store of finished runs with six metrics of `points` samples each into `folder`.
void make_big_store(const std::string& folder, int runs, int points);

/// A program whose time is measured.
struct ProgramRow {
  std::string what;
  std::vector<std::string> words;
  double most_milliseconds = 0;  // the bound, wall clock
  int starts = 1;                // in a round; the median counts
};
/// Adds a row for its wall clock and one for its processor time, both beside those of
/// idle_program().
void measure_program(Bench& bench, const ProgramRow& row);

}  // namespace acid::bench
