#pragma once

#include <cstdint>
#include <string>

namespace acid {

/// Cores that a container's limit allows at a time; 0: no limit.
double cpu_quota_cores();
/// Bytes of memory that a container's limit allows; 0: no limit.
std::int64_t memory_limit_bytes();
/// Bytes that are available now without swapping; 0 when unknown.
std::int64_t available_memory_bytes();

/// Whether a host name or address means this host.
bool is_this_host(const std::string& name);

struct FileSystem {
  std::string type;  // "ext4", "nfs", …, or its number
  bool network = false;
  std::int64_t free_bytes = 0;
};
/// The file system of a folder, or of its nearest parent that exists.
FileSystem file_system_of(const std::string& folder);

}  // namespace acid
