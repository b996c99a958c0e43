// Completion in shells, and the manual page: both are made from the contents of --help.
#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;
using Words = std::vector<std::string>;

namespace {

/// The words that `acid completion -- WORDS…` offers, without the explanations.
Words offered(const Folder& folder, Words words) {
  words.insert(words.begin(), {"completion", "--"});
  const auto result = folder.done(words);
  CHECK(result.err.empty());
  Words found;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);)
    found.push_back(line.substr(0, line.find('\t')));
  return found;
}

/// The completion that bash finds for a command line, which it has split into words, of which the
/// last is completed.
std::string completed_by_bash(const Folder& folder, const std::string& words) {
  folder.write("acid.bash", folder.call({"completion", "bash"}).out);
  folder.write("ask.bash", "cd '" + folder.path() +
                               "' && source acid.bash\nCOMP_WORDS=('" BINARY_ROOT "/acid' " +
                               words +
                               ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_acid\n"
                               "printf '%s,' \"${COMPREPLY[@]}\" >answer\n");
  REQUIRE(std::system(("bash '" + folder.path("ask.bash") + "' 2>/dev/null").c_str()) == 0);
  return folder.read("answer");
}

bool there_is(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::set<std::string> commands(const Folder& folder) {
  const std::string help = folder.call({"--help"}).out;
  std::set<std::string> found;
  const std::regex line("\n  ([a-z]+)  ");
  for (std::sregex_iterator each(help.begin(), help.end(), line), end; each != end; ++each)
    found.insert((*each)[1]);
  return found;
}

}  // namespace

TEST_CASE(
    "shells are offered every command and every option that help shows, and the manual has them") {
  const Folder folder;
  const std::string manual = folder.call({"manual"}).out;
  const auto known = commands(folder);
  CHECK(known.size() >= 21);
  const Words first = offered(folder, {""});
  CHECK(std::set(first.begin(), first.end()) == known);
  for (const std::string& command : known) {
    INFO(command);
    CHECK_THAT(manual, ContainsSubstring(".SS " + command + "\n"));
    const Words options = offered(folder, {command, "--"});
    const auto help = folder.done({command, "--help"});
    CHECK(help.err.empty());
    CHECK_THAT(help.out, ContainsSubstring("--help"));
    const std::regex option("\n  (-[a-z],)?(--[a-z-]+)");
    for (std::sregex_iterator each(help.out.begin(), help.out.end(), option), end; each != end;
         ++each) {
      const std::string name = (*each)[2];
      INFO(name);
      CHECK(std::ranges::count(options, name) == 1);
      CHECK_THAT(manual, ContainsSubstring(
                             "\\fB" + std::regex_replace(name, std::regex("-"), "\\-") + "\\fR"));
    }
  }
}

TEST_CASE("what may follow depends on what has been typed") {
  const Folder folder;
  for (const auto& [typed, expected] :
       {std::pair<Words, Words>{{"li"}, {"list"}},
        {{"list", "--st"}, {"--state", "--store"}},
        {{"list", "--state", "f"}, {"finished", "failed"}},
        {{"list", "--state=f"}, {"--state=finished", "--state=failed"}},
        {{"list", "--state", "=", "f"}, {"--state=finished", "--state=failed"}},
        {{"list", "--state", "failed", "--st"}, {"--store"}},
        {{"run", "--set", "a=1", "--se"}, {"--set"}},  // can be repeated
        {{"run", ""}, {":files"}},
        {{"run", "recipe.toml", ""}, {}},
        {{"run", "recipe.toml", "--store", ""}, {":folders"}},
        {{"topology", "bi"}, {"bipartite-exponential"}},
        {{"topology", "ring", ""}, {}},
        {{"machines", "sh"}, {"show"}},
        {{"machines", "show", "a40"}, {"a40-25gbe"}},
        {{"show", ""}, {"@latest"}},
        {{"list", "--nonsense", ""}, {"@latest"}}})
    CHECK(offered(folder, typed) == expected);
  CHECK(offered(folder, {"nonsense", ""}).size() == offered(folder, {""}).size());
  CHECK(offered(folder, {}).size() == offered(folder, {""}).size());
  folder.write("recipe.toml", acid::test::kSmallRecipe);
  for (const std::string& driver : offered(folder, {"plan", "--driver", ""}))
    folder.done({"plan", "recipe.toml", "--driver", driver});
  CHECK(offered(folder, {"plan", "--driver", ""}).size() == 3);
}

TEST_CASE("runs and experiments complete from the store that the command line names") {
  const Folder folder;
  folder.write("recipe.toml", acid::test::kSmallRecipe);
  folder.done({"run", "recipe.toml", "--store", "elsewhere"});
  CHECK(offered(folder, {"show", ""}) == Words{"@latest"});
  const Words runs = offered(folder, {"show", "--store", "elsewhere", ""});
  CHECK(runs.size() == 1 + 6);
  CHECK(offered(folder, {"show", "--store=elsewhere", runs[1].substr(0, 11)}) == Words{runs[1]});
  CHECK(offered(folder, {"compare", "--store", "elsewhere", "sm"}) == Words{"small"});
  CHECK(offered(folder, {"compare", "small", "--store", "elsewhere", "@"}) == Words{"@latest"});
}

TEST_CASE("bash completes words, values behind a sign, and names of files with spaces") {
  const Folder folder;
  folder.write("a recipe.toml", "");
  for (const auto& [words, completed] :
       {std::pair{"li", "list,"},
        {"list --state fi", "finished,"},
        {"list --state = fi", "finished,"},
        {"list --state =", "planned,running,finished,failed,diverged,interrupted,"},
        {"list --state=fi", "--state=finished,"},
        {"run 'a r'", "a recipe.toml,"},
        {"export x --crate = 'a r'", "a recipe.toml,"},
        {"topology ring ''", ","}})
    CHECK(completed_by_bash(folder, words) == completed);
}

TEST_CASE("every script is understood by its shell, and no other shell is known") {
  const Folder folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    const auto script = folder.done({"completion", shell});
    CHECK_THAT(script.out, ContainsSubstring("acid"));
    const std::string path = folder.write("script." + shell, script.out);
    if (there_is(shell)) CHECK(std::system((shell + " -n '" + path + "'").c_str()) == 0);
  }
  check_refused(folder.call({"completion", "tcsh"}), {"unknown shell 'tcsh': bash, zsh or fish"});
}

TEST_CASE("man shows the manual without a warning") {
  const Folder folder;
  const std::string page = folder.write("acid.1", folder.call({"manual"}).out);
  const std::string errors = folder.path("errors");
  if (there_is("man")) {
    CHECK(std::system(
              ("LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z '" +
               page + "' >/dev/null 2>'" + errors + "'")
                  .c_str()) == 0);
    CHECK(folder.read("errors").empty());
  }
  if (there_is("mandoc")) {
    CHECK(std::system(("mandoc -T lint -W warning '" + page + "' >'" + errors + "'").c_str()) == 0);
    CHECK(folder.read("errors").empty());
  }
}
