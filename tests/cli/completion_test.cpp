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
  const auto result = acid::test::acid(folder, words);
  CHECK(result.code == 0);
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
  folder.write("acid.bash", acid::test::acid(folder, {"completion", "bash"}).out);
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
  const std::string help = acid::test::acid(folder, {"--help"}).out;
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
  const std::string manual = acid::test::acid(folder, {"manual"}).out;
  const auto known = commands(folder);
  CHECK(known.size() >= 14);
  const Words first = offered(folder, {""});
  CHECK(std::set(first.begin(), first.end()) == known);
  for (const std::string& command : known) {
    INFO(command);
    CHECK_THAT(manual, ContainsSubstring(".SS " + command + "\n"));
    const Words options = offered(folder, {command, "--"});
    const std::string help = acid::test::acid(folder, {command, "--help"}).out;
    const std::regex option("\n  (-[a-z],)?(--[a-z-]+)");
    for (std::sregex_iterator each(help.begin(), help.end(), option), end; each != end; ++each) {
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
  CHECK(offered(folder, {"li"}) == Words{"list"});
  CHECK(offered(folder, {"list", "--st"}) == Words{"--state", "--store"});
  CHECK(offered(folder, {"list", "--state", "f"}) == Words{"finished", "failed"});
  CHECK(offered(folder, {"list", "--state=f"}) == Words{"--state=finished", "--state=failed"});
  CHECK(offered(folder, {"list", "--state", "=", "f"}) ==
        Words{"--state=finished", "--state=failed"});
  CHECK(offered(folder, {"list", "--state", "failed", "--st"}) == Words{"--store"});
  CHECK(offered(folder, {"run", "--set", "a=1", "--se"}) == Words{"--set"});  // can be repeated
  CHECK(offered(folder, {"run", ""}) == Words{":files"});
  CHECK(offered(folder, {"run", "recipe.toml", ""}).empty());
  CHECK(offered(folder, {"run", "recipe.toml", "--store", ""}) == Words{":folders"});
  CHECK(offered(folder, {"topology", "bi"}) == Words{"bipartite-exponential"});
  CHECK(offered(folder, {"topology", "ring", ""}).empty());
  CHECK(offered(folder, {"show", ""}) == Words{"@latest"});
  CHECK(offered(folder, {"nonsense", ""}).size() == offered(folder, {""}).size());
  CHECK(offered(folder, {"list", "--nonsense", ""}) == Words{"@latest"});
  CHECK(offered(folder, {}).size() == offered(folder, {""}).size());
  for (const std::string& driver : offered(folder, {"plan", "--driver", ""})) {
    folder.write("recipe.toml", acid::test::kSmallRecipe);
    CHECK(acid::test::acid(folder, {"plan", "recipe.toml", "--driver", driver}).code == 0);
  }
  CHECK(offered(folder, {"plan", "--driver", ""}).size() == 3);
}

TEST_CASE("runs and experiments complete from the store that the command line names") {
  const Folder folder;
  folder.write("recipe.toml", acid::test::kSmallRecipe);
  REQUIRE(acid::test::acid(folder, {"run", "recipe.toml", "--store", "elsewhere"}).code == 0);
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
  CHECK(completed_by_bash(folder, "li") == "list,");
  CHECK(completed_by_bash(folder, "list --state fi") == "finished,");
  CHECK(completed_by_bash(folder, "list --state = fi") == "finished,");
  CHECK(completed_by_bash(folder, "list --state =") ==
        "planned,running,finished,failed,diverged,interrupted,");
  CHECK(completed_by_bash(folder, "list --state=fi") == "--state=finished,");
  CHECK(completed_by_bash(folder, "run 'a r'") == "a recipe.toml,");
  CHECK(completed_by_bash(folder, "export x --crate = 'a r'") == "a recipe.toml,");
  CHECK(completed_by_bash(folder, "topology ring ''") == ",");
}

TEST_CASE("every script is understood by its shell, and no other shell is known") {
  const Folder folder;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    const auto script = acid::test::acid(folder, {"completion", shell});
    CHECK(script.code == 0);
    CHECK_THAT(script.out, ContainsSubstring("acid"));
    const std::string path = folder.write("script." + shell, script.out);
    if (there_is(shell)) CHECK(std::system((shell + " -n '" + path + "'").c_str()) == 0);
  }
  const auto other = acid::test::acid(folder, {"completion", "tcsh"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, ContainsSubstring("unknown shell 'tcsh': bash, zsh or fish"));
}

TEST_CASE("man shows the manual without a warning") {
  const Folder folder;
  const std::string page = folder.write("acid.1", acid::test::acid(folder, {"manual"}).out);
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
