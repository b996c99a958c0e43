#include <sys/stat.h>

#include <set>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"
#include "tests/scratch.hpp"

namespace acid::test {
namespace {

const std::string kEdges = "[topology]\nkind = \"edges\"\nedges = \"graph.txt\"\n";

}  // namespace

TEST_CASE("a digest does not depend on spelling, order, comments, names, labels and saving") {
  const std::string base = digest("");
  CHECK(base.size() == 64);
  CHECK(digest("# a comment\n") == base);
  CHECK(digest("name = \"another\"\n") == base);
  CHECK(digest("[checkpoint]\nkeep = 3\n") == base);
  CHECK(digest("[checkpoint]\nevery_seconds = 3\n") == base);
  CHECK(digest("[record]\nevents = true\n") == base);
  CHECK(digest("[execution]\nmax_restarts = 0\n") == base);
  CHECK(digest("[[algorithms]]\nkind = \"ad-psgd\"\nlabel = \"mine\"\n") == base);
  CHECK(digest("[[algorithms]]\ncommunication_rate = 1\nkind = \"ad-psgd\"\n") == base);
  CHECK(digest("[topology]\nkind = \"ring\"\n") == base);
  CHECK(digest("[optimizer]\nlearning_rate = 5e-2\nmomentum = -0.0\n") == base);
  CHECK(digest("[budget]\nnormalised_time = 25\n") != base);  // it also ends the run
  CHECK(digest("[task]\nmodel = \"linear\"\nbatch_size = 32\ndataset = \"glyphs\"\n") == base);
  CHECK(compile_recipe("/elsewhere/x.toml", completed("")).runs[0].digest == base);
}

TEST_CASE("a digest changes with every setting") {
  std::set<std::string> seen = {digest("")};
  for (const char* text :
       {"seeds = [2]",
        "[workers]\ncount = 5",
        "[topology]\nkind = \"complete\"",
        "[optimizer]\nlearning_rate = 0.1",
        "[optimizer]\nkind = \"adam\"",
        "[optimizer.schedule]\nwarmup = 0.1",
        "[budget]\ngradients = 101",
        "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\nbatch_size = 16",
        "[task]\ndataset = { kind = \"glyphs\", noise = 0.01 }\nmodel = \"linear\"",
        "[streams]\ninit = 1",
        "[execution]\ndriver = \"threads\"",
        "[execution]\nthreads_per_worker = 2",
        "[execution.virtual]\ncompute = \"exponential\"",
        "[execution.virtual]\nslow_workers = { 0 = 2 }",
        "[execution.virtual.cost]\nbuckets = 1",
        "[execution.virtual.cost]\nbucket_bytes = 1048576",
        "[execution.virtual.network]\nall_reduce = \"blocking\"",
        "[evaluation]\nworkers = \"never\"",
        "[record]\nmetrics = []",
        "[[algorithms]]\nkind = \"a2cid2\"",
        "[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = 2"}) {
    INFO(text);
    CHECK(seen.insert(digest(text)).second);
  }
}

TEST_CASE("stores hold digests of earlier versions: they stay what they were") {
  // Evaluations by default were others then: twenty, whatever they cost.
  const PlannedRun run =
      compiled("[evaluation]\nevery_time = 1.25\nconsensus_every_time = 1\n").runs.at(0);
  CHECK(run.digest == "833e8269df9b37fd473caef85f6577fd8f9f1bffb4e17eee3a9441925412bd65");
  CHECK(run.group == "ed5f8f4450be7f706c336b4632b40a33efa1a6243560be0fa4aff4b2cf26c87e");
}

TEST_CASE("a group does not depend on saving, either") {
  const std::string group = compiled("").runs.at(0).group;
  CHECK(compiled("[record]\nevents = true\n").runs.at(0).group == group);
  CHECK(compiled("[execution]\nmax_restarts = 7\n").runs.at(0).group == group);
}

TEST_CASE("a group is the run without its seed") {
  const Plan plan = compiled("seeds = [1, 2]\n[sweep]\n\"workers.count\" = [2, 3]\n");
  REQUIRE(plan.runs.size() == 4);
  CHECK(plan.runs[0].group == plan.runs[1].group);
  CHECK(plan.runs[0].digest != plan.runs[1].digest);
  CHECK(plan.runs[0].group != plan.runs[2].group);
}

TEST_CASE("files count by content, not by path") {
  const ScratchFolder folder;
  folder.write("graph.txt", "0 1\n1 2\n2 3\n");
  const auto run = [&](const std::string& edges) {
    return compile_recipe(folder.path("recipe.toml"),
                          completed("[topology]\nkind = \"edges\"\nedges = " + edges + "\n"))
        .runs.at(0);
  };
  const PlannedRun first = run("\"graph.txt\"");
  CHECK(first.settings["topology"]["edges"] == folder.path("graph.txt"));
  folder.write("moved.txt", "0 1\n1 2\n2 3\n");
  CHECK(run("\"moved.txt\"").digest == first.digest);
  folder.write("graph.txt", "0 1\n1 2\n2 3\n3 0\n");
  CHECK(run("\"graph.txt\"").digest != first.digest);
}

TEST_CASE("relative files start at the recipe's folder") {
  const ScratchFolder folder;
  folder.write("graph.txt", "0 1\n1 2\n2 3\n");
  CHECK_NOTHROW(compile_recipe(folder.path("recipe.toml"), completed(kEdges)));
  CHECK_THAT(only_error_of(kEdges).message, ContainsSubstring("does not exist"));
}

TEST_CASE("a file in a folder whose name is no UTF-8 is refused") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path("caf\xe9"));
  folder.write("caf\xe9/graph.txt", "0 1\n1 2\n2 3\n");
  const std::string recipe = folder.path("caf\xe9/recipe.toml");
  CHECK_THROWS_WITH(compile_recipe(recipe, completed(kEdges)), ContainsSubstring("is no UTF-8"));
}

TEST_CASE("a pipe or a device in the place of a file is refused, and nothing waits for it") {
  const ScratchFolder folder;
  REQUIRE(mkfifo(folder.path("graph.txt").c_str(), 0600) == 0);
  for (const std::string& recipe :
       {"[topology]\nkind = \"edges\"\nedges = \"" + folder.path("graph.txt") + "\"",
        std::string("[task]\ndataset = { kind = \"text\", file = \"/dev/zero\" }\n"
                    "model = \"linear\"")})
    CHECK_THAT(only_error_of(recipe).message, ContainsSubstring("is a pipe or a device"));
}

TEST_CASE("the recipe digest covers the text and the overrides") {
  const std::string base = compiled("").recipe_digest;
  CHECK(compiled("").recipe_digest == base);
  CHECK(compiled("# x\n").recipe_digest != base);
  CHECK(compiled("", {"workers.count=4"}).recipe_digest != base);
}

}  // namespace acid::test
