#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/notes.hpp"
#include "reports/rounding.hpp"
#include "reports/text_table.hpp"

namespace acid {

struct ComparedRun;
struct CompareOptions;

/// What a search tried for each algorithm at each setting, and what it chose: the value with the
/// fewest diverged runs, of those that came furthest, among those the one with the best mean of the
/// metric over the seeds that all of them have, among those whose mean is that to rounding
/// (reports/rounding.hpp) the smallest number, else the first of the grid.
struct Selection {
  struct Candidate {
    std::string group;                   // digest
    std::vector<nlohmann::json> values;  // parallel to Choice::keys
    int n = 0, diverged = 0;             // seeds that finished, and that did not
    double mean = std::numeric_limits<double>::quiet_NaN();  // of the metric; NaN: none finished
    // Of successive halving n, diverged and mean are of the last rung that the value ran in.
    int rung = 1;                // that rung
    int runs = 0;                // in all rungs
    std::int64_t gradients = 0;  // that these runs were given; 0: unknown
    RunRounding rounding = {};   // of the runs that its mean is of; not stored
  };
  /// One algorithm at one setting.
  struct Choice {
    std::string label;
    std::vector<std::pair<std::string, nlohmann::json>> settings;  // swept settings
    std::vector<std::string> keys;                                 // searched keys
    std::vector<Candidate> candidates;                             // in the grid's order
    std::size_t chosen = 0;
    std::vector<std::string> edges;  // keys in which the smallest or largest number was chosen

    const Candidate& winner() const { return candidates[chosen]; }
    int runs() const;                // that it took
    std::int64_t gradients() const;  // that they were given; 0: unknown
  };
  /// Of successive halving.
  struct Rung {
    double share = 1;        // of each run's budget
    std::size_t values = 0;  // that every choice had left
  };
  std::string metric;
  std::vector<std::uint64_t> seeds;  // on which it chose
  bool on_test = false;              // by a metric of the test set
  bool same_seeds = false;           // the compared runs have these seeds, too
  std::vector<Rung> rungs = {};      // empty: all values ran with the whole budget
  std::vector<Choice> choices;

  std::set<std::string> keys() const;      // of any choice
  std::set<std::string> settings() const;  // swept keys of the choices
  /// nullptr for a group that it did not choose.
  const Choice* choice_of(const std::string& group) const;
};

/// Groups (digests) among which each algorithm at each setting chooses, in the grid's order.
using Cells = std::vector<std::vector<std::string>>;

/// Chooses in every cell, by the runs of these seeds (empty: all). UsageError for a metric that
/// some run lacks, and for candidates without a common seed.
Selection select(const std::vector<ComparedRun>& runs, const Cells& cells,
                 const std::vector<std::string>& keys, const std::string& metric,
                 const std::vector<std::uint64_t>& seeds);

/// Judges the values that ran in another rung by their runs there; they are better than those that
/// did not. `cells`: parallel to the choices and their candidates; empty for those without runs.
void judge_again(Selection& selection, const std::vector<ComparedRun>& runs, const Cells& cells);
/// The cells with the groups of the best `count` candidates of each choice alone; others are empty.
Cells best_of(const Selection& selection, std::size_t count, const Cells& cells);

/// `acid compare --best-over`: the selection of the options among these runs, by validation_loss if
/// all runs have it, else on the test set. `runs` keeps the runs of the chosen values on seeds that
/// were not used to choose. UsageError for keys that no run has or that do not vary, and if no
/// other seeds are left, unless options.same_seeds.
Selection select_best(std::vector<ComparedRun>& runs, const CompareOptions& options);

/// The notes of a comparison on the choices, the numbers of candidates, unequal searches, and
/// values on the edge. Their groups are those of runs (ComparedGroup::runs_group). `of_all`: it
/// chose for every algorithm that is compared.
std::vector<ComparedNote> selection_notes(const Selection& selection, bool of_all);
/// A line for each choice.
std::string selection_table(const Selection& selection, const TextLines& lines);
/// "1/4 of the budget", "the whole budget".
std::string share_of_budget(double share);
/// "4 values, 8 runs, 2400 gradients", and where a value is on the edge of its grid.
std::string tried_words(const Selection::Choice& choice);
/// "topology.kind = ring", without settings that its method does not read; may be empty.
std::string title_of(const Selection::Choice& choice);
/// "AD-PSGD at topology.kind = ring: learning_rate = 0.1, of 4 values, 8 runs"
std::string chosen_line(const Selection::Choice& choice);
/// "learning_rate = 0.1"
std::string chosen_words(const Selection::Choice& choice);

/// {"metric", "seeds", "on_test", "same_seeds", "rungs": [{"share", "values"}], "choices":
/// [{"label", "settings": {key: value}, "keys", "chosen": index, "values", "runs", "gradients",
/// "edges", "candidates": [{"group", "values", "n", "diverged", "mean", "rung", "runs",
/// "gradients"}]}]}; a mean that is not finite is null. Documents of an earlier acid have no rungs
/// and no gradients.
nlohmann::json to_json(const Selection& selection);
/// StoreError if the document is not from to_json().
Selection selection_from(const nlohmann::json& document);

}  // namespace acid
