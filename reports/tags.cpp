#include "reports/tags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "reports/numbers.hpp"

namespace acid {

std::vector<Tagged> tagged_among(const Store& store, const std::vector<RunSummary>& runs) {
  Named experiments, ids;
  for (const RunSummary& run : runs) {
    ids.runs.push_back(run.id);
    if (!run.experiment.empty() &&
        std::ranges::find(experiments.experiments, run.experiment) == experiments.experiments.end())
      experiments.experiments.push_back(run.experiment);
  }
  std::vector<Tagged> all = tags_of(store, experiments);
  for (Tagged& one : tags_of(store, ids)) all.push_back(std::move(one));
  std::erase_if(all, [](const Tagged& one) { return one.tags.empty() && one.notes.empty(); });
  return all;
}

std::vector<std::string> tag_lines(const std::vector<Tagged>& tagged) {
  constexpr std::size_t kMost = 12;
  std::map<std::string, int> names;  // of experiments; some are called alike
  for (const Tagged& one : tagged) ++names[one.name];
  std::vector<std::string> lines;
  for (const Tagged& one : tagged) {
    const std::string of = one.name.empty()       ? fmt::format("{} {}", one.kind, one.id)
                           : names[one.name] == 1 ? one.name
                                                  : fmt::format("{} ({})", one.name, one.id);
    if (!one.tags.empty())
      lines.push_back(fmt::format("tags of {}: {}", of, fmt::join(one.tags, ", ")));
    for (const NoteRow& note : one.notes)
      lines.push_back(fmt::format("note on {}, {}: {}", of, shown_time(note.time), note.text));
  }
  if (lines.size() <= kMost) return lines;
  const std::size_t more = lines.size() - (kMost - 1);
  lines.resize(kMost - 1);
  lines.push_back(fmt::format("and {} more lines of tags and notes ('acid tag' shows them)", more));
  return lines;
}

std::string tag_text(const std::vector<Tagged>& tagged, const TextLines& lines) {
  std::string text;
  for (const std::string& line : tag_lines(tagged))
    text += "  " + wrapped(line, lines.prose() - 2, "    ") + "\n";
  return text;
}

std::string tag_markdown(const std::vector<Tagged>& tagged) {
  std::string text;
  for (const std::string& line : tag_lines(tagged))
    text += fmt::format("- {}\n", markdown_cell(line));
  return text.empty() ? text : text + "\n";
}

nlohmann::json to_json(const std::vector<NoteRow>& notes) {
  nlohmann::json listed = nlohmann::json::array();
  for (const NoteRow& note : notes) listed.push_back({{"time", note.time}, {"text", note.text}});
  return listed;
}

nlohmann::json to_json(const std::vector<Tagged>& tagged) {
  nlohmann::json listed = nlohmann::json::array();
  for (const Tagged& one : tagged)
    listed.push_back(
        {{"kind", one.kind}, {"id", one.id}, {"tags", one.tags}, {"notes", to_json(one.notes)}});
  return listed;
}

}  // namespace acid
