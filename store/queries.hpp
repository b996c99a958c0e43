#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "store/store.hpp"

namespace acid {

// Each function sees one consistent state of the store, also while runs are being written. All
// throw StoreError when the store cannot be read. Thread: that of the Store.

/// A row of `acid list`. Times are UTC, ISO 8601; empty when the moment has not come.
struct RunSummary {
  std::string id, experiment, experiment_name, algorithm, label;
  std::uint64_t seed = 0;
  std::string digest, group;
  bool is_search = false;              // in that experiment: tried by its search
  RunState state = RunState::planned;  // as computed: a dead lease is interrupted
  std::string message;
  std::string driver, topology;
  int workers = 1;
  std::string started, finished;
  std::int64_t budget_gradients = 0;
  std::optional<double> budget_time;  // normalised; only for a run without a budget of gradients
  Position progress;                  // of the newest attempt
  std::vector<std::string> tags;      // its own, by name
  std::vector<std::string> tagged;    // these and those of all experiments that ask for it
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
  nlohmann::json seeds;  // by purpose; null or empty: it did not start
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
  /// Says what has changed since the verification in values, events and all else that the run left,
  /// its settings, labels or recipes: "its event log is not as it was written". Empty: nothing has
  /// changed. Files are checked by look_at_files() only.
  std::string altered;
  /// Names a file that look_at_files() may not read, and why: whether it has changed is unknown.
  std::string unreadable;
};

/// What somebody wrote about a run or an experiment.
struct NoteRow {
  std::string time;  // UTC
  std::string text;
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
  std::vector<NoteRow> notes;                  // oldest first
};

/// What Store::begin_attempt() needs to know of the run.
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
  std::optional<RunState> state = {};
  std::string algorithm = {};           // empty: any
  std::vector<std::string> where = {};  // conditions (store/condition.hpp), which hold together
  std::vector<std::string> ids = {};    // run ids; empty: any
  /// The experiments by which these were named: their labels and roles are those of the runs.
  std::vector<std::string> experiments = {};
};

/// Newest first: sorted by when a run last began or, if it never did, when it was asked for.
std::vector<RunSummary> list_runs(const Store& store, const RunFilter& filter = {});

/// An experiment and what became of its runs.
struct ExperimentSummary {
  std::string id, name, created;       // created: UTC, when it was last asked for
  std::vector<std::string> overrides;  // "workers.count=32", as they were given
  /// The runs in the recipe's order; message, times, budget, progress and metrics are not filled.
  std::vector<RunSummary> runs;
  std::vector<std::string> tags = {};  // by name
  std::vector<NoteRow> notes = {};     // oldest first
};
/// The experiments that have runs, newest first.
std::vector<ExperimentSummary> list_experiments(const Store& store);

/// Runs, and the experiments by which they were named. A run is shown through these, even if
/// other experiments share it.
struct AskedRuns {
  AskedRuns() = default;
  AskedRuns(std::vector<std::string> runs)
      : ids(std::move(runs)) {}  // NOLINT: a list of runs is one
  AskedRuns(std::initializer_list<std::string> runs) : ids(runs) {}
  std::vector<std::string> ids;
  std::vector<std::string> experiments;  // ids, in the order in which they were named
};

/// Resolves run or experiment names: a unique prefix of an id, an experiment's name, or "@latest"
/// (the newest experiment). Several names give the union, in order, each run once. No name: every
/// run of the newest experiment. UsageError when nothing matches (with the nearest ids) or a prefix
/// is not unique (with the candidates). OfSearches::without leaves out the runs that an
/// experiment's search tried; UsageError when no run is left.
/// "tag:TAG" names all runs and experiments with that tag.
enum class OfSearches { with, without };
AskedRuns resolve_runs(const Store& store, const std::vector<std::string>& names,
                       OfSearches searches = OfSearches::with);
/// What names name, before experiments stand for their runs. UsageError as resolve_runs().
struct Named {
  std::vector<std::string> runs, experiments;  // ids, in the order of the names
};
Named resolve_named(const Store& store, const std::vector<std::string>& names);
/// Keeps the runs for which all conditions hold (store/condition.hpp), in order. UsageError if none
/// is left, or if a condition is invalid.
AskedRuns runs_where(const Store& store, AskedRuns runs,
                     const std::vector<std::string>& conditions);
