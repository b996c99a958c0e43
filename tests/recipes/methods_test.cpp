#include "recipes/methods.hpp"

#include <fmt/format.h>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"
#include "tests/scratch.hpp"

namespace acid::test {
namespace {

constexpr const char* kOwn = R"(
[[methods]]
name = "own"
label = "Own"
keep = { y = 0 }
step = ["y = beta * y + g", "x = x - lr * y"]
parameters = { beta = 0.5 }
[[algorithms]]
kind = "own"
beta = 0.7
)";

}  // namespace

TEST_CASE("a recipe's own method is resolved like one of the catalog") {
  const PlannedRun run = compiled(kOwn).runs.at(0);
  CHECK(run.algorithm == "own");
  CHECK(run.label == "Own");
  const nlohmann::json& algorithm = run.settings["algorithm"];
  CHECK(algorithm["beta"] == 0.7);
  CHECK(algorithm["weights"] == "metropolis");
  CHECK(algorithm["listing"]["step"] == nlohmann::json({"y = beta * y + g", "x = x - lr * y"}));
  // The method has a step of its own, without the recipe's optimiser.
  CHECK_FALSE(errors_of(completed(std::string(kOwn) + "[optimizer]\nmomentum = 0.9\n")).empty());
}

TEST_CASE("a parameter with the name of an algorithm's own key is refused at its place") {
  for (const std::string name : {"weights", "kind", "label", "codec", "set", "saturate"})
    CHECK_THAT(
        first_error_of(
            "[[methods]]\nname = \"mine\"\nround = \"gradient step say hear\"\nparameters = { " +
            name + " = 0.5 }\nhear = \"x = x + " + name +
            " * (mean(0) - x)\"\n[[algorithms]]\nkind = \"mine\"\n"),
        ContainsSubstring("'" + name + "' is a key of every algorithm"));
}

TEST_CASE("no parameter has the name of the rate of pairs, which reports read") {
  const auto refused = [](const std::string& more) {
    return first_error_of(
        "[[methods]]\nname = \"mine\"\nparameters = { communication_rate = 2 }\n"
        "step = \"x = x - communication_rate * lr * g\"\n" +
        more + "[[algorithms]]\nkind = \"mine\"\n");
  };
  for (const char* rate : {"rate = \"communication_rate / 2\"\n", "rate = 1\n",
                           "round = \"gradient step say hear\"\n"})
    CHECK_THAT(refused(rate),
               ContainsSubstring("'communication_rate' is a key of every algorithm"));
}

TEST_CASE("own methods may have names and parameters that only acid's own give a meaning") {
  const auto own = [](const std::string& name) {
    return compiled("[[methods]]\nname = \"" + name +
                    "\"\nparameters = { spectral = 2 }\nstep = \"x = x - spectral * lr * g\"\n"
                    "[[algorithms]]\nkind = \"" +
                    name + "\"\n");
  };
  for (const char* name : {"mine", "matcha", "epidemic"}) CHECK(own(name).runs.size() == 1);
}

TEST_CASE("a method that does not divide by its number is refused on graphs without row sums") {
  const auto refused = [](const std::string& hear, const std::string& send) {
    return first_error_of(
        "[topology]\nkind = \"epidemic\"\nform = \"push\"\n[[methods]]\nname = \"mine\"\n"
        "round = \"gradient step say hear\"\nscalars = { w = 1 }\nkeep = { y = \"x\" }\n"
        "step = [\"y = y - lr * g\"]\nsend = " +
        send + "\nhear = [" + hear + "]\n[[algorithms]]\nkind = \"mine\"\n");
  };
  CHECK(refused("\"y = mean(0)\", \"w = mean(1)\", \"x = y / w\"", "[\"y\", \"w\"]").empty());
  CHECK_THAT(refused("\"y = mean(0)\", \"w = mean(1)\", \"x = y + 0 * w\"", "[\"y\", \"w\"]"),
             ContainsSubstring("does not divide by the number that it sends"));
  const auto listed = [](const std::string& listing) {
    return first_error_of(
        "[topology]\nkind = \"epidemic\"\nform = \"push\"\n[[methods]]\nname = "
        "\"mine\"\nround = \"gradient step say hear\"\nscalars = { w = 1 }\n" +
        listing + "[[algorithms]]\nkind = \"mine\"\n");
  };
  const std::string sums = "send = [\"x\", \"w\"]\nhear = [\"x = mean(0)\", \"w = mean(1)\"]\n";
  for (const char* legal :
       {"point = \"x / max(w, 0.000001)\"\n", "point = \"x / (w + 0.00000001)\"\n",
        "point = \"x / w\"\nstep = [\"size = norm(g)\", \"x = x - lr * g / size\"]\n"})
    CHECK(listed(legal + sums).empty());
  CHECK_THAT(listed("point = \"x / w\"\nmodel = \"x\"\n" + sums),
             ContainsSubstring("does not divide"));
}

