// Claims by the real programs: written before the runs, judged after them.
#include <filesystem>
#include <set>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sealed.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

const std::string kClaimed = R"(
seeds = "1-7"
task.dataset = { kind = "quadratic", dimension = 10, noise = 0.5 }
workers.count = 4
budget.gradients = 400
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "ad-psgd"
)";

std::string claim(const std::string& name, const std::string& keys) {
  return "[[claims]]\nname = \"" + name + "\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n" + keys;
}

const std::string kBytes =
    claim("fewer bytes", "kind = \"ratio\"\nmetric = \"bytes\"\nbounds = [0.01, 0.9]\n");
const std::string kTurned =
    claim("all bytes", "kind = \"ratio\"\nmetric = \"bytes\"\nbounds = [2, 3]\n");

// Whether all of them hold or not.
json judged(const Folder& folder, const std::string& recipe) {
  return json::parse(folder.call({"claim", recipe, "--json"}).out)["claims"];
}

}  // namespace

TEST_CASE("acid claim judges what was claimed before the runs, and says what was not") {
  const Folder folder;
  folder.write("study.toml", kClaimed + kBytes);
  CHECK_THAT(
      folder.call({"plan", "study.toml"}).out,
      ContainsSubstring("fewer bytes: bytes of AD-PSGD is 0.01 to 0.9 times that of AR-SGD"));
  CHECK(folder.told({"plan", "study.toml"})["claims"][0]["smallest_p"] == 1 / 128.0);
  CHECK(folder.call({"claim", "study.toml"}).code == 3);  // no store yet
  CHECK_THAT(folder.done({"run", "study.toml"}).out, ContainsSubstring("holds"));
  const Result held = folder.call({"claim"});
  CHECK(held.code == 0);
  CHECK_THAT(held.out, ContainsSubstring("fewer bytes") && !ContainsSubstring("altered"));
  json claims = folder.told({"claim", "study"})["claims"];
  REQUIRE(claims.size() == 1);
  CHECK(claims[0]["verdict"] == "holds");
  CHECK(claims[0]["registered"] == true);
  CHECK(claims[0]["n"] == 7);
  CHECK(claims[0]["power"].get<double>() > 0.4);

  folder.done({"run", "study.toml"});  // asks for the runs once more
  CHECK(folder.told({"claim", "study"})["claims"][0]["registered"] == true);

  // Written when the runs are known.
  folder.write("later.toml", kClaimed + kBytes + kTurned);
  const json planned = folder.told({"plan", "later.toml"})["claims"];
  CHECK(planned[0]["late"] == false);
  CHECK(planned[1]["late"] == true);
  CHECK_THAT(folder.done({"plan", "later.toml"}).out,
             ContainsSubstring("runs that decide it have begun"));
  const Result later = folder.call({"claim", "later.toml"});
  CHECK(later.code == 5);
  CHECK_THAT(later.out, ContainsSubstring("does not hold") &&
                            ContainsSubstring("or altered, after its first"));
  folder.done({"run", "later.toml"});
  const Result told = folder.call({"claim", "later", "--json"});
  claims = json::parse(told.out)["claims"];
  CHECK(claims[0]["registered"] == true);
  CHECK(claims[1]["registered"] == false);

  // Both recipes ask for the same runs; each has its claims, and a crate shows which were early.
  CHECK(json::parse(folder.call({"claim", "study", "later", "--json"}).out)["claims"].size() == 3);
  folder.done({"export", "later", "--crate", "crate"});
  claims = json::parse(folder.call({"claim", "check", "crate", "--json"}).out)["claims"];
  REQUIRE(claims.size() == 2);
  CHECK(claims[0]["registered"] == true);
  CHECK(claims[1]["registered"] == false);
  // Named by its runs it has all experiments that ask for them, and the same one is judged.
  std::vector<std::string> by_runs{"export", "--crate", "by-runs"};
  for (const json& run : folder.runs()) by_runs.push_back(run["id"]);
  folder.done(by_runs);
  CHECK(json::parse(folder.call({"claim", "check", "by-runs", "--json"}).out)["claims"].size() ==
        2);

  // A run that the store does not have was asked for by no plan.
  std::string faster = kClaimed + kBytes;
  faster.insert(faster.find("kind = \"ad-psgd\""), "communication_rate = 2\n");
  folder.write("faster.toml", faster);
  CHECK(folder.told({"plan", "faster.toml"})["claims"][0]["late"] == true);

  CHECK(folder.call({"claim", "study.toml", "--set", "seeds=\"1-4\""}).code == 5);
  check_refused(folder.call({"claim", "study.toml", "--set", "budget.gradients=300"}),
                {"with these settings", "acid run study.toml --set budget.gradients=300"});
  check_refused(folder.call({"claim", "study", "--set", "seeds=\"1-6\""}), {"belongs to a recipe"});
  check_refused(folder.call({"claim", "study.toml", "check"}), {"come after 'check'"});
  CHECK(folder.call({"claim", "check", "study.toml", "--set", "seeds=\"1-4\""}).code == 5);
  check_refused(folder.call({"claim", "check", "crate", "--set", "seeds=\"1-4\""}),
                {"a crate has its own"});
}