/// A run, by a unique prefix of its id or "@latest", the newest one; or else all runs of an
/// experiment; at least one. UsageError as above.
AskedRuns resolve_shown(const Store& store, const std::string& name);
/// Resolves one name to exactly one run: a unique prefix of its id, an experiment that has only one
/// run, or "@latest", the newest run. UsageError as for resolve_runs().
std::string resolve_run(const Store& store, const std::string& name);

/// The verification that says most about the newest attempt: the newest that failed or covered the
/// whole run; if there is none, the newest that started from a checkpoint. nullptr: the attempt was
/// never verified.
const VerificationRow* decisive_verification(const RunDetail& run);

/// A digest of what a run's attempts left, without what is superseded. Takes as long as reading it.
std::string verified_state(const Store& store, const std::string& run_id);
/// Says what was altered since acid wrote it, one sentence each: the run's settings, its labels,
/// the recipes that asked for it, the lists of their runs and, once the run has ended, what it
/// left. Empty: nothing was altered.
std::vector<std::string> altered_words(const Store& store, const std::string& run_id);
/// As altered_words(), but only the run's own row and what it left.
std::vector<std::string> altered_record(const Store& store, const std::string& run_id);

/// Seeds and file digests are those of the newest attempt. UsageError when there is no such run.
RunDetail run_detail(const Store& store, const std::string& run_id);
/// Notes in the run's verifications when a checkpoint or the final model exists and is not the file
/// that was written, and when one cannot be read. Reads these files; a run without a verification
/// needs no reading.
void look_at_files(const Store& store, RunDetail& run);
/// In the order of the ids. UsageError when one does not exist.
std::vector<RunSummary> run_summaries(const Store& store, const std::vector<std::string>& run_ids);
/// Refuses to `make`, such as "publish" or "draw", something of runs of which none has finished: it
/// would only hide that there is no result. UsageError.
void require_finished(const Store& store, const std::vector<std::string>& run_ids,
                      std::string_view make);
/// As run_summaries(), but a run that several experiments share gets the id, name and label of the
/// experiment by which it was named. A run that was named by itself gets those of the experiment
/// whose runs are all among the named ones (the largest, then the newest); else those of the newest
/// experiment, as in a list.
std::vector<RunSummary> runs_as_asked(const Store& store, const AskedRuns& asked);
/// The experiment with this id, such as RunSummary::experiment. Empty when there is none: a run's
/// recipe was asked for again and now compiles to other runs.
ExperimentRecord experiment_of(const Store& store, const std::string& id);

/// The runs that the searches of these experiments tried.
std::vector<std::string> runs_of_searches(const Store& store,
                                          const std::vector<std::string>& experiments);
/// The same without the runs that the searches of its experiments tried and none of them compares.
AskedRuns without_searches(const Store& store, AskedRuns asked);
/// Whether one of the conditions (store/condition.hpp) is about a run's role in its experiment.
bool name_role(const Store& store, const std::vector<std::string>& conditions);

/// ExperimentRecord::comparison of the earlier experiments that share runs with this one, if some
/// of these runs had ended before this one was last asked for. Newest first, each once.
std::vector<nlohmann::json> comparisons_before(const Store& store, const std::string& experiment);

/// A plan of an experiment: what its recipe says of comparing the runs (ExperimentRecord).
struct StoredPlan {
  std::string experiment;  // id
  nlohmann::json comparison;
};
/// The plans that ask for all of these runs, each by its id and label, and were stored before the
/// first attempt of any of these runs began. Oldest first. None if the store lacks one of the runs.
std::vector<StoredPlan> plans_before_runs(
    const Store& store, const std::vector<std::pair<std::string, std::string>>& runs);

/// Absent when the run was not predicted, or is not there.
std::optional<RunPrediction> prediction_of(const Store& store, const std::string& run_id);

/// Oldest first; superseded ones left out. Empty also when there is no such run.
std::vector<CheckpointRow> checkpoints_of(const Store& store, const std::string& run_id);
/// By CheckpointRow::id, also when the file is gone. StoreError when there are none.
CutDigests cut_digests(const Store& store, std::int64_t checkpoint);

/// The event log of a run, superseded events left out: for each worker its events in order, 16
/// bytes each (engine/recorder/event.hpp), as they are stored. All empty when none was kept.
/// StoreError when some are missing, UsageError when there is no such run.
std::vector<std::vector<std::byte>> read_events(const Store& store, const std::string& run_id);