TEST_CASE("a method whose cells a sweep leaves out is used all the same") {
  const Plan plan = compiled(
      "[sweep]\nskip_inapplicable = true\n[topology]\nkind = \"one-peer-exponential\"\n"
      "[[methods]]\nname = \"pairs\"\nrate = 1\n[[algorithms]]\nkind = \"pairs\"\n"
      "[[algorithms]]\nkind = \"d-psgd\"\n");
  CHECK(plan.left_out.size() == 1);
  for (const Diagnostic& warning : plan.warnings)
    CHECK_THAT(warning.message, !ContainsSubstring("no run uses"));
}

TEST_CASE("what a method lacks is reported at the method") {
  const auto errors =
      errors_of(completed("[[methods]]\nname = \"one\"\nrate = 1\n[[methods]]\nname = \"mine\"\n"
                          "peers = \"server\"\n[[algorithms]]\nkind = \"one\"\n"));
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0].message, ContainsSubstring("what the server does is a table"));
  CHECK(errors[0].line > 0);
  CHECK_THAT(first_error_of("[[methods]]\nname = \"mine\"\nparameters = { b = true }\n"
                            "[[algorithms]]\nkind = \"mine\"\n"),
             ContainsSubstring("parameters.b is a number, a formula, or a table"));
  CHECK_THAT(first_error_of("[[methods]]\nname = \"mine\"\nround = \"gradient step say hear\"\n"
                            "codec = { kind = \"top-k\", share = 2 }\n[[algorithms]]\nkind = "
                            "\"mine\"\n"),
             ContainsSubstring("codec.share is 2, and must be above 0 and at most 1"));
}

TEST_CASE("a run is what its method says, not what the method is called") {
  const std::string own(kOwn);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = own;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return digest(text);
  };
  CHECK(replaced("\"own\"", "\"mine\"") == digest(own));
  CHECK(replaced("beta * y + g", "beta*y+(g)") == digest(own));
  CHECK(replaced("beta * y + g", "beta * y - g") != digest(own));
  CHECK(replaced("beta = 0.7", "beta = 0.6") != digest(own));
  CHECK(replaced("beta = 0.7", "beta = 0.7\ncodec = \"bf16\"") != digest(own));
}

TEST_CASE("the catalog's listing, copied into a recipe, is the same run") {
  std::string copy(listing_text("gradient-tracking"));
  copy.replace(copy.find("name = \"gradient-tracking\""), 26, "name = \"copied\"");
  CHECK(digest("[[methods]]\n" + copy + "[[algorithms]]\nkind = \"copied\"\n") ==
        digest("[[algorithms]]\nkind = \"gradient-tracking\"\n"));
}

