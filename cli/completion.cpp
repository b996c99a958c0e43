#include "cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "cli/export.hpp"
#include "cli/terminal/option_text.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/base/error.hpp"
#include "engine/topology/topology.hpp"
#include "recipes/machines.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct Candidate {
  std::string word;
  std::string help = {};
};
using Candidates = std::vector<Candidate>;

Candidates run_states() {
  Candidates all;
  for (int state = 0; state <= static_cast<int>(RunState::interrupted); ++state)
    all.push_back({std::string(state_name(static_cast<RunState>(state)))});
  return all;
}

Candidates formats() {
  Candidates all;
  for (const ExportFormat& format : export_formats()) all.push_back({format.name, format.help});
  return all;
}

Candidates topologies() {
  Candidates all;
  for (const TopologyEntry& entry : topology_catalog()) all.push_back({std::string(entry.name)});
  return all;
}

Candidates machines() {
  Candidates all;
  for (const NamedMachine& one : known_machines("."))
    if (!one.is_hidden) all.push_back({one.name});
  return all;
}

/// The ids of runs, newest first, and with `experiments` also the names of experiments.
Candidates stored(const std::string& folder, bool experiments) {
  Candidates all{{"@latest", experiments ? "the newest experiment" : "the newest run"}};
  try {
    const Store store(folder, Store::Access::read);
    const auto runs = list_runs(store, {});
    std::set<std::string> named;
    for (const RunSummary& run : runs)
      if (experiments && named.insert(run.experiment_name).second)
        all.push_back({run.experiment_name, "experiment"});
    for (const RunSummary& run : runs)
      all.push_back({run.id, fmt::format("{}, seed {}, {}", shown_name(run.algorithm, run.label),
                                         run.seed, state_name(run.state))});
  } catch (const std::exception&) {  // no store, or a broken one: other commands report it
  }
  return all;
}

/// The words of a placeholder that lists them all: "virtual|threads|mpi".
Candidates alternatives(const std::string& placeholder) {
  Candidates all;
  if (placeholder.find_first_not_of("abcdefghijklmnopqrstuvwxyz-|") != std::string::npos)
    return all;
  std::istringstream words(placeholder);
  for (std::string word; std::getline(words, word, '|');) all.push_back({word});
  return all;
}

/// What may replace a placeholder of the help; nothing where only the user can know.
Candidates values(const std::string& placeholder, const std::string& store_folder) {
  const Candidates files{{":files"}}, folders{{":folders"}};
  const std::map<std::string_view, std::function<Candidates()>> known{
      {"RECIPE", [&] { return files; }},
      {"FILE", [&] { return files; }},
      {"PATH", [&] { return files; }},
      {"FILE.zip|DIR", [&] { return files; }},
      {"DIR", [&] { return folders; }},
      {"[DIR]", [&] { return folders; }},
      {"STATE", run_states},
      {"FORMAT", formats},
      {"KIND", topologies},
      {"MACHINE", machines},
      {"RUN", [&] { return stored(store_folder, false); }},
      {"RUNS", [&] { return stored(store_folder, true); }},
      {"NAMES", [&] { return stored(store_folder, true); }},
  };
  const auto found = known.find(placeholder);
  return found == known.end() ? alternatives(placeholder) : found->second();
}

const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options())
    if (std::ranges::count(typed_names(*option), word) > 0) return option;
  return nullptr;
}

/// A command line up to the word under the cursor.
struct Line {
  const CLI::App* command = nullptr;        // the program itself, or its command
  const CLI::Option* awaiting = nullptr;    // an option whose value comes next
  std::set<const CLI::Option*> given = {};  // options that are already on the line
  std::size_t positionals = 0;
  std::string store_folder = {};
};

void read_option(Line& line, const std::string& word) {
  const std::size_t equals = word.find('=');
  const CLI::Option* option = option_named(*line.command, word.substr(0, equals));
  if (option == nullptr) return;
  line.given.insert(option);
  if (!takes_value(*option)) return;
  if (equals == std::string::npos)
    line.awaiting = option;
  else if (word.starts_with("--store="))
    line.store_folder = word.substr(equals + 1);
}

void read_word(Line& line, const std::string& word) {
  const bool is_option = word.size() > 1 && word[0] == '-';
  const CLI::Option* const option = std::exchange(line.awaiting, nullptr);
  if (option != nullptr && !(is_option && option->get_expected_min() == 0)) {
    if (option->check_name("--store")) line.store_folder = word;
    return;
  }
  if (is_option) return read_option(line, word);
  const auto commands = visible_commands(*line.command);
  const auto command = std::ranges::find(commands, word, &CLI::App::get_name);
  if (command != commands.end())
    line.command = *command;
  else
    ++line.positionals;
}

