#include <algorithm>
#include <stdexcept>

#include "engine/base/fields.hpp"
#include "settings/sections.hpp"

namespace acid {
namespace {

using nlohmann::json;

std::vector<double> per_worker(const json& factors, int workers) {
  if (factors.empty()) return {};
  std::vector<double> list(static_cast<std::size_t>(workers), 1.0);
  for (const auto& [worker, factor] : factors.items())
    list.at(std::stoul(worker)) = factor.get<double>();
  return list;
}

// By start time, a worker's overlapping pauses joined into one.
std::vector<Pause> pauses_of(const json& section) {
  std::vector<Pause> given, joined;
  for (const json& pause : section)
    given.push_back({static_cast<int>(integer(pause, "worker")), number(pause, "at_seconds"),
                     number(pause, "for_seconds")});
  std::stable_sort(given.begin(), given.end(),
                   [](const Pause& a, const Pause& b) { return a.at_seconds < b.at_seconds; });
  for (const Pause& pause : given) {
    const auto earlier = std::find_if(joined.begin(), joined.end(), [&](const Pause& other) {
      return other.worker == pause.worker &&
             other.at_seconds + other.for_seconds >= pause.at_seconds;
    });
    if (earlier == joined.end())
      joined.push_back(pause);
    else
      earlier->for_seconds = std::max(earlier->for_seconds,
                                      pause.at_seconds + pause.for_seconds - earlier->at_seconds);
  }
  return joined;
}

ComputeModel compute_of(const json& section, int workers) {
  ComputeModel model;
  const json& compute = section.at("compute");
  const std::string kind = text(compute, "kind");
  if (kind == "exponential") {
    model.kind = ComputeKind::exponential;
  } else if (kind == "shifted-exponential") {
    model.kind = ComputeKind::shifted_exponential;
    model.parameter = number(compute, "shift");
  } else if (kind == "lognormal") {
    model.kind = ComputeKind::lognormal;
    model.parameter = number(compute, "sigma");
  } else if (kind == "pareto") {
    model.kind = ComputeKind::pareto;
    model.parameter = number(compute, "shape");
  }
  model.gradient_seconds = number(section.at("network"), "gradient_seconds");
  model.slow_factors = per_worker(section.at("slow_workers"), workers);
  model.slowdown_probability = number(section.at("random_slowdown"), "probability");
  model.slowdown_factor = number(section.at("random_slowdown"), "factor");
  model.pauses = pauses_of(section.at("pauses"));
  return model;
}

LinkCost link_of(const json& section) {
  return {number(section, "latency_seconds"),
          optional_of<double>(section.at("bandwidth_bytes_per_second")).value_or(0)};
}

NetworkModel network_of(const json& section) {
  NetworkModel network;
  network.link = link_of(section);
  if (section.contains("hubs")) network.hubs = link_of(section.at("hubs"));
  network.all_reduce = all_reduce_kind(text(section, "all_reduce"));
  for (const json& override : section.at("edges")) {
    const int i = override.at("edge").at(0), j = override.at("edge").at(1);
    network.edges[std::minmax(i, j)] = link_of(override);
  }
  return network;
}

CostModel cost_of(const json& section) {
  CostModel cost;
  cost.forward_share = number(section, "forward_share");
  cost.optimizer_share = number(section, "optimizer_share");
  if (!section.at("buckets").is_null()) {
    cost.buckets = static_cast<int>(integer(section, "buckets"));
  } else {
    cost.first_bucket_bytes = number(section, "first_bucket_bytes");
    cost.bucket_bytes = number(section, "bucket_bytes");
  }
  return cost;
}

VirtualOptions simulation_of(const json& section, int workers) {
  VirtualOptions options;
  const std::string clock = text(section, "gradient_clock");
  options.gradient_clock = clock == "none"      ? GradientClock::none
                           : clock == "poisson" ? GradientClock::poisson
                                                : GradientClock::duration;
  options.compute = compute_of(section, workers);
  options.network = network_of(section.at("network"));
  options.cost = cost_of(section.at("cost"));
  return options;
}

ThreadsSettings threads_of(const json& section, int workers) {
  return {per_worker(section.at("slow_workers"), workers),
          optional_of<int>(section.at("exchange_threads"))};
}

MpiSettings mpi_of(const json& section, int workers) {
  const auto or_empty = [&](const char* key) {
    return optional_of<std::string>(section.at(key)).value_or("");
  };
  MpiSettings mpi;
  mpi.launcher = text(section, "launcher");
  mpi.hosts = section.at("hosts").get<std::vector<std::string>>();
  mpi.hostfile = or_empty("hostfile");
  mpi.processes_per_host = optional_of<int>(section.at("processes_per_host"));
  mpi.arguments = section.at("arguments").get<std::vector<std::string>>();
  if (section.contains("start_seconds")) mpi.start_seconds = number(section, "start_seconds");
  mpi.go_on = section.value("on_loss", "") == "go-on";
  mpi.library_sum = section.at("all_reduce") == "library";
  mpi.slow_factors = per_worker(section.at("slow_workers"), workers);
  mpi.transport = {or_empty("ports"), or_empty("interface")};
  return mpi;
}

DriverKind driver_of(const std::string& name) {
  for (const DriverKind kind : {DriverKind::virtual_time, DriverKind::threads, DriverKind::mpi})
    if (name == driver_name(kind)) return kind;
  throw std::invalid_argument("there is no driver " + name);
}

}  // namespace

const std::vector<double>& slow_factors(const ExecutionSettings& execution) {
  if (execution.driver == DriverKind::virtual_time)
    return execution.simulation.compute.slow_factors;
  return execution.mpi ? execution.mpi->slow_factors : execution.threads.slow_factors;
}

ExecutionSettings execution_of(const json& section, int workers) {
  ExecutionSettings execution;
  execution.driver = driver_of(text(section, "driver"));
  execution.cuda = text(section, "device") == "cuda";
  execution.threads_per_worker = static_cast<int>(integer(section, "threads_per_worker"));
  execution.max_backlog = number(section, "max_backlog");
  execution.max_restarts = section.value("max_restarts", execution.max_restarts);
  execution.simulation = simulation_of(section.at("virtual"), workers);
  execution.threads = threads_of(section.at("threads"), workers);
  if (execution.driver == DriverKind::mpi) execution.mpi = mpi_of(section.at("mpi"), workers);
  return execution;
}

}  // namespace acid
