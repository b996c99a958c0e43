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

/// An error or warning about a recipe, ready to be shown with the text underlined.
struct Diagnostic {
  std::string file;
  int line = 0;    // from 1; 0: not in the file (a --set override, a missing section)
  int column = 0;  // from 1
  int length = 1;  // columns to underline
  std::string source_line;
  std::string message;  // what is wrong and what was expected
  std::string remedy;   // "did you mean 'momentum'?" or what to change; may be empty
};

/// file:line:column: error: message, the source line, and a caret line; several lines of text.
std::string render(const Diagnostic& diagnostic, const char* severity = "error");

/// All errors of a recipe; what() is their rendering. Exit code 2.
class RecipeError : public UsageError {
 public:
  explicit RecipeError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// One fully resolved run.
///
/// `settings` has every key that run_table() (settings/run_settings.hpp) declares, with its value,
/// and `seed`; settings_from makes a struct of it. Unlike in a recipe
///   algorithm also has the numbers of Method::derived,
///   budget counts in gradients; normalised_time is null unless the recipe counts in it,
///   checkpoint has every_time and every_seconds; both null: the worker decides itself, so that
///   saving costs at most 2 % of the time,
///   evaluation has every_time and consensus_every_time, all cadences in normalised time,
///   execution has mpi {…} with that driver alone,
///   record.events is true or false, and streams has only those held fixed,
///   task.validation is a number of examples, and keys of task without effect are left out,
///   topology is null if the method reads no graph: the run is the same on every graph.
/// Tables that may be written as a bare name ("cnn") are always objects with "kind" here.
/// Analytic tasks have task.model = null, and batch_size = partition = null unless they use
/// batches.
struct PlannedRun {
  std::string id;         // first 12 digits of `digest`
  std::string algorithm;  // the preset's name
  std::string label;      // the recipe's or the algorithm's own
  std::uint64_t seed = 0;
  // SHA-256 of the canonical settings: no paths, file contents instead; without checkpoint,
  // record.events, execution.max_restarts and where MPI's processes are, which change nothing that
  // is computed.
  std::string digest;
  std::string group;  // the same without the seed
  nlohmann::json settings;
  struct Read {
    std::map<std::string, std::string> files;  // with the SHA-256 that is in `digest`
    std::vector<std::string> splits;           // of data from files, one sentence each
  } read;

  int workers = 1;
  struct Graph {
    std::string kind;             // "any" if the method reads none
    std::set<std::string> swept;  // the settings' graphs, as JSON; several only for "any"
    /// For methods of rounds that hear neighbours, if the graph changes.
    std::optional<ScheduleNumbers> schedule;
    /// How the neighbours of a round average: "all-reduce", "messages"; empty for other methods.
    std::string_view exchange = {};
    int largest_group = 0;  // of neighbours that all hear each other; 0: they form no groups
  } graph;
  std::int64_t parameters = 0;        // d
  std::int64_t budget_gradients = 0;  // total; for a time budget: n × normalised time, rounded up;
                                      // 0: the run has none, only exchanges
  std::optional<double> gradients_per_epoch;  // absent where epochs have no meaning
  /// For tasks with a data set.
  struct Examples {
    std::int64_t train = 0, validation = 0, test = 0;
    bool has_accuracy = true;  // evaluations count what is right
  };
  std::optional<Examples> examples;
  bool has_accuracy() const { return examples && examples->has_accuracy; }
  /// By normalised time, as [evaluation] says; absent if the clock decides.
  struct Samples {
    std::int64_t evaluations = 0;  // after the one at the start
    std::int64_t consensus = 0;    // of the consensus distance, after the one at the start and
                                   // beside one at every evaluation
    std::optional<double> share;   // of all evaluations' cost in that of all gradients, if known
    bool is_exact = true;        // false: the run ends somewhat after what its gradients stand for
    bool may_end_early = false;  // seconds, bytes or a target end the run, too
  };
  std::optional<Samples> samples;
  std::optional<double> chi1, chi2;       // absent for n = 1 and methods without a rate
  std::map<std::string, double> numbers;  // the method's own, Method::derived
  double bytes = 0;                       // expected to move over the whole budget
  /// Of rounds, for each worker.
  struct Agreement {
    std::optional<double> left;  // of its differences after an exchange, AlgorithmEntry::agreement
    double exchanges_per_gradient = 0;
  } agreement;
  /// docs/SEMANTICS.md, Throttle.
  struct Load {
    double largest = 0;  // 0 for instantaneous exchanges
    int worker = 0;      // that has it
  } load;
  std::vector<std::string> warnings;
};

/// The [search] of a recipe. A cell is one algorithm at one setting. In each cell the runs of its
/// rungs choose one value, which then runs with the recipe's own seeds.
struct PlannedSearch {
  std::vector<std::string> keys;  // dotted settings that it varies
  std::string metric;             // to choose by
  std::vector<std::uint64_t> seeds;
  std::optional<std::int64_t> draw_seed;        // if its values are drawn
  std::size_t values = 0;                       // per cell, the same for every algorithm
  std::vector<std::vector<std::string>> cells;  // groups, in the grid's order
  /// All values left run for a share of the budget, and the best of them go on to the next rung.
  struct Rung {
    double share = 1;                                  // of each run's own budget
    std::size_t values = 0;                            // that every cell has left
    std::int64_t gradients = 0;                        // of its runs; at most, where budgets differ
    std::vector<std::vector<std::string>> cells = {};  // groups of all values, as in PlannedSearch
    std::vector<PlannedRun> runs = {};  // of all values; empty for the first rung: see tried()
  };
  std::vector<Rung> rungs;          // a grid is one rung with the whole budget
  std::int64_t grid_gradients = 0;  // of all values with the whole budget
  bool halves() const { return !rungs.empty() && rungs.front().share < 1; }
  std::size_t rung_runs(std::size_t rung) const;  // how many will run
  std::int64_t gradients() const;                 // of all rungs
  /// Runs of every value with the recipe's seeds; those of the chosen groups will run.
  std::vector<PlannedRun> finals;
  std::size_t final_count() const;  // how many will run
};

/// A cell of a sweep, an algorithm at a setting, of which nothing runs: its parts do not go
/// together, and the recipe says [sweep] skip_inapplicable.
struct LeftOut {
  std::string algorithm, label;
  nlohmann::json settings;  // swept values by dotted key
  std::string reason;       // one or more sentences
};

/// An algorithm at a setting, of which something runs.
struct PlannedCell {
  nlohmann::json settings;    // swept values by dotted key
  std::size_t value = 0;      // its place among those of an OverAxis
  std::size_t algorithm = 0;  // index of its [[algorithms]] entry
  std::string group;          // of its runs; with a search, of its first value
  bool operator==(const PlannedCell&) const = default;
};

struct OverAxis;  // recipes/over.hpp

/// What a recipe compiles to.
struct Plan {
  std::string name;
  std::string recipe_path;
  std::string recipe_text;
  std::string recipe_digest;           // SHA-256 of text and overrides
  std::vector<std::string> overrides;  // as given: "optimizer.learning_rate=0.1"
  /// By sweep point, algorithm, seed; with a search, the runs that it tries first.
  std::vector<PlannedRun> runs = {};
  std::optional<PlannedSearch> search = {};
  /// Its [comparison] as in ExperimentRecord (store/store.hpp); null: none. No run depends on it.
  nlohmann::json comparison = {};
  std::vector<LeftOut> left_out = {};   // by sweep point and algorithm
  std::vector<PlannedCell> cells = {};  // likewise; several may share their runs
  std::vector<std::uint64_t> seeds = {};
  std::vector<Diagnostic> warnings = {};
  /// Where the formulas of laws stand, by the claim's name, without a message: what evaluates them
  /// says what is wrong.
  std::map<std::string, Diagnostic> formulas = {};