Candidates positional_values(const Line& line) {
  std::size_t passed = 0;
  for (const CLI::Option* option : line.command->get_options()) {
    if (!option->get_positional()) continue;
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    if (line.positionals < passed + most) return values(placeholder(*option), line.store_folder);
    passed += most;
  }
  return {};
}

Candidates option_names(const Line& line) {
  Candidates all;
  for (const CLI::Option* option : line.command->get_options()) {
    const bool again = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (line.given.contains(option) && !(again && takes_value(*option))) continue;
    for (const std::string& name : typed_names(*option))
      all.push_back({name, option->get_description()});
  }
  return all;
}

Candidates candidates(const Line& line, const std::string& word) {
  const bool is_option = word.starts_with("-");
  if (line.awaiting != nullptr && !(is_option && line.awaiting->get_expected_min() == 0))
    return values(placeholder(*line.awaiting), line.store_folder);
  const std::size_t equals = word.find('=');
  if (is_option && equals != std::string::npos) {
    const CLI::Option* option = option_named(*line.command, word.substr(0, equals));
    if (option == nullptr || !takes_value(*option)) return {};
    Candidates all = values(placeholder(*option), line.store_folder);
    for (Candidate& each : all)
      if (each.word[0] != ':') each.word = word.substr(0, equals + 1) + each.word;
    return all;
  }
  if (is_option) return option_names(line);
  Candidates all;
  for (const CLI::App* command : visible_commands(*line.command))
    all.push_back({command->get_name(), command->get_description()});
  return all.empty() ? positional_values(line) : all;
}

/// Joins "--option=value", which bash splits into three words.
std::vector<std::string> joined(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  bool join = false;
  for (const std::string& word : words) {
    const bool sign = word == "=" && !all.empty() && all.back().starts_with("--");
    if (sign || join)
      all.back() += word;
    else
      all.push_back(word);
    join = sign;
  }
  return all;
}

// Each script runs the program itself, by the name by which it was called, and shows its answer.

constexpr std::string_view kBash =
    R"(# What may come next on a command line of acid, for bash. acid itself says it.
_acid() {
  local word help cur=${COMP_WORDS[COMP_CWORD]}
  local -r whole=$cur
  [[ $cur == "=" ]] && cur=
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    case $word in
      :files)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "${cur#--*=}") ;;
      :folders)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "${cur#--*=}") ;;
      *)
        # bash has cut "--option=value" at the sign, and wants the value alone.
        [[ $whole == --*=* ]] || word=${word#--*=}
        printf -v word %q "$word"
        COMPREPLY+=("$word") ;;
    esac
  done < <("${COMP_WORDS[0]}" completion -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _acid acid
)";

constexpr std::string_view kZsh = R"(#compdef acid
# What may come next on a command line of acid, for zsh. acid itself says it.
_acid() {
  local line word
  local -a found
  for line in "${(@f)$("${(Q)words[1]}" completion -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    case $word in
      '') ;;
      :files) compset -P '--*='; _files ;;
      :folders) compset -P '--*='; _files -/ ;;
      *) found+=("${word//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( $#found )) && _describe -V acid found
}
if [ "$funcstack[1]" = _acid ]; then _acid "$@"; else compdef _acid acid; fi
)";

constexpr std::string_view kFish =
    R"(# What may come next on a command line of acid, for fish. acid itself says it.
function __acid_completions
  set -l words (commandline -opc)
  set -l token (commandline -ct)
  for line in ($words[1] completion -- $words[2..-1] "$token" 2>/dev/null)
    switch $line
      case ':files*'
        __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$token")
      case ':folders*'
        __fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$token") ''
      case '*'
        echo $line
    end
  end
end
complete -c acid -f -a '(__acid_completions)'
)";

}  // namespace

std::string completions(const CLI::App& app, std::vector<std::string> words,
                        const std::string& store_folder) {
  words = joined(words);
  if (words.empty()) words.emplace_back();
  Line line{.command = &app, .store_folder = store_folder};
  for (std::size_t w = 0; w + 1 < words.size(); ++w) read_word(line, words[w]);
  std::string text;
  for (const Candidate& each : candidates(line, words.back())) {
    if (each.word[0] != ':' && !each.word.starts_with(words.back())) continue;
    if (each.word.find_first_of("\n\t") != std::string::npos) continue;
    text += fmt::format("{}\t{}\n", each.word, each.help.substr(0, each.help.find('\n')));
  }
  return text;
}

std::string_view completion_script(std::string_view shell) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScripts{
      {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};
  for (const auto& [name, script] : kScripts)
    if (name == shell) return script;
  throw UsageError(fmt::format("unknown shell '{}': bash, zsh or fish", shell));
}

}  // namespace acid
