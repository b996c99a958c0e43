// Decides which notes are beside which numbers.
#include "reports/notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/names.hpp"
#include "reports/comparison.hpp"
#include "reports/targets.hpp"

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
  std::vector<std::pair<std::string, std::set<std::size_t>>> counts;  // settings by label, in order
  std::vector<std::size_t> groups;
  for (const ComparedNote* note : notes)
    for (const std::string& digest : note->groups) {
      const ComparedGroup& group = group_of(comparison, digest);
      groups.push_back(static_cast<std::size_t>(&group - comparison.groups.data()));
      const std::string& label = group.label;
      auto known =
          std::ranges::find_if(counts, [&](const auto& one) { return one.first == label; });
      if (known == counts.end()) known = counts.insert(known, {label, {}});
      known->second.insert(*note->point);
    }
  std::vector<std::string> words;
  for (const auto& [label, settings] : counts)
    words.push_back(fmt::format("{} at {}", label, counted(settings.size(), "setting")));
  if (words.empty()) words.push_back(fmt::format("at {}", counted(notes.size(), "setting")));
  std::string title(entry_of(kind).of_several);
  if (kind == NoteKind::target_missed) title = "runs missed " + targets_of(comparison, groups);
  return fmt::format("{}: {}", title, fmt::join(words, ", "));
}

}  // namespace

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
