#include <fmt/ranges.h>

#include <cmath>
#include <tuple>

#include "engine/data/dataset.hpp"
#include "engine/methods/listed.hpp"
#include "engine/models/layout.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/cadence.hpp"
#include "recipes/digest.hpp"
#include "recipes/resolver.hpp"

namespace acid {

using nlohmann::json;

void Resolver::look_at_task() {
  if (draft_.sound({"workers"})) workers_ = s_["workers"]["count"];
  if (!draft_.sound({"task"})) return;
  const json& task = s_["task"];
  const DatasetEntry* entry = find_dataset(text(task["dataset"], "kind"));
  const bool says = entry != nullptr && entry->in_process;  // its errors include the remedy
  const auto facts = ask("task.dataset", says ? "" : "correct the data set's files or options",
                         [&] { return facts_.dataset(task["dataset"]); });
  if (!facts) return;
  train_size_ = facts->train_size;
  labels_ = facts->shape.labels();
  look_at_validation();
  if (facts->train_size > 0)
    plan_.examples = {*train_size_, facts->train_size - *train_size_, facts->test_size};
  plan_.read.splits = facts->splits;
  for (const DataInfo::Doubt& doubt : facts->doubts)
    warn("task.dataset", {doubt.what, doubt.remedy});
  model_ = Facts::Model{facts->dimension, 0, true, {}, {}};
  if (!task["model"].is_null() && !look_at_process(task)) return;
  if (!task["model"].is_null())
    model_ = ask("task.model", "correct the model, or choose one that fits the data set",
                 [&] { return facts_.model(task); });
  if (plan_.examples && model_) plan_.examples->has_accuracy = model_->has_accuracy;
  if (model_ && !model_->outside.empty())
    warn("task.model",
         {fmt::format("the loss depends on parameters that are not in the module, and are never "
                      "trained: {} of shape {}",
                      model_->outside.size(), fmt::join(model_->outside, ", ")),
          "put them into the module that model() gives"});
  look_at_augmentation(*facts);
  look_at_partition(*facts);
  const json& batch = task["batch_size"];
  const json& partition = task["partition"];
  const std::int64_t share = partition.is_object() && partition["kind"] != "shared"
                                 ? *train_size_ / std::max(workers_, 1)
                                 : *train_size_;
  if (batch.is_number_integer() && share > 0 && batch.get<std::int64_t>() > share)
    error("task.batch_size",
          fmt::format("a batch of {} examples is more than a worker has: {}",
                      batch.get<std::int64_t>(), share),
          "use a smaller batch, fewer workers or more data");
}

// Checks that the partition fits the data and the workers.
void Resolver::look_at_partition(const Facts::Task& facts) {
  const json &task = s_["task"], &partition = task["partition"];
  if (facts.shape.tokens)
    for (const PartitionEntry& entry : partition_catalog())
      if (entry.by_class && entry.name == text(partition, "kind"))
        error("task.partition",
              fmt::format("partition '{}' goes by the examples' classes, and the sequences of '{}' "
                          "have none",
                          entry.name, text(task["dataset"], "kind")),
              "use partition = \"contiguous\" for workers whose data differ, each with a part of "
              "the text, or \"iid\"");
  if (partition.is_object() && partition["kind"] != "shared" && workers_ > *train_size_)
    error(
        "task.partition",
        fmt::format("{} workers cannot share {} examples without overlap", workers_, *train_size_),
        "use partition = \"shared\", fewer workers or more data");
  if (!partition.is_object() || partition["kind"] != "classes" || facts.classes == 0) return;
  const std::int64_t of_each = integer(partition, "classes_per_worker");
  if (of_each > facts.classes)
    error(
        "task.partition",
        fmt::format("{} classes for each worker, and the data set has {}", of_each, facts.classes),
        fmt::format("set classes_per_worker to {} at most", facts.classes));
  else if (of_each * workers_ < facts.classes && draft_.sound({"workers"}))
    error("task.partition",
          fmt::format("{} workers with {} of {} classes each leave some without a worker", workers_,
                      of_each, facts.classes),
          fmt::format("set classes_per_worker to {} at least, or use more workers",
                      (facts.classes + workers_ - 1) / std::max(workers_, 1)));
}

// Takes the validation examples out of the training set.
void Resolver::look_at_validation() {
  json& task = s_["task"];
  if (!task.contains("validation")) return;
  const double asked = number(task, "validation");
  const double count =
      asked < 1 ? std::round(asked * static_cast<double>(*train_size_)) : std::floor(asked);
  if (asked > 1 && asked != count)
    return error("task.validation",
                 fmt::format("{} is neither a number of examples nor a share of them", asked),
                 "write a whole number, or a share below 1");
  if (count < 1 || count >= static_cast<double>(*train_size_))
    return error("task.validation",
                 fmt::format("{:.0f} of {} training examples for validation", count, *train_size_),
                 "hold out at least one, and leave some to train on");
  task["validation"] = static_cast<std::int64_t>(count);
  *train_size_ -= static_cast<std::int64_t>(count);
}

// Checks the keys that change examples or labels for acid's own models.
void Resolver::look_at_augmentation(const Facts::Task& facts) {
  const json& task = s_["task"];
  const bool process =
      task["model"].is_object() && find_model(text(task["model"], "kind"))->describe != nullptr;
  for (const char* key : {"label_noise", "feature_shift", "augmentation"})
    if (process && task.contains(key))
      error(fmt::format("task.{}", key),
            fmt::format("task.{} is for acid's own models, and the process of '{}' takes its "
                        "examples as they are",
                        key, text(task["model"], "kind")),
            fmt::format("remove {}; the file may do it itself", key));
  if (process && task.contains("label_smoothing"))
    error("task.label_smoothing",
          fmt::format("task.label_smoothing is of acid's own loss, and that of '{}' is the file's",
                      text(task["model"], "kind")),
          "remove label_smoothing; the file may smooth its labels itself");
  if (facts.shape.tokens && task.contains("label_noise"))
    error("task.label_noise", "task.label_noise changes classes, and sequences have none",
          "remove label_noise");
  if (facts.shape.tokens && task.contains("feature_shift"))
    error("task.feature_shift",
          "task.feature_shift adds noise to numbers, and tokens are not numbers",
          "remove feature_shift");
  if (task.contains("feature_shift") && text(task["partition"], "kind") == "shared")
    error("task.feature_shift",
          "task.feature_shift gives each worker's examples a noise of their own, and all workers "
          "share theirs",
          "use partition = \"iid\" or another one, or remove feature_shift");
  const bool images = facts.shape.height > 1 && facts.shape.width > 1;
  if (!process && !images && task.contains("augmentation"))
    error("task.augmentation", "task.augmentation changes images, and the examples are not images",
          "remove augmentation, or use a data set of images");
}

// Whether the task's parts can be in a Python process as requested; reports if not.
bool Resolver::look_at_process(const json& task) {
  const bool process = find_model(text(task["model"], "kind"))->describe != nullptr;
  const std::string dataset = text(task["dataset"], "kind");
  if (!process && find_dataset(dataset)->in_process) {
    error("task.dataset",
          fmt::format("the examples of a data set of kind '{}' stay in a process of its own, where "
                      "the model '{}' is not",
                      dataset, text(task["model"], "kind")),
          fmt::format("use a model of kind '{}', or another data set", dataset));
    return false;
  }
  if (find_model(text(task["model"], "kind"))->read != nullptr && draft_.sound({"execution"}) &&
      s_["execution"]["device"] != "cpu")
    error("execution.device", "a TorchScript model computes on the host's processor",
          "remove execution.device");
  if (process && draft_.sound({"execution"}) && s_["execution"]["device"] != "cpu")
    error("execution.device",
          "a model of a process chooses its device itself, and the workers' vectors stay with the "
          "host's processor",
          "remove execution.device; model() may return module.cuda()");
  return true;
}

// Checks that all workers named in the recipe exist.
void Resolver::look_at_workers() {
  if (!draft_.sound({"workers", "execution"})) return;
  const std::string known = fmt::format("workers are numbered 0 to {}", workers_ - 1);
  const Report report = [&](std::string_view path, Problem problem) {
    out_.error(place(path), std::move(problem));
  };
  const auto check = [&](std::int64_t worker, const std::string& path, const std::string& called) {
    if (worker >= workers_)
      error(path, fmt::format("{} names worker {} of {}", called, worker, workers_), known);
  };
  for (const DriverEntry& driver : driver_catalog()) {
    const std::string name(driver.name);
    if (!s_["execution"].contains(name)) continue;
    for (const auto& [worker, factor] : s_["execution"][name]["slow_workers"].items()) {
      const std::string path = fmt::format("execution.{}.slow_workers.{}", name, worker);
      check(std::stoi(worker), path, path);
    }
  }
  if (s_["execution"].contains("mpi"))
    check_room_on_hosts(s_["execution"]["mpi"], workers_, report);
  const json& model = s_["execution"]["virtual"];
  for (std::size_t i = 0; i < model["pauses"].size(); ++i)
    check(model["pauses"][i]["worker"], fmt::format("execution.virtual.pauses.{}.worker", i),
          fmt::format("execution.virtual.pauses[{}]", i));
  check_nodes_fit(model["network"], workers_, report);
  const json& links = model["network"]["edges"];
  for (std::size_t k = 0; k < links.size(); ++k) {
    const std::string path = fmt::format("execution.virtual.network.edges.{}.edge", k);
    const auto i = links[k]["edge"][0].get<std::int64_t>();
    const auto j = links[k]["edge"][1].get<std::int64_t>();
    if (i >= workers_ || j >= workers_)
      error(path, fmt::format("the link [{}, {}] names a worker of {}", i, j, workers_), known);
    else if (topology_ != nullptr && !topology_->adjacent(static_cast<int>(i), static_cast<int>(j)))
      error(path, fmt::format("[{}, {}] is not an edge of the topology", i, j),
            fmt::format("name an edge of '{}'", text(s_["topology"], "kind")));
  }
}

void Resolver::look_at_algorithm() {
  if (!draft_.sound({"algorithm"})) return;
  json& options = s_["algorithm"];
  entry_ = &algorithm_of(options);
  const auto made = ask("algorithm", "correct the method's parameters",
                        [&] { return method_of(*entry_, options, nullptr); });
  if (made && !(made->rate >= 0 && made->rate <= kMostCommunicationRate))
    error("algorithm", fmt::format("{} would meet {} times per gradient", entry_->name, made->rate),
          fmt::format("at least 0 and at most {} exchanges per worker and gradient",
                      kMostCommunicationRate));
  if (draft_.sound({"optimizer"})) look_at_steps();
  if (!made || topology_ == nullptr) return;
  if (workers_ < 2) {
    ask("algorithm.exchange", "remove exchange", [&] { return mixing_of(*made, *topology_); });
    return;
  }
  if (const auto unmet = ask("algorithm", "correct the method's parameters",
                             [&] { return unmet_need(*entry_, *made, *topology_); });
      unmet && *unmet)
    error("algorithm", **unmet, "use another topology, or other weights");
  else if (unmet)
    if (const auto bound = unmet_need(*entry_, *made, *topology_, /*margin=*/1e-5))
      warn("algorithm", {*bound + ", on the bound: noise adds up where the loss is flat",
                         "use another topology, or other weights"});
  ask("algorithm", "give this algorithm another graph with set, or choose another method", [&] {
    require_schedule_fits(*made, *topology_);
    return true;
  });
  const Stochastic sums = topology_->schedule() && made->peers == Peers::neighbours
                              ? topology_->schedule()->stochastic()
                              : Stochastic::doubly;
  if (sums == Stochastic::columns && made->message().scalars > 0 &&
      !divides_by_what_it_sends(*entry_, *made))
    error("algorithm",
          fmt::format("{} does not divide by the number that it sends: models that agree differ "
                      "after an exchange on this graph",
                      entry_->name),
          "divide as sgp does, in every exchange, or use another form of the topology");
  if (sums == Stochastic::rows && averages_kept(*entry_))
    warn("algorithm", {fmt::format("{} keeps a sum over all workers, and exchanges on this graph "
                                   "change it: the weights of what a worker sends do not sum to 1",
                                   entry_->name),
                       "use another form of the topology, or a method without such a sum"});
  if (!topology_->schedule() && !topology_->is_complete() && made->uniform_weights)
    ask("algorithm.weights", "write weights = \"metropolis\", or choose a regular graph",
        [&] { return uniform_weights(*topology_); });
  if (made->peers == Peers::neighbours) choose_exchange(*made);
}

// Checks gradient_clock = "none": exchanges only.
void Resolver::look_at_gradients() {
  if (!draft_.sound({"execution"})) return;
  const std::string path = "execution.virtual.gradient_clock";
  if (s_["execution"]["virtual"]["gradient_clock"] != "none") return;
  if (!simulates(text(s_["execution"], "driver")))
    error(path,
          fmt::format("gradient_clock = \"none\" is for the virtual driver, not for {}",
                      text(s_["execution"], "driver")),
          "use driver = \"virtual\", or remove gradient_clock");
  consensus_only_ = true;
  if (entry_ != nullptr && !meets(entry_->peers))
    error(
        path,
        fmt::format("{} has a gradient in every round: without them nothing happens", entry_->name),
        "use gradient_clock = \"duration\", or an algorithm with pairwise exchanges");
  if (draft_.sound({"budget"}) && !s_["budget"].contains("normalised_time"))
    error("budget", "a run without gradients cannot be counted in epochs or gradients",
          "say how long it is: [budget] with normalised_time");
}

// The longest or approximate duration in seconds of a run of normalised `time`; 0: unknown.
static double known_seconds(const json& settings, bool is_executed, double time) {
  const json& limit = settings["budget"]["seconds"];
  const double most = limit.is_null() ? 0 : limit.get<double>();
  if (!is_executed || !simulates(text(settings["execution"], "driver"))) return most;
  time *= number(settings["execution"]["virtual"]["network"], "gradient_seconds");
  return most > 0 ? std::min(most, time) : time;
}

void Resolver::look_at_cadence() {
  const Report report = [&](std::string_view path, Problem problem) {
    out_.error(place(path), std::move(problem));
  };
  if (!draft_.sound({"task", "workers", "budget"}) || !train_size_) return;
  const json& batch_size = s_["task"]["batch_size"];
  const Pace pace{.workers = workers_,
                  .train_size = *train_size_,
                  .batch_size = batch_size.is_null() ? 0 : batch_size.get<std::int64_t>()};
  look_at_target();
  if (!resolve_budget(s_["budget"], pace, report)) return;
  if (draft_.sound({"optimizer"})) look_at_schedule(pace, report);
  worker_time_ = s_["budget"]["gradients"].get<double>();
  json& evaluation = s_["evaluation"];
  const bool local = s_["task"]["buffers"] == "local" && model_ && model_->buffers > 0;
  const EvaluationCost cost =
      plan_.examples ? evaluation_cost(*plan_.examples, labels_, pace, local ? workers_ : 1)
                     : EvaluationCost{};
  if (draft_.sound({"evaluation"}))
    resolve_evaluation(evaluation, pace, cost, worker_time_ / workers_,
                       known_seconds(s_, draft_.sound({"execution"}), worker_time_ / workers_),
                       report);
  if (draft_.share < 1) {
    shorten(s_["budget"], evaluation, draft_.share, pace);
    worker_time_ = s_["budget"]["gradients"].get<double>();
  }
  if (consensus_only_) s_["budget"]["gradients"] = 0;
  plan_.budget_gradients = s_["budget"]["gradients"];
  if (pace.train_size > 0 && pace.batch_size > 0) plan_.gradients_per_epoch = pace.gradients(1);
  if (!consensus_only_) evaluation_cost_ = cost;
  if (draft_.sound({"checkpoint"}))
    resolve_checkpoint(s_["checkpoint"], pace, worker_time_ / workers_, report);
}

// Decides whether the event log is kept: always for runs against the wall clock, which cannot be
// verified without it.
void Resolver::look_at_record() {
  if (!draft_.sound({"execution", "record"})) return;
  json& events = s_["record"]["events"];
  const bool happens_once = !simulates(text(s_["execution"], "driver"));
  if (happens_once && events == false)
    error("record.events",
          "record.events = false: runs on threads and under MPI are proven from their events",
          "remove the key, or use driver = \"virtual\", which is proven without them");
  if (events.is_null()) events = happens_once;
}

PlannedRun Resolver::run(std::uint64_t seed) {
  PlannedRun planned = plan_;
  planned.seed = seed;
  json& options = planned.settings["algorithm"];
  // Realised numbers differ between seeds. All else is the same for every seed.
  const bool of_seed = numbers_are_of_seed(options);
  if (of_seed || !method_) {
    std::optional<Spectral> spectral;
    if (workers_ > 1 && plan_.chi1)
      spectral = saturated_ ? saturated_
                 : of_seed  ? realised(seed)
                            : facts_.spectral(workers_, s_["topology"],
                                              method_of(*entry_, options, nullptr).rate);
    method_ = ask("algorithm", "correct the method's parameters",
                  [&] { return method_of(*entry_, options, spectral ? &*spectral : nullptr); });
    if (!method_) return planned;
  }
  for (const auto& [name, value] : method_->derived)
    options[std::string(name)] = planned.numbers[std::string(name)] = value;
  const auto digests = ask("task.dataset", "make the data files readable", [&] {
    if (of_seed || canonical_.is_null()) {
      canonical_ = without_paths(planned.settings, facts_, &files_);
      json group = canonical_;
      if (of_seed) group["algorithm"] = s_["algorithm"];
      group_ = canonical_digest(group);
    }
    canonical_["seed"] = seed;
    return std::pair(canonical_digest(canonical_), group_);
  });
  planned.settings["seed"] = seed;
  if (!digests) return planned;
  std::tie(planned.digest, planned.group) = *digests;
  planned.read.files = files_;
  planned.id = planned.digest.substr(0, 12);
  return planned;
}

}  // namespace acid
