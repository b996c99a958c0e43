#include "worker/compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <numeric>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/splits.hpp"
#include "engine/models/blas_core.hpp"
#include "engine/models/model.hpp"
#include "engine/models/process_task.hpp"
#include "settings/run_spec.hpp"
#include "worker/device.hpp"
#include "worker/scratch.hpp"

namespace acid {
namespace {

using nlohmann::json;

// Gradients below this cost are cheaper to compute than to hand to another thread.
constexpr double kCheapGradient = 1 << 17;  // multiply-adds

bool cheap(const AnalyticEntry& entry, const DataInfo& info, int batch_size) {
  return static_cast<double>(info.dimension) * (entry.uses_batches ? batch_size : 1) <
         kCheapGradient;
}

int lanes_of(const ComposedRun& run, std::optional<int> rank) {
  if (rank) return *rank == 0 ? 2 : 1;  // only rank 0 evaluates
  if (!run.settings.execution.entry().simulates) return run.spec.workers + 1;
  return std::max(1, run.options.virtual_time.threads);
}

// The device's name in LibTorch.
std::string device_name(const ComposedRun& run) {
  return run.cuda.is_null() ? "cpu" : fmt::format("cuda:{}", run.device);
}

// Whether a core is idle and can gather minibatches. Under MPI this assumes that all workers share
// this host.
bool spare_core(const ComposedRun& run, int cores) {
  const int computing = run.settings.execution.entry().simulates ? run.options.virtual_time.threads
                                                                 : run.spec.workers;
  return computing * run.spec.threads_per_worker < cores;
}

void compose_process(ComposedRun& run, const json& dataset, int lanes) {
  const TaskSettings& task = run.settings.task;
  RunSpec& spec = run.spec;
  run.memory = std::make_unique<SharedMemory>();
  spec.backend = run.memory.get();
  ProcessTask made = make_process_task(*run.memory, {.model = task.model,
                                                     .dataset = dataset,
                                                     .partition = task.partition,
                                                     .validation = task.validation,
                                                     .batch_size = task.batch_size.value_or(1),
                                                     .workers = spec.workers,
                                                     .threads_per_worker = spec.threads_per_worker,
                                                     .lanes = lanes,
                                                     .seeds = spec.seeds});
  run.objective = std::move(made.objective);
  run.model_runtime = std::move(made.environment);
  for (const FileDigest& file : made.files) run.file_digests.emplace_back(file.path, file.sha256);
  if (!made.warning.empty()) run.remarks.push_back(made.warning);
}

// `dataset`: the task's, with the paths that are to be read.
void compose_objective(ComposedRun& run, const json& dataset, int cores, std::optional<int> rank) {
  const TaskSettings& task = run.settings.task;
  const int batch_size = task.batch_size.value_or(1);
  const RunSpec& spec = run.spec;
  run.options.virtual_time.threads = std::min(cores, spec.workers);
  const std::string kind = text(task.dataset, "kind");
  if (const AnalyticEntry* entry = find_analytic(kind)) {
    const DataInfo info = entry->inspect(dataset);
    if (cheap(*entry, info, batch_size)) run.options.virtual_time.threads = 0;
    for (const std::string& file : info.files)
      run.file_digests.emplace_back(file, sha256_file(file));
    run.objective = entry->make(dataset, spec.workers, batch_size, task.partition, task.validation,
                                spec.seeds, lanes_of(run, rank));
    return;
  }
  if (find_model(text(task.model, "kind"))->describe != nullptr)
    return compose_process(run, dataset, lanes_of(run, rank));
  const DatasetEntry* entry = find_dataset(kind);
  ACID_ASSERT(entry != nullptr, "data set {}", kind);
  choose_blas_core();  // it changes the environment, which reading looks at
  // LibTorch takes as long to load as a data set to read.
  std::future<Dataset> reading =
      std::async(std::launch::async, [&] { return entry->load(dataset); });
  ModelRuntime* runtime = nullptr;
  std::exception_ptr missing;
  try {
    runtime = &load_model_runtime();
  } catch (const Error&) {
    missing = std::current_exception();
  }
  Dataset data = reading.get();  // what is wrong with the data is told first
  for (const FileDigest& file : data.files) run.file_digests.emplace_back(file.path, file.sha256);
  if (task.validation > 0)
    data = hold_out(std::move(data), task.validation, validation_key(task.dataset));
  if (find_model(text(task.model, "kind"))->read != nullptr)
    run.file_digests.emplace_back(text(task.model, "path"), sha256_file(text(task.model, "path")));
  if (task.label_noise > 0)
    data = with_label_noise(std::move(data), task.label_noise,
                            spec.seeds.derived(Purpose::label_noise));
  data.augmentation = task.augmentation;
  data.label_smoothing = task.label_smoothing;
  data.feature_shift = task.feature_shift;
  if (missing) std::rethrow_exception(missing);
  // Pinned here, so that the recorded number is the one in effect.
  runtime->pin_threads(spec.threads_per_worker);
  run.objective = make_supervised(*runtime, task.model, std::move(data), task.partition, batch_size,
                                  spec.workers, spec.threads_per_worker, device_name(run),
                                  spec.seeds, lanes_of(run, rank), spare_core(run, cores));
  run.model_runtime = runtime->environment();
}

/// Says so where a minibatch is larger than what one of the workers has.
void remark_on_few_examples(ComposedRun& run) {
  const TaskSettings& task = run.settings.task;
  const std::int64_t batch = task.batch_size.value_or(1);
  std::int64_t fewest = batch, all = 0;
  std::size_t worker = 0;
  const auto holdings = run.objective->holdings();
  for (std::size_t w = 0; w < holdings.size(); ++w) {
    const std::int64_t has = std::reduce(holdings[w].begin(), holdings[w].end());
    all += has;
    if (has >= fewest) continue;
    fewest = has;
    worker = w;
  }
  if (fewest < batch)
    run.remarks.push_back(
        fmt::format("worker {} has {} of the {} training examples, fewer than a batch of {}, which "
                    "holds some several times",
                    worker, fewest, all, batch));
}

void add_edges_file(ComposedRun& run, const json& topology) {
  const auto edges = topology.find("edges");
  if (edges == topology.end() || !edges->is_string()) return;
  const auto file = edges->get<std::string>();
  run.file_digests.emplace_back(file, sha256_file(file));
}

}  // namespace

std::unique_ptr<ComposedRun> compose(RunSettings settings, int cores, std::optional<int> rank) {
  auto run = std::make_unique<ComposedRun>();
  run->read_since = std::time(nullptr);
  run->settings = std::move(settings);
  const RunSettings& asked = run->settings;
  const ExecutionSettings& execution = asked.execution;
  run->topology = std::make_unique<Topology>(topology_of(asked));
  run->spec = spec_from(asked, *run->topology);
  run->options.virtual_time = execution.simulation;
  // Where cores are idle, half as many exchanges as workers can be in flight at once.
  run->options.threads = {
      execution.slow_factors,
      execution.exchange_threads.value_or(std::clamp(cores - asked.workers, 0, asked.workers / 2))};
  if (execution.cuda) compose_cuda(*run, rank);
  ScratchCopies copies = ScratchCopies::of_this_process();
  compose_objective(*run, copies.local(asked.task.dataset), cores, rank);
  remark_on_few_examples(*run);
  for (auto& [path, digest] : run->file_digests) path = copies.original(path);
  run->remarks.insert(run->remarks.end(), copies.remarks().begin(), copies.remarks().end());
  add_edges_file(*run, asked.topology);
  return run;
}

nlohmann::json derived_seeds(const RunSettings& settings) {
  const Seeds seeds = settings.seeds();
  json all = json::object();
  for (const Purpose purpose : {Purpose::init, Purpose::gossip_clock, Purpose::pairing,
                                Purpose::partition, Purpose::training_sample})
    all[std::string(purpose_name(purpose))] = seeds.derived(purpose);
  std::vector<Purpose> of_each{Purpose::data_order, Purpose::gradient_noise, Purpose::compute_model,
                               Purpose::initial_spread};
  const json& dataset = settings.task.dataset;
  if (dataset.contains("seed"))
    for (const auto& [part, name] : {std::pair(DataPart::train, "data_set_train"),
                                     {DataPart::test, "data_set_test"},
                                     {DataPart::task, "data_set_task"}})
      all[name] = data_key(dataset["seed"].get<std::uint64_t>(), part);
  else if (find_analytic(text(dataset, "kind")) != nullptr)
    of_each.push_back(Purpose::data_set);
  if (settings.task.validation > 0)
    all[std::string(purpose_name(Purpose::validation))] = validation_key(dataset);
  if (settings.task.label_noise > 0)
    all[std::string(purpose_name(Purpose::label_noise))] = seeds.derived(Purpose::label_noise);
  if (settings.task.feature_shift > 0)
    all[std::string(purpose_name(Purpose::feature_shift))] = seeds.derived(Purpose::feature_shift);
  if (settings.task.augmentation.any()) of_each.push_back(Purpose::augmentation);
  const json& model = settings.task.model;
  if (model.is_object() && find_model(text(model, "kind"))->describe != nullptr)
    of_each.push_back(Purpose::dropout);
  if (settings.topology.contains("seed"))
    all[std::string(purpose_name(Purpose::topology))] =
        derive_seed(settings.topology["seed"].get<std::uint64_t>(), 0, Purpose::topology);
  json& each = all["workers"];
  for (const Purpose purpose : of_each) {
    json& list = each[std::string(purpose_name(purpose))];
    for (int w = 0; w < settings.workers; ++w)
      list.push_back(seeds.derived(purpose, static_cast<std::uint32_t>(w)));
  }
  return all;
}

}  // namespace acid