TEST_CASE("methods may be in a file that the recipe names, and are reported on there") {
  const ScratchFolder folder;
  const auto compiled_with = [&](const std::string& listing) {
    folder.write("mine.toml", listing);
    const std::string recipe =
        completed("[[methods]]\nfile = \"mine.toml\"\n[[algorithms]]\nkind = \"mine\"\n");
    return compile_recipe(folder.path("recipe.toml"), recipe);
  };
  CHECK(compiled_with("name = \"mine\"\n").runs.at(0).algorithm == "mine");
  CHECK(compiled_with("[[methods]]\nname = \"mine\"\n").runs.at(0).algorithm == "mine");
  try {
    compiled_with("name = \"mine\"\nstep = \"x = x - lr * q\"\n");
    FAIL("it was compiled");
  } catch (const RecipeError& error) {
    const Diagnostic& first = error.diagnostics().front();
    INFO(error.what());
    bool found = false;
    for (const Diagnostic& one : error.diagnostics())
      found = found || (one.file == folder.path("mine.toml") && one.line == 2 && one.column == 22 &&
                        one.message == "unknown name 'q'");
    CHECK(found);
    CHECK_FALSE(first.message.empty());
  }
}

TEST_CASE("a file has one listing at its top or a list of them, and if both, both are named") {
  const ScratchFolder folder;
  const auto told = [&](const std::string& listings, bool by_recipe) -> std::string {
    folder.write("mine.toml", listings);
    try {
      if (by_recipe)
        compile_recipe(
            folder.path("recipe.toml"),
            completed("[[methods]]\nfile = \"mine.toml\"\n[[algorithms]]\nkind = \"top\"\n"));
      else
        methods_of_recipe(folder.path("mine.toml"));
    } catch (const RecipeError& error) {
      const std::vector<Diagnostic>& all = error.diagnostics();
      REQUIRE(all.size() == 1);
      return fmt::format("{}:{} {}", all[0].line, all[0].column, all[0].message);
    }
    return "";
  };
  for (const bool by_recipe : {true, false}) {
    CHECK(told("name = \"top\"\n[[methods]]\nname = \"below\"\n", by_recipe) ==
          "1:1 the file has the listing 'top' at its top beside [[methods]], and only one of the "
          "two is read");
    CHECK(told("name = \"top\"\nparameters = { a = 1 }\nhear = \"x = a * mean(0)\"\n", by_recipe)
              .empty());
  }
  CHECK_THAT(told("[[methods]]\nname = \"below\"\nstep = \"x = x - a * lr * u\"\n"
                  "parameters.a = 1\n[scalars]\nb = 1\n",
                  false),
             StartsWith("5:") && ContainsSubstring("the file has 'scalars' beside [[methods]]"));
  CHECK(told("[[methods]]\nname = \"below\"\n", false).empty());
  CHECK(methods_of_recipe(folder.path("mine.toml")).size() == 1);
}

TEST_CASE("a method that no run uses is doubtful") {
  const Plan plan = compiled("[[methods]]\nname = \"idle\"\n");
  REQUIRE_FALSE(plan.warnings.empty());
  CHECK(plan.warnings.back().message.find("'idle'") != std::string::npos);
}

TEST_CASE("a codec is a key of every algorithm, and a listing may bring its own") {
  const auto codec = [](const std::string& keys) {
    return compiled("[[algorithms]]\n" + keys)
        .runs.at(0)
        .settings["algorithm"]
        .value("codec", nlohmann::json());
  };
  CHECK(codec("kind = \"a2cid2\"").is_null());
  CHECK(codec("kind = \"a2cid2\"\ncodec = \"bf16\"")["kind"] == "bf16");
  CHECK(codec("kind = \"sparta\"")["kind"] == "random-k");
  CHECK(codec("kind = \"sparta\"\ncodec = \"none\"").is_null());
  const double whole = compiled("[[algorithms]]\nkind = \"ad-psgd\"").runs.at(0).bytes;
  const double halves =
      compiled("[[algorithms]]\nkind = \"ad-psgd\"\ncodec = \"bf16\"").runs.at(0).bytes;
  CHECK(halves == Approx(whole / 2));
}

