#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/text_table.hpp"
#include "store/tags.hpp"

namespace acid {

/// The experiments through which these runs are seen, then the runs: those with tags or notes.
std::vector<Tagged> tagged_among(const Store& store, const std::vector<RunSummary>& runs);

/// "tags of first: final, paper-2", "note on run 0123456789ab, 2024-05-01 12:30:05: …", a line
/// each; of many only the first.
std::vector<std::string> tag_lines(const std::vector<Tagged>& tagged);
/// The same below a title.
std::string tag_text(const std::vector<Tagged>& tagged, const TextLines& lines);
/// The same as a list in Markdown, with an empty line at its end; empty without any.
std::string tag_markdown(const std::vector<Tagged>& tagged);

/// [{"time", "text"}]
nlohmann::json to_json(const std::vector<NoteRow>& notes);
/// [{"kind", "id", "tags", "notes"}]
nlohmann::json to_json(const std::vector<Tagged>& tagged);

}  // namespace acid
