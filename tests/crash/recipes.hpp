#pragma once

#include <string>
#include <vector>

namespace acid::test {

/// A recipe that is run, killed and run again. The runs take about half a second (see kSanitized)
/// and save more than ten checkpoints, keeping two.
struct Variant {
  std::string name;
  std::string recipe;
  std::size_t least_checkpoints = 10;
};

/// Recipes in virtual time, where an interrupted run must end with the same bits: every algorithm,
/// momentum, Adam, exchanges that take time, pauses and slow workers with a throttle, the Poisson
/// clock, an event log, and several runs side by side.
std::vector<Variant> virtual_variants();

/// Recipes on threads, where no two runs are equal.
std::vector<Variant> threads_variants();

/// Recipes with a process per worker, three of them. The processes need longer to agree on a
/// checkpoint than these runs take from one to the next.
std::vector<Variant> mpi_variants();

/// Runs of some tens of milliseconds each, which one process executes one after the other.
std::string many_recipe();

/// One virtual run of a²cid².
std::string plain_recipe();

/// One virtual run that takes some milliseconds and saves three checkpoints, so that its file
/// operations can be tested one by one.
std::string short_recipe();

/// As short_recipe(), with vectors that take some tens of megabytes in all.
std::string large_recipe();

}  // namespace acid::test
