#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "reports/html.hpp"

namespace acid {
namespace {

struct ReportOptions {
  std::vector<std::string> names;
  bool html = false;
  std::string file = "acid-report.html";
};

Exit report(const Session& session, const ReportOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  const std::string page = render_report(store, resolve_runs(store, options.names));
  OutputFile file(options.file);
  file.write(page);
  file.commit();
  print_data(options.file + "\n");
  return Exit::ok;
}

}  // namespace

void add_report_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Write a self-contained HTML page");
  command
      ->add_option("NAMES", options->names,
                   "Runs or experiments: ids, prefixes, an experiment's name, @latest (default)")
      ->type_name(" ");
  command->add_flag("--html", options->html, "An HTML page (the only kind there is)");
  command->add_option("-o,--output", options->file, "Where to (default: acid-report.html)")
      ->type_name("FILE");
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return report(session, *options); };
  });
}

}  // namespace acid