TEST_CASE("a claim that is added to a search after its runs comes late") {
  const Folder folder;
  std::string searched = kClaimed;
  searched.replace(
      searched.find("seeds"), std::string("seeds = \"1-7\"").size(),
      "seeds = [1, 2]\nsearch = { seeds = [9], optimizer.learning_rate = [0.05, 0.1] }");
  folder.write("study.toml", searched);
  folder.done({"run", "study.toml"});
  folder.write("study.toml", searched + kBytes);
  CHECK(folder.told({"plan", "study.toml"})["claims"][0]["late"] == true);
  folder.call({"run", "study.toml"});
  CHECK(folder.told({"plan", "study.toml"})["claims"][0]["late"] == true);
  folder.call({"run", "study.toml", "--store", "other"});
  CHECK(folder.told({"plan", "study.toml", "--store", "other"})["claims"][0]["late"] == false);
}

TEST_CASE(
    "a claim is judged by the runs that a search of another text chose from the same values") {
  const Folder folder;
  const std::string recipe =
      kClaimed + "[search]\noptimizer.learning_rate = [0.05, 0.1]\nseeds = [101]\n";
  folder.write("study.toml", recipe + kBytes);
  folder.done({"run", "study.toml"});
  const json stored = folder.told({"claim", "study.toml"})["claims"][0];
  folder.write("study.toml", "# Again.\n" + recipe + kBytes);
  const json again = folder.told({"claim", "study.toml"})["claims"][0];
  CHECK(stored["verdict"] == "holds");
  for (const char* key : {"verdict", "estimate", "n", "p"}) CHECK(again[key] == stored[key]);
  folder.write("study.toml", recipe + kBytes + kTurned);
  CHECK_THAT(folder.call({"claim", "study.toml"}).out, ContainsSubstring("after its first run"));
  folder.write(
      "study.toml",
      kClaimed + kBytes + "[search]\noptimizer.learning_rate = [0.05, 0.2]\nseeds = [101]\n");
  check_refused(folder.call({"claim", "study.toml"}), {"'acid run study.toml' executes its runs"});
}

TEST_CASE("simulated seconds and real ones are not compared, and no claim on them holds") {
  const Folder folder;
  std::string recipe = kClaimed + claim("faster", "kind = \"better\"\nmetric = \"seconds\"\n");
  recipe.replace(recipe.find("kind = \"ad-psgd\""), 16,
                 "kind = \"ad-psgd\"\nset = { execution.driver = \"threads\" }");
  folder.write("study.toml", recipe);
  const std::string told = folder.call({"run", "study.toml"}).out;
  CHECK_THAT(told, ContainsSubstring("seconds of one are simulated") &&
                       ContainsSubstring("cannot be told") &&
                       !ContainsSubstring("as many gradients per second") &&
                       !ContainsSubstring("At equal time"));
  const json compared = folder.told({"compare"});
  for (const json& one : compared["differences"])
    CHECK(one["metric"].get<std::string>().find("second") == std::string::npos);
  CHECK_FALSE(compared["differences"].empty());
}

