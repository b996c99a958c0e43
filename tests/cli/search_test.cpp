// Validation data and searches, by the real programs.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr const char* kTask = R"(
task.dataset = { kind = "logistic", dimension = 8, train = 400, test = 100, label_noise = 0.1 }
task.batch_size = 8
task.validation = 0.25
workers.count = 3
budget.gradients = 300
evaluation.every_gradients = 100
algorithms = ["ar-sgd", "a2cid2"]
)";

}  // namespace

TEST_CASE("every driver measures on validation data what acid verify finds again") {
  const Folder folder;
  folder.write("held.toml", std::string("seeds = [4]\n") + kTask);
  std::vector<std::string> drivers{"virtual", "threads"};
  if (there_is_mpi()) drivers.emplace_back("mpi");
  for (const std::string& driver : drivers) {
    INFO(driver);
    folder.done({"run", "held.toml", "--driver", driver});
    const json runs = folder.told({"list", "--where", "driver = '" + driver + "'"})["runs"];
    REQUIRE(runs.size() == 2);
    for (const json& run : runs) {
      CHECK(run["metrics"]["validation_loss"] < 0.69);
      CHECK(run["metrics"]["validation_loss"] != run["metrics"]["eval_loss"]);
      CHECK(run["metrics"]["validation_accuracy"] > 0.6);
      CHECK(folder.shown(run["id"])["seeds"].contains("validation"));
      folder.done({"verify", run["id"]});
    }
  }
  CHECK_THAT(folder.call({"plan", "held.toml"}).out,
             ContainsSubstring("300 to train on, 100 held out for validation, 100 to test on"));
}

namespace {

constexpr const char* kSearch = R"(
[search]
optimizer.learning_rate = [0.003, 0.3, 1e30]
seeds = [101, 102]
[sweep]
topology.kind = ["ring", "complete"]
)";

struct Study : Folder {
  Study() { write("study.toml", std::string("seeds = [1, 2]\n") + kTask + kSearch); }
  // The digests of the final means, by id.
  std::map<std::string, std::string> results() const {
    std::map<std::string, std::string> found;
    for (const json& run : runs()) found[run["id"]] = shown(run["id"])["digests"]["mean"].dump();
    return found;
  }
};

}  // namespace

TEST_CASE("a search runs first, chooses on its own seeds, and stays out of the comparison",
          "[release]") {
  const Study study;
  const std::string planned = study.call({"plan", "study.toml"}).out;
  CHECK_THAT(planned,
             ContainsSubstring("(3 values of optimizer.learning_rate for each algorithm") &&
                 ContainsSubstring("chosen by validation_loss"));
  const json to_come = study.told({"plan", "study.toml"});
  CHECK(to_come["states"]["planned"] == 18 + 6);  // the search, then two seeds of what it chooses
  const Result result = study.done({"run", "study.toml"});  // values that diverged have only lost
  CHECK_THAT(result.out, ContainsSubstring("chosen  by validation_loss"));
  std::map<std::string, int> roles;
  for (const json& run : study.runs()) {
    const bool of_search = run["role"] == "search";
    CHECK((run["seed"] > 100) == of_search);
    ++roles[run["role"]];
  }
  CHECK(roles[""] >= 6);
  const json after = study.told({"plan", "study.toml"});
  CHECK((after["time"]["runs_to_do"] == 0 && after["states"]["finished"] == 12 + 6));
  const json comparison = study.told({"compare", "study"});
  for (const json& group : comparison["groups"]) {
    CHECK(group["seeds"] == json{1, 2});
    CHECK(group["settings"]["optimizer"]["learning_rate"] == 0.3);
  }
  REQUIRE(comparison["selections"].size() == 1);
  const json& selection = comparison["selections"][0];
  CHECK(selection["seeds"] == json{101, 102});
  CHECK(selection["choices"].size() == 3);
  for (const json& choice : selection["choices"]) {
    CHECK(choice["values"] == 3);
    CHECK(choice["runs"] == 6);
    CHECK(choice["edges"].empty());
    CHECK(choice["candidates"][2]["diverged"] == 2);
  }
  CHECK_THAT(study.call({"compare", "study", "--csv"}).out,
             ContainsSubstring("validation_loss,3,6"));
  CHECK_THAT(study.call({"report", "-o", "-"}).out, ContainsSubstring("id=\"search\""));
  // The runs that the search tried can be shown by their ids.
  const std::string tried = study.told({"list", "--where", "role = 'search'"})["runs"][0]["id"];
  study.done({"compare", tried});
  study.done({"verify", "study"});
  study.done({"doctor", "--store"});

  const auto before = study.results();
  const Result again = study.call({"run", "study.toml"});
  CHECK(again.out == result.out);
  CHECK(study.results() == before);
}

