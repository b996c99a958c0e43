// Bytes that leave real processes, compared with the recorded ones.
#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "engine/codecs/codec.hpp"
#include "tests/catch.hpp"
#include "tests/shell.hpp"

using acid::codec_catalog;

TEST_CASE("CORRECTNESS 37: what leaves over sockets under mpirun is what is recorded, within 1 %",
          "[release]") {
  if (std::system("command -v mpirun >/dev/null") != 0) {
    WARN("skipped: there is no mpirun here (on Debian: apt install openmpi-bin)");
    return;
  }
  const std::string command = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ACID_MPI_BODIES=mpi timeout 280 "
      "mpirun -n 3 --oversubscribe --bind-to none --mca pml ob1 --mca btl tcp,self "
      "--mca btl_tcp_if_include lo {}/acid_wire_program </dev/null 2>&1",
      BINARY_ROOT);
  const acid::test::ShellEnd ended = acid::test::run_shell(command);
  INFO(ended.output);
  REQUIRE(ended.code == 0);
  std::istringstream lines(ended.output);
  std::size_t runs = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string method, codec;
    double sent = 0, recorded = 0;
    if (!(words >> method >> codec >> sent >> recorded)) continue;  // the library's own words
    ++runs;
    CHECK(recorded > 1e6);
    CHECK(sent >= recorded);
    CHECK(sent <= 1.01 * recorded);
  }
  CHECK(runs == codec_catalog().size() + 1 + 3 * 4);
}
