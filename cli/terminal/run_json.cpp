#include "cli/terminal/run_json.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/terminal/session.hpp"
#include "cli/terminal/table.hpp"
#include "engine/methods/method.hpp"
#include "reports/known_metrics.hpp"
#include "reports/realised_rate.hpp"
#include "reports/tags.hpp"

namespace acid {
namespace {

using nlohmann::json;

json null_if_empty(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json attempts_of(const RunDetail& run) {
  json attempts = json::array();
  for (const AttemptRow& attempt : run.attempts)
    attempts.push_back(
        {{"number", attempt.number},
         {"host", attempt.host},
         {"pid", attempt.pid},
         {"started", null_if_empty(attempt.started)},
         {"finished", null_if_empty(attempt.finished)},
         {"outcome", null_if_empty(attempt.outcome)},
         {"message", attempt.message},
         {"wall_seconds", attempt.wall_seconds},
         {"resumed_from", attempt.resumed_from > 0 ? json(attempt.resumed_from) : json(nullptr)},
         {"changed", attempt.changed.is_object() ? attempt.changed : json::object()},
         {"environment", attempt.environment}});
  return attempts;
}

json checkpoints_of(const RunDetail& run) {
  json checkpoints = json::array();
  for (const CheckpointRow& checkpoint : run.checkpoints)
    checkpoints.push_back({{"number", checkpoint.number},
                           {"attempt", checkpoint.attempt},
                           {"step", checkpoint.step},
                           {"gradients", checkpoint.position.gradients},
                           {"normalised_time", checkpoint.position.normalised_time},
                           {"seconds", checkpoint.position.seconds},
                           {"path", checkpoint.path},
                           {"sha256", checkpoint.sha256},
                           {"bytes", checkpoint.bytes},
                           {"created", null_if_empty(checkpoint.created)},
                           {"removed", checkpoint.removed}});
  return checkpoints;
}

json verifications_of(const RunDetail& run) {
  json verifications = json::array();
  for (const VerificationRow& verification : run.verifications)
    verifications.push_back(
        {{"time", verification.time},
         {"host", verification.host},
         {"equal", verification.equal},
         {"message", verification.message},
         {"altered", null_if_empty(verification.altered)},
         {"unreadable", null_if_empty(verification.unreadable)},
         {"from", verification.from ? json(*verification.from) : json(nullptr)}});
  return verifications;
}

json topology_of(const RunDetail& run) {
  json topology{{"kind", run.summary.topology}, {"workers", run.summary.workers}};
  std::vector<std::string> names{"chi1", "chi2", "schedule", "agreement"};
  for (const Shown& shown : shown_by_any()) names.emplace_back(shown.key);
  for (const std::string& name : names)
    topology[name] = run.plan.is_object() ? run.plan.value(name, json(nullptr)) : json(nullptr);
  if (run.settings.contains("topology")) topology["settings"] = run.settings["topology"];
  const bool saturated = saturates(run.settings);
  json edges = json::array();
  if (run.result)
    for (const auto& edge : run.result->edges) {
      // Realised rate: exchanges per unit of normalised time, comparable with the nominal one.
      const double time = run.result->position.normalised_time;
      edges.push_back(
          {{"i", edge.i},
           {"j", edge.j},
           {"nominal", saturated ? json(nullptr) : json(edge.nominal)},
           {"realised", time > 0 ? json(static_cast<double>(edge.count) / time) : json(nullptr)},
           {"exchanges", edge.count}});
    }
  topology["edges"] = edges;
  return topology;
}

// Null before a run has finished, and for a method without exchanges.
json realised_of(const AttemptResult& result) {
  const bool exchanged = result.exchanges_drawn > 0;
  const auto count = [&](std::int64_t value) { return exchanged ? json(value) : json(nullptr); };
  return {{"exchanges_per_gradient", exchanged ? json(result.realised_rate) : json(nullptr)},
          {"chi1", or_null(result.realised_chi1)},
          {"chi2", or_null(result.realised_chi2)},
          {"exchanges_drawn", count(result.exchanges_drawn)},
          {"exchanges_done", count(result.exchanges_done)},
          {"exchanges_waiting", count(result.exchanges_waiting)},
          {"samples_skipped", or_null(result.samples_skipped)},
          {"evaluations_skipped", or_null(result.evaluations_skipped)},
          {"checkpoints_skipped", or_null(result.checkpoints_skipped)}};
}

json log_of(const RunDetail& run) {
  constexpr std::array kNames{"info", "warning", "error"};
  json log = json::array();
  for (const LogLine& line : run.log)
    log.push_back({{"time", line.time},
                   {"severity", kNames[static_cast<std::size_t>(line.severity)]},
                   {"text", line.text}});
  return log;
}

}  // namespace

json to_json(const RunSummary& run) {
  return {{"id", run.id},
          {"experiment", run.experiment},
          {"experiment_name", run.experiment_name},
          {"role", run.is_search ? "search" : ""},
          {"algorithm", run.algorithm},
          {"label", run.label},
          {"seed", run.seed},
          {"digest", run.digest},
          {"group", run.group},
          {"state", state_name(run.state)},
          {"message", run.message},
          {"driver", run.driver},
          {"workers", run.workers},
          {"topology", run.topology},
          {"started", null_if_empty(run.started)},
          {"finished", null_if_empty(run.finished)},
          {"budget_gradients", run.budget_gradients},
          {"progress",
           {{"gradients", run.progress.gradients},
            {"normalised_time", run.progress.normalised_time},
            {"seconds", run.progress.seconds},
            {"bytes", run.progress.bytes}}},
          {"metrics", run.metrics},
          {"tags", run.tags}};
}

json to_json(const RunDetail& run) {
  json document = to_json(run.summary);
  document["schema_version"] = kJsonSchemaVersion;
  document["settings"] = run.settings;
  document["plan"] = run.plan;
  document["seeds"] = run.seeds;
  document["topology"] = topology_of(run);
  document["attempts"] = attempts_of(run);
  document["environment"] = run.attempts.empty() ? json(nullptr) : run.attempts.back().environment;
  document["checkpoints"] = checkpoints_of(run);
  document["verifications"] = verifications_of(run);
  json files = json::array();
  for (const auto& [path, sha256] : run.file_digests)
    files.push_back({{"path", path}, {"sha256", sha256}});
  document["files"] = files;
  document["holdings"] = run.holdings;
  document["log"] = log_of(run);
  document["notes"] = to_json(run.notes);
  const AttemptResult result = run.result.value_or(AttemptResult{});
  document["digests"] = {{"workers", result.worker_digests},
                         {"mean", null_if_empty(result.mean_digest)}};
  document["realised"] = realised_of(result);
  document["worker_gradients"] = result.worker_gradients;
  document["worker_idle_seconds"] = result.worker_idle_seconds;
  document["staleness"] = result.staleness;
  json artifacts = json::array();
  for (const auto& artifact : result.artifacts) {
    artifacts.push_back({{"role", artifact.role},
                         {"path", artifact.path},
                         {"sha256", artifact.sha256},
                         {"bytes", artifact.bytes}});
    // Crates of earlier versions have this document without it.
    if (!artifact.removed.empty()) artifacts.back()["removed"] = artifact.removed;
  }
  document["artifacts"] = artifacts;
  return document;
}

std::string shown_name(const std::string& algorithm, const std::string& label) {
  const AlgorithmEntry* entry = find_algorithm(algorithm);
  const bool own_label = label.empty() || (entry != nullptr && label == entry->label);
  return own_label ? algorithm : label;
}

std::string key_metric(const RunSummary& run) {
  if (run.budget_time) return "consensus_distance";  // without gradients there is no loss
  for (const Metric& metric : kMetricsIn<&Metric::key>)
    if (run.metrics.contains(std::string(metric.name))) return std::string(metric.name);
  return {};
}

std::string key_result(const RunSummary& run) {
  const std::string name = key_metric(run);
  return name.empty() ? kDash : fmt::format("{} {}", name, short_number(run.metrics.at(name)));
}

}  // namespace acid
