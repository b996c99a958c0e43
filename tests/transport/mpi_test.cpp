// The transport between real processes: runs acid_mpi_program under mpirun.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/catch.hpp"

namespace {

struct Ended {
  int code = 0;
  std::string output;
};

Ended run_shell(const std::string& command) {
  Ended ended;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  for (std::size_t got; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    ended.output.append(part.data(), got);
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace

TEST_CASE("processes under mpirun exchange bodies by either way, and wait without a core") {
  if (std::system("command -v mpirun >/dev/null") != 0) {
    WARN("skipped: there is no mpirun here (on Debian: apt install openmpi-bin)");
    return;
  }
  using Job = std::pair<const char*, int>;
  for (const auto& [bodies, processes] :
       {Job{"window", 1}, Job{"window", 3}, Job{"memory", 2}, Job{"mpi", 2}}) {
    const Ended ended = run_shell(
        fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                    "ACID_MPI_BODIES={} timeout 120 "
                    "mpirun -n {} --oversubscribe --bind-to none {}/acid_mpi_program </dev/null",
                    bodies, processes, BINARY_ROOT));
    INFO(bodies << ", " << processes << " processes: " << ended.output);
    CHECK(ended.code == 0);
  }
}
