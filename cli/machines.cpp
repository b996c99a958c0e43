#include "cli/machines.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/table.hpp"
#include "engine/base/folders.hpp"
#include "engine/base/names.hpp"
#include "recipes/machines.hpp"
#include "recipes/parse.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct MachinesOptions {
  std::string name, file, new_name;
  bool force = false;
  Format format;
};

constexpr const char* kHere = ".";  // names are looked up as for a recipe in this folder

std::string place_of(const NamedMachine& named) {
  return named.path.empty() ? "comes with acid" : named.path;
}

std::string link_text(const Machine::Link& link) {
  std::string text;
  if (link.latency_seconds) text = format_seconds(*link.latency_seconds);
  if (link.bytes_per_second)
    text += fmt::format("{}{}/s", text.empty() ? "" : ", ", format_bytes(*link.bytes_per_second));
  return text;
}

// "79 ms with 4", or a range over the counts of workers.
std::string gradients_text(const Machine& machine) {
  if (machine.gradients.empty()) return kDash;
  const auto [fewest, most] =
      std::ranges::minmax_element(machine.gradients, {}, &Machine::Gradients::workers_per_node);
  std::string text = format_seconds(fewest->mean_seconds);
  if (most->workers_per_node != fewest->workers_per_node)
    text += " to " + format_seconds(most->mean_seconds);
  return text;
}

std::string network_text(const Machine& machine) {
  const std::string between = link_text(machine.network.between);
  const std::string inside = machine.network.inside ? link_text(*machine.network.inside) : "";
  if (between.empty()) return inside.empty() ? kDash : "inside " + inside;
  return between;
}

json document_of(const NamedMachine& named, const Machine& machine) {
  json document = machine.document;
  document["name"] = named.name;
  document["path"] = named.path.empty() ? json() : json(named.path);
  document["hidden"] = named.is_hidden;
  return document;
}

Exit list_machines(const Session&, const MachinesOptions& options) {
  json listed = json::array();
  Table table{{"name", "date", of_numbers("gradient"), "network", "source"}, {}};
  Exit exit = Exit::ok;
  for (const NamedMachine& named : known_machines(kHere)) {
    try {
      const Machine machine = machine_of(place_of(named), named.text);
      if (named.is_hidden)
        say(fmt::format("acid: note: another '{}' comes before {}, and recipes here use that one",
                        named.name, named.path.empty() ? "acid's own" : named.path));
      listed.push_back(document_of(named, machine));
      if (!named.is_hidden)
        table.rows.push_back({named.name, machine.date, gradients_text(machine),
                              network_text(machine),
                              machine.source.substr(0, machine.source.find('\n'))});
    } catch (const RecipeError& error) {  // the others are of use all the same
      say(error.what());
      exit = Exit::usage;
    }
  }
  if (options.format.json)
    print_json({{"machines", listed}});
  else
    print_data(to_text(table, lines_of_standard_output()) +
               "\nacid machines show NAME says everything of one; [execution.virtual] machine = "
               "\"NAME\" simulates it.\n");
  return exit;
}

Exit show_machine(const MachinesOptions& options) {
  const NamedMachine named = find_machine(options.name, kHere);
  const Machine machine = machine_of(place_of(named), named.text);
  if (options.format.json) {
    print_json(document_of(named, machine));
    return Exit::ok;
  }
  print_data(fmt::format("# {}: {}\n{}", named.name, place_of(named), named.text));
  return Exit::ok;
}

Exit export_machine(const MachinesOptions& options) {
  const NamedMachine named = find_machine(options.name, kHere);
  machine_of(place_of(named), named.text);
  const std::string path = options.file.empty() ? named.name + ".toml" : options.file;
  if (path != "-" && !options.force && fs::exists(path))
    throw UsageError(
        fmt::format("'{}' exists: name another file, or write over it with --force", path));
  write_file(path, named.text);
  if (path == "-") return Exit::ok;
  say(fmt::format("{} is written: 'acid machines import {}' adds it elsewhere", path,
                  quoted_for_shell(path)));
  return Exit::ok;
}

Exit import_machine(const MachinesOptions& options) {
  const std::string text = recipe_text(options.file, "machine");
  machine_of(options.file, text);
  const std::string name =
      options.new_name.empty() ? fs::path(options.file).stem().string() : options.new_name;
  store_machine(name, text, options.force);
  return Exit::ok;
}

}  // namespace

void store_machine(const std::string& name, std::string_view text, bool force) {
  const std::string path = path_for_machine(name, force);
  create_folders(machine_folder());
  write_file(path, text);
  say(fmt::format("{} is written: [execution.virtual] machine = \"{}\" simulates it", path, name));
}

std::string path_for_machine(const std::string& name, bool force) {
  if (!is_machine_name(name))
    throw UsageError(fmt::format(
        "'{}' is no name of a machine: use letters, digits, dots, dashes and underscores", name));
  if (machine_folder().empty())
    throw UsageError("there is no folder for machines: set XDG_DATA_HOME or HOME");
  const std::string path = fmt::format("{}/{}.toml", machine_folder(), name);
  if (!force && fs::exists(path))
    throw UsageError(fmt::format(
        "there is a machine '{}' already: choose another name, or replace it with --force", name));
  return path;
}

void add_machines_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<MachinesOptions>(
      app, session, "machines", "List measured machines to simulate; show, export and import them",
      list_machines);
  command.require_subcommand(0, 1);
  add_json_option(command, options.format);
  const auto add = [&command = command, &session, &options = options](
                       const char* name, const char* help, Exit (*action)(const MachinesOptions&)) {
    return &add_command(command, session, name, help, [=, &options] { return action(options); });
  };
  CLI::App* const show = add("show", "Print a machine's file, and where it is", &show_machine);
  add_argument(*show, "MACHINE", options.name, "A machine's name, or a .toml file")->required();
  add_json_option(*show, options.format);
  CLI::App* const give = add("export", "Write a machine's file, to give it away", &export_machine);
  add_argument(*give, "MACHINE", options.name, "A machine's name")->required();
  add_argument(*give, "FILE", options.file, "Where to; - is standard output (default: NAME.toml)");
  give->add_flag("--force", options.force, "Write over a file that exists");
  CLI::App* const take =
      add("import", "Check a machine's file and keep it, for all recipes", &import_machine);
  add_argument(*take, "FILE", options.file, "A machine's file")->required();
  add_value(*take, "--name", options.new_name, "NAME", "What to call it (default: as the file)")
      ->check(wrong_if_empty);
  take->add_flag("--force", options.force, "Replace a machine of that name");
}

}  // namespace acid