/// How each worker spent its time during the first gradients of the newest attempt, by worker. Kept
/// for finished runs only, and for at most some dozens of workers. Empty otherwise.
std::vector<std::vector<Span>> read_spans(const Store& store, const std::string& run_id);

/// Series of a run by metric, then worker. Empty metric: all. -0.0 reads back as 0.0.
std::vector<Series> read_series(const Store& store, const std::string& run_id,
                                const std::string& metric = {}, bool whole_run_only = false);

/// Checks the summaries beside the values of a series, which lists and comparisons read: the count,
/// the last and the best value, unit and direction. Returns a sentence for each one that disagrees
/// with the values: "eval_loss ends with 0.7, said to be 0.1". Empty: all agree.
std::vector<std::string> wrong_summaries(const Store& store, const std::string& run_id);

/// A recorded value, and the position in its attempt at which it was measured.
struct TickValue {
  std::size_t tick = 0;
  double value = 0;
};

/// What visit_series() reports to.
class SeriesVisitor {
 public:
  virtual ~SeriesVisitor() = default;
  /// All positions at which the next attempt measured something, ascending, and after those of the
  /// attempt before. The span stays valid until the next call of this function.
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

// Queries of whole-run series, without superseded values and without reading the whole series.

/// Mean of the samples at places from `from` to `to`, both included; NaN when one of them is not
/// finite. Absent when there is no sample.
std::optional<double> mean_between(const Store& store, const std::string& run_id,
                                   const std::string& metric, PositionAxis axis, double from,
                                   double to);
/// The first sample that is at least the value or, if not `upwards`, at most, and the
/// before it.
struct Reached {
  SeriesPoint first;
  std::optional<SeriesPoint> before;
};
std::optional<Reached> first_reaching(const Store& store, const std::string& run_id,
                                      const std::string& metric, double value, bool upwards);
/// Samples of a metric: at most two at or before a place, and at most two beyond it; the nearest
/// first.
struct SamplesAround {
  std::vector<SeriesPoint> until, beyond;
};
/// By metric; an empty list of metrics means all.
std::map<std::string, SamplesAround> samples_around(const Store& store, const std::string& run_id,
                                                    PositionAxis axis, double value,
                                                    std::span<const std::string_view> metrics = {});
/// By metric, for metrics that have a better direction. NaN is never the best.
std::map<std::string, double> best_values(const Store& store, const std::string& run_id);

/// RunDetail::settings, in the order of the ids. UsageError when one does not exist.
std::vector<nlohmann::json> run_settings(const Store& store,
                                         const std::vector<std::string>& run_ids);

/// How far a run's newest attempt has come and in what time. A live view asks for it twice a
/// second.
struct AttemptPace {
  int attempt = 0;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t resumed_gradients = 0;  // of the checkpoint from which it went on
  double seconds = 0;                  // from its start to its last sign of life, wall clock
};
/// Absent when the run has never begun.
std::optional<AttemptPace> newest_pace(const Store& store, const std::string& run_id);

/// An execution of a run: where, how long and how far.
struct AttemptSummary {
  std::string run;  // its id
  int number = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string started, last_sign;      // UTC; the latter: of its end, or of life
  RunState state = RunState::running;  // as computed: a dead lease is interrupted
  bool is_lost = false;       // its process was gone before it could say how the attempt ended
  double seconds = 0;         // from its start to its last sign, wall clock
  double silent_seconds = 0;  // since its last sign
  Position from, to;          // the checkpoint from which it went on, and where it was at the end
  nlohmann::json batch;       // {"system", "job", "task"} of the batch job that it was part of
};
/// The attempts of these runs, in the order in which they began.
std::vector<AttemptSummary> list_attempts(const Store& store,
                                          const std::vector<std::string>& run_ids);
/// At most `most` values of a whole-run series, spread evenly over its history, oldest first; the
/// newest is among them. NaN where a value is not a number. Reads no more than it returns.
std::vector<double> series_outline(const Store& store, const std::string& run_id,
                                   const std::string& metric, int most);

/// A text that stays equal between two calls with one Store unless another Store wrote something
/// meanwhile, for any run, or a process that executed a run is gone. Takes microseconds. Texts of
/// two Stores cannot be compared.
std::string store_moment(const Store& store);

}  // namespace acid
