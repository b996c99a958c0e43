#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/numbers.hpp"
#include "reports/tags.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace {

struct TagOptions {
  std::vector<std::string> names;
  TagChange change;
  Format format;
};

Exit tag(const Session& session, const TagOptions& options) {
  const TagChange& change = options.change;
  const bool changes = !change.add.empty() || !change.remove.empty() || change.note.has_value();
  Store store = changes ? open_existing_store(session.store_folder)
                        : Store(session.store_folder, Store::Access::read);
  const Named named = resolve_named(store, options.names);
  if (changes) {
    const TagsChanged done = change_tags(store, named, change);
    if (change.note == "")
      say(done.notes_removed == 0 ? "there was no note to remove"
                                  : counted(done.notes_removed, "note") + " removed");
  }
  const std::vector<Tagged> tagged = tags_of(store, named);
  if (options.format.json) {
    print_json({{"tagged", to_json(tagged)}});
    return Exit::ok;
  }
  for (const Tagged& one : tagged) {
    print_data(
        fmt::format("{} {}: {}\n", one.kind, one.id,
                    one.tags.empty() ? "no tags" : fmt::format("{}", fmt::join(one.tags, " "))));
    for (const NoteRow& note : one.notes)
      print_data(fmt::format("  {}  {}\n", shown_time(note.time), note.text));
  }
  return Exit::ok;
}

}  // namespace

void add_tag_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<TagOptions>(
      app, session, "tag", "Put tags and notes on runs and experiments, or show them", tag);
  add_argument(command, "NAMES", options.names,
               "Ids, prefixes, an experiment's name, tag:TAG, @latest: experiments are tagged\n"
               "themselves, not their runs")
      ->required();
  const auto add_tags = [&](const char* name, std::vector<std::string>& tags, const char* help) {
    add_repeated(command, name, tags, "TAG", help);
  };
  add_tags("--add", options.change.add, "Add this tag; may be given several times");
  add_tags("--remove", options.change.remove, "Take this tag away; may be given several times");
  add_value(command, "--note", options.change.note, "TEXT",
            "Add a note, one line, with the time; \"\" removes all notes");
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
