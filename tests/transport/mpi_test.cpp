// The transport between real processes: runs acid_mpi_program under mpirun.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/catch.hpp"
#include "tests/shell.hpp"

TEST_CASE("processes under mpirun exchange bodies by either way, and wait without a core") {
  if (std::system("command -v mpirun >/dev/null") != 0) {
    WARN("skipped: there is no mpirun here (on Debian: apt install openmpi-bin)");
    return;
  }
  using Job = std::pair<const char*, int>;
  for (const auto& [bodies, processes] :
       {Job{"window", 1}, Job{"window", 3}, Job{"memory", 2}, Job{"mpi", 2}}) {
    const acid::test::ShellEnd ended = acid::test::run_shell(
        fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                    "ACID_MPI_BODIES={} timeout 120 "
                    "mpirun -n {} --oversubscribe --bind-to none {}/acid_mpi_program </dev/null "
                    "2>&1",
                    bodies, processes, BINARY_ROOT));
    INFO(bodies << ", " << processes << " processes: " << ended.output);
    CHECK(ended.code == 0);
  }
}
