#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <span>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "recipes/reference.hpp"

namespace acid {
namespace {

struct NewOptions {
  std::string path, name = "first", paper;
  bool force = false;
};

std::vector<std::string> recipe_names(std::span<const RecipeTemplate> all) {
  std::vector<std::string> names;
  for (const RecipeTemplate& one : all) names.emplace_back(one.name);
  return names;
}

const RecipeTemplate& wanted_recipe(const NewOptions& options) {
  const bool of_paper = !options.paper.empty();
  const auto all = of_paper ? paper_recipes() : recipe_templates();
  const std::string& name = of_paper ? options.paper : options.name;
  const auto found = std::ranges::find(all, name, &RecipeTemplate::name);
  if (found == all.end())
    throw UsageError(fmt::format("there is no {} '{}'; {}",
                                 of_paper ? "recipe of a paper called" : "template", name,
                                 did_you_mean(name, recipe_names(all))));
  return *found;
}

Exit write_recipe(const Session&, const NewOptions& options) {
  const RecipeTemplate& found = wanted_recipe(options);
  const std::string path = options.path.empty() ? std::string(found.name) + ".toml" : options.path;
  if (path != "-" && !options.force && std::filesystem::exists(path))
    throw UsageError(
        fmt::format("'{}' exists: name another file, or write over it with --force", path));
  write_file(path, found.text);
  if (path == "-") return Exit::ok;
  const std::string word = quoted_for_shell(path);
  say(fmt::format("{} is written: 'acid plan {}' shows its runs, 'acid run {}' executes them", path,
                  word, word));
  return Exit::ok;
}

}  // namespace

void add_new_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<NewOptions>(
      app, session, "new", "Write a commented recipe to start from", write_recipe);
  add_argument(command, "FILE", options.path,
               "Where to; - is standard output (default: NAME.toml)");
  add_value(command, "--template", options.name, "NAME",
            fmt::format("{} (default: first)", one_of(recipe_names(recipe_templates()))));
  add_value(command, "--paper", options.paper, "NAME",
            fmt::format("A recipe that checks the claims of a paper: {}",
                        one_of(recipe_names(paper_recipes()))))
      ->excludes("--template");
  command.add_flag("--force", options.force, "Write over a file that exists");
}

}  // namespace acid
