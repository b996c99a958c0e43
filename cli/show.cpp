#include <CLI/CLI.hpp>
#include <memory>

#include "cli/show_text.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"

namespace acid {
namespace {

struct ShowOptions {
  std::string run;
  bool changed = false;
  Format format;
};

Exit show(const Session& session, const ShowOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  RunDetail detail = run_detail(store, resolve_run(store, options.run));
  look_at_files(store, detail);
  if (options.format.json)
    print_json(to_json(detail));
  else
    print_data(to_text(detail, options.changed));
  return Exit::ok;
}

}  // namespace

void add_show_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "Show everything about one run");
  command->add_option("RUN", options->run, "A run's id, a unique prefix of it, or @latest")
      ->required()
      ->type_name(" ");
  command->add_flag("--changed", options->changed, "Only settings that differ from their defaults");
  add_json_option(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return show(session, *options); };
  });
}

}  // namespace acid
