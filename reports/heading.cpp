#include "reports/heading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostNamed = 4;

void add_once(std::vector<std::string>& names, std::string name) {
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    names.push_back(std::move(name));
}

/// "quadratic(64)", "mlp(32, 16)", "mnist": a kind and how large it is.
std::string sized(const FlatSettings& settings, const std::string& table, const char* size) {
  const nlohmann::json& kind = value_at(settings, table + ".kind");
  if (!kind.is_string()) return {};
  std::vector<std::string> sizes;
  const nlohmann::json& given = value_at(settings, table + "." + size);
  if (given.is_array())
    for (const nlohmann::json& one : given) sizes.push_back(value_text(one));
  else if (!given.is_null())
    sizes.push_back(value_text(given));
  const std::string name = kind.get<std::string>();
  return sizes.empty() ? name : fmt::format("{}({})", name, fmt::join(sizes, ", "));
}

std::string named(const std::vector<std::string>& names, std::string_view noun) {
  return names.size() > kMostNamed ? counted(names.size(), noun)
                                   : fmt::format("{}", fmt::join(names, ", "));
}

/// "ring 16", "ring, exponential · 8, 16 workers".
std::string network(const std::vector<std::string>& graphs, const std::set<int>& workers) {
  if (workers == std::set{1}) return "1 worker";
  if (graphs.size() == 1 && workers.size() == 1)
    return fmt::format("{} {}", graphs.front(), *workers.begin());
  const std::string sizes =
      workers.size() > kMostNamed
          ? fmt::format("{} to {} workers", *workers.begin(), *workers.rbegin())
          : fmt::format("{} workers", fmt::join(workers, ", "));
  return graphs.empty() ? sizes : fmt::format("{} · {}", named(graphs, "graph"), sizes);
}

}  // namespace

std::string seeds_text(const std::set<std::uint64_t>& seeds) {
  std::vector<std::string> ranges;
  for (auto first = seeds.begin(); first != seeds.end();) {
    auto last = first, next = std::next(first);
    while (next != seeds.end() && *next == *last + 1) last = next++;
    ranges.push_back(first == last ? fmt::format("{}", *first)
                                   : fmt::format("{}-{}", *first, *last));
    first = next;
  }
  if (ranges.size() > kMostNamed) return fmt::format("{} of them", seeds.size());
  return fmt::format("{}", fmt::join(ranges, ", "));
}

std::string heading_of(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> experiments, data, models, graphs, drivers;
  std::set<int> workers;
  std::set<std::uint64_t> seeds;
  for (const ComparedRun& run : runs) {
    const RunSummary& summary = run.summary;
    const FlatSettings settings = flatten(run.settings);
    add_once(experiments, summary.experiment_name);
    add_once(data, sized(settings, "task.dataset", "dimension"));
    add_once(models, sized(settings, "task.model", "hidden"));
    add_once(graphs, summary.topology);
    add_once(drivers, summary.driver == "virtual" ? "virtual (simulated seconds)" : summary.driver);
    workers.insert(summary.workers);
    seeds.insert(summary.seed);
  }
  if (runs.empty()) return {};
  // Runs that read no graph stand beside the others'.
  if (graphs.size() > 1) std::erase(graphs, "any");
  std::vector<std::string> parts{
      named(experiments, "experiment"),
      named(data, "data set"),
      named(models, "model"),
      network(graphs, workers),
      named(drivers, "driver"),
      fmt::format("seed{} {}", seeds.size() == 1 ? "" : "s", seeds_text(seeds))};
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace acid