  /// Of a search: the runs of all values in a rung.
  const std::vector<PlannedRun>& tried(std::size_t rung) const {
    return rung == 0 ? runs : search->rungs[rung].runs;
  }
  /// How many runs there will be before those that are compared.
  std::size_t search_count() const;
  /// All that will be compared; with a search, the runs of every value.
  const std::vector<PlannedRun>& compared() const { return search ? search->finals : runs; }
};

/// Compiles recipe text. `path`: for messages and relative file names. Throws RecipeError with all
/// mistakes. Its only side effect is reading the data files that the recipe names.
///
/// An override is KEY=VALUE: a dotted key, which may be new and may step into a list by number
/// ("algorithms.0.communication_rate=2"), and a TOML value or else text. Overrides win over the
/// file, a sweep over both, an algorithm's `set` over all; also between keys that exclude each
/// other: "budget.gradients=50" replaces budget.epochs, and "topology.kind=star" drops the options
/// of the previous kind.
///
/// `over`: the recipe's [sweep] has one more key, whose values vary fastest; only the first seed
/// has runs, and cells that cannot run are left out.
Plan compile_recipe(const std::string& path, const std::string& recipe_text,
                    const std::vector<std::string>& overrides = {}, const OverAxis* over = nullptr);
/// Reads the file and compiles it. UsageError if it cannot be read. `copy_of`: the original of
/// which the file is a copy; it may be gone. Messages and the plan name it, and relative file names
/// start at its folder. Empty: no copy.
Plan load_recipe(const std::string& path, const std::vector<std::string>& overrides = {},
                 const std::string& copy_of = {}, const OverAxis* over = nullptr);

/// `acid plan --json`: {"schema_version", "name", "recipe_digest", "runs": [{id, algorithm, label,
/// seed, digest, group, settings, graphs, examples {train, validation, test}, budget_gradients,
/// gradients_per_epoch, chi1, chi2, bytes, load, warnings, schedule {…}, agreement {left,
/// exchanges_per_gradient}, and each number that a method shows}], "search": {keys, metric, seeds,
/// draw_seed, values, runs, rungs: [{share, values, runs, gradients}], gradients, grid_gradients,
/// final_runs, cells: [[group]]}, "comparison": as in Plan, "left_out":
/// [{algorithm, label, settings, reason}]}; absent values are null. The command adds "verdict"
/// (reports/planned_verdict.hpp).
nlohmann::json to_json(const Plan& plan);
nlohmann::json to_json(const std::vector<LeftOut>& cells);
/// One of its runs.
nlohmann::json to_json(const PlannedRun& run);

}  // namespace acid
