#include "reports/compare.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"

namespace acid {
namespace {

struct Options {
  std::vector<std::string> names;
  CompareOptions compare;
  Format format;
};

Exit compare_runs(const Session& session, const Options& options) {
  const Store store(session.store_folder, Store::Access::read);
  const Comparison comparison = compare(store, resolve_runs(store, options.names), options.compare);
  if (options.format.json)
    print_json(to_json(comparison));
  else if (options.format.csv)
    print_data(to_csv(comparison));
  else if (options.format.markdown)
    print_data(to_markdown(comparison));
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
  add_table_options(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return compare_runs(session, *options); };
  });
}

}  // namespace acid
