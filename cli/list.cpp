#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct ListOptions {
  std::string state, algorithm, where;
  Format format;
};

Table table_of(const std::vector<RunSummary>& runs) {
  Table table{{{"run"},
               {"state"},
               {"algorithm"},
               {"seed", true},
               {"n", true},
               {"topology"},
               {"driver"},
               {"result"},
               {"started (UTC)"}},
              {}};
  for (const RunSummary& run : runs)
    table.rows.push_back({run.id, std::string(state_name(run.state)),
                          shown_name(run.algorithm, run.label), fmt::format("{}", run.seed),
                          fmt::format("{}", run.workers), run.topology, run.driver, key_result(run),
                          shown_time(run.started)});
  return table;
}

Exit list(const Session& session, const ListOptions& options) {
  RunFilter filter;
  if (!options.state.empty()) filter.state = state_from_name(options.state);
  filter.algorithm = options.algorithm;
  filter.where = options.where;
  const Store store(session.store_folder, Store::Access::read);
  const auto runs = list_runs(store, filter);
  if (options.format.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const RunSummary& run : runs) listed.push_back(to_json(run));
    print_json({{"schema_version", kJsonSchemaVersion}, {"runs", listed}});
    return Exit::ok;
  }
  const Table table = table_of(runs);
  print_data(options.format.csv        ? to_csv(table)
             : options.format.markdown ? to_markdown(table)
                                       : to_text(table));
  if (runs.empty()) say("no runs match");
  return Exit::ok;
}

}  // namespace

void add_list_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "List runs, newest first");
  command
      ->add_option("--state", options->state,
                   "Only runs in this state: planned, running, finished, failed, diverged, "
                   "interrupted")
      ->type_name("STATE");
  command->add_option("--algorithm", options->algorithm, "Only runs of this algorithm")
      ->type_name("NAME");
  command
      ->add_option("--where", options->where,
                   "Only runs for which this SQL condition on the view run_list holds, such as "
                   "\"workers > 8\"")
      ->type_name("EXPR");
  add_table_options(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return list(session, *options); };
  });
}

}  // namespace acid
