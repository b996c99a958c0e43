
#include "reports/compare.hpp"

#include <CLI/CLI.hpp>

#include "cli/predict/scores.hpp"
#include "cli/terminal/commands.hpp"
#include "exports/rcp.hpp"
#include "recipes/seeds.hpp"
#include "reports/compare_settings.hpp"
#include "reports/forms.hpp"

namespace acid {
namespace {

struct Options {
  std::vector<std::string> names, where;
  CompareOptions compare;
  std::string at = "last", target, caption;
  std::vector<std::string> selection_seeds;  // and ranges of them
  Format format;
  bool latex = false;
  bool details = false;
  std::optional<std::string> pivot;  // "true": --pivot without =ROWS:COLUMNS
  bool only_changed = false;
  bool predicted = false;
  std::string rcp;  // a file of reference convergence points; empty: none
};

void print_changes(const SettingsDiff& diff, const Format& format) {
  if (format.json)
    print_json(to_json(diff));
  else if (format.csv)
    print_data(to_csv(diff));
  else if (format.markdown)
    print_data(to_markdown(diff));
  else
    print_data(to_text(diff, colour_on_standard_output(), lines_of_standard_output()));
}

void print_scores(const Comparison& comparison, const PredictionScores& scores,
                  const Format& format) {
  require_scores(scores);
  if (format.json)
    print_json(to_json(comparison, scores));
  else if (format.csv)
    print_data(to_csv(values_table(comparison, scores)));
  else if (format.markdown)
    print_data(to_markdown(scores_table(comparison, score_rows(comparison, scores))));
  else
    print_data(to_text(comparison, scores, lines_of_standard_output()));
}

std::string_view form_asked(const Options& options) {
  const Format& format = options.format;
  return options.latex     ? "latex"
         : format.json     ? "json"
         : format.csv      ? "csv"
         : format.markdown ? "markdown"
         : options.details ? "details"
                           : "";
}

Exit print_comparison(const Session& session, const Options& options) {
  CompareOptions asked = options.compare;
  asked.at = parse_read_at(options.at);
  asked.derive_all = options.format.json || options.format.csv;
  if (!options.target.empty()) asked.target = parse_target(options.target);
  for (const std::string& text : options.selection_seeds)
    for (const std::uint64_t seed : seeds_of(text)) asked.selection_seeds.push_back(seed);
  const Store store(session.store_folder, Store::Access::read);
  const AskedRuns runs =
      runs_where(store, resolve_runs(store, options.names, OfSearches::without), options.where);
  if (options.only_changed) {
    print_changes(diff_settings(store, runs), options.format);
    return Exit::ok;
  }
  const Comparison comparison = compare(store, runs, asked);
  if (!options.rcp.empty()) {
    const ConvergenceReference reference(options.rcp);
    const auto points = convergence_points(store, comparison);
    if (options.format.json)
      print_json({{"points", rcp_rows(points, reference)}});
    else
      print_data(rcp_text(points, reference, lines_of_standard_output()));
    return Exit::ok;
  }
  if (options.predicted) {
    print_scores(comparison, score_predictions(store, comparison), options.format);
    return Exit::ok;
  }
  FormRequest request{.metrics = asked.metrics,
                      .keys = {},
                      .caption = options.caption,
                      .colour = colour_on_standard_output(),
                      .lines = lines_of_standard_output(),
                      .command = session.command_line + " --details"};
  if (options.pivot) require_finished(store, runs.ids, "put into a table");
  if (options.pivot && *options.pivot != "true") request.keys = parse_pivot(*options.pivot);
  const auto shape = options.pivot ? ComparisonForm::Shape::pivot : ComparisonForm::Shape::whole;
  print_data(form_of(shape, form_asked(options)).print(comparison, request));
  return Exit::ok;
}

void add_what_options(CLI::App& command, Options& options) {
  add_runs_argument(command, "NAMES", options.names, " (default)");
  add_where_option(command, options.where);
  add_value(
      command, "--baseline", options.compare.baseline, "NAME",
      fmt::format("Algorithm or label that differences are taken to (default: {})", kBaseline));
  add_repeated(command, "--metric", options.compare.metrics, "NAME",
               "Only this metric; may be given several times. Also auc_eval_accuracy,\n"
               "auc_eval_loss (mean height of the curve) and exchanges_to_target");
  add_value(command, "--at", options.at, "WHERE",
            "Where metrics are read: last (default), best, or between the samples\n"
            "around gradients=N, epochs=E, time=T (normalised), seconds=S or bytes=B, as in\n"
            "seconds=2.67min; nothing where those are more than a fifth of the way there apart");
  add_value(command, "--target", options.target, "METRIC=VALUE",
            "Gradients, time, seconds and bytes until a metric reached a value, as in\n"
            "eval_accuracy=0.9 (default: the recipe's budget.target)");
}

void add_selection_options(CLI::App& command, Options& options) {
  CLI::Option* const over =
      add_repeated(
          command, "--best-over", options.compare.best_over, "KEY[,KEY]",
          "Compare each algorithm at its best value of these settings (optimizer.learning_rate), "
          "chosen\nby validation_loss if the runs have it, else on the test set, with a note")
          ->delimiter(',');
  add_value(command, "--best-on", options.compare.best_on, "NAME", "Choose by this metric instead")
      ->needs(over);
  add_repeated(command, "--selection-seeds", options.selection_seeds, "SEEDS",
               "Choose on these seeds, as 1-3,7, and compare on the others")
      ->delimiter(',')
      ->needs(over);
  command
      .add_flag("--same-seeds", options.compare.same_seeds,
                "Compare on the seeds that the values were chosen on, which flatters all of them")
      ->needs(over);
}

void add_layout_options(CLI::App& command, Options& options) {
  add_repeated(command, "--by", options.compare.by, "KEY[,KEY]",
               "One table for each value of these settings (topology.kind,workers.count);\n"
               "others that a sweep varies become columns. Nothing is averaged over them,\n"
               "and differences stay to the baseline at the same settings")
      ->delimiter(',');
  command.add_flag("--details", options.details,
                   "Every metric and verdict of each setting; with more than four settings\n"
                   "compare otherwise prints an overview");
  command
      .add_flag("--pivot", options.pivot,
                "One table of the whole sweep for each --metric (default: the primary\n"
                "outcome), the best of a setting marked where a test shows it. Settings are its\n"
                "rows and algorithms its columns, or =ROWS:COLUMNS, keys that vary and\n"
                "\"algorithm\", as in --pivot=topology.kind:workers.count,algorithm")
      ->type_name("[=ROWS:COLUMNS]")
      ->excludes("--json")
      ->excludes("--details");
  CLI::Option* const latex =
      command.add_flag("--latex", options.latex, "Print a LaTeX table (booktabs)");
  latex->excludes("--json")->excludes("--csv")->excludes("--markdown");
  add_value(command, "--caption", options.caption, "TEXT",
            "The LaTeX table's caption, in LaTeX; the notes on its numbers then stand below\n"
            "the table")
      ->needs(latex);
  CLI::Option* const predicted = command.add_flag(
      "--predicted", options.predicted,
      "Instead: what 'acid run --predict' stored before the runs began, beside what they did:\n"
      "errors, how many values are inside their 90 % intervals, and CRPS");
  CLI::Option* const rcp =
      add_value(
          command, "--rcp", options.rcp, "FILE",
          "Instead: whether each group's epochs to the target pass the one-sided test of MLPerf\n"
          "against the reference convergence points in FILE")
          ->check(wrong_if_empty);
  CLI::Option* const changed = command.add_flag(
      "--only-changed", options.only_changed,
      "Instead: the settings that differ between any runs, and what differs in how they\n"
      "were asked for and executed (overrides, acid, host, CPU)");
  for (const char* other : {"--baseline", "--metric", "--at", "--by", "--csv", "--markdown",
                            "--latex", "--details", "--pivot", "--predicted"})
    rcp->excludes(other);
  changed->excludes(rcp);
  for (const char* other : {"--baseline", "--metric", "--at", "--target", "--by", "--latex",
                            "--details", "--pivot", "--best-over"})
    changed->excludes(other);
  for (const char* other : {"--baseline", "--at", "--target", "--latex", "--details", "--pivot",
                            "--best-over", "--only-changed"})
    predicted->excludes(other);
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<Options>(
      app, session, "compare", "Compare algorithms: mean and 95 % interval over seeds",
      print_comparison);
  add_what_options(command, options);
  add_table_options(command, options.format);
  add_selection_options(command, options);
  add_layout_options(command, options);
  add_store_option(command, session);
  command.parse_complete_callback([&command = command, &options = options] {
    options.compare.baseline_must_be_there = command.count("--baseline") > 0;
  });
}

}  // namespace acid
