#include "reports/compare.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"

namespace acid {
namespace {

struct Options {
  std::vector<std::string> names;
  CompareOptions compare;
  std::string at = "last", target;
  Format format;
  bool latex = false;
};

Exit compare_runs(const Session& session, const Options& options) {
  CompareOptions asked = options.compare;
  asked.at = parse_read_at(options.at);
  if (!options.target.empty()) asked.target = parse_target(options.target);
  const Store store(session.store_folder, Store::Access::read);
  const Comparison comparison = compare(store, resolve_runs(store, options.names), asked);
  if (options.format.json)
    print_json(to_json(comparison));
  else if (options.format.csv)
    print_data(to_csv(comparison));
  else if (options.format.markdown)
    print_data(to_markdown(comparison));
  else if (options.latex)
    print_data(to_latex(comparison));
  else
    print_data(to_text(comparison, colour_on_standard_output()));
  return Exit::ok;
}

}  // namespace

void add_compare_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("compare", "Compare algorithms: mean and 95 % interval over seeds");
  command
      ->add_option("NAMES", options->names,
                   "Runs or experiments: ids, prefixes, an experiment's name, @latest (default)")
      ->type_name(" ");
  command
      ->add_option("--baseline", options->compare.baseline,
                   "Algorithm or label that differences are taken to (default: ar-sgd)")
      ->type_name("NAME");
  command
      ->add_option("--metric", options->compare.metrics,
                   "Only this metric; may be given several times")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--at", options->at,
                   "Where metrics are read: last (default), best, or the last sample at\n"
                   "gradients=N, time=T (normalised), seconds=S or bytes=B")
      ->type_name("WHERE");
  command
      ->add_option("--target", options->target,
                   "Gradients, time, seconds and bytes until a metric reached a value, as in\n"
                   "eval_accuracy=0.9 (default: the recipe's budget.target)")
      ->type_name("METRIC=VALUE");
  add_table_options(*command, options->format);
  command->add_flag("--latex", options->latex, "Print a LaTeX table (booktabs)")
      ->excludes("--json")
      ->excludes("--csv")
      ->excludes("--markdown");
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return compare_runs(session, *options); };
  });
}

}  // namespace acid
