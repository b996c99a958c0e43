#include "cli/processes/machine.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <set>

#include "engine/base/folders.hpp"
#include "engine/base/host_name.hpp"
#include "store/hosts.hpp"

namespace acid {
namespace {

struct Magic {
  std::int64_t number;
  const char* name;
};
constexpr std::array kMagic{
    Magic{0xEF53, "ext4"},       Magic{0x58465342, "xfs"},     Magic{0x9123683E, "btrfs"},
    Magic{0x01021994, "tmpfs"},  Magic{0x794C7630, "overlay"}, Magic{0x2FC12FC1, "zfs"},
    Magic{0x6969, "nfs"},        Magic{0xFF534D42, "cifs"},    Magic{0xFE534D42, "smb2"},
    Magic{0x0BD00BD0, "lustre"}, Magic{0x47504653, "gpfs"},    Magic{0x00C36400, "ceph"},
    Magic{0x01021997, "9p"},     Magic{0x65735546, "fuse"},    Magic{0x19830326, "beegfs"}};

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

// The address without the port.
std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(),
              text.size());
  if (address != nullptr && address->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text.data(),
              text.size());
  return text.data();
}

std::set<std::string> own_addresses() {
  std::set<std::string> addresses{"127.0.0.1", "127.0.1.1", "::1"};
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, FreeAddresses> owner(list);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
    addresses.insert(address_text(each->ifa_addr));
  return addresses;
}

}  // namespace

bool is_this_host(const std::string& name) {
  const std::string host = host_name();
  if (name == host || name == host.substr(0, host.find('.')) || name == "localhost") return true;
  addrinfo* list = nullptr;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return false;
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  const std::set<std::string> addresses = own_addresses();
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next)
    if (const std::string text = address_text(each->ai_addr);
        !text.empty() && addresses.contains(text))
      return true;
  return false;
}

double cpu_quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;  // "max 100000" means no limit and reads as no number
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

std::int64_t memory_limit_bytes() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::int64_t bytes = 0;  // "max" means no limit and reads as no number
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
  struct statfs status {};
  if (statfs(existing_part(folder).c_str(), &status) != 0) return {"unknown", false, 0};
  const auto number = static_cast<std::int64_t>(status.f_type);
  const auto* known = std::ranges::find(kMagic, number, &Magic::number);
  const bool found = known != kMagic.end();
  return {found ? known->name : fmt::format("{:#x}", number), is_network_file_system(status.f_type),
          static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_bsize)};
}

}  // namespace acid
