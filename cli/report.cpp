#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/progress.hpp"
#include "reports/html.hpp"
#include "reports/html/page_script.hpp"

namespace acid {
namespace {

struct ReportCommand {
  std::vector<std::string> names, where;
  bool html = false;
  std::string file = "acid-report.html";
};

std::string make_page(const Store& store, const AskedRuns& asked,
                      const std::vector<std::string>& where) {
  ReadingProgress progress("read");
  ReportOptions options;
  options.where = where;
  options.progress = [&](std::size_t done, std::size_t runs) { progress.show(done, runs); };
  return render_report(store, asked, options);
}

Exit report(const Session& session, const ReportCommand& command) {
  require_can_write(command.file);
  const Store store(session.store_folder, Store::Access::read);
  const AskedRuns asked =
      runs_where(store, resolve_runs(store, command.names, OfSearches::without), command.where);
  require_finished(store, asked.ids, "report");
  const std::string page = make_page(store, asked, command.where);
  if (page_script().script.empty())
    say("static charts: this acid was built without npm; with it, charts zoom and tables can be "
        "saved");
  write_file(command.file, page);
  if (command.file != "-") print_data(command.file + "\n");
  return Exit::ok;
}

}  // namespace

void add_report_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<ReportCommand>(app, session, "report",
                                                       "Write a self-contained HTML page", report);
  add_runs_argument(command, "NAMES", options.names, " (default)");
  add_where_option(command, options.where);
  command.add_flag("--html", options.html, "An HTML page (the only kind there is)");
  add_value(command, "-o,--output", options.file, "FILE",
            "Where to (default: acid-report.html); - for standard output")
      ->check(wrong_if_empty);
  add_store_option(command, session);
}

}  // namespace acid
