#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "store/store.hpp"

namespace acid {

// Each function sees one consistent state of the store, also while runs are being written. All
// throw StoreError when the store cannot be read. Thread: that of the Store.

/// A row of `acid list`. Times are UTC, ISO 8601; empty when they have not come.
struct RunSummary {
  std::string id, experiment, experiment_name, algorithm, label;
  std::uint64_t seed = 0;
  std::string digest, group;
  bool is_search = false;              // of that experiment: tried by its search
  RunState state = RunState::planned;  // as computed: a dead lease is interrupted
  std::string message;
  std::string driver, topology;
  int workers = 1;
  std::string started, finished;
  std::int64_t budget_gradients = 0;
  std::optional<double> budget_time;      // normalised; of a run that has no gradients
  Position progress;                      // of the newest attempt
  std::map<std::string, double> metrics;  // whole-run series: last value
};

struct AttemptRow {
  int number = 0;
  std::string host, started, finished;
  std::string outcome;  // a RunState's name; empty while the attempt goes on
  std::string message;
  std::int64_t pid = 0;
  double wall_seconds = 0;
  int resumed_from = 0;    // number of a checkpoint; 0: from the beginning
  nlohmann::json changed;  // Continuation::changed
  nlohmann::json environment;
  std::vector<std::pair<std::string, std::string>> file_digests;
};

/// Written by Recorder::note, in any attempt.
struct LogLine {
  std::string time;
  Severity severity = Severity::info;
  std::string text;
};

/// A checkpoint that is not superseded.
struct CheckpointRow {
  std::int64_t id = 0;
  int number = 0;   // counts the run's checkpoints from 1, over all attempts
  int attempt = 0;  // number of the attempt that wrote it
  std::int64_t step = 0;
  Position position;
  std::string path;  // relative to the store's folder
  std::string sha256;
  std::int64_t bytes = 0;
  std::string created;
  bool removed = false;  // the file was let go of; the digests stay
};

/// What a cut of a run held (CheckpointRecord).
struct CutDigests {
  std::vector<std::string> workers;
  std::vector<std::vector<std::uint64_t>> tensors;
};

struct VerificationRow {
  std::string time;  // UTC
  std::string host;
  bool equal = false;
  std::string message;
  std::optional<int> from;  // number of the checkpoint it started from
  nlohmann::json environment;
  /// What is not as it was then, of values, events and all else that the run left, its settings,
  /// labels and recipes: "its event log is not as it was written". Empty: nothing, so that what was
  /// verified is what is there; of files only look_at_files() knows.
  std::string altered;
  /// A file that look_at_files() may not look at, and why: nobody knows whether it is as it was.
  std::string unreadable;
};

/// Everything `acid show` knows.
struct RunDetail {
  RunSummary summary;
  nlohmann::json settings, plan, seeds;
  std::vector<AttemptRow> attempts;
  std::optional<AttemptResult> result;  // of the newest attempt; absent until it has ended itself
  std::vector<std::pair<std::string, std::string>> file_digests;
  std::vector<std::vector<std::int64_t>> holdings;  // Objective::holdings(), of the newest attempt
  std::vector<LogLine> log;
  std::vector<CheckpointRow> checkpoints;      // oldest first
  std::vector<VerificationRow> verifications;  // of the newest attempt, oldest first
};

/// For Store::begin_attempt().
RunVersion version_of(const RunDetail& run);

struct SeriesPoint {
  Position position;
  double value = 0;
};

struct Series {
  std::string metric;
  std::string unit;
  int worker = kWholeRun;
  std::vector<SeriesPoint> points;  // by position, superseded ones left out
};

struct RunFilter {
  std::optional<RunState> state;
  std::string algorithm;           // empty: any
  std::vector<std::string> where;  // conditions (store/condition.hpp), which hold together
  std::vector<std::string> ids;    // run ids; empty: any
};

/// Newest first: by when a run last began or, if it never did, was asked for.
std::vector<RunSummary> list_runs(const Store& store, const RunFilter& filter = {});

/// An experiment and what became of its runs.
struct ExperimentSummary {
  std::string id, name, created;       // created: UTC, when it was first asked for
  std::vector<std::string> overrides;  // "workers.count=32", as they were given
  /// In the recipe's order; without message, times, budget, progress and metrics.
  std::vector<RunSummary> runs;
};
/// Those that have runs, newest first.
std::vector<ExperimentSummary> list_experiments(const Store& store);

/// Runs, and the experiments by which they were named: through these they are seen, whatever other
/// experiments share them.
struct AskedRuns {
  AskedRuns() = default;
  AskedRuns(std::vector<std::string> runs)
      : ids(std::move(runs)) {}  // NOLINT: a list of runs is one
  AskedRuns(std::initializer_list<std::string> runs) : ids(runs) {}
  std::vector<std::string> ids;
  std::vector<std::string> experiments;  // ids, the first named first
};

/// Resolves run or experiment names: a unique prefix of an id, an experiment's name, or "@latest"
/// (the newest experiment). Several give the union, in order, each run once. Empty: every run of
/// the newest experiment. UsageError when nothing matches (with the nearest ids) or a prefix is not
/// unique (with the candidates).
/// Experiments leave out what their searches tried where asked to; UsageError where then none is
/// left.
enum class OfSearches { with, without };
AskedRuns resolve_runs(const Store& store, const std::vector<std::string>& names,
                       OfSearches searches = OfSearches::with);
/// Of these runs, in their order, those for which all conditions hold (store/condition.hpp);
/// without a condition all. UsageError where none is left, and for a condition that is none.
AskedRuns runs_where(const Store& store, AskedRuns runs,
                     const std::vector<std::string>& conditions);
/// A run, by a unique prefix of its id or "@latest", the newest one; or else all runs of an
/// experiment; at least one. UsageError as above.
AskedRuns resolve_shown(const Store& store, const std::string& name);
/// Exactly one run: a unique prefix of its id, an experiment that has only one, or "@latest", the
/// newest run. UsageError as above.
std::string resolve_run(const Store& store, const std::string& name);

/// The verification that says most of the newest attempt: the newest that failed or was of the
/// whole run; where there is none, the newest from a checkpoint on. nullptr: it was never verified.
const VerificationRow* decisive_verification(const RunDetail& run);

/// A digest of what counts of all that a run's attempts left. Takes as long as reading it.
std::string verified_state(const Store& store, const std::string& run_id);
/// What of a run's settings, of its labels, of the recipes that asked for it, of which runs these
/// have and, once it has ended, of what it left was altered since acid wrote it, a sentence each.
/// Empty: nothing.
std::vector<std::string> altered_words(const Store& store, const std::string& run_id);

/// Seeds and file digests are those of the newest attempt. UsageError when there is no such run.
RunDetail run_detail(const Store& store, const std::string& run_id);
/// Says in its verifications when a checkpoint or the final model is there and is not the file that
/// was written, and when one cannot be looked at. Reads these files; without a verification, none.
void look_at_files(const Store& store, RunDetail& run);
/// In the order of the ids. UsageError when one does not exist.
std::vector<RunSummary> run_summaries(const Store& store, const std::vector<std::string>& run_ids);
/// run_summaries(), but where several experiments share a run, it is the one's, by id, name and
/// label, that it was named by; of runs named by themselves, the one's all of whose runs are among
/// them (the largest, then the newest). Else the newest's, as in a list.
std::vector<RunSummary> runs_as_asked(const Store& store, const AskedRuns& asked);
/// The experiment that the summary names. Empty when it names none: the run's recipe was asked for
/// again and compiles to other runs now.
ExperimentRecord experiment_of(const Store& store, const RunSummary& run);

/// ExperimentRecord::comparison of the earlier experiments that asked for runs of this one, of
/// which some had ended when it was first asked for. Newest first, each once.
std::vector<nlohmann::json> comparisons_before(const Store& store, const std::string& experiment);

/// Oldest first; superseded ones left out. Empty also when there is no such run.
std::vector<CheckpointRow> checkpoints_of(const Store& store, const std::string& run_id);
/// By CheckpointRow::id, also when the file is gone. StoreError when there are none.
CutDigests cut_digests(const Store& store, std::int64_t checkpoint);

/// The event log of a run, superseded events left out: for each worker its events in order, 16
/// bytes each (engine/recorder/event.hpp), as they are stored. All empty when none was kept.
/// StoreError when some are missing, UsageError when there is no such run.
std::vector<std::vector<std::byte>> read_events(const Store& store, const std::string& run_id);

/// By worker, how its time went during the first gradients of the newest attempt, as far as that
/// was kept: of finished runs, and for at most some dozens of workers. Empty otherwise.
std::vector<std::vector<Span>> read_spans(const Store& store, const std::string& run_id);

/// Series of a run by metric, then worker. Empty metric: all. -0.0 reads back as 0.0.
std::vector<Series> read_series(const Store& store, const std::string& run_id,
                                const std::string& metric = {}, bool whole_run_only = false);

/// Lists and comparisons read what is kept beside the values of a series: how many there are, the
/// last and the best, unit and direction. What of that disagrees with the values, a sentence each:
/// "eval_loss ends with 0.7, said to be 0.1". Empty: nothing.
std::vector<std::string> wrong_summaries(const Store& store, const std::string& run_id);

/// A recorded value, and which of its attempt's positions it was measured at.
struct TickValue {
  std::size_t tick = 0;
  double value = 0;
};

/// What visit_series() reports to.
class SeriesVisitor {
 public:
  virtual ~SeriesVisitor() = default;
  /// Every position at which the next attempt measured something, ascending, and after those of the
  /// attempt before. They stay until the next call of this function.
  virtual void positions(std::span<const Position> ticks) = 0;
  /// Some values of a series, by tick; a series may come in many pieces. Valid during the call.
  virtual void values(const std::string& metric, std::span<const TickValue> piece) = 0;
};

/// Hands over the whole-run series of these metrics without holding them: attempt by attempt in
/// order, superseded values left out. Nothing is called when there is no such run.
void visit_series(const Store& store, const std::string& run_id,
                  const std::vector<std::string>& metrics, SeriesVisitor& visitor);

/// An axis along which the positions of a run never decrease.
enum class PositionAxis { gradients, normalised_time, seconds, bytes };

// Of whole-run series, superseded values left out, without reading all of them.

/// Mean of the samples at places from `from` to `to`, both included; NaN when one of them is not
/// finite. Absent without a sample there.
std::optional<double> mean_between(const Store& store, const std::string& run_id,
                                   const std::string& metric, PositionAxis axis, double from,
                                   double to);
/// The first sample that is at least the value or, downwards, at most, and the one before it.
struct Reached {
  SeriesPoint first;
  std::optional<SeriesPoint> before;
};
std::optional<Reached> first_reaching(const Store& store, const std::string& run_id,
                                      const std::string& metric, double value, bool upwards);
/// Of a metric, at most two samples at or before a place, and at most two beyond it; the nearest
/// first.
struct SamplesAround {
  std::vector<SeriesPoint> until, beyond;
};
/// By metric; of these metrics only, where any are named.
std::map<std::string, SamplesAround> samples_around(const Store& store, const std::string& run_id,
                                                    PositionAxis axis, double value,
                                                    std::span<const std::string_view> metrics = {});
/// By metric, for those that have a better direction. What is not a number is never the best.
std::map<std::string, double> best_values(const Store& store, const std::string& run_id);

/// RunDetail::settings, in the order of the ids. UsageError when one does not exist.
std::vector<nlohmann::json> run_settings(const Store& store,
                                         const std::vector<std::string>& run_ids);

/// How far a run's newest attempt has come in which time: what a live view asks for twice a second.
struct AttemptPace {
  int attempt = 0;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t resumed_gradients = 0;  // of the checkpoint that it went on from
  double seconds = 0;                  // from its start to its last sign of life, wall clock
};
/// Absent when the run has never begun.
std::optional<AttemptPace> newest_pace(const Store& store, const std::string& run_id);
/// At most `most` values of a whole-run series, spread evenly over its history, oldest first; the
/// newest is among them. NaN where a value is not a number. Reads no more than it returns.
std::vector<double> series_outline(const Store& store, const std::string& run_id,
                                   const std::string& metric, int most);

/// Stays the same between two calls with one Store unless something was written by another one
/// meanwhile, of whichever run, or a process that executed a run is gone. Takes microseconds. Says
/// nothing across two Stores.
std::string store_moment(const Store& store);

}  // namespace acid
