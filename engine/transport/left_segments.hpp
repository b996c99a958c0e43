#pragma once

#include <string>
#include <vector>

namespace acid {

/// Removes the shared memory that Open MPI's processes of this user left on this host when they and
/// their launcher were killed together: files of theirs, older than a moment, that no process has
/// mapped. Says which it removed. Where it cannot tell, it leaves them.
std::vector<std::string> remove_left_segments(const std::string& folder = "/dev/shm");

}  // namespace acid
