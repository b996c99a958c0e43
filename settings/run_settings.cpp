#include "settings/run_settings.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/methods/listed.hpp"
#include "settings/sections.hpp"

namespace acid {
namespace {

using nlohmann::json;

double or_never(const json& value) { return optional_of<double>(value).value_or(kNever); }

TaskSettings task_of(const json& section) {
  return {.dataset = section.at("dataset"),
          .model = section.at("model"),
          .partition = section.at("partition"),
          .batch_size = optional_of<int>(section.at("batch_size")),
          .validation = section.value("validation", std::int64_t{0}),
          .label_noise = section.value("label_noise", 0.0),
          .label_smoothing = section.value("label_smoothing", 0.0),
          .feature_shift = section.value("feature_shift", 0.0),
          .augmentation = section.contains("augmentation")
                              ? augmentation_of(section["augmentation"])
                              : Augmentation{},
          .average_buffers = section.at("buffers") == "average"};
}

StreamSettings streams_of(const json& section) {
  const auto given = section.get<std::map<std::string, std::uint64_t>>();
  const auto fixed = [&](const char* name) {
    const auto found = given.find(name);
    return found == given.end() ? std::nullopt : std::optional(found->second);
  };
  return {fixed("init"), fixed("data"), fixed("gossip"), fixed("compute")};
}

OptimizerSettings optimizer_of(const json& section) {
  OptimizerSettings optimizer;
  optimizer.weight_decay = number(section, "weight_decay");
  optimizer.decay_one_dimensional = section.at("decay_one_dimensional").get<bool>();
  optimizer.no_decay = section.value("no_decay", std::vector<std::string>{});
  if (section.contains("clip_norm")) optimizer.clip_norm = number(section, "clip_norm");
  const bool muon = section.at("kind") == "muon";
  if (muon) {
    optimizer.kind = OptimizerKind::muon;
    optimizer.sgd_tensors = section.at("sgd_tensors").get<std::vector<std::string>>();
    optimizer.sgd_scale = number(section, "sgd_scale");
  }
  if (muon || section.at("kind") == "sgd") {
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

Schedule schedule_of(const json& section) {
  Schedule schedule;
  schedule.warmup = number(section, "warmup");
  if (section.contains("warmup_from")) schedule.warmup_from = number(section, "warmup_from");
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

Cadence cadence_of(const json& section) {
  Cadence cadence;
  cadence.consensus_every = or_never(section.at("consensus_every_time"));
  cadence.evaluate_every = or_never(section.at("every_time"));
  if (section.contains("every_seconds")) cadence.every_seconds = number(section, "every_seconds");
  const std::string when = text(section, "workers");
  cadence.workers = when == "never"    ? WorkerEvaluation::never
                    : when == "always" ? WorkerEvaluation::always
                                       : WorkerEvaluation::at_end;
  return cadence;
}

CheckpointSettings checkpoint_of(const json& section) {
  return {optional_of<double>(section.at("every_time")),
          optional_of<double>(section.at("every_seconds")), section.at("keep").get<int>()};
}

RecordSettings record_of(const json& section) {
  RecordSettings record;
  if (const json& metrics = section.at("metrics"); metrics.is_array())
    record.metrics = metrics.get<std::set<std::string, std::less<>>>();
  record.events = section.at("events").get<bool>();
  return record;
}

RunSettings settings_of(const json& resolved) {
  RunSettings settings;
  settings.workers = static_cast<int>(integer(resolved.at("workers"), "count"));
  settings.topology = resolved.at("topology");
  settings.algorithm = resolved.at("algorithm");
  settings.task = task_of(resolved.at("task"));
  const json& optimizer = resolved.at("optimizer");
  settings.optimizer = optimizer_of(optimizer);
  const json& schedule = optimizer.at("schedule");
  settings.schedule = schedule_of(schedule);
  settings.schedule.learning_rate = number(optimizer, "learning_rate");
  settings.scales_with_workers = schedule.at("scale_with_workers") == "linear";
  if (settings.scales_with_workers && settings.task.batch_size)
    settings.schedule.scale = static_cast<double>(*settings.task.batch_size) * settings.workers /
                              number(schedule, "reference_batch");
  settings.budget = budget_of(resolved.at("budget"));
  settings.cadence = cadence_of(resolved.at("evaluation"));
  settings.checkpoint = checkpoint_of(resolved.at("checkpoint"));
  settings.record = record_of(resolved.at("record"));
  settings.execution = execution_of(resolved.at("execution"), settings.workers);
  settings.seed = resolved.value("seed", settings.seed);
  settings.streams = streams_of(resolved.at("streams"));
  return settings;
}

[[noreturn]] void refuse(const std::exception& error) {
  throw StoreError(
      fmt::format("settings of a run are not as this acid writes them ({}): another version wrote "
                  "them, or somebody altered the database; 'acid run RECIPE' stores them again",
                  error.what()));
}

template <class Fill>
auto filled(Fill fill) {
  try {
    return fill();
  } catch (const json::exception& error) {
    refuse(error);
  } catch (const std::logic_error& error) {  // what names a worker names none
    refuse(error);
  }
}

// In the order of DriverKind.
constexpr std::array<std::string_view, 3> kDriverNames = {"virtual", "threads", "mpi"};

}  // namespace

Seeds StreamSettings::seeds(std::uint64_t run_seed) const {
  Seeds seeds(run_seed);
  seeds.init = init.value_or(run_seed);
  seeds.data = data.value_or(run_seed);
  seeds.gossip = gossip.value_or(run_seed);
  seeds.compute = compute.value_or(run_seed);
  return seeds;
}

std::string graph_name(const json& topology) {
  return topology.is_null() ? "any" : text(topology, "kind");
}

RunSettings settings_from(const json& resolved) {
  return filled([&] { return settings_of(resolved); });
}

TaskSettings task_from(const json& resolved) {
  return filled([&] { return task_of(resolved.at("task")); });
}

std::string_view driver_name(DriverKind driver) {
  return kDriverNames[static_cast<std::size_t>(driver)];
}

bool goes_on_without_lost(const RunSettings& settings) {
  if (!settings.execution.mpi || !settings.execution.mpi->go_on) return false;
  return meets(algorithm_of(settings.algorithm).peers);
}

}  // namespace acid