namespace {

constexpr const char* kHalved = R"(
[search]
optimizer.learning_rate = { log = [0.003, 3], count = 4 }
halving = 2
seeds = [101, 102]
)";

struct HalvedStudy : Study {
  HalvedStudy() { write("study.toml", std::string("seeds = [1, 2]\n") + kTask + kHalved); }
};

}  // namespace

TEST_CASE("successive halving runs the best of a rung for longer, and says what it took",
          "[release]") {
  const HalvedStudy study;
  CHECK_THAT(
      study.call({"plan", "study.toml"}).out,
      ContainsSubstring(
          "The search halves in 2 rungs, with the same budgets for every algorithm") &&
          ContainsSubstring("rung 1: 4 values with 1/4 of the budget, 16 runs, 1200 gradients") &&
          ContainsSubstring("rung 2: 2 values with 1/2 of the budget, 8 runs, 1200 gradients") &&
          ContainsSubstring("2400 gradients in all, 50 % of the grid's 4800"));
  const Result result = study.done({"run", "study.toml"});
  CHECK_THAT(result.err, ContainsSubstring("search, rung 2 of 2: 2 values for each algorithm and "
                                           "setting with 1/2 of the budget, 8 runs"));
  std::map<std::int64_t, int> budgets;
  for (const json& run : study.runs())
    if (run["role"] == "search") ++budgets[run["budget_gradients"]];
  CHECK(budgets == std::map<std::int64_t, int>{{75, 16}, {150, 8}});
  const json comparison = study.told({"compare", "study"});
  CHECK(comparison["groups"].size() == 2);
  for (const json& group : comparison["groups"]) CHECK(group["seeds"] == json{1, 2});
  const json& selection = comparison["selections"][0];
  CHECK(selection["rungs"].size() == 2);
  for (const json& choice : selection["choices"]) {
    CHECK(choice["values"] == 4);
    CHECK(choice["runs"] == 12);
    CHECK(choice["gradients"] == 1200);
    const json& winner = choice["candidates"][choice["chosen"].get<std::size_t>()];
    CHECK(winner["rung"] == 2);
    CHECK(winner["runs"] == 4);
  }
  const std::string csv = study.call({"compare", "study", "--csv"}).out;
  CHECK_THAT(csv, ContainsSubstring("selection_gradients,selection_rungs") &&
                      ContainsSubstring(",4,12,,1200,2,"));
  const std::string page = study.call({"report", "-o", "-"}).out;
  CHECK_THAT(page,
             ContainsSubstring("by successive halving, the same for every algorithm: 4 values "
                               "with 1/4 of the budget, then 2 with 1/2 of the budget"));
  study.done({"verify", "study"});
  study.done({"doctor", "--store"});
  study.done({"export", "study", "--crate", "study.zip"});
  const auto before = study.results();
  const Result again = study.call({"run", "study.toml"});
  CHECK(again.out == result.out);
  CHECK(study.results() == before);
}

