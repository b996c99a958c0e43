#include "worker/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/recorder/metrics.hpp"
#include "store/files.hpp"
#include "worker/claims.hpp"

namespace acid {
namespace {

// Absent when the file is gone; empty when its size is wrong.
std::optional<std::string> digest_of(const std::string& path, std::int64_t bytes) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::nullopt;
  return RegularFile(path).bytes() == bytes ? sha256_file(path) : "";
}

void read_final_mean(const Store& store, const AttemptResult::Artifact& artifact,
                     Recording& recording) {
  const std::string path = checked_path(store, artifact.path);
  try {
    const auto digest = digest_of(path, artifact.bytes);
    if (!digest) return;
    recording.final_mean = read_safetensors(path);
    if (*digest == artifact.sha256) return;
  } catch (const Error&) {  // the file exists, but is no model
  }
  recording.altered_files.push_back("the file of the final model");
}

void look_at_file(const Store& store, const CheckpointRow& row, Recording& recording) {
  if (row.removed) return;
  try {
    const auto digest = digest_of(checked_path(store, row.path), row.bytes);
    if (!digest || *digest == row.sha256) return;
  } catch (const Error&) {
  }
  recording.altered_files.push_back(fmt::format("the file of checkpoint {}", row.number));
}

// Frozen: the metrics of acids that did not list them.
constexpr std::array<std::string_view, 14> kUnlistedMetrics{"train_loss",
                                                            "eval_loss",
                                                            "eval_accuracy",
                                                            "validation_loss",
                                                            "validation_accuracy",
                                                            "worker_accuracy",
                                                            "worker_accuracy_spread",
                                                            "consensus_distance",
                                                            "learning_rate",
                                                            "staleness",
                                                            "idle_share",
                                                            "exchanges",
                                                            "bytes_sent",
                                                            "gradient_norm"};
constexpr std::array<std::string_view, 4> kUnlistedMetricsSince2{
    "train_loss_at_mean", "worker_loss", "worker_loss_worst", "worker_accuracy_worst"};

}  // namespace

bool is_before(const Position& a, const Position& b) {
  return a.gradients < b.gradients ||
         (a.gradients == b.gradients && a.normalised_time < b.normalised_time);
}

bool kept_events(const AttemptRow& attempt, const std::vector<std::vector<std::byte>>& events) {
  const bool any =
      std::any_of(events.begin(), events.end(), [](const auto& log) { return !log.empty(); });
  return any || attempt.environment.value(kEventLogKey, false);
}

Event event_of(const Recording& recording, int worker, std::int64_t number) {
  const std::span log(recording.events[static_cast<std::size_t>(worker)]);
  const std::size_t at = static_cast<std::size_t>(number) * kEventBytes;
  return decode_event(log.subspan(at).first<kEventBytes>(), worker, number);
}

int Recording::event_version() const {
  return run.attempts.empty() ? kEventVersion : acid::event_version(run.attempts.back());
}

int event_version(const AttemptRow& attempt) {
  return attempt.environment.value(kEventVersionKey, 1);
}

bool had_metric(const AttemptRow& attempt, std::string_view metric) {
  if (find_metric(metric) == nullptr) return true;
  const auto listed = attempt.environment.find(kMetricsKey);
  if (listed != attempt.environment.end())
    return std::ranges::find(*listed, metric) != listed->end();
  return std::ranges::count(kUnlistedMetrics, metric) > 0 ||
         (event_version(attempt) >= 2 && std::ranges::count(kUnlistedMetricsSince2, metric) > 0);
}

// An attempt that goes on from a checkpoint recorded what is after it.
const AttemptRow& attempt_at(const Recording& recording, const Position& there) {
  const std::vector<AttemptRow>& attempts = recording.run.attempts;
  auto attempt = attempts.end() - 1;
  while (true) {
    const auto cut =
        std::ranges::find(recording.cuts, attempt->resumed_from, &CheckpointRow::number);
    if (cut == recording.cuts.end() || is_before(cut->position, there)) return *attempt;
    const auto earlier = std::find_if(attempts.begin(), attempt, [&](const AttemptRow& row) {
      return row.number == cut->attempt;
    });
    if (earlier == attempt) return *attempt;
    attempt = earlier;
  }
}

std::int64_t event_count(const Recording& recording, int worker) {
  return static_cast<std::int64_t>(recording.events[static_cast<std::size_t>(worker)].size() /
                                   kEventBytes);
}

Recording read_recording(const Store& store, const std::string& run_id) {
  Recording recording;
  recording.state = verified_state(store, run_id);
  recording.run = run_detail(store, run_id);
  recording.settings = stored_settings(recording.run);
  recording.cuts = recording.run.checkpoints;
  for (const CheckpointRow& row : recording.cuts) {
    recording.digests.push_back(cut_digests(store, row.id));
    look_at_file(store, row, recording);
  }
  recording.events = read_events(store, run_id);
  // Under the other drivers a log is always kept.
  if (recording.settings.execution.entry().simulates && !recording.run.attempts.empty() &&
      !kept_events(recording.run.attempts.back(), recording.events))
    recording.events.clear();
  recording.series = read_series(store, run_id);
  recording.spans = read_spans(store, run_id);
  recording.wrong_summaries = wrong_summaries(store, run_id);
  recording.altered_words = altered_words(store, run_id);
  if (recording.run.result)
    for (const AttemptResult::Artifact& artifact : recording.run.result->artifacts)
      if (artifact.role == "final-mean") read_final_mean(store, artifact, recording);
  return recording;
}

}  // namespace acid
