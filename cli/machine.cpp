#include "cli/machine.hpp"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace acid {
namespace {

struct Magic {
  std::int64_t number;
  const char* name;
  bool network;
};
constexpr std::array kMagic{Magic{0xEF53, "ext4", false},        Magic{0x58465342, "xfs", false},
                            Magic{0x9123683E, "btrfs", false},   Magic{0x01021994, "tmpfs", false},
                            Magic{0x794C7630, "overlay", false}, Magic{0x2FC12FC1, "zfs", false},
                            Magic{0x6969, "nfs", true},          Magic{0xFF534D42, "cifs", true},
                            Magic{0xFE534D42, "smb2", true},     Magic{0x0BD00BD0, "lustre", true},
                            Magic{0x47504653, "gpfs", true},     Magic{0x00C36400, "ceph", true},
                            Magic{0x01021997, "9p", true},       Magic{0x65735546, "fuse", true},
                            Magic{0x19830326, "beegfs", true}};

}  // namespace

double cpu_quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;  // "max 100000" when there is none, which reads as no number.
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

std::int64_t memory_limit_bytes() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::int64_t bytes = 0;  // "max" when there is none, which reads as no number.
  return file >> bytes ? bytes : 0;
}

std::int64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::int64_t kilobytes = 0; file >> name >> kilobytes; file.ignore(64, '\n'))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return 0;
}

FileSystem file_system_of(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(path, ignored) && path.has_relative_path())
    path = path.parent_path();
  struct statfs status {};
  if (statfs(path.c_str(), &status) != 0) return {"unknown", false, 0};
  const auto number = static_cast<std::int64_t>(status.f_type);
  const auto* known = std::find_if(kMagic.begin(), kMagic.end(),
                                   [&](const Magic& magic) { return magic.number == number; });
  const bool found = known != kMagic.end();
  return {found ? known->name : fmt::format("{:#x}", number), found && known->network,
          static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_bsize)};
}

}  // namespace acid
