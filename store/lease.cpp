#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "store/impl.hpp"

namespace acid {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, id);
  return id;
}

/// Field 22 of /proc/PID/stat; absent when there is no such process or only its zombie is left.
std::optional<std::int64_t> process_start(std::int64_t pid) {
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), line);
  // The second field is the program's name in parentheses and may hold anything, even ") R 1".
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return std::nullopt;
  for (int number = 4; number < 22; ++number) fields >> field;
  std::int64_t ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  return ticks;
}

}  // namespace

Lease Lease::of_this_process() {
  Lease lease;
  lease.host = host_name();
  lease.boot_id = acid::boot_id();
  lease.pid = getpid();
  lease.process_start = acid::process_start(lease.pid).value_or(0);
  return lease;
}

bool Lease::alive() const {
  if (host != host_name()) return true;
  if (boot_id != acid::boot_id()) return false;
  return acid::process_start(pid) == process_start;
}

bool goes_on(const Lease& lease, double heartbeat_age_seconds) {
  if (!lease.alive()) return false;
  return lease.host == host_name() || heartbeat_age_seconds < kHeartbeatLostSeconds;
}

std::unordered_set<std::string> dead_runs(const sqlite::Connection& connection) {
  sqlite::Statement open(connection,
                         "SELECT r.id, a.host, a.boot_id, a.pid, a.process_start,"
                         " (julianday('now') - julianday(a.heartbeat)) * 86400"
                         " FROM attempts a JOIN runs r ON r.number = a.run"
                         " WHERE a.outcome IS NULL");
  std::unordered_set<std::string> dead;
  while (open.step()) {
    const Lease lease{open.text(1), open.text(2), open.integer(3), open.integer(4)};
    if (!goes_on(lease, open.real(5))) dead.insert(open.text(0));
  }
  return dead;
}

}  // namespace acid
