#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace acid {

// What CLI11 knows of commands and options, for the manual page and for shells.

/// The commands that help shows.
inline std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

inline bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// The placeholder of an option's value in help: "FILE", "RUNS"; empty for a flag.
inline std::string placeholder(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  if (!takes_value(option)) return {};
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));  // after the colon: what is checked
}

/// The option's names as typed: "-o", "--output".
inline std::vector<std::string> typed_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace acid
