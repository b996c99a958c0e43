#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

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
  ReportOptions reading;
  reading.at = parse_read_at(command.at);
  const ReportData data = read_report(store, asked, reading);
  const PageFigure drawn = report_figure(data, command.request);
  // A picture has no caption of its own.
  const TableNotes notes = table_notes(data.comparison, {}, command.request.chart == "difference");
  for (const auto& list : {notes.general, notes.of_settings})
    for (const std::string& note : list) say("note: " + note);
  if (!drawn.drawing) throw Error("there is nothing to draw");
  file.save(drawn, /*titled=*/!overview);
  return Exit::ok;
}

}  // namespace

void add_figure_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<FigureCommand>();
  CLI::App* command = app.add_subcommand("figure", "Write one chart of a report as SVG or PDF");
  command
      ->add_option("NAMES", options->names,
                   "Runs or experiments: ids, prefixes, an experiment's name, @latest (default)")
      ->type_name(" ");
  command
      ->add_option("--chart", options->request.chart,
                   "curve (default), overview, difference, ratio, runtime or, for one algorithm,\n"
                   "timeline, staleness, topology, pairing, gradients, idle or holdings")
      ->type_name("NAME");
  command
      ->add_option("--metric", options->request.metric,
                   "The metric of a curve or difference (default: the primary outcome)")
      ->type_name("NAME");
  command
      ->add_option("--against", options->request.against,
                   "A curve's axis: gradients, epochs, normalised_time, seconds or bytes")
      ->type_name("AXIS");
  command
      ->add_option("--algorithm", options->request.algorithm,
                   "Algorithm of a timeline, staleness, pairing, gradients, idle or holdings: a "
                   "label or kind")
      ->type_name("LABEL");
  command
      ->add_option("--at", options->at,
                   "Where an overview or difference reads its values, as compare does: last\n"
                   "(default), best, gradients=N, epochs=E, time=T, seconds=S or bytes=B")
      ->type_name("WHERE");
  add_where_option(*command, options->where);
  command
      ->add_option("--width", options->width,
                   "column (84 mm, default), text (174 mm, default of an overview) or millimetres")
      ->type_name("WIDTH");
  command
      ->add_option("-o,--output", options->file,
                   "Where to, .svg or .pdf (default: figure.svg); its data beside it as .csv")
      ->type_name("FILE")
      ->check(wrong_if_empty);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return figure(session, *options); };
  });
}

}  // namespace acid
