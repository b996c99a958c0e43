#include "reports/figure/figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/html/figures.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

struct FigureCommand {
  std::vector<std::string> names, where;
  FigureRequest request;
  std::string at = "last";
  std::string width;  // empty: text width for the overview, column width for the others
  std::string file = "figure.svg";
};

constexpr double kColumnMillimetres = 84, kTextMillimetres = 174;

double millimetres_of(const std::string& width) {
  if (width == "column") return kColumnMillimetres;
  if (width == "text") return kTextMillimetres;
  char* end = nullptr;
  const double value = std::strtod(width.c_str(), &end);
  if (*end != '\0' || !(value >= 20 && value <= 1000))
    throw UsageError(fmt::format(
        "--width {}: 'column' (84 mm), 'text' (174 mm) or 20 to 1000 millimetres", width));
  return value;
}

/// Those of these runs that have all the values asked for.
std::vector<std::string> runs_where(const Store& store, const std::vector<std::string>& ids,
                                    const std::vector<std::string>& where) {
  std::vector<std::string> chosen;
  for (const std::string& id : ids) {
    const FlatSettings settings = flatten(run_detail(store, id).settings);
    // A method that reads no graph is shown beside the methods of every graph.
    const bool any_graph = value_at(settings, "topology.kind").is_null();
    const bool all = std::ranges::all_of(where, [&](const std::string& one) {
      const std::size_t equals = one.find('=');
      if (equals == std::string::npos)
        throw UsageError(fmt::format("--where {}: KEY=VALUE is meant", one));
      if (any_graph && one.starts_with("topology.")) return true;
      return value_text(value_at(settings, one.substr(0, equals))) == one.substr(equals + 1);
    });
    if (all) chosen.push_back(id);
  }
  if (chosen.empty())
    throw UsageError(fmt::format(
        "no run has {}: 'acid compare --only-changed' lists the settings that differ and their "
        "values",
        fmt::join(where, " and ")));
  return chosen;
}

void save_file(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
  print_data(path + "\n");
}

Exit figure(const Session& session, const FigureCommand& command) {
  const std::filesystem::path path(command.file);
  const std::string kind = path.extension().string();
  if (kind != ".svg" && kind != ".pdf")
    throw UsageError(fmt::format("-o {}: the name must end in .svg or .pdf", command.file));
  const bool overview = command.request.chart == "overview";
  const double millimetres = millimetres_of(!command.width.empty() ? command.width
                                            : overview             ? "text"
                                                                   : "column");
  const Store store(session.store_folder, Store::Access::read);
  AskedRuns asked = resolve_runs(store, command.names, OfSearches::without);
  if (!command.where.empty()) asked.ids = runs_where(store, asked.ids, command.where);
  ReportOptions reading;
  reading.at = parse_read_at(command.at);
  const ReportData data = read_report(store, asked, reading);
  const ReportFigure drawn = report_figure(data, command.request);
  // A figure has no caption, so the notes are printed.
  const TableNotes notes = table_notes(data.comparison, {}, command.request.chart == "difference");
  for (const auto& list : {notes.general, notes.of_settings})
    for (const std::string& note : list) say("note: " + note);
  Figure figure = figure_of(drawn.html);
  if (!overview) figure = with_title(std::move(figure));
  save_file(command.file,
            kind == ".svg" ? figure_svg(figure, millimetres) : figure_pdf(figure, millimetres));
  save_file(std::filesystem::path(path).replace_extension(".csv").string(), drawn.csv);
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
                   "curve (default), overview, difference, ratio, runtime or, of one algorithm,\n"
                   "timeline, staleness, topology, pairing, gradients, idle or holdings")
      ->type_name("NAME");
  command
      ->add_option("--metric", options->request.metric,
                   "Of a curve or difference (default: the primary outcome)")
      ->type_name("NAME");
  command
      ->add_option("--against", options->request.against,
                   "A curve's axis: gradients, epochs, normalised_time, seconds or bytes")
      ->type_name("AXIS");
  command
      ->add_option(
          "--algorithm", options->request.algorithm,
          "Whose timeline, staleness, pairing, gradients, idle or holdings: a label or kind")
      ->type_name("LABEL");
  command
      ->add_option("--at", options->at,
                   "Where an overview or difference reads its values, as compare does: last\n"
                   "(default), best, gradients=N, epochs=E, time=T, seconds=S or bytes=B")
      ->type_name("WHERE");
  command
      ->add_option("--where", options->where,
                   "Only runs with this setting; may be given several times")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
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
