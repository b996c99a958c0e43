#include "engine/drivers/driver.hpp"

#include <array>

namespace acid {
namespace {

// In the order of DriverKind.
constexpr std::array<Driver, 3> kDrivers{{
    {[](const Run& run, const DriverOptions& all) { return run_virtual(run, all.virtual_time); },
     &virtual_state_layout},
    {[](const Run& run, const DriverOptions& all) { return run_threads(run, all.threads); },
     &threads_state_layout},
    {[](const Run& run, const DriverOptions& all) { return run_mpi(run, all.mpi); },
     &mpi_state_layout},
}};

}  // namespace

const Driver& driver(DriverKind kind) { return kDrivers[static_cast<std::size_t>(kind)]; }

}  // namespace acid
