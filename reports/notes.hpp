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
#define NOTE(kind, ...) kind,
#include "reports/note_kinds.inc"
#undef NOTE
};

struct NoteKindEntry {
  NoteKind kind;
  std::string_view name;        // for programs: columns of CSV, JSON
  std::string_view of_several;  // "runs diverged": for notes on many settings, joined
  bool of_differences = false;  // of numbers that a table of means alone lacks
};
/// In the order of the enumeration.
inline constexpr std::array kNoteKinds{
#define NOTE(kind, ...) NoteKindEntry{NoteKind::kind, #kind, __VA_ARGS__},
#include "reports/note_kinds.inc"
#undef NOTE
};
inline const NoteKindEntry& entry_of(NoteKind kind) {
  return kNoteKinds.at(static_cast<std::size_t>(kind));
}

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
