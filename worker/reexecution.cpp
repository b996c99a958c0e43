// Executes a recorded run again, or a part of it.
#include "worker/reexecution.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>

#include "engine/drivers/driver.hpp"
#include "engine/drivers/replay/replay.hpp"
#include "engine/environment/environment.hpp"
#include "store/files.hpp"
#include "worker/resume.hpp"

namespace acid {
namespace {

/// The cut to stop at; absent: the end.
std::optional<std::size_t> stop_at(const Recording& recording, const VerifyOptions& options) {
  if (options.until == 0) return std::nullopt;
  const auto cut = std::ranges::find(recording.cuts, options.until, &CheckpointRow::number);
  if (cut == recording.cuts.end() || options.until <= options.from)
    throw UsageError(fmt::format("run {} has no checkpoint {} after the one to start from",
                                 options.run_id, options.until));
  return static_cast<std::size_t>(cut - recording.cuts.begin());
}

/// The samples that the wall clock asked for, as numbers of gradients.
std::vector<std::int64_t> samples_of(const Recording& recording) {
  std::set<std::int64_t> places;
  for (const Series& series : recording.series)
    for (const SeriesPoint& point : series.points) places.insert(point.position.gradients);
  return {places.begin(), places.end()};
}

/// The event log as a script for a replay. Throws DamagedEvent at the first altered event.
ReplayScript script_of(const Recording& recording, int from) {
  ReplayScript script;
  script.shared_clock = !recording.settings.execution.entry().has_processes;
  script.marks_before = from + 1;
  for (std::size_t w = 0; w < recording.events.size(); ++w) {
    auto& events = script.workers.emplace_back();
    const int worker = static_cast<int>(w);
    const std::int64_t count = event_count(recording, worker);
    for (std::int64_t k = 0; k < count; ++k) events.push_back(event_of(recording, worker, k));
  }
  return script;
}

// A lower bound for the time of an event that can no longer be read: the time of the event before
// it.
double time_before(const Recording& recording, int worker, std::int64_t number) {
  return number == 0 ? 0 : event_of(recording, worker, number - 1).time;
}

/// Whether the file has the cut's vectors; else `tensor` becomes the first that differs.
bool same_vectors(const CheckpointFile& file, const Cut& cut, std::string* tensor) {
  for (const StateVectors& vector : cut.vectors) {
    if (!vector.compared || vector.segments.empty()) continue;
    std::vector<std::vector<float>> found;
    std::vector<std::span<float>> out;
    for (const auto& own : vector.values) found.emplace_back(own.size());
    for (std::vector<float>& own : found) out.emplace_back(own);
    file.read(vector.name, vector.segments, out);
    for (std::size_t w = 0; w < found.size(); ++w)
      if (std::memcmp(found[w].data(), vector.values[w].data(), 4 * found[w].size()) != 0) {
        *tensor = vector.name;
        return false;
      }
  }
  return true;
}

}  // namespace

int index_of_cut(const Recording& recording, int number) {
  if (number == 0) return -1;
  std::string known;
  for (std::size_t k = 0; k < recording.cuts.size(); ++k) {
    if (recording.cuts[k].number == number && !recording.cuts[k].removed)
      return static_cast<int>(k);
    if (!recording.cuts[k].removed)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", recording.cuts[k].number);
  }
  throw UsageError(fmt::format("run {} has no file of a checkpoint {} any more; {}",
                               recording.run.summary.id, number,
                               known.empty() ? "leave --from out" : "it has " + known));
}

Reexecution::Reexecution(const VerifyOptions& options, const Recording& recording, ComposedRun& run,
                         std::stop_token stop)
    : recording_(recording),
      run_(run),
      stop_(stop),
      from_(index_of_cut(recording, options.from)),
      until_(stop_at(recording, options)),
      comparison_(
          recording, from_, until_,
          [this](const Cut& cut) {
            compare_file(cut);
            enough_.request_stop();
          },
          [this](const Position& position) { show_progress(position); }),
      store_folder_(options.store_folder) {}

void Reexecution::execute() {
  std::stop_callback pass_on(stop_, [this] { enough_.request_stop(); });
  try {
    open_checkpoint();
    comparison_.end(execute_again(), run_.spec);
  } catch (const DamagedCheckpoint& damage) {
    depart_at(recording_.cuts[static_cast<std::size_t>(from_)], damage.what(), "");
  } catch (const DamagedEvent& damage) {
    comparison_.depart({.time = time_before(recording_, damage.worker(), damage.number()),
                        .what = kAlteredEvent,
                        .worker = damage.worker(),
                        .event = damage.number()});
  } catch (const BrokenScript& broken) {
    comparison_.depart({.time = time_before(recording_, broken.worker(), broken.event()),
                        .what = broken.what(),
                        .worker = broken.worker(),
                        .event = broken.event()});
  }
  if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K";
}

void Reexecution::open_checkpoint() {
  if (from_ < 0) return;
  const CheckpointRow& row = recording_.cuts[static_cast<std::size_t>(from_)];
  const Store store(store_folder_, Store::Access::read);
  file_ = std::make_unique<CheckpointFile>(checked_path(store, row.path), row.sha256);
  check_layout(*file_, driver(run_.driver()).state_layout(run_.spec),
               "'acid verify' without --from reads no checkpoint");
}

// A part of the run that begins at a file is right only if what came before leads to that file. The
// state of a run on real threads has the times of its clock.
void Reexecution::compare_file(const Cut& cut) {
  if (!until_ || recording_.cuts[*until_].removed) return;
  const CheckpointRow& row = recording_.cuts[*until_];
  std::string tensor;
  try {
    const Store store(store_folder_, Store::Access::read);
    const CheckpointFile file(checked_path(store, row.path), row.sha256);
    const bool simulated = run_.settings.execution.entry().simulates;
    if (!same_vectors(file, cut, &tensor) ||
        (simulated && !std::ranges::equal(file.state(), cut.state)))
      depart_at(row, fmt::format("the file of checkpoint {} holds something else", row.number),
                tensor);
  } catch (const DamagedCheckpoint& damage) {
    depart_at(row, damage.what(), tensor);
  }
}

void Reexecution::depart_at(const CheckpointRow& row, std::string what, std::string tensor) {
  comparison_.depart(
      {.time = row.position.normalised_time, .what = std::move(what), .tensor = std::move(tensor)});
}

Outcome Reexecution::execute_again() {
  RunSpec& spec = run_.spec;
  spec.keep_events = !recording_.events.empty();
  const Run run{
      spec, *run_.objective, comparison_, {&comparison_, file_.get()}, enough_.get_token()};
  if (run_.settings.execution.entry().simulates) return run_virtual(run, run_.options.virtual_time);
  if (spec.method.is_asynchronous())
    return run_replay(run, script_of(recording_, from_), ended(),
                      std::min(usable_cores(), spec.workers));
  // Rounds are determined by the settings, whether their workers are threads or processes; the
  // clock decides only where they end.
  const bool end_known = ended() && recording_.run.result;
  spec.end_at_gradients =
      end_known ? recording_.run.result->position.gradients : spec.budget.gradients;
  spec.budget.seconds = spec.budget.bytes = kNever;
  run_.options.threads.slow_factors.clear();
  if (spec.cadence.by_clock()) spec.cadence.at_gradients = samples_of(recording_);
  return run_threads(run, run_.options.threads);
}

/// Whether the recorded run came to an end of its own.
bool Reexecution::ended() const { return is_over(recording_.run.summary.state); }

// Shown at most twice a second, on a terminal only. Several threads may call it at once.
void Reexecution::show_progress(const Position& position) {
  if (isatty(STDERR_FILENO) == 0) return;
  MutexLock lock(showing_);
  const double now = clock_.seconds();
  if (now < next_look_) return;
  next_look_ = now + 0.5;
  std::cerr << fmt::format("\rverifying run {}: {:.0f} %", recording_.run.summary.id,
                           100 * run_.spec.budget.progress(position))
            << std::flush;
}

}  // namespace acid
