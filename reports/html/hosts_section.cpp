// Where the runs were executed, if not on one host.
#include <algorithm>

#include "reports/hosts.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

std::string hosts_table(const std::vector<HostWork>& hosts) {
  const bool has_tasks =
      std::ranges::any_of(hosts, [](const HostWork& row) { return !row.task.empty(); });
  HtmlTable table;
  table.csv = "hosts";
  table.head = {"host"};
  if (has_tasks) table.head.emplace_back("task");
  table.first_number = table.head.size();
  table.head.insert(table.head.end(), {"under way", "finished", "gradients per second", "lost",
                                       "taken over", "last sign of life (UTC)"});
  for (const HostWork& row : hosts) {
    std::vector<Markup> cells{text(row.host)};
    if (has_tasks) cells.push_back(text(row.task.empty() ? "–" : row.task));
    const double rate = row.seconds > 0 ? static_cast<double>(row.gradients) / row.seconds : 0;
    cells.push_back(text(std::to_string(row.running.size())));
    cells.push_back(text(std::to_string(row.finished)));
    cells.push_back(row.seconds > 0 ? number_text(format_number(rate, 3), rate) : Markup{"–"});
    cells.push_back(text(std::to_string(row.lost)));
    cells.push_back(text(std::to_string(row.taken_over)));
    cells.push_back(text(shown_time(row.last_sign)));
    table.rows.push_back(std::move(cells));
  }
  return table.html();
}

std::string lost_table(const std::vector<LostAttempt>& lost) {
  if (lost.empty()) return "";
  HtmlTable table{
      .csv = "lost-runs",
      .caption = "Runs whose process was gone",
      .head = {"run", "lost on", "taken over by", "lost at gradient", "went on from gradient"},
      .first_number = 3};
  for (const LostAttempt& one : lost) {
    const bool waits = one.next.empty();
    table.rows.push_back({code(one.run), text(one.name), text(waits ? "it waits" : one.next),
                          text(std::to_string(one.gradients)),
                          text(waits ? "–" : std::to_string(one.from))});
  }
  return table.html();
}

}  // namespace

std::string hosts_section(const ReportData& data) {
  if (!data.hosts.are_several()) return "";
  return hosts_table(data.hosts.hosts) +
         note(
             "Gradients per second are those of each run while it was executed there, in the "
             "mean. Runs that a search tried are counted, too.") +
         lost_table(data.hosts.lost);
}

}  // namespace acid
