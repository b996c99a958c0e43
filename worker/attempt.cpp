#include "worker/attempt.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>
#include <numeric>
#include <set>

#include "engine/base/names.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/recorder/metrics.hpp"
#include "store/files.hpp"
#include "store/writer.hpp"
#include "worker/checkpoints.hpp"
#include "worker/recording.hpp"
#include "worker/result.hpp"

namespace acid {
namespace {

/// Passes on the metrics that the recipe asks for (record.metrics).
class ChosenMetrics final : public Recorder {
 public:
  ChosenMetrics(Recorder& to, const RecordSettings& chosen) : to_(to), chosen_(chosen.metrics) {}
  void sample(const Position& position, std::span<const Value> values) override {
    if (!chosen_) return to_.sample(position, values);
    std::vector<Value> kept;
    for (const Value& value : values)
      if (chosen_->contains(value.metric)) kept.push_back(value);
    to_.sample(position, kept);
  }
  void progress(const Position& position) override { to_.progress(position); }
  void note(Severity severity, std::string_view text) override { to_.note(severity, text); }
  void events(int worker, std::int64_t first, std::span<const Event> events) override {
    to_.events(worker, first, events);
  }

 private:
  Recorder& to_;
  const std::optional<std::set<std::string, std::less<>>>& chosen_;  // absent: all of them
};

// The share of the run's time in which workers waited.
double idle_share(const Outcome& outcome) {
  const std::vector<double>& idle = outcome.worker_idle_seconds;
  const double all = outcome.position.seconds * static_cast<double>(idle.size());
  return all > 0 ? std::reduce(idle.begin(), idle.end()) / all : 0;
}

// The system distributes cores among threads and processes; with tiny gradients the shares can be
// very uneven, and then the run says little about the method.
void note_uneven_pace(Recorder& recorder, const ComposedRun& run, const Outcome& outcome) {
  const ExecutionSettings& execution = run.settings.execution;
  const bool some_lost =
      std::ranges::find(outcome.worker_digests, "") != outcome.worker_digests.end();
  if (execution.entry().simulates || outcome.worker_gradients.size() < 2 ||
      !execution.slow_factors.empty() || some_lost)
    return;
  const auto [least, most] =
      std::minmax_element(outcome.worker_gradients.begin(), outcome.worker_gradients.end());
  if (*most <= 2 * *least) return;
  recorder.note(Severity::warning,
                fmt::format("workers committed between {} and {} gradients: {} {} shared their "
                            "cores unevenly; use fewer workers, larger gradients or the virtual "
                            "driver",
                            *least, *most, run.spec.workers,
                            execution.entry().has_processes ? "processes" : "threads"));
}

void note_skipped(Recorder& recorder, const AttemptResult& result) {
  const auto number = [](const std::optional<std::int64_t>& skipped) {
    return static_cast<std::uint64_t>(skipped.value_or(0));
  };
  const std::uint64_t samples = number(result.samples_skipped),
                      evaluations = number(result.evaluations_skipped),
                      checkpoints = number(result.checkpoints_skipped);
  if (samples + evaluations + checkpoints == 0) return;
  recorder.note(Severity::info,
                fmt::format("{}, {} and {} are missing: the run had gone on before they could be "
                            "taken; a longer interval between them avoids it",
                            counted(samples, "sample"), counted(evaluations, "evaluation"),
                            counted(checkpoints, "checkpoint")));
}

// Each attempt writes a file name of its own: an attempt that was overtaken must not touch the file
// that counts.
AttemptResult::Artifact save_mean(const std::string& store_folder, const std::string& run_id,
                                  std::int64_t attempt, const Outcome& outcome,
                                  const Objective& objective) {
  const std::string relative =
      fmt::format("checkpoints/{}/{}-final-mean.safetensors", run_id, attempt);
  const std::filesystem::path path = std::filesystem::path(store_folder) / relative;
  make_run_folder(store_folder, run_id);
  std::vector<TensorGroup> tensors{{objective.segments(), outcome.mean}};
  if (!outcome.mean_buffers.empty())  // absent when every worker keeps its own buffers
    tensors.push_back({objective.buffer_segments(), outcome.mean_buffers});
  const AtomicFile::Written written = write_safetensors(
      path.string(), tensors, {{"acid_run", run_id}, {"mean_digest", outcome.mean_digest}});
  return {"final-mean", relative, written.sha256, written.bytes};
}

}  // namespace

Attempt::Attempt(const ExecuteOptions& options, Store& store, const RunDetail& run,
                 ComposedRun& composed, const nlohmann::json& surroundings,
                 std::vector<std::string> remarks)
    : options_(options),
      store_(store),
      run_(composed),
      remarks_(std::move(remarks)),
      files_(composed.file_digests, composed.read_since) {
  files_.refuse_changed();
  const std::vector<std::string> other = other_than_planned(run, composed.file_digests);
  if (!other.empty() && !options.allow_changed)
    throw UsageError(fmt::format(
        "{}; put the old file back, or run the recipe again, which makes another run with the new "
        "content",
        fmt::join(other, "; ")));
  remarks_.insert(remarks_.end(), other.begin(), other.end());
  std::vector<std::string> complaints;  // about unusable checkpoints
  if (!options.fresh) {
    refuse_altered_record(store, run);
    from_ = find_resumption(store, run, surroundings, run_.file_digests,
                            driver(run_.driver()).state_layout(run_.spec), options.allow_changed,
                            complaints);
  }
  remarks_.insert(remarks_.end(), complaints.begin(), complaints.end());
  std::optional<Continuation> continued;
  if (from_) {
    continued = Continuation{from_->row.id, from_->changed};
    go_on_with_log(run);
  }
  nlohmann::json recorded = surroundings;
  recorded[kEventLogKey] = run_.spec.keep_events;
  recorded[kEventVersionKey] = kEventVersion;
  recorded[kMetricsKey] = names_of(kMetrics);
  id_ = store.begin_attempt(options.run_id, Lease::of_this_process(), recorded,
                            derived_seeds(run_.settings), run_.file_digests, continued,
                            version_of(run), run_.objective->holdings());
  std::string words;  // written at once, so that readers never find half of it
  for (const std::string& remark : remarks_)
    words += fmt::format("run {}: {}\n", options.run_id, remark);
  std::cerr << words;
}

// A log is kept from the beginning of a run or not at all, even if the recipe has changed.
void Attempt::go_on_with_log(const RunDetail& run) {
  const bool wanted = run_.spec.keep_events;
  for (const AttemptRow& attempt : run.attempts)
    if (attempt.number == from_->row.attempt)
      run_.spec.keep_events = kept_events(attempt, read_events(store_, run.summary.id));
  if (run_.spec.keep_events != wanted)
    remarks_.push_back(
        fmt::format("the run was begun {} an event log and goes on like that: record.events counts "
                    "when it is started again (--force)",
                    wanted ? "without" : "with"));
}

Exit Attempt::execute(const Drive& drive) {
  AttemptResult result;
  try {
    result = drive_to_end(drive);
  } catch (const std::exception& error) {
    // A store that cannot be written, or a lost process, is no fault of the run: the run goes on
    // from its checkpoint once the cause is mended.
    const auto* told = dynamic_cast<const Error*>(&error);
    const bool mendable =
        told != nullptr && (told->code() == Exit::store || told->code() == Exit::lost);
    result = {};
    result.state = mendable ? RunState::interrupted : RunState::failed;
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    result.message = no_memory ? "out of memory" : error.what();
    end_quietly(result);
    throw;
  }
  store_.end_attempt(id_, result);
  if (result.state == RunState::finished) return Exit::ok;
  return result.state == RunState::interrupted ? Exit::interrupted : Exit::run_failed;
}

AttemptResult Attempt::drive_to_end(const Drive& drive) {
  RunWriter writer(store_, options_.run_id, id_,
                   /*bounded=*/!run_.settings.execution.entry().has_processes);
  for (const std::string& remark : remarks_) writer.note(Severity::warning, remark);
  try {
    return drive_and_save(drive, writer);
  } catch (const StoreError&) {
    writer.refuse_if_gone();  // no file can be written when the store's folder is gone
    throw;
  }
}

AttemptResult Attempt::drive_and_save(const Drive& drive, RunWriter& writer) {
  StoreCheckpoints checkpoints(options_.store_folder, options_.run_id, id_,
                               run_.settings.checkpoint, files_, writer);
  Checkpointing checkpointing{&checkpoints, nullptr};
  if (from_) {
    checkpoints.resumed_from(from_->row);
    checkpointing.resume = from_->file.get();
  }
  ChosenMetrics recorder(writer, run_.settings.record);
  const Outcome outcome = drive(recorder, checkpointing);
  files_.refuse_changed();
  if (outcome.holds > 0)
    writer.note(Severity::info,
                fmt::format("the throttle held {} of {} gradients until their worker had caught "
                            "up with its exchanges; workers waited {:.3g} % of the time",
                            outcome.holds, outcome.position.gradients, 100 * idle_share(outcome)));
  note_uneven_pace(writer, run_, outcome);
  AttemptResult result = result_of(outcome, run_.spec);
  // In virtual time, and between rounds, nothing comes too late.
  const bool against_the_clock =
      !run_.settings.execution.entry().simulates && run_.spec.method.is_asynchronous();
  result.checkpoints_skipped = against_the_clock ? checkpoints.skipped(outcome.position) : 0;
  note_skipped(writer, result);
  writer.flush();
  writer.refuse_if_gone();
  if (outcome.ending == Ending::finished)
    result.artifacts.push_back(
        save_mean(options_.store_folder, options_.run_id, id_, outcome, *run_.objective));
  return result;
}

// The error under way matters more than an error here: a run without a recorded end shows as
// interrupted.
void Attempt::end_quietly(const AttemptResult& result) {
  try {
    store_.end_attempt(id_, result);
  } catch (const std::exception&) {
  }
}

}  // namespace acid
