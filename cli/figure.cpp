#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/figure_file.hpp"
#include "cli/terminal/commands.hpp"
#include "reports/html/figures.hpp"

namespace acid {
namespace {

struct FigureCommand {
  std::vector<std::string> names, where;
  FigureRequest request;
  std::string at = "last";
  std::string width;  // empty: text width for the overview, column width for the others
  std::string file = "figure.svg";
};

Exit figure(const Session& session, const FigureCommand& command) {
  const bool overview = command.request.chart == "overview";
  const FigureFile file(command.file, command.width, overview ? "text" : "column");
  const Store store(session.store_folder, Store::Access::read);
  const AskedRuns asked =
      runs_where(store, resolve_runs(store, command.names, OfSearches::without), command.where);
  require_finished(store, asked.ids, "draw");
  ReportOptions reading;
  reading.at = parse_read_at(command.at);
  ReportData data = read_report(store, asked, reading);
  data.detail.drawn_cells = data.detail.cells;  // one chart has room for what a page's data has
  const PageFigure drawn = report_figure(data, command.request);
  // A picture has no caption of its own.
  const TableNotes notes =
      table_notes(data.comparison, {}, overview || command.request.chart == "difference");
  for (const auto& list : {notes.general, notes.of_settings})
    for (const std::string& note : list) say("note: " + note);
  for (const std::string& note : drawn.notes) say("note: " + note);
  file.save(drawn, /*titled=*/!overview);
  return Exit::ok;
}

}  // namespace

void add_figure_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<FigureCommand>(
      app, session, "figure", "Write one chart of a report as SVG or PDF", figure);
  add_runs_argument(command, "NAMES", options.names, " (default)");
  add_value(command, "--chart", options.request.chart, "NAME",
            "curve (default), overview, difference, ratio, runtime, crossover (seconds per\n"
            "iteration over a swept number) or, for one algorithm, timeline, staleness, "
            "topology, pairing, gradients, idle or holdings");
  add_value(command, "--metric", options.request.metric, "NAME",
            "The metric of a curve or difference (default: the primary outcome)");
  add_value(command, "--against", options.request.against, "AXIS",
            "A curve's axis: gradients, epochs, normalised_time, seconds or bytes");
  add_value(command, "--algorithm", options.request.algorithm, "LABEL",
            "Algorithm of a timeline, staleness, pairing, gradients, idle or holdings: a "
            "label or kind");
  add_value(command, "--at", options.at, "WHERE",
            "Where an overview or difference reads its values, as compare does: last\n"
            "(default), best, gradients=N, epochs=E, time=T, seconds=S or bytes=B");
  add_where_option(command, options.where);
  add_value(command, "--width", options.width, "WIDTH",
            "column (84 mm, default), text (174 mm, default of an overview) or millimetres");
  add_value(command, "-o,--output", options.file, "FILE",
            "Where to, .svg or .pdf (default: figure.svg); its data beside it as .csv")
      ->check(wrong_if_empty);
  add_store_option(command, session);
}

}  // namespace acid
