#pragma once

#include <span>
#include <string_view>

namespace acid {

enum class DriverKind;  // engine/drivers/driver.hpp, which says how each is run

/// What the rest of the program knows of a driver. A new one is a kind and a row in engine/drivers,
/// a row in execution.cpp, its keys there, and their members in run_settings.hpp.
struct DriverEntry {
  DriverKind kind;
  std::string_view name;  // execution.driver, and its table in [execution]
  /// Time is simulated, so the run is executed again to verify it. Others happen once, against the
  /// clock of the machine: their event log proves them.
  bool simulates = false;
  /// Every worker is a process with a clock of its own, which `acid run` has a launcher start;
  /// otherwise a thread, or a part of the simulation.
  bool has_processes = false;
  const char* unused;  // why a run of another driver does not look at its table
};

/// In the order of DriverKind.
std::span<const DriverEntry> driver_catalog();
const DriverEntry& entry_of(DriverKind kind);
/// By RunSummary::driver, or execution.driver of settings; false for a name that is none.
bool simulates(std::string_view driver);

}  // namespace acid
