#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace acid {

// Of commands and options of CLI11: what numbers may be, and what the manual page and shells are
// told.

/// Lets numbers above 0 pass, and none beyond what is told apart from 0 and infinity.
inline CLI::Validator above_zero() {
  return {[](const std::string& text) {
            double number = 0;
            const bool is_above =
                CLI::detail::lexical_cast(text, number) && number >= 1e-100 && number <= 1e100;
            return is_above ? std::string() : "expected a number above 0, found " + text;
          },
          ""};
}

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
