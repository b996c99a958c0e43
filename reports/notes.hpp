#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

struct Comparison;

/// What a note of a comparison is about. Each kind changes what some number means, so every form
/// that has such a number has the note (reports/forms.hpp).
enum class NoteKind {
  chosen,           // a value for each algorithm, before it was compared
  unequal_search,   // whoever tried more values finds better ones
  chosen_on_test,   // by a metric of the test set
  same_seeds,       // chosen on the seeds that are compared
  on_edge,          // a value chosen is the least or the largest that was tried
  search_diverged,  // with every value that was tried
  no_baseline,      // differences are to another group, or there are none
  shared_runs,      // computed once for several settings
  diverged,
  unfinished,
  ended_before,  // the place where metrics are read
  not_finite,    // a sample beside that place
  not_read,      // samples around that place are too far apart
  missing,       // some runs have no value
  other_rate,    // exchanges per gradient are not those asked for
  target_missed,
  target_order,  // where some runs missed it, only order counts
  target_reached,
  target_line,         // on the line between two samples
  targets_differ,      // of runs at one setting
  mid_span,            // of the shortest run, not of the budget
  other_settings,      // a group differs from its baseline in more than the algorithm
  other_seeds,         // than those of its baseline
  exchange_rates,      // methods exchange at different rates of their own
  few_seeds,           // for a test
  recipes_differ,      // in what they say of comparing
  changed_plan,        // what is compared was chosen again when results were there
  other_primary,       // than the recipe's, since metrics were named
  consensus_baseline,  // whom consensus distances are tested against
  rounding,            // differences that are taken for none
  hidden,              // differences that lines between samples may make
  tests,               // which ones, and over what they are adjusted
  survivors,           // means of differences are over those alone
  area,                // from where to where a mean height is
  train_loss,          // at whose model, on whose data
  where_read,
  resolution,  // of values between samples
};

struct NoteKindEntry {
  NoteKind kind;
  std::string_view name;        // for programs: columns of CSV, JSON
  std::string_view of_several;  // "runs diverged": where notes on many settings are one
  bool of_differences = false;  // of numbers that a table of means alone does not have
};
/// In the order of the enumeration.
extern const std::array<NoteKindEntry, 37> kNoteKinds;
const NoteKindEntry& entry_of(NoteKind kind);

struct ComparedNote {
  NoteKind kind;
  std::string text;                       // a sentence without its full stop
  std::vector<std::string> groups = {};   // digests of those whose numbers it is about; empty: all
  std::vector<std::string> metrics = {};  // empty: all
  std::optional<std::size_t> point = {};  // index, where it is about one of several settings
};

/// Kinds of the notes about this group's numbers of the metric, each once, in their order.
std::vector<std::string_view> note_names(const Comparison& comparison, const std::string& group,
                                         const std::string& metric, bool differences = true);
/// The same with blanks between, for a field of a CSV; of means alone without those on differences.
std::string note_field(const Comparison& comparison, const std::string& group,
                       const std::string& metric, bool differences = true);

/// What a table needs: notes on all of it, and those on single settings, where many of a kind are
/// one: "runs diverged: AD-PSGD at 5 settings, A²CiD² at 1 setting".
struct TableNotes {
  std::vector<std::string> general, of_settings;
};
/// Of a table of these metrics, of means alone or with differences. Empty `metrics`: all.
TableNotes table_notes(const Comparison& comparison, const std::vector<std::string>& metrics,
                       bool differences);

/// [{"kind", "text", "groups": [digest], "metrics": [name], "settings": {key: value}}]; an empty
/// list means all of them, and settings are there where a note is about one of several.
nlohmann::json notes_json(const Comparison& comparison);
std::vector<std::string> note_texts(const Comparison& comparison);

}  // namespace acid
