#include "reports/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace acid {
namespace {

// A part of what the batch system said; a number or a text.
std::string batch_part(const nlohmann::json& batch, const char* name) {
  const auto found = batch.find(name);
  if (found == batch.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string task_of(const nlohmann::json& batch) {
  if (!batch.is_object()) return {};
  std::string text = batch_part(batch, "system");
  if (const std::string job = batch_part(batch, "job"); !job.empty())
    text += (text.empty() ? "" : " ") + job;
  if (const std::string task = batch_part(batch, "task"); !task.empty())
    text += (text.empty() ? "task " : ", task ") + task;
  return text;
}

// Text that sorts node9 before node10.
std::string sortable(const std::string& name) {
  constexpr std::size_t kMostDigits = 20;
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
    if (end > at) {
      text.append(kMostDigits - std::min(kMostDigits, end - at), '0').append(name, at, end - at);
      at = end;
    } else {
      text += name[at++];
    }
  }
  return text;
}

void add_attempt(const AttemptSummary& attempt, HostWork& work) {
  if (attempt.state == RunState::running) work.running.push_back(attempt.run);
  if (is_over(attempt.state)) ++work.finished;
  if (attempt.is_lost) ++work.lost;
  work.gradients += std::max<std::int64_t>(0, attempt.to.gradients - attempt.from.gradients);
  if (attempt.seconds > 0) work.seconds += attempt.seconds;
  if (!work.last_sign.empty() && attempt.last_sign <= work.last_sign) return;
  work.last_sign = attempt.last_sign;
  work.silent_seconds = attempt.silent_seconds;
}

}  // namespace

std::string HostWork::name() const {
  return task.empty() ? host : fmt::format("{} ({})", host, task);
}

std::string LostAttempt::words() const {
  const std::string lost =
      fmt::format("run {} was lost on {} at gradient {}", run, name, gradients);
  if (next.empty()) return lost + "; it waits for a process";
  if (next == name) return fmt::format("{}, and went on there from gradient {}", lost, from);
  return fmt::format("{}; {} took it over from gradient {}", lost, next, from);
}

HostsAtWork hosts_at_work(const std::vector<AttemptSummary>& attempts) {
  std::map<std::string, HostWork> rows;
  std::map<std::string, std::pair<const AttemptSummary*, HostWork*>> last;  // by run
  std::vector<LostAttempt> waiting, lost;
  const auto lose = [](const AttemptSummary& attempt, const HostWork& row) {
    return LostAttempt{attempt.run, row.name(), attempt.to.gradients, {}, 0};
  };
  for (const AttemptSummary& attempt : attempts) {
    const std::string task = task_of(attempt.batch);
    // node1 and node01 sort alike and are two.
    HostWork& row = rows[sortable(attempt.host) + '\n' + attempt.host + '\n' + sortable(task)];
    row.host = attempt.host;
    row.task = task;
    add_attempt(attempt, row);
    auto& [before, before_row] = last[attempt.run];
    if (before != nullptr && before->is_lost) {
      lost.push_back(lose(*before, *before_row));
      lost.back().next = row.name();
      lost.back().from = attempt.from.gradients;
      if (before_row != &row) ++row.taken_over;
    }
    before = &attempt;
    before_row = &row;
  }
  for (const auto& [run, newest] : last)
    if (newest.first->is_lost) waiting.push_back(lose(*newest.first, *newest.second));
  HostsAtWork all;
  for (auto& [key, row] : rows) all.hosts.push_back(std::move(row));
  all.lost = std::move(waiting);
  all.lost.insert(all.lost.end(), lost.rbegin(), lost.rend());
  return all;
}

}  // namespace acid
