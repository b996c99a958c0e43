#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"
#include "store/existing_store.hpp"
#include "store/maintenance.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct GcOptions {
  bool dry_run = false;
  bool keep_checkpoints = false;
  Format format;
};

std::int64_t bytes_of(const Garbage& garbage) {
  std::int64_t bytes = 0;
  for (const Leftover& file : garbage.files) bytes += file.bytes;
  return bytes;
}

json to_json(const Garbage& garbage, bool removed) {
  json files = json::array();
  for (const Leftover& file : garbage.files)
    files.push_back({{"path", file.path}, {"why", file.why}, {"bytes", file.bytes}});
  return {{"removed", removed},
          {"files", files},
          {"bytes", bytes_of(garbage)},
          {"superseded_points", garbage.superseded_points},
          {"superseded_events", garbage.superseded_events}};
}

std::string files_text(const Garbage& garbage) {
  constexpr std::size_t kShownFiles = 20;
  TextTable table{
      {TextTable::Align::left, TextTable::Align::right, TextTable::Align::left}, {}, {}, 120};
  const std::size_t shown = std::min(kShownFiles, garbage.files.size());
  for (std::size_t f = 0; f < shown; ++f) {
    const Leftover& file = garbage.files[f];
    table.rows.push_back({file.path, format_bytes(static_cast<double>(file.bytes)), file.why});
  }
  std::string text = table.str();
  if (shown < garbage.files.size())
    text += fmt::format("… and {} more (--json lists them)\n", garbage.files.size() - shown);
  return text;
}

std::string summary_text(const Garbage& garbage) {
  return fmt::format("{} of {}, {} superseded values, {} superseded events",
                     counted(garbage.files.size(), "file"),
                     format_bytes(static_cast<double>(bytes_of(garbage))),
                     format_count(static_cast<double>(garbage.superseded_points)),
                     format_count(static_cast<double>(garbage.superseded_events)));
}

Exit collect(const Session& session, const GcOptions& options) {
  Store store = options.dry_run ? Store(session.store_folder, Store::Access::read)
                                : open_existing_store(session.store_folder);
  const Garbage garbage = find_garbage(store, options.keep_checkpoints);
  if (!options.dry_run && !garbage.empty())
    if (const std::string kept = collect_garbage(store, garbage); !kept.empty()) say(kept);
  if (options.format.json) {
    print_json(to_json(garbage, !options.dry_run));
    return Exit::ok;
  }
  print_data(files_text(garbage));
  print_data(garbage.empty()
                 ? fmt::format("the store {} holds nothing that could go\n", session.store_folder)
                 : fmt::format("{}: {}\n", options.dry_run ? "would be removed" : "removed",
                               summary_text(garbage)));
  return Exit::ok;
}

}  // namespace

void add_gc_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<GcOptions>(
      app, session, "gc", "Remove what no command shows any more and checkpoints of finished runs",
      collect);
  command.add_flag("--dry-run", options.dry_run, "Only say what would be removed");
  command.add_flag("--keep-checkpoints", options.keep_checkpoints,
                   "Keep the checkpoints of finished runs");
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
