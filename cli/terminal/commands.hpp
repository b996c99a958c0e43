#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "cli/terminal/session.hpp"

namespace acid {

// How the file of a command adds it to the program: its options, its help, and what it does.

/// Adds a command, which does `execute` unless a subcommand of it is named. Parsing a command line
/// only fills in session.action; main runs it afterwards.
CLI::App& add_command(CLI::App& app, Session& session, const char* name, const char* help,
                      std::function<Exit()> execute);

/// A command that is being declared, and what its command line fills in.
template <class Options>
struct DeclaredCommand {
  CLI::App& command;
  Options& options;
};

/// As above; the command owns its options.
template <class Options>
DeclaredCommand<Options> add_command(CLI::App& app, Session& session, const char* name,
                                     const char* help,
                                     std::function<Exit(const Session&, Options&)> execute) {
  const auto options = std::make_shared<Options>();
  return {
      add_command(app, session, name, help, [=, &session] { return execute(session, *options); }),
      *options};
}

/// An argument, which help calls `name`.
template <class Value>
CLI::Option* add_argument(CLI::App& command, const char* name, Value& value,
                          const std::string& help) {
  return command.add_option(name, value, help)->type_name(" ");
}
/// An argument for runs and experiments. `by_default`, in brackets: what they are when none is
/// named.
CLI::Option* add_runs_argument(CLI::App& command, const char* name, std::vector<std::string>& runs,
                               const char* by_default = "");
/// An option with a value, which help calls `type`.
template <class Value>
CLI::Option* add_value(CLI::App& command, const char* name, Value& value, const char* type,
                       const std::string& help) {
  return command.add_option(name, value, help)->type_name(type);
}
/// As add_value(), for an option that may be given several times.
template <class Value>
CLI::Option* add_repeated(CLI::App& command, const char* name, Value& values, const char* type,
                          const std::string& help) {
  return add_value(command, name, values, type, help)->take_all()->allow_extra_args(false);
}

}  // namespace acid
