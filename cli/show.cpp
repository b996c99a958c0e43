#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/show_text.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/base/names.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct ShowOptions {
  std::string run;
  bool changed = false;
  Format format;
};

RunDetail looked_at(const Store& store, const std::string& id) {
  RunDetail detail = run_detail(store, id);
  look_at_files(store, detail);
  return detail;
}

// Many runs are shown as a list; the details of each would be too much to read.
Exit show_all(const Store& store, const AskedRuns& asked, const ShowOptions& options) {
  if (options.format.json) {
    nlohmann::json runs = nlohmann::json::array();
    for (const std::string& id : asked.ids) runs.push_back(to_json(looked_at(store, id)));
    print_json({{"runs", runs}});
    return Exit::ok;
  }
  print_data(
      to_text(run_table(store, run_summaries(store, asked.ids)), lines_of_standard_output()));
  say(fmt::format("'{}' is an experiment of {}: 'acid show RUN' shows all of one", options.run,
                  counted(asked.ids.size(), "run")));
  return Exit::ok;
}

Exit show(const Session& session, const ShowOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  const AskedRuns asked = resolve_shown(store, options.run);
  if (asked.ids.size() > 1) return show_all(store, asked, options);
  const RunDetail detail = looked_at(store, asked.ids.front());
  if (options.format.json)
    print_json(to_json(detail));
  else
    print_data(to_text(detail, options.changed));
  return Exit::ok;
}

}  // namespace

void add_show_command(CLI::App& app, Session& session) {
  auto [command, options] =
      add_command<ShowOptions>(app, session, "show", "Show everything about one run", show);
  add_argument(command, "RUN", options.run,
               "A run's id, a unique prefix of it, or @latest; an experiment's name lists its runs")
      ->required();
  command.add_flag("--changed", options.changed, "Only settings that differ from their defaults");
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
