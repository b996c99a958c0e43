#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/topology/schedule_numbers.hpp"

namespace acid {

/// Something wrong (or doubtful) in a recipe, ready to be shown with the text underlined.
struct Diagnostic {
  std::string file;
  int line = 0;    // from 1; 0: not at a place in the file (a --set override, a missing section)
  int column = 0;  // from 1
  int length = 1;  // columns to underline
  std::string source_line;
  std::string message;  // what is wrong and what was expected
  std::string remedy;   // "did you mean 'momentum'?" or what to change; may be empty
};

/// file:line:column: error: message, the source line, and a caret line; several lines of text.
std::string render(const Diagnostic& diagnostic, const char* severity = "error");

/// All errors of a recipe at once; what() is their rendering. Exit code 2.
class RecipeError : public UsageError {
 public:
  explicit RecipeError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// One fully resolved run.
///
/// `settings` has every key that run_table() (settings/run_settings.hpp) declares, nothing left to
/// default, and `seed`; settings_from makes a struct of it. Unlike in a recipe
///   algorithm has what is in Method::derived, too,
///   budget counts in gradients; normalised_time is null unless the recipe counts in it,
///   checkpoint has every_time and every_seconds; both null: the worker decides itself, so that
///   saving costs at most 2 % of the time,
///   evaluation has every_time and consensus_every_time, all cadences in normalised time,
///   execution has mpi {…} with that driver alone,
///   record.events is true or false, and streams has only those held fixed,
///   task.validation is how many examples, and keys of task that change nothing are left out,
///   topology is null where the method reads no graph: the run is the same on every one.
/// Tables that may be written as a bare name ("cnn") are always objects with "kind" here.
/// Analytic tasks have task.model = null, and batch_size = partition = null unless they use
/// batches.
struct PlannedRun {
  std::string id;         // first 12 digits of `digest`
  std::string algorithm;  // the preset's name
  std::string label;      // for people: the recipe's label or the algorithm's own
  std::uint64_t seed = 0;
  // SHA-256 of the canonical settings: no paths, file contents instead; without checkpoint,
  // record.events, execution.max_restarts and where MPI's processes are, which change nothing that
  // is computed.
  std::string digest;
  std::string group;  // the same without the seed
  nlohmann::json settings;
  struct Read {
    std::map<std::string, std::string> files;  // and the SHA-256 that `digest` is of
    std::vector<std::string> splits;           // of data from files, in words
  } read;

  int workers = 1;
  struct Graph {
    std::string kind;             // "any" where the method reads none
    std::set<std::string> swept;  // those that the run is asked for, as JSON; several only then
    /// How it changes, of methods of rounds that hear neighbours; absent: it does not.
    std::optional<ScheduleNumbers> schedule;
  } graph;
  std::int64_t parameters = 0;        // d
  std::int64_t budget_gradients = 0;  // total; for a time budget: n × normalised time, rounded up;
                                      // 0: the run has none, only exchanges
  std::optional<double> gradients_per_epoch;  // absent where epochs have no meaning
  /// Of tasks with a data set.
  struct Examples {
    std::int64_t train = 0, validation = 0, test = 0;
  };
  std::optional<Examples> examples;
  std::optional<double> chi1, chi2;       // absent for n = 1 and patterns without a rate
  std::map<std::string, double> numbers;  // the method's own, Method::derived
  double bytes = 0;                       // expected to move over the whole budget
  /// What an exchange of rounds leaves of the workers' differences, AlgorithmEntry::agreement.
  std::optional<double> left;
  double exchanges_per_gradient = 0;  // of each worker, in rounds
  /// docs/SEMANTICS.md, Throttle.
  struct Load {
    double largest = 0;  // 0 for instantaneous exchanges
    int worker = 0;      // whose it is
  } load;
  std::vector<std::string> warnings;
};

/// The [search] of a recipe. In every cell, one algorithm at one setting, one value is chosen by
/// the runs of the plan, and then runs with the recipe's own seeds.
struct PlannedSearch {
  std::vector<std::string> keys;  // dotted settings that it varies
  std::string metric;             // to choose by
  std::vector<std::uint64_t> seeds;
  std::size_t values = 0;                       // in each cell, of every algorithm alike
  std::vector<std::vector<std::string>> cells;  // groups, in the grid's order
  /// With the recipe's seeds, of every value: those of the groups chosen will run.
  std::vector<PlannedRun> finals;
  std::size_t final_count() const;  // how many will run
};

/// What a recipe compiles to.
struct Plan {
  std::string name;
  std::string recipe_path;
  std::string recipe_text;
  std::string recipe_digest;           // SHA-256 of text and overrides
  std::vector<std::string> overrides;  // as given: "optimizer.learning_rate=0.1"
  /// Sweep point, then algorithm, then seed; with a search, those that it tries.
  std::vector<PlannedRun> runs;
  std::optional<PlannedSearch> search;
  /// Its [comparison], as ExperimentRecord (store/store.hpp) has it; null: the recipe has none. No
  /// run depends on it.
  nlohmann::json comparison = {};
  std::vector<Diagnostic> warnings;
};

/// Compiles recipe text. `path` is for messages and for relative file names. Throws RecipeError
/// with everything that is wrong. Pure but for reading the data files the recipe names.
///
/// An override is KEY=VALUE: a dotted key, which may be new and may step into a list by number
/// ("algorithms.0.communication_rate=2"), and a TOML value; what is no TOML value is taken as text.
/// What is said later wins: overrides over the file, a sweep over both, an algorithm's `set` over
/// all. That includes keys which exclude each other: "budget.gradients=50" replaces budget.epochs,
/// and "topology.kind=star" drops the options of the kind before.
Plan compile_recipe(const std::string& path, const std::string& recipe_text,
                    const std::vector<std::string>& overrides = {});
/// Reads the file, then as above. UsageError when it cannot be read. `copy_of`: the file is a copy
/// of that one, which need not be there any more: messages and the plan name the original, and
/// relative file names start at its folder. Empty: it is no copy.
Plan load_recipe(const std::string& path, const std::vector<std::string>& overrides = {},
                 const std::string& copy_of = {});

/// `acid plan --json`: {"schema_version", "name", "recipe_digest", "runs": [{id, algorithm, label,
/// seed, digest, group, settings, graphs, examples {train, validation, test}, budget_gradients,
/// gradients_per_epoch, chi1, chi2, bytes, load, warnings, schedule {…}, agreement {left,
/// exchanges_per_gradient}, and each number that some method shows}], "search": {keys, metric,
/// seeds, values, runs, final_runs, cells: [[group]]}, "comparison": as in Plan}; what is absent is
/// null. The command adds "verdict" (reports/planned_verdict.hpp).
nlohmann::json to_json(const Plan& plan);
/// One of its runs.
nlohmann::json to_json(const PlannedRun& run);

}  // namespace acid
