// Decides which notes are beside which numbers.
#include "reports/notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/comparison.hpp"
#include "reports/point_readings.hpp"

namespace acid {
namespace {

/// This many notes of a kind on single settings are not summed up.
constexpr std::size_t kMostOfSettings = 3;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_about(const ComparedNote& note, const std::vector<std::string>& metrics) {
  return note.metrics.empty() || metrics.empty() ||
         std::ranges::any_of(metrics,
                             [&](const auto& metric) { return has(note.metrics, metric); });
}

/// "runs diverged: AD-PSGD at 5 settings, A²CiD² at 1".
std::string summed(const Comparison& comparison, NoteKind kind,
                   const std::vector<const ComparedNote*>& notes) {
  std::vector<std::pair<std::string, std::size_t>> counts;  // by label, in order
  std::vector<std::size_t> groups;
  for (const ComparedNote* note : notes)
    for (const std::string& digest : note->groups) {
      const ComparedGroup& group = group_of(comparison, digest);
      groups.push_back(static_cast<std::size_t>(&group - comparison.groups.data()));
      const std::string& label = group.label;
      const auto known =
          std::ranges::find(counts, label, &std::pair<std::string, std::size_t>::first);
      if (known == counts.end())
        counts.emplace_back(label, 1);
      else
        ++known->second;
    }
  std::vector<std::string> words;
  for (const auto& [label, count] : counts)
    words.push_back(fmt::format("{} at {}", label, counted(count, "setting")));
  if (words.empty()) words.push_back(fmt::format("at {}", counted(notes.size(), "setting")));
  std::string title(entry_of(kind).of_several);
  if (kind == NoteKind::target_missed) title = "runs missed " + targets_of(comparison, groups);
  return fmt::format("{}: {}", title, fmt::join(words, ", "));
}

}  // namespace

const std::array<NoteKindEntry, 40> kNoteKinds{
    NoteKindEntry{NoteKind::chosen, "chosen", "values were chosen"},
    NoteKindEntry{NoteKind::unequal_search, "unequal_search", "searches are unequal"},
    NoteKindEntry{NoteKind::chosen_on_test, "chosen_on_test", "values were chosen on the test set"},
    NoteKindEntry{NoteKind::same_seeds, "same_seeds", "chosen and compared on the same seeds"},
    NoteKindEntry{NoteKind::on_edge, "on_edge", "values on the edge of what was tried"},
    NoteKindEntry{NoteKind::search_diverged, "search_diverged", "every value tried diverged"},
    NoteKindEntry{NoteKind::left_out, "left_out", "left out of the sweep"},
    NoteKindEntry{NoteKind::no_baseline, "no_baseline", "no run of the baseline", true},
    NoteKindEntry{NoteKind::shared_runs, "shared_runs", "runs were computed once for all graphs"},
    NoteKindEntry{NoteKind::diverged, "diverged",
                  "runs diverged, which are in no mean and worse than every other in tests"},
    NoteKindEntry{NoteKind::unfinished, "unfinished", "runs are not in the numbers"},
    NoteKindEntry{NoteKind::ended_before, "ended_before",
                  "runs ended before the place that is read and have no value"},
    NoteKindEntry{NoteKind::not_finite, "not_finite",
                  "a sample beside the place that is read is not finite"},
    NoteKindEntry{NoteKind::not_read, "not_read",
                  "no value, since samples around the place that is read are too far apart"},
    NoteKindEntry{NoteKind::missing, "missing", "some runs have no value"},
    NoteKindEntry{NoteKind::other_rate, "other_rate",
                  "exchanges per gradient are not those that were asked for"},
    NoteKindEntry{NoteKind::target_missed, "target_missed", "runs missed the target"},
    NoteKindEntry{NoteKind::target_order, "target_order", "runs missed the target"},
    NoteKindEntry{NoteKind::target_reached, "target_reached", "runs reached the target"},
    NoteKindEntry{NoteKind::target_line, "target_line", "a target is reached between samples"},
    NoteKindEntry{NoteKind::targets_differ, "targets_differ",
                  "runs have different targets, so that nothing compares the ways to them"},
    NoteKindEntry{
        NoteKind::mid_span, "mid_span",
        "runs ended at different places, so that consensus_distance_mid is over 20-50 % of "
        "the shortest run's length"},
    NoteKindEntry{NoteKind::other_settings, "other_settings",
                  "differs from the baseline in more than the algorithm"},
    NoteKindEntry{NoteKind::other_seeds, "other_seeds",
                  "seeds are not those of the baseline; only common ones are paired"},
    NoteKindEntry{NoteKind::exchange_rates, "exchange_rates", "exchange at rates of their own"},
    NoteKindEntry{NoteKind::few_seeds, "few_seeds", "too few seeds for a test"},
    NoteKindEntry{NoteKind::recipes_differ, "recipes_differ", "recipes ask for other comparisons"},
    NoteKindEntry{NoteKind::changed_plan, "changed_plan",
                  "what is compared was chosen again when runs had ended"},
    NoteKindEntry{NoteKind::other_primary, "other_primary",
                  "the verdict is not of the recipe's primary outcome"},
    NoteKindEntry{NoteKind::consensus_baseline, "consensus_baseline",
                  "consensus distances have a baseline of their own", true},
    NoteKindEntry{NoteKind::rounding, "rounding", "differences that are rounding"},
    NoteKindEntry{NoteKind::hidden, "hidden", "differences that lines between samples may make",
                  true},
    NoteKindEntry{NoteKind::unordered, "unordered", "seeds that cannot be ordered", true},
    NoteKindEntry{NoteKind::tests, "tests", "differences are tested", true},
    NoteKindEntry{NoteKind::survivors, "survivors", "differences of those that finished", true},
    NoteKindEntry{NoteKind::area, "area", "mean heights of curves"},
    NoteKindEntry{NoteKind::train_loss, "train_loss", "losses at the workers' own models"},
    NoteKindEntry{NoteKind::stand_in, "stand_in", "bytes and seconds are those of large models"},
    NoteKindEntry{NoteKind::where_read, "where_read", "read elsewhere than at the end"},
    NoteKindEntry{NoteKind::resolution, "resolution", "values between samples"},
};

const NoteKindEntry& entry_of(NoteKind kind) {
  const NoteKindEntry& entry = kNoteKinds.at(static_cast<std::size_t>(kind));
  ACID_ASSERT(entry.kind == kind, "the kinds of notes are not in order at {}", entry.name);
  return entry;
}

std::vector<std::string_view> note_names(const Comparison& comparison, const std::string& group,
                                         const std::string& metric, bool differences) {
  const bool differs = differences && find_difference(comparison, group, metric) != nullptr;
  std::vector<std::string_view> names;
  for (const ComparedNote& note : comparison.notes) {
    const NoteKindEntry& entry = entry_of(note.kind);
    const bool of_group = note.groups.empty() || has(note.groups, group);
    if (!of_group || !is_about(note, {metric}) || (entry.of_differences && !differs)) continue;
    if (std::ranges::find(names, entry.name) == names.end()) names.push_back(entry.name);
  }
  return names;
}

std::string note_field(const Comparison& comparison, const std::string& group,
                       const std::string& metric, bool differences) {
  return fmt::format("{}", fmt::join(note_names(comparison, group, metric, differences), " "));
}

TableNotes table_notes(const Comparison& comparison, const std::vector<std::string>& metrics,
                       bool differences) {
  TableNotes notes;
  std::map<NoteKind, std::vector<const ComparedNote*>> of_settings;
  for (const ComparedNote& note : comparison.notes) {
    if (!is_about(note, metrics) || (entry_of(note.kind).of_differences && !differences)) continue;
    if (note.point)
      of_settings[note.kind].push_back(&note);
    else
      notes.general.push_back(note.text);
  }
  for (const auto& [kind, of_kind] : of_settings) {
    if (of_kind.size() > kMostOfSettings)
      notes.of_settings.push_back(summed(comparison, kind, of_kind));
    else
      for (const ComparedNote* note : of_kind) notes.of_settings.push_back(note->text);
  }
  return notes;
}

nlohmann::json notes_json(const Comparison& comparison) {
  nlohmann::json list = nlohmann::json::array();
  for (const ComparedNote& note : comparison.notes) {
    nlohmann::json settings = nlohmann::json::object();
    if (note.point)
      for (const auto& [key, value] : comparison.points[*note.point].settings)
        settings[key] = value;
    list.push_back({{"kind", entry_of(note.kind).name},
                    {"text", note.text},
                    {"groups", note.groups},
                    {"metrics", note.metrics},
                    {"settings", settings}});
  }
  return list;
}

std::vector<std::string> note_texts(const Comparison& comparison) {
  std::vector<std::string> texts;
  for (const ComparedNote& note : comparison.notes) texts.push_back(note.text);
  return texts;
}

}  // namespace acid
