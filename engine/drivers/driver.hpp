#pragma once

#include <string_view>

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/threads/threads.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"

namespace acid {

enum class DriverKind { virtual_time, threads, mpi };

/// What a run tells its driver; each driver reads its own part.
struct DriverOptions {
  VirtualOptions virtual_time;
  ThreadsOptions threads;
  MpiOptions mpi;
};

/// A way of executing runs: how time passes, and who carries messages.
struct Driver {
  Outcome (*run)(const Run& run, const DriverOptions& options);
  /// Cut::layout of the cuts that it takes.
  std::string_view (*state_layout)(const RunSpec& spec);
};

const Driver& driver(DriverKind kind);

}  // namespace acid
