#pragma once

#include <string>
#include <vector>

namespace acid {

/// Removes shared memory that this user's Open MPI processes left on this host when they were
/// killed together with their launcher: files that are a few seconds old and that no process has
/// mapped. Files are kept if that cannot be found out. Returns the names removed.
std::vector<std::string> remove_left_segments(const std::string& folder = "/dev/shm");

}  // namespace acid
