#include "worker/compose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/splits.hpp"
#include "engine/models/model.hpp"
#include "worker/device.hpp"

namespace acid {
namespace {

using nlohmann::json;

double or_never(const json& value) { return value.is_null() ? kNever : value.get<double>(); }

std::vector<double> per_worker(const json& factors, int workers) {
  if (factors.empty()) return {};
  std::vector<double> list(static_cast<std::size_t>(workers), 1.0);
  for (const auto& [worker, factor] : factors.items())
    list.at(std::stoul(worker)) = factor.get<double>();
  return list;
}

Seeds seeds_of(const json& settings) {
  Seeds seeds(settings.at("seed").get<std::uint64_t>());
  const json& fixed = settings.at("streams");
  seeds.init = fixed.value("init", seeds.init);
  seeds.data = fixed.value("data", seeds.data);
  seeds.gossip = fixed.value("gossip", seeds.gossip);
  seeds.compute = fixed.value("compute", seeds.compute);
  return seeds;
}

OptimizerSettings optimizer_of(const json& section) {
  OptimizerSettings optimizer;
  optimizer.weight_decay = number(section, "weight_decay");
  optimizer.decay_one_dimensional = section.at("decay_one_dimensional").get<bool>();
  if (section.at("kind") == "sgd") {
    optimizer.momentum = number(section, "momentum");
    optimizer.nesterov = section.at("nesterov").get<bool>();
    return optimizer;
  }
  optimizer.kind = section.at("kind") == "adam" ? OptimizerKind::adam : OptimizerKind::adamw;
  optimizer.beta1 = number(section, "beta1");
  optimizer.beta2 = number(section, "beta2");
  optimizer.epsilon = number(section, "epsilon");
  return optimizer;
}

Schedule schedule_of(const json& settings) {
  const json& optimizer = settings.at("optimizer");
  const json& section = optimizer.at("schedule");
  Schedule schedule;
  schedule.learning_rate = number(optimizer, "learning_rate");
  schedule.warmup = number(section, "warmup");
  const std::string kind = text(section, "kind");
  if (kind == "step") {
    schedule.kind = ScheduleKind::step;
    schedule.milestones = section.at("milestones").get<std::vector<double>>();
    schedule.gamma = number(section, "gamma");
  } else if (kind == "cosine") {
    schedule.kind = ScheduleKind::cosine;
    schedule.minimum = number(section, "minimum");
  } else if (kind == "inverse-sqrt") {
    schedule.kind = ScheduleKind::inverse_sqrt;
  }
  const json& batch = settings.at("task").at("batch_size");
  if (section.at("scale_with_workers") == "linear" && batch.is_number())
    schedule.scale = batch.get<double>() * number(settings.at("workers"), "count") /
                     number(section, "reference_batch");
  return schedule;
}

Budget budget_of(const json& section) {
  Budget budget;
  budget.gradients = integer(section, "gradients");
  budget.normalised_time = or_never(section.at("normalised_time"));
  budget.seconds = or_never(section.at("seconds"));
  budget.bytes = or_never(section.at("bytes"));
  if (const json& target = section.at("target"); !target.is_null())
    budget.target = Budget::Target{text(target, "metric"), number(target, "value")};
  return budget;
}

WorkerEvaluation worker_evaluation_of(const std::string& when) {
  return when == "never"    ? WorkerEvaluation::never
         : when == "always" ? WorkerEvaluation::always
                            : WorkerEvaluation::at_end;
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
  const json& bandwidth = section.at("bandwidth_bytes_per_second");
  return {number(section, "latency_seconds"), bandwidth.is_null() ? 0 : bandwidth.get<double>()};
}

NetworkModel network_of(const json& section) {
  NetworkModel network;
  network.link = link_of(section);
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

VirtualOptions virtual_options_of(const json& section, int workers) {
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

void compose_mpi(ComposedRun& run, const json& section) {
  const auto or_empty = [&](const char* key) {
    return section.at(key).is_null() ? std::string() : text(section, key);
  };
  run.mpi_slow_factors = per_worker(section.at("slow_workers"), run.spec.workers);
  run.mpi_library_sum = section.at("all_reduce") == "library";
  run.mpi_goes_on = section.value("on_loss", "") == "go-on" && run.spec.method.has_meetings();
  run.mpi_transport = {or_empty("ports"), or_empty("interface")};
}

// Gradients this cheap cost less than handing them to another thread.
constexpr double kCheapGradient = 1 << 17;  // multiply-adds

bool cheap(const AnalyticEntry& entry, const AnalyticEntry::Info& info, int batch_size) {
  return static_cast<double>(info.dimension) * (entry.uses_batches ? batch_size : 1) <
         kCheapGradient;
}

int lanes_of(const ComposedRun& run, std::optional<int> rank) {
  if (rank) return *rank == 0 ? 2 : 1;  // Rank 0 alone evaluates.
  if (run.driver != DriverKind::virtual_time) return run.spec.workers + 1;
  return std::max(1, run.options.virtual_time.threads);
}

// As the models know it.
std::string device_name(const ComposedRun& run) {
  return run.cuda.is_null() ? "cpu" : fmt::format("cuda:{}", run.device);
}

// Whether some core has nothing else to do than gather minibatches. Under MPI all workers may share
// this host.
bool spare_core(const ComposedRun& run, int threads_per_worker, int cores) {
  const int computing =
      run.driver == DriverKind::virtual_time ? run.options.virtual_time.threads : run.spec.workers;
  return computing * threads_per_worker < cores;
}

void compose_objective(ComposedRun& run, const json& settings, int cores, std::optional<int> rank) {
  const json& task = settings.at("task");
  const json& dataset = task.at("dataset");
  const json& batch = task.at("batch_size");
  const int batch_size = batch.is_null() ? 1 : batch.get<int>();
  const json& partition = task.at("partition");
  const RunSpec& spec = run.spec;
  run.options.virtual_time.threads = std::min(cores, spec.workers);
  if (const AnalyticEntry* entry = find_analytic(text(dataset, "kind"))) {
    const AnalyticEntry::Info info = entry->inspect(dataset);
    if (cheap(*entry, info, batch_size)) run.options.virtual_time.threads = 0;
    for (const std::string& file : info.files)
      run.file_digests.emplace_back(file, sha256_file(file));
    run.objective =
        entry->make(dataset, spec.workers, batch_size, partition, spec.seeds, lanes_of(run, rank));
    return;
  }
  const DatasetEntry* entry = find_dataset(text(dataset, "kind"));
  ACID_ASSERT(entry != nullptr, "data set {}", text(dataset, "kind"));
  Dataset data = entry->load(dataset);
  for (const FileDigest& file : data.files) run.file_digests.emplace_back(file.path, file.sha256);
  ModelRuntime& runtime = load_model_runtime();
  const json& execution = settings.at("execution");
  const int threads_per_worker = static_cast<int>(integer(execution, "threads_per_worker"));
  runtime.pin_threads(threads_per_worker);  // so that what is recorded is what is in effect
  run.objective = make_supervised(runtime, task.at("model"), std::move(data), partition, batch_size,
                                  spec.workers, threads_per_worker, device_name(run), spec.seeds,
                                  lanes_of(run, rank), spare_core(run, threads_per_worker, cores));
  run.model_runtime = runtime.environment();
}

void add_edges_file(ComposedRun& run, const json& topology) {
  const auto edges = topology.find("edges");
  if (edges == topology.end() || !edges->is_string()) return;
  const auto file = edges->get<std::string>();
  run.file_digests.emplace_back(file, sha256_file(file));
}

}  // namespace

std::unique_ptr<ComposedRun> compose(const nlohmann::json& settings, int cores,
                                     std::optional<int> rank) {
  auto run = std::make_unique<ComposedRun>();
  RunSpec& spec = run->spec;
  spec.workers = static_cast<int>(integer(settings.at("workers"), "count"));
  run->topology = std::make_unique<Topology>(make_topology(spec.workers, settings.at("topology")));
  spec.topology = run->topology.get();
  const json& algorithm = settings.at("algorithm");
  const AlgorithmEntry* entry = find_algorithm(text(algorithm, "kind"));
  ACID_ASSERT(entry != nullptr, "algorithm {}", text(algorithm, "kind"));
  spec.method = entry->make(algorithm, nullptr);
  spec.optimizer = optimizer_of(settings.at("optimizer"));
  spec.schedule = schedule_of(settings);
  spec.budget = budget_of(settings.at("budget"));
  const json& evaluation = settings.at("evaluation");
  spec.cadence.consensus_every = or_never(evaluation.at("consensus_every_time"));
  spec.cadence.evaluate_every = or_never(evaluation.at("every_time"));
  if (evaluation.contains("every_seconds"))
    spec.cadence.every_seconds = number(evaluation, "every_seconds");
  spec.cadence.workers = worker_evaluation_of(text(evaluation, "workers"));
  spec.seeds = seeds_of(settings);
  const json& execution = settings.at("execution");
  spec.max_backlog = number(execution, "max_backlog");
  spec.threads_per_worker = static_cast<int>(integer(execution, "threads_per_worker"));
  spec.keep_events = settings.at("record").at("events").get<bool>();
  spec.average_buffers = settings.at("task").at("buffers") == "average";
  if (execution.at("driver") == "threads") run->driver = DriverKind::threads;
  if (execution.at("driver") == "mpi") run->driver = DriverKind::mpi;
  run->options.virtual_time = virtual_options_of(execution.at("virtual"), spec.workers);
  const json& threads = execution.at("threads");
  run->options.threads.slow_factors = per_worker(threads.at("slow_workers"), spec.workers);
  const json& exchangers = threads.at("exchange_threads");
  // Where cores are idle, half as many exchanges as workers can be in flight at once.
  run->options.threads.exchange_threads =
      exchangers.is_null() ? std::clamp(cores - spec.workers, 0, spec.workers / 2)
                           : exchangers.get<int>();
  if (execution.contains("mpi")) compose_mpi(*run, execution.at("mpi"));
  compose_device(*run, text(execution, "device"), rank);
  compose_objective(*run, settings, cores, rank);
  add_edges_file(*run, settings.at("topology"));
  return run;
}

nlohmann::json derived_seeds(const json& settings, const Seeds& seeds, int workers) {
  json all = json::object();
  for (const Purpose purpose : {Purpose::init, Purpose::gossip_clock, Purpose::pairing,
                                Purpose::partition, Purpose::training_sample})
    all[std::string(purpose_name(purpose))] = seeds.derived(purpose);
  std::vector<Purpose> of_each{Purpose::data_order, Purpose::gradient_noise, Purpose::compute_model,
                               Purpose::initial_spread};
  const json& dataset = settings.at("task").at("dataset");
  if (dataset.contains("seed"))
    for (const auto& [part, name] : {std::pair(DataPart::train, "data_set_train"),
                                     {DataPart::test, "data_set_test"},
                                     {DataPart::task, "data_set_task"}})
      all[name] = data_key(dataset["seed"].get<std::uint64_t>(), part);
  else if (find_analytic(text(dataset, "kind")) != nullptr)
    of_each.push_back(Purpose::data_set);
  const json& topology = settings.at("topology");
  if (topology.contains("seed"))
    all[std::string(purpose_name(Purpose::topology))] =
        derive_seed(topology["seed"].get<std::uint64_t>(), 0, Purpose::topology);
  json& each = all["workers"];
  for (const Purpose purpose : of_each) {
    json& list = each[std::string(purpose_name(purpose))];
    for (int w = 0; w < workers; ++w)
      list.push_back(seeds.derived(purpose, static_cast<std::uint32_t>(w)));
  }
  return all;
}

}  // namespace acid
