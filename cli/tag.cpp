#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/base/names.hpp"
#include "store/existing_store.hpp"
#include "store/tags.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct TagOptions {
  std::vector<std::string> names;
  TagChange change;
  Format format;
};

struct TagsShown {
  std::string kind, id;
  std::vector<std::string> tags;
  std::vector<NoteRow> notes;
};

std::vector<TagsShown> tags_shown(const Store& store, const Named& named) {
  std::vector<TagsShown> shown;
  for (const std::string& id : named.runs) {
    const RunDetail run = run_detail(store, id);
    shown.push_back({"run", id, run.summary.tags, run.notes});
  }
  const auto experiments = list_experiments(store);
  for (const std::string& id : named.experiments) {
    const auto found = std::ranges::find(experiments, id, &ExperimentSummary::id);
    if (found != experiments.end()) shown.push_back({"experiment", id, found->tags, found->notes});
  }
  return shown;
}

Exit tag(const Session& session, const TagOptions& options) {
  const TagChange& change = options.change;
  const bool changes = !change.add.empty() || !change.remove.empty() || !change.note.empty();
  Store store = changes ? open_existing_store(session.store_folder)
                        : Store(session.store_folder, Store::Access::read);
  const Named named = resolve_named(store, options.names);
  if (changes) change_tags(store, named, change);
  json listed = json::array();
  for (const TagsShown& one : tags_shown(store, named)) {
    if (options.format.json) {
      listed.push_back(
          {{"kind", one.kind}, {"id", one.id}, {"tags", one.tags}, {"notes", to_json(one.notes)}});
      continue;
    }
    print_data(
        fmt::format("{} {}: {}\n", one.kind, one.id,
                    one.tags.empty() ? "no tags" : fmt::format("{}", fmt::join(one.tags, " "))));
    for (const NoteRow& note : one.notes)
      print_data(fmt::format("  {}  {}\n", shown_time(note.time), note.text));
  }
  if (options.format.json) print_json({{"schema_version", kJsonSchemaVersion}, {"tagged", listed}});
  return Exit::ok;
}

}  // namespace

void add_tag_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<TagOptions>();
  CLI::App* command =
      app.add_subcommand("tag", "Put tags and notes on runs and experiments, or show them");
  command
      ->add_option("NAMES", options->names,
                   "Ids, prefixes, an experiment's name, tag:TAG, @latest: experiments are tagged\n"
                   "themselves, not their runs")
      ->required()
      ->type_name(" ");
  const auto add_tags = [&](const char* name, std::vector<std::string>& tags, const char* help) {
    command->add_option(name, tags, help)->type_name("TAG")->take_all()->allow_extra_args(false);
  };
  add_tags("--add", options->change.add, "Add this tag; may be given several times");
  add_tags("--remove", options->change.remove, "Take this tag away; may be given several times");
  command->add_option("--note", options->change.note, "Add a note, with the time")
      ->type_name("TEXT");
  add_json_option(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return tag(session, *options); };
  });
}

}  // namespace acid
