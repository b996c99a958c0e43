#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "recipes/reference.hpp"

namespace acid {
namespace {

struct NewOptions {
  std::string path, name = "first";
  bool force = false;
};

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const RecipeTemplate& one : recipe_templates()) names.emplace_back(one.name);
  return names;
}

Exit write_recipe(const NewOptions& options) {
  const auto all = recipe_templates();
  const auto found = std::ranges::find(all, options.name, &RecipeTemplate::name);
  if (found == all.end())
    throw UsageError(fmt::format("there is no template '{}'; {}", options.name,
                                 did_you_mean(options.name, template_names())));
  const std::string path = options.path.empty() ? options.name + ".toml" : options.path;
  if (path == "-") {
    print_data(found->text);
    return Exit::ok;
  }
  if (!options.force && std::filesystem::exists(path))
    throw UsageError(
        fmt::format("'{}' exists: name another file, or write over it with --force", path));
  OutputFile file(path);
  file.write(found->text);
  file.commit();
  const std::string word = quoted_for_shell(path);
  say(fmt::format("{} is written: 'acid plan {}' shows its runs, 'acid run {}' executes them", path,
                  word, word));
  return Exit::ok;
}

}  // namespace

void add_new_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* command = app.add_subcommand("new", "Write a commented recipe to start from");
  command->add_option("FILE", options->path, "Where to; - is standard output (default: NAME.toml)")
      ->type_name(" ");
  command
      ->add_option("--template", options->name,
                   fmt::format("{} (default: first)", one_of(template_names())))
      ->type_name("NAME");
  command->add_flag("--force", options->force, "Write over a file that exists");
  command->callback(
      [&session, options] { session.action = [options] { return write_recipe(*options); }; });
}

}  // namespace acid