TEST_CASE("every method takes a lattice, which needs a spacing") {
  const std::string lattice = "codec = { kind = \"lattice\", spacing = 1e-3 }\n";
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    const std::string keys = "[[algorithms]]\nkind = \"" + std::string(entry.name) + "\"\n";
    INFO(keys);
    CHECK(errors_of(completed(keys + lattice)).size() == errors_of(completed(keys)).size());
  }
  CHECK(compiled("[[algorithms]]\nkind = \"d-psgd\"\n" + lattice +
                 "set.topology = { kind = \"one-peer-exponential\" }\n")
            .runs.size() == 1);
  CHECK(errors_of(completed("[[algorithms]]\nkind = \"a2cid2\"\ncodec = \"lattice\"\n")).size() ==
        1);
  CHECK(compiled("[[algorithms]]\nkind = \"a2cid2\"\n" + lattice).warnings.empty());
}

TEST_CASE("there is a worker for every hub") {
  const std::string halos = "[[algorithms]]\nkind = \"halos\"\n";
  CHECK(first_error_of(halos + "hubs = 2\n").empty());
  CHECK_THAT(only_error_of(halos + "hubs = 1000\n").message,
             ContainsSubstring("halos has 1000 hubs"));
}

TEST_CASE("what the literature calls a method and is a topology is told in a recipe as well") {
  for (const char* name : {"matcha", "epidemic"})
    check_only_error("[[algorithms]]\nkind = \"" + std::string(name) + "\"\n", 2,
                     "no method of its own", std::string(written_for(name)));
}

TEST_CASE("a method refuses parameters for which its rule is none, and more parts than elements") {
  const auto refused = [](const std::string& keys, const char* why) {
    CHECK_THAT(only_error_of("[[algorithms]]\n" + keys).message, ContainsSubstring(why));
  };
  const auto accepted = [](const std::string& keys) {
    CHECK(errors_of(completed("[[algorithms]]\n" + keys)).empty());
  };
  accepted("kind = \"async-diloco\"\nperiod = 10\nc = 0.1\n");
  refused("kind = \"async-diloco\"\nperiod = 10\nc = 0.11\n", "async-diloco needs c * period <= 1");
  accepted("kind = \"streaming-diloco\"\nfragments = 4\n");
  refused("kind = \"streaming-diloco\"\nfragments = 9999\n", "cuts vectors into 9999 fragments");
}

TEST_CASE("a sum of what is heard means one graph, and on a changing one there is a warning") {
  const auto warnings = [](const std::string& hear, const char* graph) {
    return compiled("[[methods]]\nname = \"mine\"\nkeep = { s = 0 }\nsend = \"x - s\"\nhear = [" +
                    hear + "]\n[topology]\nkind = \"" + graph +
                    "\"\n[workers]\ncount = 4\n[[algorithms]]\nkind = \"mine\"\n")
        .warnings;
  };
  const std::string sum = "\"s = s + mean(0)\", \"x = x - 0.1 * s\"";
  CHECK(warnings(sum, "ring").empty());
  REQUIRE(warnings(sum, "alternating-ring").size() == 1);
  CHECK(warnings(sum, "alternating-ring")[0].message.find("adds up in 's'") != std::string::npos);
  CHECK(warnings("\"s = mean(0)\", \"x = x - 0.1 * s\"", "alternating-ring").empty());
}

TEST_CASE("no shipped method takes a changing graph for one, and none of them is warned of") {
  for (const AlgorithmEntry& entry : algorithm_catalog())
    if (entry.peers == Peers::neighbours && !adds_up(entry).empty())
      CHECK(entry.listing->of_graph.needs.size() == 1);
}

TEST_CASE("parameters that are whole numbers take no others") {
  const auto errors = [](const char* keys) {
    return errors_of(completed(std::string("[[algorithms]]\nkind = \"des-loc\"\n") + keys)).size();
  };
  CHECK(errors("steps = 4\n") == 0);
  CHECK(errors("steps = 2.5\n") == 1);
}

