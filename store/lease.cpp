#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fstream>
#include <sstream>

#include "engine/base/host_name.hpp"
#include "store/impl.hpp"

namespace acid {
namespace {

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, id);
  return id;
}

constexpr const char* kNamespaceMark = " pid:";

/// The PID namespace, since each container counts process ids anew: " pid:[4026531836]", empty
/// where it cannot be read.
std::string pid_namespace() {
  std::array<char, 64> name{};
  if (readlink("/proc/self/ns/pid", name.data(), name.size() - 1) <= 0) return {};
  return std::string(" ") + name.data();
}

/// The line of /proc/PID/stat; empty when /proc does not show the process.
std::string stat_line(std::int64_t pid) {
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), line);
  return line;
}

/// Field 22 of a line of /proc/PID/stat; absent when only a zombie is left.
std::optional<std::int64_t> process_start(const std::string& line) {
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

/// Where the process of a lease is, as seen from here.
enum class Sight {
  seen,  // with the start time of the lease
  gone,
  hidden,  // on another host, in another PID namespace, or /proc does not show other users'
};

Sight look_for(const Lease& lease) {
  if (lease.host != host_name()) return Sight::hidden;
  const std::size_t mark = lease.boot_id.find(kNamespaceMark);
  if (lease.boot_id.substr(0, mark) != boot_id()) return Sight::gone;
  const std::string here = pid_namespace();
  // Rows of version 1 do not name the namespace.
  const bool known = mark != std::string::npos && !here.empty();
  if (known && lease.boot_id.substr(mark) != here) return Sight::hidden;
  const std::string line = stat_line(lease.pid);
  if (line.empty() && kill(static_cast<pid_t>(lease.pid), 0) != 0 && errno == EPERM)
    return Sight::hidden;
  return process_start(line) == lease.process_start ? Sight::seen : Sight::gone;
}

}  // namespace

Lease Lease::of_this_process() {
  Lease lease;
  lease.host = host_name();
  lease.boot_id = acid::boot_id() + pid_namespace();
  lease.pid = getpid();
  lease.process_start = acid::process_start(stat_line(lease.pid)).value_or(0);
  return lease;
}

bool Lease::alive() const { return look_for(*this) != Sight::gone; }

bool goes_on(const Lease& lease, double heartbeat_age_seconds) {
  const Sight sight = look_for(lease);
  if (sight == Sight::hidden) return heartbeat_age_seconds < kHeartbeatLostSeconds;
  return sight == Sight::seen;
}

std::string how_to_end(const OpenAttempt& attempt) {
  const Lease& lease = attempt.lease;
  if (look_for(lease) == Sight::hidden)
    return fmt::format(
        "wait for it, or stop it there ('kill {}' on {}), and try again; if that process or host "
        "is gone, the run is free after {:.0f} s of silence",
        lease.pid, lease.host, kHeartbeatLostSeconds);
  return fmt::format(
      "wait for it, or stop it with 'kill {}', and try again; if 'acid list --state running' does "
      "not show the run any more, it has ended: then only try again",
      lease.pid);
}

std::vector<OpenAttempt> open_attempts(const sqlite::Connection& connection,
                                       std::optional<std::int64_t> run) {
  // Sorted by "+a.id", which no index has: SQLite would else read all attempts in that order.
  sqlite::Statement open(connection,
                         "SELECT a.id, a.number, r.id, a.started, a.host, a.boot_id, a.pid,"
                         " a.process_start, (julianday('now') - julianday(a.heartbeat)) * 86400,"
                         " a.run"
                         " FROM attempts a JOIN runs r ON r.number = a.run"
                         " WHERE a.outcome IS NULL" +
                             std::string(run ? " AND a.run = ?1" : "") + " ORDER BY +a.id");
  if (run) open.bind(*run);
  std::vector<OpenAttempt> attempts;
  while (open.step()) {
    const Lease lease{open.text(4), open.text(5), open.integer(6), open.integer(7)};
    const std::string run_id = stored_run_id(open, 2);
    attempts.push_back(
        {open.integer(0),
         static_cast<int>(open.integer(1, 1, INT_MAX, "an attempt of run " + run_id)), run_id,
         open.integer(9), open.text(3), lease, goes_on(lease, open.real(8))});
  }
  return attempts;
}

namespace {

std::unordered_set<std::string> open_runs(const sqlite::Connection& connection, bool going_on) {
  std::unordered_set<std::string> runs;
  for (const OpenAttempt& attempt : open_attempts(connection))
    if (attempt.goes_on == going_on) runs.insert(attempt.run);
  return runs;
}

}  // namespace

std::unordered_set<std::string> live_runs(const sqlite::Connection& connection) {
  return open_runs(connection, true);
}

std::unordered_set<std::string> dead_runs(const sqlite::Connection& connection) {
  return open_runs(connection, false);
}

}  // namespace acid
