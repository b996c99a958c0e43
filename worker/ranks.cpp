#include "worker/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "engine/base/host_name.hpp"
#include "worker/resume.hpp"

namespace acid {
namespace {

using nlohmann::json;

RankReport report_of_process(int rank) {
  RankReport report;
  report.rank = rank;
  report.host = host_name();
  report.pid = getpid();
  return report;
}

[[noreturn]] void refuse(const RankReport& report) {
  const std::string message =
      fmt::format("worker {} on {}: {}", report.rank, report.host, report.error);
  if (report.code == Exit::usage) throw UsageError(message);
  if (report.code == Exit::store) throw StoreError(message);
  throw Error(message, report.code);
}

// "  data: … there, … at worker 0": a line per difference; hosts with the same difference share
// one.
std::string describe_each(const std::map<std::string, std::string>& hosts_by_difference) {
  std::string text;
  for (const auto& [difference, hosts] : hosts_by_difference)
    text += fmt::format("{}{}:\n{}", text.empty() ? "" : "\n", hosts, difference);
  return text;
}

void add_host(std::map<std::string, std::string>& hosts_by_difference,
              const std::string& difference, const RankReport& report) {
  std::string& hosts = hosts_by_difference[difference];
  hosts += fmt::format("{}worker {} on {}", hosts.empty() ? "" : ", ", report.rank, report.host);
}

std::string lines_of(const json& differences) {
  std::string lines;
  for (const auto& [what, pair] : differences.items())
    lines +=
        fmt::format("{}  {}: {} there, {} at worker 0", lines.empty() ? "" : "\n", what,
                    side_of_difference(what, pair.at(1)), side_of_difference(what, pair.at(0)));
  return lines;
}

// Where k processes share a core, a step that waits for all of them takes k times as long.
std::vector<std::string> crowded_hosts(const std::vector<RankReport>& reports) {
  std::map<std::string, std::pair<int, int>> hosts;  // processes, cores
  for (const RankReport& report : reports) {
    auto& [processes, cores] = hosts[report.host];
    ++processes;
    cores = report.environment.value("cores", 0);
  }
  std::vector<std::string> remarks;
  for (const auto& [host, there] : hosts)
    if (there.second > 0 && there.first > there.second)
      remarks.push_back(
          fmt::format("{} processes share the {} cores of {}: they take turns, so "
                      "seconds say little",
                      there.first, there.second, host));
  return remarks;
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankReport, rank, host, pid, error, code, environment, files)

std::string RankReport::text() const {
  return json(*this).dump(-1, ' ', false, json::error_handler_t::replace);
}

RankReport RankReport::from_text(const std::string& text) { return json::parse(text); }

RankReport report_of(int rank, const ComposedRun& run, const json& surroundings) {
  RankReport report = report_of_process(rank);
  report.environment = surroundings;
  for (const char* own : {"variables", "command_line", "memory_bytes"})
    report.environment.erase(own);
  report.files = run.file_digests;
  return report;
}

RankReport failed_report(int rank, const std::string& error, Exit code) {
  RankReport report = report_of_process(rank);
  report.error = error;
  report.code = code;
  return report;
}

std::vector<std::string> compare_ranks(const std::vector<RankReport>& reports, bool allow_changed) {
  for (const RankReport& report : reports)
    if (!report.error.empty()) refuse(report);
  AttemptRow first;
  first.environment = reports.front().environment;
  first.file_digests = reports.front().files;
  std::map<std::string, std::string> apart, other_processors;
  for (const RankReport& report : reports) {
    const json found = differences(first, report.environment, report.files);
    if (!found.empty()) add_host(apart, lines_of(found), report);
    const json& here = first.environment.at("cpu_model");
    const json& there = report.environment.at("cpu_model");
    if (here != there)
      add_host(other_processors, lines_of(json{{"cpu_model", {here, there}}}), report);
  }
  std::vector<std::string> remarks = crowded_hosts(reports);
  if (!apart.empty()) {
    const std::string what = describe_each(apart);
    if (!allow_changed)
      throw UsageError(fmt::format(
          "the processes of the run would not compute the same, so that it could not be replayed "
          "on one machine:\n{}\nuse the same acid, libraries and data files everywhere; "
          "--allow-changed runs it all the same and records it",
          what));
    remarks.push_back("its processes are not equal, which was allowed:\n" + what);
  }
  if (!other_processors.empty())
    remarks.push_back("its processes run on different processors:\n" +
                      describe_each(other_processors));
  return remarks;
}

void require_fault_tolerance(const ComposedRun& run, const json& mpi) {
  if (!goes_on_without_lost(run.settings) || mpi.value("outlives_losses", false)) return;
  throw UsageError(fmt::format(
      "execution.mpi.on_loss = \"go-on\" needs an MPI that goes on when a process dies, and {} {}",
      mpi.value("library", "this MPI"),
      mpi.value("fault_tolerance", false)
          ? "was not started so: give mpirun the words --with-ft ulfm"
          : "was built without fault tolerance: use on_loss = \"restart\""));
}

json processes_of(const std::vector<RankReport>& reports) {
  json processes = json::array();
  for (const RankReport& report : reports)
    processes.push_back({{"rank", report.rank}, {"host", report.host}, {"pid", report.pid}});
  return processes;
}

}  // namespace acid