TEST_CASE("workers that start apart and never hear of each other's models are warned of") {
  const auto told = [](const std::string& kind, const char* spread) {
    std::string all;
    for (const Diagnostic& one :
         compiled("[task]\ndataset = { kind = \"quadratic\", dimension = 4, initial_spread = " +
                  std::string(spread) + " }\n[[algorithms]]\nkind = \"" + kind + "\"\n")
             .warnings)
      all += fmt::format("{}: {}\n", one.line, one.message);
    return all;
  };
  for (const char* const kind : {"ar-sgd", "diloco"}) {
    CHECK_THAT(told(kind, "1.0"),
               ContainsSubstring("2: workers start apart (initial_spread = 1), and " +
                                 std::string(kind) + " exchanges gradients"));
    CHECK_THAT(told(kind, "0.0"), !ContainsSubstring("start apart"));
  }
  for (const char* const kind : {"local-sgd", "ad-psgd", "a-psgd"})
    CHECK_THAT(told(kind, "1.0"), !ContainsSubstring("start apart"));
}

TEST_CASE("a run of a method has parameters that only formulas of others read") {
  const PlannedRun run =
      compiled(
          "[[methods]]\nname = \"third\"\nparameters = { a = 0.3, b = \"2 * a\" }\n"
          "hear = \"x = x + b * pull(0)\"\n[[algorithms]]\nkind = \"third\"\n")
          .runs.at(0);
  CHECK(run.settings["algorithm"]["b"] == 0.6);
  nlohmann::json elsewhere =
      run.settings["algorithm"];  // in a process that has not read the recipe
  elsewhere["kind"] = "renamed";
  CHECK(algorithm_of(elsewhere).name == "renamed");
}

TEST_CASE("a default that its own bounds rule out is refused where it stands") {
  const auto told = [](const std::string& method, const std::string& eta,
                       const std::string& rest = "") {
    const auto errors =
        errors_of(completed("[[methods]]\nname = \"" + method +
                            "\"\nstep = \"x = x - eta * lr * g\"\nparameters.eta = { " + eta +
                            " }\n" + rest + "[[algorithms]]\nkind = \"" + method + "\"\n"));
    return errors.size() == 1 ? fmt::format("{}: {}", errors[0].line, errors[0].message)
                              : fmt::format("{} errors", errors.size());
  };
  CHECK(told("above", "maximum = 1, value = 2") == "4: eta is 2 by default, and must be at most 1");
  CHECK(told("halves", "value = 0.5, whole = true") ==
        "4: eta is 0.5 by default, and must be a whole number");
  CHECK(told("formula", "value = \"2 * 3\", maximum = 5") ==
        "5: eta of formula is 2 * 3 = 6, and must be at most 5");
  // Numbers of the graph are known once there is a graph.
  const std::string pairs = "rate = 1\n[topology]\nkind = \"ring\"\n[workers]\ncount = 16\n";
  CHECK(told("large", "value = \"9 * chi1\", minimum = 9.5", pairs) == "0 errors");
  CHECK_THAT(told("small", "value = \"9 * chi1\", maximum = 9.5", pairs),
             StartsWith("10: eta of small is 9 * chi1 = "));
}

TEST_CASE("a number that no formula can compute with is refused where it stands") {
  const auto told = [](const std::string& eta) {
    const Diagnostic error = only_error_of(
        "[[methods]]\nname = \"m\"\nstep = \"x = x - eta * lr * g\"\nparameters = { eta = " + eta +
        " }\n[[algorithms]]\nkind = \"m\"\n");
    return fmt::format("{}:{} {}", error.line, error.column, error.message);
  };
  CHECK(told("inf") == "4:22 the number inf is no number to compute with");
  CHECK(told("{ value = 1, maximum = nan }") == "4:45 the number nan is no number to compute with");
  CHECK(told("\"1/0\"") == "5:1 eta of m is 1 / 0 = inf, no number to compute with");
  CHECK(told("\"log(0)\"") == "5:1 eta of m is log(0) = -inf, no number to compute with");
  CHECK(
      only_error_of("[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = 5e-324\n").message ==
      "algorithm.communication_rate cannot be 5e-324: products of numbers this small are 0");
}

}  // namespace acid::test
