#include "engine/transport/mpi_runtime.hpp"

namespace acid {

const Module& mpi_module() {
  static constexpr Module kModule{
      .name = "acid-mpi.so",
      .variable = "ACID_MPI_MODULE",
      .factory = "acid_mpi_runtime",
      .users = "the mpi driver needs it on every host",
      .needs = "MPI (on Debian: apt install openmpi-bin libopenmpi-dev)",
      .global = true};  // Open MPI loads plugins that look for its symbols
  return kModule;
}

MpiRuntime& start_mpi() {
  static MpiRuntime& runtime = *load_module<MpiRuntime*()>(mpi_module())();
  return runtime;
}

}  // namespace acid