TEST_CASE(
    "a search by halving is the same if it is killed in any rung, or by several commands at once",
    "[release]") {
  const HalvedStudy whole, study, shared;
  whole.done({"run", "study.toml"});
  for (int round = 0; round < 6; ++round) {
    Running running(study, {"run", "study.toml"});
    usleep(100'000 * static_cast<useconds_t>(round + 1));
    kill(running.pid(), SIGKILL);
    running.wait();
    study.call({"resume"});  // what is interrupted may also be finished by it
  }
  study.done({"run", "study.toml"});
  CHECK(study.results() == whole.results());
  CHECK(study.call({"compare", "study", "--csv"}).out ==
        whole.call({"compare", "study", "--csv"}).out);
  study.done({"doctor", "--store"});

  Running one(shared, {"run", "study.toml"}), other(shared, {"run", "study.toml"});
  one.wait();
  other.wait();
  shared.done({"run", "study.toml"});  // one may have seen runs of the other without an outcome
  CHECK(shared.results() == whole.results());
  shared.done({"doctor", "--store"});
}

TEST_CASE("an export leaves out what a search tried, unless a condition is about roles") {
  const Folder folder;
  folder.write("study.toml",
               std::string("seeds = [1]\n") + kTask +
                   "[search]\noptimizer.learning_rate = [0.003, 0.3]\nseeds = [101]\n");
  folder.done({"run", "study.toml"});
  const auto runs = [&](std::vector<std::string> more) {
    std::vector<std::string> command{"export", "@latest", "--format", "json"};
    command.insert(command.end(), more.begin(), more.end());
    const auto said = folder.call(command);
    CHECK((said.err.find("4 runs that the search tried are left out") != std::string::npos) ==
          more.empty());
    std::map<std::string, int> roles;
    const json document = json::parse(said.out);
    for (const json& run : document["runs"]) ++roles[run["role"]];
    return roles;
  };
  CHECK(runs({}) == std::map<std::string, int>{{"", 2}});
  CHECK(runs({"--where", "role = 'search'"}) == std::map<std::string, int>{{"search", 4}});
  CHECK(runs({"--where", "ROLE IS NOT NULL"}) ==
        std::map<std::string, int>{{"", 2}, {"search", 4}});
  const auto values = [&](std::vector<std::string> names) {
    names.insert(names.begin(), "export");
    return folder.call(std::move(names)).out;
  };
  CHECK(values({"@latest", "--where", "label != 'role'"}) == values({"@latest"}));
  // What one experiment tried and another compares is compared.
  folder.write("same.toml", std::string("seeds = [101]\noptimizer.learning_rate = 0.3\n") + kTask);
  folder.done({"run", "same.toml"});
  CHECK(json::parse(values({"same", "study", "--format", "json"}))["runs"].size() == 4);
}

TEST_CASE("nothing is compared before the search has chosen") {
  const Study study;
  Running running(study, {"run", "study.toml", "--set", "budget.gradients=30000"});
  // Before a run is executed acid does not watch for signals, and dies of them.
  const auto is_executing = [&] {
    if (study.call({"list", "--json"}).code != 0) return false;
    return std::ranges::any_of(study.runs(),
                               [](const auto& run) { return run["state"] == "running"; });
  };
  while (!is_executing()) usleep(20'000);
  kill(running.pid(), SIGINT);
  CHECK(running.wait().code == 130);
  check_refused(study.call({"compare", "study"}), {"its search has not chosen"});
}

TEST_CASE("compare --best-over reads a sweep that exists, and refuses the seeds it chose on") {
  const Folder folder;
  folder.write("sweep.toml", std::string("seeds = [1, 2, 3, 4]\n") + kTask +
                                 "[sweep]\noptimizer.learning_rate = [0.003, 0.3]\n");
  folder.done({"run", "sweep.toml"});
  const std::vector<std::string> best{"compare", "sweep", "--best-over", "optimizer.learning_rate"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), best.begin(), best.end());
    return folder.call(more);
  };
  check_refused(with({}), {"--selection-seeds", "[search]"});
  const Result chosen = with({"--selection-seeds", "1,2"});
  CHECK(chosen.code == 0);
  CHECK_THAT(chosen.out,
             ContainsSubstring("of 2 values, 4 runs, 1200 gradients, the largest of 2"));
  CHECK(with({"--selection-seeds", "1,2", "--json"}).json()["groups"][0]["seeds"] == json{3, 4});
  CHECK(with({"--selection-seeds", "1-2", "--csv"}).out ==
        with({"--selection-seeds", "1,2", "--csv"}).out);
  check_refused(with({"--selection-seeds", "2-1"}), {"goes down; write 1-2"});
  CHECK_THAT(with({"--same-seeds"}).out, ContainsSubstring("ON THE SAME SEEDS"));
  CHECK_THAT(with({"--same-seeds", "--pivot"}).out, ContainsSubstring("ON THE SAME SEEDS"));
  CHECK_THAT(with({"--same-seeds", "--pivot", "--csv"}).out, ContainsSubstring("same_seeds"));
  const std::string latex = with({"--same-seeds", "--pivot", "--latex"}).out;
  CHECK(latex.find("ON THE SAME SEEDS") > latex.find("\\caption{"));
  CHECK(folder.call({"compare", "sweep", "--same-seeds"}).code == 2);
}

}  // namespace acid::test