TEST_CASE("claims may stand in a file of their own, which is stored with the recipe") {
  const Folder folder;
  const std::string named = "claims = \"claims.toml\"  # beside it\n" + kClaimed;
  folder.write("apart.toml", named);
  folder.write("claims.toml", kBytes);
  CHECK(folder.told({"plan", "apart.toml"})["claims"][0]["smallest_p"] == 1 / 128.0);
  folder.done({"run", "apart.toml"});
  const json kept = folder.told({"claim", "apart"})["claims"];
  CHECK(kept[0]["registered"] == true);
  const Store store(folder.path("acid-store"), Store::Access::read);
  const ExperimentRecord record = experiment_of(store, list_runs(store).front().experiment);
  CHECK(record.recipe_text.ends_with(kBytes));

  // With other claims it is another recipe.
  folder.write("claims.toml", kBytes + kTurned);
  const Result turned = folder.call({"claim", "apart.toml", "--json"});
  CHECK(turned.code == 5);
  const json later = json::parse(turned.out)["claims"];
  CHECK(later[0]["registered"] == true);
  CHECK(later[1]["registered"] == false);

  folder.write("claims.toml", "\n[[claims]]\nkind = \"beter\"\n");
  check_refused(folder.call({"plan", "apart.toml"}), {"claims.toml:3:8: error", "beter"});
  folder.write("claims.toml", "every_epochs = 2\n" + kBytes);
  check_refused(folder.call({"plan", "apart.toml"}), {"claims.toml:1:1", "nothing else"});
  std::filesystem::remove(folder.path("claims.toml"));
  check_refused(folder.call({"plan", "apart.toml"}), {"cannot read the file of claims"});
  folder.write("law.toml", kClaimed +
                               "[[claims]]\nname = \"x\"\nkind = \"law\"\nalgorithm = "
                               "\"ad-psgd\"\nmetric = \"bytes\"\nwithin = 1\nformula = "
                               "\"2 * workers.cont\"\n");
  check_refused(folder.call({"plan", "law.toml"}),
                {"law.toml:", "the formula of the claim 'x'", "workers.count", "^~~~"});
}

TEST_CASE("labels that change their methods make another claim") {
  const Folder folder;
  const auto labelled = [](const std::string& first, const std::string& second) {
    std::string recipe = kClaimed + claim("fewer", "kind = \"better\"\nmetric = \"bytes\"\n");
    for (const auto& [from, to] :
         {std::pair("kind = \"ar-sgd\"", "ar-sgd\"\nlabel = \"" + first),
          std::pair("kind = \"ad-psgd\"", "ad-psgd\"\nlabel = \"" + second)})
      recipe.replace(recipe.find(from), std::string(from).size(), "kind = \"" + to + "\"");
    for (const auto& [from, to] : {std::pair("algorithm = \"ad-psgd\"", "algorithm = \"Y\""),
                                   std::pair("than = \"ar-sgd\"", "than = \"X\"")})
      recipe.replace(recipe.find(from), std::string(from).size(), to);
    return recipe;
  };
  folder.write("a.toml", labelled("X", "Y"));
  folder.write("b.toml", labelled("Y", "X"));
  folder.done({"run", "a.toml"});
  CHECK(folder.told({"claim", "a.toml"})["claims"][0]["verdict"] == "holds");
  check_refused(folder.call({"claim", "b.toml"}), {"in the store", "asks for it"});
  folder.done({"run", "b.toml"});
  const json later = json::parse(folder.call({"claim", "b.toml", "--json"}).out)["claims"];
  CHECK(later[0]["verdict"] == "does not hold");
  CHECK(later[0]["registered"] == false);
  CHECK(folder.told({"claim", "a.toml"})["claims"][0]["verdict"] == "holds");
}

TEST_CASE("acid claim without claims or runs says what to do") {
  const Folder folder;
  folder.write("plain.toml", kClaimed);
  folder.done({"run", "plain.toml"});
  const Result named = folder.call({"claim"}), file = folder.call({"claim", "plain.toml"});
  CHECK(named.code == 2);
  CHECK_THAT(named.err, ContainsSubstring("[[claims]]"));
  CHECK(file.code == 2);
}

TEST_CASE("acid claim check executes a drawn share again, and finds what was altered") {
  const Folder folder;
  folder.write("study.toml", kClaimed + kBytes);
  folder.done({"run", "study.toml"});
  const std::vector<std::string> half{"claim", "check", "study", "--spot", "50%", "--nonce", "x"};
  const json told = folder.told(half);
  CHECK(told["runs"] == 14);
  CHECK(told["executed"] == 7);
  CHECK(told["equal"] == 7);
  CHECK(told["findings"] == 0);
  CHECK(told["chance_to_find_one"] == 0.5);
  std::set<std::string> first, other;
  for (const json& run : told["verifications"]) first.insert(run["run"].get<std::string>());
  const json again = folder.told({"claim", "check", "study", "--spot", "0.5", "--nonce", "y"});
  for (const json& run : again["verifications"]) other.insert(run["run"].get<std::string>());
  CHECK(first.size() == 7);
  CHECK(first != other);
  CHECK_THAT(folder.done({"claim", "check"}).out,
             ContainsSubstring("1 of 1 are equal bit for bit") &&
                 ContainsSubstring("probability 0.071, one of 3 with 0.21"));
  check_refused(folder.call({"claim", "check", "--spot", "0"}), {"--spot is a share"});

  write_as_acid(folder.copy_of_store(),
                "UPDATE experiments SET comparison = replace(comparison, '0.9', '0.95')");
  const Result turned = folder.call({"claim", "check", "--all", "--store", "other"});
  CHECK(turned.code == 4);
  CHECK_THAT(turned.out, ContainsSubstring("wrong  the recipe of experiment"));
}

