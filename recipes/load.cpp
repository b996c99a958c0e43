#include "recipes/load.hpp"

#include <algorithm>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/methods/network.hpp"

namespace acid {
namespace {

LinkCost link_of(const nlohmann::json& link) {
  const nlohmann::json& bandwidth = link.at("bandwidth_bytes_per_second");
  return {number(link, "latency_seconds"), bandwidth.is_null() ? 0 : bandwidth.get<double>()};
}

// Seconds of one unit of normalised time, while every worker computes: the inverse of the mean of
// 1/E[durationᵢ].
double unit_seconds(int workers, const nlohmann::json& model) {
  const nlohmann::json& slowdown = model.at("random_slowdown");
  const double seconds = number(model.at("network"), "gradient_seconds") *
                         (1 + number(slowdown, "probability") * (number(slowdown, "factor") - 1)) *
                         (1 + number(model.at("cost"), "optimizer_share"));
  double speeds = workers;
  for (const auto& [worker, factor] : model.at("slow_workers").items())
    speeds += 1 / factor.get<double>() - 1;
  return seconds * workers / speeds;
}

}  // namespace

Load gossip_load(const Topology& topology, double rate, double vector_bytes,
                 const nlohmann::json& model) {
  const int n = topology.workers();
  const nlohmann::json& network = model.at("network");
  const double usual = link_of(network).seconds(vector_bytes);
  std::vector<double> busy(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    busy[static_cast<std::size_t>(i)] = topology.worker_rate(i, rate) * usual;
  for (const nlohmann::json& link : network.at("edges")) {
    const int i = link.at("edge").at(0), j = link.at("edge").at(1);
    const double extra =
        topology.edge_rate(i, j, rate) * (link_of(link).seconds(vector_bytes) - usual);
    busy[static_cast<std::size_t>(i)] += extra;
    busy[static_cast<std::size_t>(j)] += extra;
  }
  Load load;
  const double unit = unit_seconds(n, model);
  for (int i = 0; i < n; ++i) {
    const double share = busy[static_cast<std::size_t>(i)] / unit;
    if (share > load.largest) load = {share, i};
  }
  return load;
}

double all_reduce_load(int workers, double vector_bytes, const nlohmann::json& model) {
  const nlohmann::json& section = model.at("network");
  NetworkModel network{link_of(section), {}, all_reduce_kind(text(section, "all_reduce"))};
  for (const nlohmann::json& link : section.at("edges"))
    network.edges[std::minmax(link.at("edge").at(0).get<int>(), link.at("edge").at(1).get<int>())] =
        link_of(link);
  return network.all_reduce_seconds(workers, vector_bytes) / unit_seconds(workers, model);
}

}  // namespace acid
