// Reads what launchers print when a process has ended badly: mpirun of Open MPI 4 and 5, and srun.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <regex>

#include "cli/processes/launcher.hpp"
#include "engine/base/worker_words.hpp"

namespace acid {
namespace {

using nlohmann::json;

// The beginning of a longer line is enough, and std::regex needs some stack for each character.
constexpr std::size_t kLongestLine = 1000;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, std::min(end, kLongestLine)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The signal whose description in the C library begins these words; 0: none.
int signal_described_as(const std::string& words) {
  for (int number = 1; number < SIGRTMIN; ++number)
    if (const char* description = sigdescr_np(number);
        description != nullptr && words.starts_with(description))
      return number;
  return 0;
}

// Version 5 breaks its sentences into lines at any place.
std::optional<KilledProcess> in_words_of_mpirun(const std::string& words) {
  static const std::regex pattern(
      R"(process\s+rank\s+(\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+(\S+)\s+)"
      R"(exited\s+on\s+signal\s+(\d+))");
  std::smatch match;
  if (!std::regex_search(words, match, pattern)) return std::nullopt;
  return KilledProcess{std::stoi(match[1]), match[2], std::stoi(match[3])};
}

// If there are several tasks, names the first one.
std::optional<KilledProcess> in_words_of_srun(const std::string& line) {
  static const std::regex pattern(R"(srun: error: (\S+): tasks? (\d+)[^:]*: (.+))");
  std::smatch match;
  if (!std::regex_match(line, match, pattern)) return std::nullopt;
  const int number = signal_described_as(match[3]);
  if (number == 0) return std::nullopt;
  return KilledProcess{std::stoi(match[2]), match[1], number};
}

bool is_rule(const std::string& line) {
  return line.size() > 60 && line.find_first_not_of('-') == std::string::npos;
}

// Whether the paragraph between rules says how the job ended, by its beginning. Other paragraphs
// explain why the job could not be started and are kept.
bool is_remark(const std::vector<std::string>& paragraph) {
  constexpr std::array kRemarks = {"Primary job  terminated normally",
                                   "MPI_ABORT was invoked",
                                   "mpirun detected that one or more",
                                   "prterun detected that one or more",
                                   "mpirun noticed that process rank",
                                   "prterun noticed that process rank",
                                   "A process has executed an operation involving a call",
                                   "ORTE has lost communication with a remote daemon",
                                   "PRTE has lost communication with a remote daemon"};
  return !paragraph.empty() && std::ranges::any_of(kRemarks, [&](const char* remark) {
    return paragraph.front().starts_with(remark);
  });
}

bool is_remark(const std::string& line) {
  static const std::regex pattern(
      R"((mpirun|prterun): Forwarding signal \d+ to job|srun: error: \S+: tasks? .*)"
      R"(|srun: (Terminating|Force Terminated|Job step aborted|First task exited).*)"
      R"(|slurmstepd: error: \*\*\* STEP .*)"
      R"(|.* more process(es)? (has|have) sent help message .*)"
      R"(|.*Set MCA parameter "orte_base_help_aggregate" to 0 .*)");
  return std::regex_match(line, pattern);
}

}  // namespace

std::optional<KilledProcess> killed_process(std::string_view words) {
  if (words.find("signal") == std::string_view::npos &&
      words.find("srun: error") == std::string_view::npos)
    return std::nullopt;
  for (const std::string& line : lines_of(words))
    if (const auto killed = in_words_of_srun(line)) return killed;
  return in_words_of_mpirun(std::string(words));
}

std::string describe(const KilledProcess& killed, const json& processes) {
  std::string process;
  if (processes.is_array())
    for (const json& each : processes)
      if (each.at("rank") == killed.rank)
        process = fmt::format("process {} ", each.at("pid").get<std::int64_t>());
  return fmt::format("worker {} ({}on {}) was killed by {}", killed.rank, process, killed.host,
                     signal_text(killed.signal));
}

std::optional<std::string> lost_host(std::string_view words) {
  static const std::regex pattern(R"(\s*Remote daemon: \S+ on node (\S+))");
  if (words.find("lost communication with a remote daemon") == std::string_view::npos)
    return std::nullopt;
  for (const std::string& line : lines_of(words))
    if (std::smatch match; std::regex_match(line, match, pattern)) return match[1];
  return std::nullopt;
}

std::string describe_lost_host(const std::string& host, const json& processes) {
  std::vector<int> ranks;
  if (processes.is_array())
    for (const json& each : processes)
      if (each.at("host") == host) ranks.push_back(each.at("rank"));
  const std::string who = ranks.empty() ? "the workers"
                                        : fmt::format("worker{} {}", ranks.size() == 1 ? "" : "s",
                                                      fmt::join(ranks, ", "));
  return fmt::format("{} on {} {} lost: mpirun can no longer reach that host", who, host,
                     ranks.size() == 1 ? "was" : "were");
}

std::optional<std::string> awaited(std::string_view words) {
  for (const std::string& line : lines_of(words))
    if (line.starts_with(kWorkerWaitingPrefix))
      return line.substr(std::string_view(kWorkerWaitingPrefix).size());
  return std::nullopt;
}

std::optional<std::string> first_complaint(std::string_view words) {
  constexpr std::string_view kPrefix = kWorkerErrorPrefix;
  for (const std::string& line : lines_of(words))
    if (line.starts_with(kPrefix)) return line.substr(kPrefix.size());
  return std::nullopt;
}

std::string without_launcher_remarks(std::string_view words) {
  std::string kept;
  const auto keep = [&](const std::string& line) {
    if (!is_remark(line) && !line.starts_with(kWorkerWaitingPrefix)) kept += line + "\n";
  };
  const std::vector<std::string> lines = lines_of(words);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const auto here = lines.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end =
        is_rule(lines[at]) ? std::find_if(here + 1, lines.end(), is_rule) : lines.end();
    if (end == lines.end()) {
      keep(lines[at]);
      continue;
    }
    const std::vector<std::string> paragraph(here + 1, end);
    if (!is_remark(paragraph))
      for (const std::string& line : paragraph) keep(line);
    at = static_cast<std::size_t>(end - lines.begin());
  }
  return kept;
}

}  // namespace acid