TEST_CASE("algorithms that come later do not change where a claim is read") {
  const Folder folder;
  const std::string two = R"(
seeds = "1-8"
task.dataset = { kind = "quadratic", dimension = 6, noise = 0.6, heterogeneity = 1.0 }
workers.count = 4
budget.gradients = 400
evaluation.every_gradients = 4
evaluation.consensus_samples = 100
[[algorithms]]
kind = "ar-sgd"
set = { optimizer.learning_rate = 0.02 }
[[algorithms]]
kind = "ad-psgd"
set = { optimizer.learning_rate = 0.4 }
)";
  const std::string third =
      "[[algorithms]]\nkind = \"a2cid2\"\nlabel = \"short\"\nset = { budget.gradients = 80 }\n";
  const std::string claims =
      claim("learns more", "kind = \"better\"\nmetric = \"eval_loss\"\nat = \"gradients\"\n") +
      claim("the same bytes", "kind = \"better\"\nmetric = \"eval_loss\"\nat = \"bytes\"\n") +
      claim("stays together",
            "kind = \"equivalent\"\nmetric = \"consensus_distance_mid\"\nmargin = 0.1\n");
  folder.write("two.toml", "name = \"r\"\n" + two + claims);
  folder.done({"run", "two.toml"});
  const json before = judged(folder, "two.toml");
  CHECK_FALSE(before[0].contains("read"));  // all ended there
  CHECK(before[1]["read"].get<std::string>().starts_with("at "));
  CHECK(before[2]["read"] == "mean from 80 gradients to 200 gradients");
  folder.write("three.toml", "name = \"r\"\n" + two + third + claims);
  folder.done({"run", "three.toml"});
  const json after = judged(folder, "three.toml");
  for (std::size_t k = 0; k < 3; ++k) {
    INFO(before[k] << after[k]);
    CHECK(after[k] == before[k]);
  }
}

TEST_CASE("a claim that is left out after the runs counts in the family, and every form says so") {
  const Folder folder;
  const std::string third = claim("same loss", "kind = \"better\"\nmetric = \"eval_loss\"\n");
  folder.write("all.toml", "name = \"r\"\n" + kClaimed + kBytes + kTurned + third);
  folder.done({"run", "all.toml"});
  const json all = judged(folder, "all.toml");
  folder.write("one.toml", "name = \"r\"\n" + kClaimed + kBytes);
  folder.done({"run", "one.toml"});
  const Result one = folder.call({"claim", "one.toml"});
  CHECK_THAT(one.out, ContainsSubstring("2 claims were written with it before the runs") &&
                          ContainsSubstring("counts them: all bytes;"));
  const json left = judged(folder, "one.toml")[0];
  CHECK(left["registered"] == true);
  CHECK(left["left_out"] == json{"all bytes", "same loss"});
  CHECK(left["p_holm"] == 3 / 128.0);
  CHECK(all[0]["p_holm"] == 3 / 128.0);
  folder.done({"export", "r", "--crate", "crate"});
  CHECK(json::parse(folder.call({"claim", "check", "crate", "--json"}).out)["claims"][0] == left);
}

TEST_CASE("only runs at the settings of a claim decide whether it came before them") {
  const Folder folder;
  const auto recipe = [](const std::string& counts, const std::string& claims) {
    return "name = \"r\"\n" + kClaimed + "[sweep]\nworkers.count = " + counts + "\n" + claims;
  };
  folder.write("first.toml", recipe("[2, 4]", ""));
  folder.done({"run", "first.toml"});
  const std::string of_eight = kBytes + "where = { workers.count = 8 }\n";
  folder.write("then.toml", recipe("[2, 4, 8]", of_eight + kTurned));
  const json planned = folder.told({"plan", "then.toml"})["claims"];
  CHECK(planned[0]["late"] == false);
  CHECK(planned[1]["late"] == true);
  folder.done({"run", "then.toml"});
  const json told = judged(folder, "then.toml");
  CHECK(told[0]["registered"] == true);
  CHECK(told[1]["registered"] == false);
}

}  // namespace acid::test
