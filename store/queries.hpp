#pragma once

#include <functional>

#include "store/store.hpp"

namespace acid {

// Each function sees one consistent state of the store, also while runs are being written. All
// throw StoreError when the store cannot be read. Thread: that of the Store.

/// A row of `acid list`. Times are UTC, ISO 8601; empty when they have not come.
struct RunSummary {
  std::string id, experiment, experiment_name, algorithm, label;
  std::uint64_t seed = 0;
  std::string digest, group;
  RunState state = RunState::planned;  // as computed: a dead lease is interrupted
  std::string message;
  std::string driver, topology;
  int workers = 1;
  std::string started, finished;
  std::int64_t budget_gradients = 0;
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
  nlohmann::json environment;
};

/// Written by Recorder::note, in any attempt.
struct LogLine {
  std::string time;
  Severity severity = Severity::info;
  std::string text;
};

/// Everything `acid show` knows.
struct RunDetail {
  RunSummary summary;
  nlohmann::json settings, plan, seeds;
  std::vector<AttemptRow> attempts;
  std::optional<AttemptResult> result;  // of the newest attempt that end_attempt() ended
  std::vector<std::pair<std::string, std::string>> file_digests;
  std::vector<LogLine> log;
};

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
  std::string algorithm;         // empty: any
  std::string where;             // SQL expression over the view run_list (store/SCHEMA.md) that
                                 // can only read; UsageError with the columns when it is wrong
  std::vector<std::string> ids;  // run ids; empty: any
};

/// Newest first: by when a run last began or, if it never did, was asked for.
std::vector<RunSummary> list_runs(const Store& store, const RunFilter& filter = {});

/// Resolves run or experiment names: a unique prefix of an id, an experiment's name, or "@latest"
/// (the newest experiment). Several give the union, in order, each run once. Empty: every run of
/// the newest experiment. UsageError when nothing matches (with the nearest ids) or a prefix is not
/// unique (with the candidates).
std::vector<std::string> resolve_runs(const Store& store, const std::vector<std::string>& names);
/// Exactly one run: a unique prefix of its id, an experiment that has only one, or "@latest", the
/// newest run. UsageError as above.
std::string resolve_run(const Store& store, const std::string& name);

/// Seeds and file digests are those of the newest attempt. UsageError when there is no such run.
RunDetail run_detail(const Store& store, const std::string& run_id);
/// In the order of the ids. UsageError when one does not exist.
std::vector<RunSummary> run_summaries(const Store& store, const std::vector<std::string>& run_ids);
/// The experiment a set of runs was asked for through: newest one that holds the first run.
/// Empty when none does any more: its recipe was asked for again and compiles to other runs now.
ExperimentRecord experiment_of(const Store& store, const std::string& run_id);

/// Series of a run by metric, then worker. Empty metric: all. -0.0 reads back as 0.0.
std::vector<Series> read_series(const Store& store, const std::string& run_id,
                                const std::string& metric = {}, bool whole_run_only = false);

}  // namespace acid
