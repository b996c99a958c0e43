#include "store/merge.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/progress.hpp"
#include "engine/base/names.hpp"
#include "reports/numbers.hpp"
#include "store/maintenance.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct MergeOptions {
  std::vector<std::string> stores;
  Format format;
};

json to_json(const MergeReport& report, const std::string& store, const std::string& contents) {
  json twice = json::array();
  for (const ExecutedTwice& one : report.twice)
    twice.push_back({{"run", one.run},
                     {"store", one.store},
                     {"equal", one.equal},
                     {"came", one.came},
                     {"what", one.what}});
  return {{"schema_version", kJsonSchemaVersion},
          {"store", store},
          {"runs_added", report.runs_added},
          {"runs_completed", report.runs_completed},
          {"runs_known", report.runs_known},
          {"experiments_added", report.experiments_added},
          {"experiments_renewed", report.experiments_renewed},
          {"files", report.files},
          {"bytes", report.bytes},
          {"executed_twice", twice},
          {"broken", report.broken},
          {"contents", contents}};
}

std::string summary_text(const MergeReport& report, const std::string& contents) {
  return fmt::format(
      "merged    {} that were not here, {} that had not come as far here, {} known\n"
      "          {} that were not here, {} in a newer definition\n"
      "          {} of {} copied\n"
      "contents  {}\n",
      counted(report.runs_added, "run"), report.runs_completed, report.runs_known,
      counted(report.experiments_added, "experiment"), report.experiments_renewed,
      counted(report.files, "file"), format_bytes(static_cast<double>(report.bytes)), contents);
}

Exit merge(const Session& session, const MergeOptions& options) {
  // A name that is no store must not make an empty target.
  for (const std::string& folder : options.stores) Store(folder, Store::Access::read);
  Store target(session.store_folder, Store::Access::write);
  MergeReport report;
  {
    const SteadyClock clock;
    ReadingProgress progress(clock, "merged", standard_error_is_terminal());
    report = merge_stores(target, options.stores,
                          [&](std::size_t done, std::size_t runs) { progress.show(done, runs); });
  }
  for (const ExecutedTwice& one : report.twice)
    say(fmt::format("{}{}", one.equal ? "" : "conflict: ", one.what));
  for (const std::string& broken : report.broken) say(fmt::format("as before: {}", broken));
  const std::string contents = contents_digest(target);
  if (options.format.json)
    print_json(to_json(report, session.store_folder, contents));
  else
    print_data(summary_text(report, contents));
  return Exit::ok;
}

}  // namespace

void add_merge_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command =
      app.add_subcommand("merge", "Bring everything of other stores into the store");
  command
      ->add_option(
          "STORES", options->stores,
          "Folders of the other stores, which are only read; --store names the store that\n"
          "takes it all, which is made if there is none")
      ->required()
      ->check(wrong_if_empty)
      ->type_name("DIR");
  add_json_option(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return merge(session, *options); };
  });
}

}  // namespace acid
