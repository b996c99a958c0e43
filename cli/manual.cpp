#include "cli/manual.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <utility>

#include "cli/terminal/option_text.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

/// Text that roff prints unchanged: no line begins a request, a minus can be copied.
std::string as_roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins = escaped.empty() || escaped.back() == '\n';
    if (begins && (c == ' ' || c == '\n')) continue;
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

/// A summary in man's style: neither a capital nor a full stop.
std::string summary(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string bold(const std::string& text) { return "\\fB" + as_roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + as_roff(text) + "\\fR"; }

/// "RECIPE", "[NAMES...]".
std::string positional_usage(const CLI::Option& option) {
  const std::string name = placeholder(option) + (option.get_items_expected_max() > 1 ? "..." : "");
  return option.get_required() ? name : "[" + name + "]";
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    std::string names;
    for (const std::string& name : typed_names(*option))
      names += (names.empty() ? "" : ", ") + bold(name);
    const std::string value = placeholder(*option);
    if (!value.empty()) names += (names.empty() ? "" : " ") + italic(value);
    text += fmt::format(".TP\n{}\n{}\n", names, as_roff(option->get_description()));
  }
  return text;
}

// A command, and those below it. `above`: the command above it and a space.
std::string command_text(const CLI::App& command, const std::string& above) {
  const std::string name = above + command.get_name();
  std::string usage = bold("acid " + name) + " [" + italic("OPTION") + "]...";
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) usage += " " + italic(positional_usage(*option));
  std::string text = fmt::format(".SS {}\n{}\n.PP\n{}.\n{}", name, usage,
                                 as_roff(command.get_description()), options_text(command));
  for (const CLI::App* below : visible_commands(command)) text += command_text(*below, name + " ");
  return text;
}

std::string exit_status_text() {
  const std::array<std::pair<Exit, const char*>, 7> meanings{{
      {Exit::ok, "All is well."},
      {Exit::run_failed, "A run failed or diverged, or a file could not be written."},
      {Exit::usage, "Bad usage, or an error in the recipe."},
      {Exit::store, "A problem with the store."},
      {Exit::mismatch, "A run could not be reproduced."},
      {Exit::claim_fails, "A claim does not hold, or cannot be told."},
      {Exit::interrupted, "Interrupted; what was done is saved."},
  }};
  std::string text;
  for (const auto& [exit, meaning] : meanings)
    text += fmt::format(".TP\n{}\n{}\n", static_cast<int>(exit), meaning);
  return text;
}

}  // namespace

std::string manual(const CLI::App& app, const std::string& version, const std::string& date) {
  std::string text = fmt::format(
      ".TH ACID 1 {} \"acid {}\" \"User Commands\"\n"
      ".SH NAME\nacid \\- {}\n"
      ".SH SYNOPSIS\n{} [{}]... {} [{}]...\n"
      ".SH DESCRIPTION\n{}\n"
      ".SH OPTIONS\n{}"
      ".SH COMMANDS\n",
      date, version, as_roff(summary(app.get_description())), bold("acid"), italic("OPTION"),
      italic("COMMAND"), italic("ARGUMENT"), as_roff(app.get_footer()), options_text(app));
  for (const CLI::App* command : visible_commands(app)) text += command_text(*command, "");
  return text +
         ".SH ENVIRONMENT\n"
         ".TP\n" +
         bold("ACID_STORE") + "\nThe folder of the store, where no " + bold("--store") +
         " names one.\n"
         ".TP\n" +
         bold("NO_COLOR") +
         "\nSet to anything: no colour.\n"
         ".SH EXIT STATUS\n" +
         exit_status_text();
}

}  // namespace acid
