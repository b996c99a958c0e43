#pragma once

#include <string>
#include <vector>

namespace acid::test {

/// A recipe that is run, killed and run again. They take about half a second (see
/// kSanitized) and save more than ten checkpoints meanwhile, keeping two.
struct Variant {
  std::string name;
  std::string recipe;
  std::size_t least_checkpoints = 10;
};

/// Virtual time, where an interrupted run must end with the same bits: every algorithm, momentum,
/// Adam, exchanges that take time, pauses and slow workers with a throttle, the Poisson clock, an
/// event log, and several runs side by side.
std::vector<Variant> virtual_variants();

/// Threads against the wall clock, where no two runs are equal.
std::vector<Variant> threads_variants();

/// The same with a process per worker, three of them. To agree on a checkpoint takes them longer
/// than these runs take from one to the next.
std::vector<Variant> mpi_variants();

/// One virtual run of a²cid².
std::string plain_recipe();

/// One virtual run that takes some milliseconds and saves three checkpoints, so that its file
/// operations can be gone through one by one.
std::string short_recipe();

/// The same with vectors that take some tens of megabytes in all.
std::string large_recipe();

}  // namespace acid::test
