#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/writer.hpp"
#include "tests/scratch.hpp"
#include "tests/waiting.hpp"

namespace acid::test {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline RunRecord make_run(std::uint64_t seed, const std::string& algorithm = "ad-psgd") {
  RunRecord run;
  run.algorithm = algorithm;
  run.label = algorithm;
  run.seed = seed;
  run.settings = {{"algorithm", {{"kind", algorithm}}}, {"seed", seed}};
  run.digest = sha256_hex(run.settings.dump());
  run.id = run.digest.substr(0, 12);
  run.group = sha256_hex(algorithm);
  run.driver = "virtual";
  run.topology = "ring";
  run.workers = 4;
  run.budget_gradients = 1000;
  run.plan = {{"chi1", 1.5}};
  return run;
}

inline ExperimentRecord make_experiment(const std::string& name) {
  ExperimentRecord experiment;
  experiment.name = name;
  experiment.recipe_path = name + ".toml";
  experiment.recipe_text = "name = \"" + name + "\"\n";
  experiment.recipe_digest = sha256_hex(experiment.recipe_text);
  experiment.id = experiment.recipe_digest.substr(0, 12);
  return experiment;
}

/// A store with one experiment of the given runs.
inline Store make_store(const std::string& folder, const std::vector<RunRecord>& runs) {
  Store store(folder, Store::Access::write);
  store.add_experiment(make_experiment("test"), runs);
  return store;
}

/// A store with one planned run, in a folder of its own.
struct OneRun {
  ScratchFolder temp;
  RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});

  std::int64_t begin(const Lease& lease = Lease::of_this_process()) {
    return store.begin_attempt(run.id, lease, {}, {}, {});
  }
  RunSummary summary() const { return run_summaries(store, {run.id}).at(0); }
  RunDetail detail() const { return run_detail(store, run.id); }
  std::vector<Series> series(const std::string& metric = "", bool whole = false) const {
    return read_series(store, run.id, metric, whole);
  }
  std::vector<CheckpointRow> checkpoints() const { return checkpoints_of(store, run.id); }
  void execute(const std::string& sql) const { store.impl().connection().execute(sql); }
};

inline std::int64_t begin(Store& store, const std::string& run_id) {
  return store.begin_attempt(run_id, Lease::of_this_process(), {}, {}, {});
}

inline AttemptResult ended_as(RunState state) {
  AttemptResult result;
  result.state = state;
  return result;
}

/// A verification in which all was equal.
inline Verification verified(const std::string& message = "") {
  return {.equal = true, .message = message, .from = {}, .environment = {}};
}

inline void sample(RunWriter& writer, const Position& position, const std::vector<Value>& values) {
  writer.sample(position, values);
}

/// A connection as another program would have it.
inline sqlite::Connection raw_connection(const std::string& folder) {
  return {folder + "/store.db", folder, sqlite::Connection::Mode::write};
}

/// A store as an earlier acid made it, with these rows.
inline void make_older(const std::string& folder, std::size_t version, const std::string& rows) {
  std::filesystem::create_directories(folder + "/checkpoints");
  const sqlite::Connection old = raw_connection(folder);
  migrate(old, migrations().first(version));
  old.execute("PRAGMA foreign_keys = OFF");
  old.execute(rows);
}

inline void execute(const Store& store, const std::string& sql) {
  store.impl().connection().execute(sql);
}

/// More rows than a small cache holds.
inline const std::string kManyExperiments =
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 500)"
    " INSERT INTO experiments (id, name, recipe_path, recipe_text, recipe_digest, overrides,"
    " command_line, created) SELECT k, k, '', hex(randomblob(500)), '', '', '', '' FROM n";

/// The first value of a query, as text.
inline std::string first_text(const Store& store, const std::string& sql) {
  sqlite::Statement statement(store.impl().connection(), sql);
  statement.step();
  return statement.text(0);
}

/// All rows of a query as text, fields by '|', NULL as an empty field.
inline std::string rows(const Store& store, const std::string& columns, const std::string& rest) {
  const auto width = static_cast<int>(std::ranges::count(columns, ',')) + 1;
  sqlite::Statement statement(store.impl().connection(), "SELECT " + columns + " FROM " + rest);
  std::string text;
  while (statement.step())
    for (int i = 0; i < width; ++i) text += statement.text(i) + (i + 1 < width ? "|" : "\n");
  return text;
}

/// The first value of a query.
inline std::int64_t number(const Store& store, const std::string& sql) {
  sqlite::Statement statement(store.impl().connection(), sql);
  statement.step();
  return statement.integer(0);
}

/// The lease of a process that is gone, as after SIGKILL: of another one for each `which`.
inline Lease dead_lease(int which = 1) {
  Lease lease = Lease::of_this_process();
  lease.process_start -= which;
  return lease;
}

inline Lease lease_elsewhere() {
  Lease lease = Lease::of_this_process();
  lease.host = "elsewhere";
  return lease;
}

/// Runs `work` in a fork. Call it before this process opens any connection: SQLite's connections
/// must not cross a fork.
inline pid_t start(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
    _exit(1);
  }
  _exit(0);
}

inline bool succeeded(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Runs `check` as a user without rights (tests often run as root, who may do everything).
inline bool as_nobody(const std::function<bool()>& check) {
  return succeeded(start([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
    if (!check()) _exit(1);
  }));
}

inline std::string error_of(const std::string& folder, Store::Access access) {
  try {
    const Store store(folder, access);
    return "no error";
  } catch (const StoreError& error) {
    CHECK(error.code() == Exit::store);
    CHECK_THAT(error.what(), ContainsSubstring(folder));
    return error.what();
  }
}

}  // namespace acid::test
