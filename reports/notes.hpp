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
  unequal_search,   // more tried values give better ones
  chosen_on_test,   // by a metric of the test set
  same_seeds,       // chosen on the seeds that are compared
  on_edge,          // a chosen value is the smallest or largest tried
  search_diverged,  // with every value that was tried
  left_out,         // a sweep has no runs of an algorithm at a setting that refuses it
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
  target_order,  // only the order counts if some runs missed it
  target_reached,
  target_line,     // on the line between two samples
  targets_differ,  // of runs at one setting
  mid_span,        // of the shortest run, not of the budget
  other_settings,  // a group differs from its baseline in more than the algorithm
  other_seeds,     // than those of its baseline
  exchange_rates,  // methods exchange at different rates of their own
  few_seeds,       // for a test
  recipes_differ,  // in what they say about comparing
  changed_plan,    // the compared metric was changed when results existed
  other_primary,   // than the recipe's, because metrics were named
  consensus_baseline,
  rounding,    // differences that count as none
  hidden,      // differences that lines between samples may cause
  unordered,   // seeds of which one run ended before the other reached the target
  tests,       // which ones, and their families
  survivors,   // means of differences are over those alone
  area,        // the range of a mean height
  train_loss,  // which model and which data
  stand_in,    // bytes and seconds of a large model
  where_read,
  resolution,  // of values between samples
};

struct NoteKindEntry {
  NoteKind kind;
  std::string_view name;        // for programs: columns of CSV, JSON
  std::string_view of_several;  // "runs diverged": for notes on many settings, joined
  bool of_differences = false;  // of numbers that a table of means alone lacks
};
/// In the order of the enumeration.
extern const std::array<NoteKindEntry, 40> kNoteKinds;
const NoteKindEntry& entry_of(NoteKind kind);

struct ComparedNote {
  NoteKind kind;
  std::string text;                       // a sentence without its full stop
  std::vector<std::string> groups = {};   // digests of the groups with these numbers; empty: all
  std::vector<std::string> metrics = {};  // empty: all
  std::optional<std::size_t> point = {};  // index, if it is about one of several settings
};

/// Kinds of the notes about this group's numbers of the metric, each once, in their order.
std::vector<std::string_view> note_names(const Comparison& comparison, const std::string& group,
                                         const std::string& metric, bool differences = true);
/// The same with blanks between, for a field of a CSV; of means alone without those on differences.
std::string note_field(const Comparison& comparison, const std::string& group,
                       const std::string& metric, bool differences = true);

/// A table's notes: those on all of it, and those on single settings, with many of a kind joined:
/// "runs diverged: AD-PSGD at 5 settings, A²CiD² at 1 setting".
struct TableNotes {
  std::vector<std::string> general, of_settings;
};
/// The notes of a table of these metrics (empty: all), of means alone or with differences.
TableNotes table_notes(const Comparison& comparison, const std::vector<std::string>& metrics,
                       bool differences);

/// [{"kind", "text", "groups": [digest], "metrics": [name], "settings": {key: value}}]; an empty
/// list means all of them; settings are there if a note is about one of several.
nlohmann::json notes_json(const Comparison& comparison);
std::vector<std::string> note_texts(const Comparison& comparison);

}  // namespace acid
