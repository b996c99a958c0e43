#pragma once

#include <string>
#include <vector>

namespace acid {

/// One line of `acid doctor`.
struct Check {
  std::string name;
  bool ok = true;
  std::string found;
  std::string advice;  // what will be slow or missing, and the remedy; empty: all is well
};

/// Checks what runs with one process per worker need: the MPI library as acid-worker sees it (the
/// worker is started once, which takes half a second), the launchers, and shared memory.
void check_mpi(std::vector<Check>& checks);

}  // namespace acid
