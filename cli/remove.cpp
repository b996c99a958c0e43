#include "store/remove.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/numbers.hpp"
#include "reports/tags.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct RemoveOptions {
  std::vector<std::string> names;
  bool dry_run = false, yes = false;
  Format format;
};

json to_json(const std::vector<Removal::Shared>& runs) {
  json listed = json::array();
  for (const Removal::Shared& run : runs)
    listed.push_back({{"run", run.id}, {"experiments", run.experiments}});
  return listed;
}

/// What a person sees of a removal beside its counts.
struct Going {
  std::vector<ExperimentSummary> experiments;  // that go
  std::vector<ExperimentSummary> same_name;    // and stay
  std::vector<Tagged> tagged;                  // what goes, with its tags and notes
};

Going going_of(const Store& store, const Removal& removal) {
  std::set<std::string> ids(removal.experiments.begin(), removal.experiments.end()), names;
  ids.insert(removal.emptied.begin(), removal.emptied.end());
  Going going;
  const std::vector<ExperimentSummary> all = list_experiments(store);
  for (const ExperimentSummary& one : all)
    if (ids.contains(one.id)) {
      going.experiments.push_back(one);
      names.insert(one.name);
    }
  for (const ExperimentSummary& one : all)
    if (!ids.contains(one.id) && names.contains(one.name)) going.same_name.push_back(one);
  going.tagged = tags_of(store, {removal.runs, {ids.begin(), ids.end()}});
  std::erase_if(going.tagged,
                [](const Tagged& one) { return one.tags.empty() && one.notes.empty(); });
  return going;
}

json to_json(const std::vector<ExperimentSummary>& experiments) {
  json listed = json::array();
  for (const ExperimentSummary& one : experiments)
    listed.push_back({{"id", one.id},
                      {"name", one.name},
                      {"created", one.created},
                      {"overrides", one.overrides}});
  return listed;
}

json to_json(const Removal& removal, const Going& going, bool removed) {
  return {{"removed", removed},
          {"experiments", removal.experiments},
          {"emptied", removal.emptied},
          {"runs", removal.runs},
          {"attempts", removal.attempts},
          {"values", removal.values},
          {"events", removal.events},
          {"files", removal.files},
          {"bytes", removal.file_bytes},
          {"kept", to_json(removal.kept)},
          {"taken_out", to_json(removal.taken_out)},
          {"predictions_kept", removal.predictions},
          {"going", to_json(going.experiments)},
          {"same_name", to_json(going.same_name)},
          {"tagged", to_json(going.tagged)}};
}

constexpr std::size_t kShown = 8;  // of many ids, or experiments

std::string some_of(const std::vector<std::string>& ids) {
  const std::size_t shown = std::min(kShown, ids.size());
  return fmt::format("{}{}", fmt::join(ids.begin(), ids.begin() + static_cast<int>(shown), ", "),
                     shown < ids.size() ? fmt::format(" and {} more", ids.size() - shown) : "");
}

void add_list(std::string& text, const char* title, const std::vector<std::string>& ids,
              const char* noun, const char* which = "") {
  if (!ids.empty())
    text += fmt::format("{:<10}{}{}: {}\n", title, counted(ids.size(), noun), which, some_of(ids));
}

void add_shared(std::string& text, const char* title, const std::vector<Removal::Shared>& runs,
                const char* why) {
  std::vector<std::string> each;
  for (const Removal::Shared& run : runs)
    each.push_back(fmt::format("{} ({})", run.id, fmt::join(run.experiments, ", ")));
  if (!each.empty())
    text +=
        fmt::format("{:<10}{} {}: {}\n", title, counted(each.size(), "run"), why, some_of(each));
}

/// "0123456789ab (first, asked for 2024-05-01 12:30:05, --set workers.count=32)".
std::vector<std::string> described(const std::vector<ExperimentSummary>& experiments) {
  std::vector<std::string> all;
  for (const ExperimentSummary& one : experiments) {
    std::string text =
        fmt::format("{} ({}, asked for {}", one.id, one.name, shown_time(one.created));
    for (const std::string& override_text : one.overrides)
      text += ", --set " + quoted_for_shell(override_text);
    all.push_back(text + ")");
  }
  return all;
}

std::string removal_text(const Removal& removal, const Going& going) {
  std::string text;
  add_list(text, "goes", removal.experiments, "experiment");
  add_list(text, "goes", removal.emptied, "experiment", " without any other run");
  const std::vector<std::string> experiments = described(going.experiments);
  for (std::size_t k = 0; k < std::min(kShown, experiments.size()); ++k)
    text += "            " + experiments[k] + "\n";
  for (const std::string& line : tag_lines(going.tagged)) text += "            " + line + "\n";
  add_list(text, "goes", removal.runs, "run");
  text += fmt::format("goes      {}, {} of {}, {} values, {} events\n",
                      counted(removal.attempts, "attempt"), counted(removal.files.size(), "file"),
                      format_bytes(static_cast<double>(removal.file_bytes)),
                      format_count(static_cast<double>(removal.values)),
                      format_count(static_cast<double>(removal.events)));
  add_shared(text, "taken out", removal.taken_out, "of experiments that stay");
  add_list(text, "stays", described(going.same_name), "experiment", " of the same name");
  add_shared(text, "stays", removal.kept, "that other experiments share");
  add_list(text, "stays", removal.predictions, "prediction", " made from what goes");
  return text;
}

/// Asks on a terminal. Elsewhere only --yes will do.
bool is_meant(const RemoveOptions& options) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) != 1 || !standard_error_is_terminal())
    throw UsageError(
        "nothing was removed: there is no terminal on which to ask; --yes removes without asking");
  say_raw("remove this? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Exit remove(const Session& session, const RemoveOptions& options) {
  Store store = options.dry_run ? Store(session.store_folder, Store::Access::read)
                                : open_existing_store(session.store_folder);
  const Named named = resolve_named(store, options.names);
  const Removal removal = find_removal(store, named);
  const Going going = going_of(store, removal);
  if (!options.format.json) {
    print_data(removal_text(removal, going));
    flush_data();
  }
  const bool wanted = !options.dry_run && is_meant(options);
  if (wanted)
    if (const std::string kept = remove_from(store, named, removal); !kept.empty()) say(kept);
  if (options.format.json)
    print_json(to_json(removal, going, wanted));
  else
    print_data(options.dry_run ? "" : wanted ? "removed\n" : "nothing was removed\n");
  return Exit::ok;
}

}  // namespace

void add_remove_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<RemoveOptions>(
      app, session, "remove", "Remove runs and experiments from the store", remove);
  add_argument(command, "NAMES", options.names,
               "Ids, prefixes, an experiment's name, tag:TAG, @latest; an experiment goes with\n"
               "the runs that no other one has")
      ->required();
  command.add_flag("--dry-run", options.dry_run, "Only say what would go and what would stay");
  command.add_flag("-y,--yes", options.yes, "Do not ask");
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
