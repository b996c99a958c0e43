#include "reports/heading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"
#include "settings/drivers.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostNamed = 4;

void add_new(std::vector<std::string>& names, std::string name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (!name.empty()) add_new(names, std::move(name));
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

/// "worker 0 10 × as slow", "workers 0, 3 4 × as slow", "6 slow workers"; empty without any.
std::string stragglers(const FlatSettings& settings, const std::string& driver) {
  const nlohmann::json& factors = value_at(settings, "execution." + driver + ".slow_workers");
  std::map<std::string, std::vector<std::string>> by_factor;
  if (factors.is_object())
    for (const auto& [worker, factor] : factors.items())
      if (factor != 1.0) by_factor[value_text(factor)].push_back(worker);
  if (factors.size() > kMostNamed) return counted(factors.size(), "slow worker");
  std::vector<std::string> words;
  for (const auto& [factor, workers] : by_factor)
    words.push_back(fmt::format("worker{} {} {} × as slow", workers.size() == 1 ? "" : "s",
                                fmt::join(workers, ", "), factor));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// "1 GB/s", "1 GB/s, 100 µs"; empty where links take no time.
std::string link_words(const nlohmann::json& bandwidth, const nlohmann::json& latency) {
  std::vector<std::string> words;
  if (bandwidth.is_number()) words.push_back(format_bytes(bandwidth.get<double>()) + "/s");
  if (latency.is_number() && latency > 0) words.push_back(format_seconds(latency.get<double>()));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string as_of_vectors(const nlohmann::json& bytes) {
  return fmt::format("as of {} vectors", format_bytes(bytes.get<double>()));
}

/// "1 GB/s, 100 µs", "edge 1-2 50 ms"; empty where messages take no time, and of
/// drivers that have a real one.
std::string network_of(const FlatSettings& settings, const std::string& driver) {
  const std::string table = "execution." + driver + ".network.";
  const auto link_at = [&](const std::string& prefix) {
    return link_words(value_at(settings, prefix + "bandwidth_bytes_per_second"),
                      value_at(settings, prefix + "latency_seconds"));
  };
  std::vector<std::string> words{link_at(table)};
  const nlohmann::json& edges = value_at(settings, table + "edges");
  if (edges.size() > kMostNamed) words.push_back(counted(edges.size(), "other link"));
  if (edges.size() <= kMostNamed)
    for (const nlohmann::json& edge : edges)
      words.push_back(
          fmt::format("edge {} {}", fmt::join(edge.value("edge", std::vector<int>()), "-"),
                      link_words(edge.value("bandwidth_bytes_per_second", nlohmann::json()),
                                 edge.value("latency_seconds", nlohmann::json()))));
  if (const std::string hubs = link_at(table + "hubs."); !hubs.empty())
    words.push_back("hubs " + hubs);
  const nlohmann::json& stands_for = value_at(settings, table + "vector_bytes");
  if (stands_for.is_number()) words.push_back(as_of_vectors(stands_for));
  std::erase(words, "");
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Values that some runs have and others lack: "no straggler or worker 0 10 × as slow"; else empty.
std::string alternatives(std::vector<std::string> names, std::string_view without,
                         std::string_view noun) {
  if (names == std::vector<std::string>{""}) return {};
  std::ranges::replace(names, std::string(), std::string(without));
  return names.size() > kMostNamed ? counted(names.size(), noun)
                                   : fmt::format("{}", fmt::join(names, " or "));
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

std::string stand_in_words(const nlohmann::json& settings) {
  const nlohmann::json& bytes = setting_at(settings, "/execution/virtual/network/vector_bytes");
  return is_simulated(settings) && bytes.is_number() ? as_of_vectors(bytes) : std::string();
}

std::string heading_of(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> experiments, data, models, graphs, drivers, slow, networks;
  std::set<int> workers;
  std::set<std::uint64_t> seeds;
  for (const ComparedRun& run : runs) {
    const RunSummary& summary = run.summary;
    const FlatSettings settings = flatten(run.settings);
    add_once(experiments, summary.experiment_name);
    add_once(data, sized(settings, "task.dataset", "dimension"));
    add_once(models, sized(settings, "task.model", "hidden"));
    add_once(graphs, summary.topology);
    add_once(drivers, summary.driver + (simulates(summary.driver) ? " (simulated seconds)" : ""));
    add_new(slow, stragglers(settings, summary.driver));
    add_new(networks, network_of(settings, summary.driver));
    workers.insert(summary.workers);
    seeds.insert(summary.seed);
  }
  if (runs.empty()) return {};
  // Runs that read no graph are compared with the others.
  if (graphs.size() > 1) std::erase(graphs, "any");
  const std::string messages = alternatives(networks, "instant", "network");
  const bool counts = networks.size() > kMostNamed || messages.empty();
  std::vector<std::string> parts{
      named(experiments, "experiment"),
      named(data, "data set"),
      named(models, "model"),
      network(graphs, workers),
      named(drivers, "driver"),
      alternatives(slow, "no straggler", "straggler setting"),
      counts ? messages : "network " + messages,
      fmt::format("seed{} {}", seeds.size() == 1 ? "" : "s", seeds_text(seeds))};
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace acid
