// The command line: the list of commands, and the one place where errors become exit codes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/option_text.hpp"
#include "cli/terminal/session.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/environment/build_info.hpp"
#include "engine/python/model_templates.hpp"
#include "recipes/plan.hpp"

namespace acid {

#define COMMAND(name) void add_##name##_command(CLI::App& app, Session& session);
#include "cli/catalog.inc"
#undef COMMAND

namespace {

std::string version_line() {
  const BuildInfo& build = build_info();
  return fmt::format("acid {} ({}{})", build.version, build.commit, build.dirty ? ", dirty" : "");
}

void add_commands(CLI::App& app, Session& session) {
#define COMMAND(name) add_##name##_command(app, session);
#include "cli/catalog.inc"
#undef COMMAND
}

// Adds the commands whose output the installation puts where shells and man look for it.
void add_own_words(CLI::App& app, Session& session) {
  const auto& [completion, shell] = add_command<std::string>(
      app, session, "completion",
      "Print the script that completes acid's command lines in bash, zsh or fish",
      [](const Session&, const std::string& wanted) {
        print_data(completion_script(wanted));
        return Exit::ok;
      });
  completion.group("")->add_option("SHELL", shell, "bash, zsh or fish")->required();
  add_command(app, session, "manual", "Print the manual page, for man -l -", [&app] {
    print_data(manual(app, build_info().version, build_info().date));
    return Exit::ok;
  }).group("");
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* each : visible_commands(app)) known.push_back(each->get_name());
  const auto nearest = nearest_name(word, known);
  return nearest ? fmt::format("unknown command '{}'; did you mean '{}'?", word, *nearest)
                 : fmt::format("unknown command '{}': {}", word, one_of(known));
}

Exit print_help(const CLI::App& app, const std::string& name) {
  if (name.empty()) {
    print_data(app.help());
    return Exit::ok;
  }
  const auto commands = visible_commands(app);
  const auto named = std::ranges::find(commands, name, &CLI::App::get_name);
  if (named == commands.end()) throw UsageError(unknown_command(app, name));
  print_data((*named)->help("acid"));
  return Exit::ok;
}

// "acid help COMMAND", as other programs have it.
void add_help_command(CLI::App& app, Session& session) {
  const auto& [command, name] = add_command<std::string>(
      app, session, "help", "Print the help of a command, or this",
      [&app](const Session&, const std::string& wanted) { return print_help(app, wanted); });
  add_argument(command, "COMMAND", name, "Which command");
}

// A suggestion for the first argument that no option or command took.
std::string unexpected_argument(const CLI::App& app, const std::string& argument) {
  const auto parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const std::string word = argument.substr(0, argument.find('='));
  if (argument.size() < 2 || argument[0] != '-')
    return parsed.empty() ? unknown_command(app, word)
                          : fmt::format("unexpected argument '{}'", argument);
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const auto nearest = nearest_name(word, known);
  return fmt::format("unknown option '{}'{}", word,
                     nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
}

Exit bad_usage(const CLI::App& app, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  const auto extra = app.remaining(true);
  const bool unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  say(fmt::format("acid: error: {}", unexpected && !extra.empty()
                                         ? unexpected_argument(app, extra.front())
                                         : std::string(error.what())));
  say(fmt::format("see 'acid {}--help'", parsed.empty() ? "" : parsed.front()->get_name() + " "));
  return Exit::usage;
}

Exit run_command_line(int argc, char** argv) {
  Session session(argc, argv);
  CLI::App app{"A laboratory for asynchronous decentralised training.", "acid"};
  app.set_version_flag("--version", version_line(), "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.get_formatter()->column_width(26);
  app.require_subcommand(0, 1);
  add_store_option(app, session);
  add_commands(app, session);
  add_help_command(app, session);
  add_own_words(app, session);
  app.footer(
      "'acid COMMAND --help' explains a command. A first run: acid run "
      "recipes/quickstart.toml");
  const std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  if (given.size() >= 2 && given[0] == "completion" && given[1] == "--") {  // from a shell
    print_data(completions(app, {given.begin() + 2, given.end()}, session.store_folder));
    return Exit::ok;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    if (const auto extra = app.remaining(); app.get_subcommands().empty() && !extra.empty()) {
      say(fmt::format("acid: error: {}", unexpected_argument(app, extra.front())));
      return Exit::usage;
    }
    std::ostringstream words;
    app.exit(wanted, words);
    print_data(words.str());
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    return bad_usage(app, error);
  }
  if (session.action) {
    const ModelTemplates templates(say);
    return session.action();
  }
  say_raw(app.help());
  return Exit::usage;
}

}  // namespace
}  // namespace acid

int main(int argc, char** argv) {
  using namespace acid;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error, like a full disk
  try {
    const Exit exit = run_command_line(argc, argv);
    flush_data();
    return static_cast<int>(exit);
  } catch (const RecipeError& error) {  // its text shows the recipe already
    say(error.what());
    return static_cast<int>(error.code());
  } catch (const Error& error) {
    say(fmt::format("acid: error: {}", error.what()));
    return static_cast<int>(error.code());
  } catch (const nlohmann::json::exception& error) {
    // acid reads JSON only from the store. What rows hold is checked where they are read, but not
    // to every depth.
    say(
        fmt::format("acid: error: the store is damaged: its data is not as acid writes it ({}); "
                    "'acid doctor --store' looks for more damage",
                    error.what()));
    return static_cast<int>(Exit::store);
  } catch (const std::system_error& error) {
    say(
        fmt::format("acid: error: the system refuses what the command needs: {}; look at the "
                    "limits of memory, threads and files, and at permissions, then try again",
                    error.what()));
    return static_cast<int>(Exit::run_failed);
  } catch (const std::bad_alloc&) {
    say("acid: error: out of memory; give the command more, or name fewer runs, then try again");
    return static_cast<int>(Exit::run_failed);
  } catch (const std::exception& error) {
    say(
        fmt::format("acid: internal error: {}\nThis is a bug in acid, not in what you did. Please "
                    "report it with the command line and {}.",
                    error.what(), version_line()));
    return static_cast<int>(Exit::run_failed);
  }
}
