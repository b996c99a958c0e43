// Keys in a recipe that no run uses.
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

using namespace acid;
using test::compiled;

namespace {

std::vector<std::string> warnings(const std::string& text,
                                  const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> messages;
  for (const Diagnostic& warning : compiled(text, overrides).warnings)
    messages.push_back(warning.message);
  return messages;
}

struct Unused {
  const char* recipe;
  const char* message;
  int line;
};
constexpr Unused kUnused[] = {
    {"[execution.threads]\nexchange_threads = 2", "execution.threads has no effect", 1},
    {"[execution]\nmax_backlog = 8", "execution.max_backlog has no effect", 2},
    {"[execution]\nmax_load = 1", "execution.max_load has no effect: messages take no time", 2},
    {"[execution]\nmax_load = 0.5\n[execution.virtual.network]\nlatency_seconds = 0.1\n"
     "[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = \"saturate\"",
     "execution.max_load has no effect: with communication_rate = \"saturate\"", 2},
    {"[execution]\nmax_backlog = 8\n[execution.virtual.network]\nlatency_seconds = 0.1\n"
     "[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = \"saturate\"",
     "execution.max_backlog has no effect: with communication_rate = \"saturate\"", 2},
    {"[execution]\ndriver = \"threads\"\n[execution.virtual.network]\nlatency_seconds = 1",
     "execution.virtual has no effect", 3},
    {"[optimizer]\ndecay_one_dimensional = false",
     "optimizer.decay_one_dimensional has no effect: weight_decay is 0", 2},
    {"[optimizer.schedule]\nreference_batch = 64", "optimizer.schedule.reference_batch", 2},
    {"[streams]\ncompute = 3", "streams.compute has no effect", 2},
    {"[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\nbuffers = \"local\"",
     "task.buffers has no effect", 4},
    {"[topology]\nkind = \"star\"\n[[algorithms]]\nkind = \"ar-sgd\"", "topology has no effect", 1},
    {"[streams]\ngossip = 3\n[[algorithms]]\nkind = \"ar-sgd\"", "streams.gossip has no effect", 2},
    {"[workers]\ncount = 1\n[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = 2",
     "algorithm.communication_rate has no effect: one worker", 5},
    {"[[algorithms]]\nkind = \"a2cid2\"\neta = 0.1\nalpha_tilde = 0.5\nspectral = \"realised\"",
     "algorithm.spectral has no effect: eta and alpha_tilde are given", 5},
    {"[execution.virtual]\ngradient_clock = \"poisson\"\n[[algorithms]]\nkind = \"ar-sgd\"",
     "execution.virtual.gradient_clock has no effect", 2},
    {"[execution.virtual]\ncost = { buckets = 4 }\nnetwork = { latency_seconds = 0.1 }\n",
     "execution.virtual.cost.buckets has no effect", 2},
    {"[execution.virtual]\ncost = { exchange_seconds = 0.1 }\n[[algorithms]]\nkind = \"ar-sgd\"",
     "execution.virtual.cost.exchange_seconds has no effect: an all-reduce", 2},
    {"[execution.virtual]\nnetwork = { all_reduce = \"tree\", latency_seconds = 0.1 }\n",
     "execution.virtual.network.all_reduce has no effect", 2},
    {"[budget]\nnormalised_time = 9\n[optimizer]\nlearning_rate = 1\n"
     "[execution.virtual]\ngradient_clock = \"none\"",
     "optimizer has no effect: there are no gradients", 3},
};

}  // namespace

TEST_CASE("a key that no run looks at is named at its place") {
  for (const Unused& unused : kUnused) {
    const Diagnostic warning = test::only_warning_of(unused.recipe);
    INFO(unused.recipe);
    CHECK_THAT(warning.message, StartsWith(unused.message));
    CHECK(warning.line == unused.line);
    CHECK_FALSE(warning.remedy.empty());
  }
}

TEST_CASE("edges that are listed again are told") {
  const std::string edges = "[topology]\nkind = \"edges\"\nedges = [[0, 1], [1, 2], [2, 3]";
  CHECK(warnings(edges + "]").empty());
  const auto told = warnings(edges + ", [1, 0], [0, 1]]");
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], StartsWith("2 edges listed again, also as [j, i]: their weights add up"));
  CHECK_THAT(warnings(edges + ", [1, 0]]").at(0),
             StartsWith("1 edge listed again, also as [j, i]: its weights add up"));
}

TEST_CASE("a graph whose degrees a method with a server reads has an effect") {
  constexpr const char* kServed =
      "topology.kind = \"star\"\n[[methods]]\nname = \"served\"\npeers = \"server\"\n"
      "step = \"x = x - lr * u{}\"\nserver = {{ hear = \"x = x + 0.5 * (theirs(0) - x)\" }}\n"
      "[[algorithms]]\nkind = \"served\"\n";
  CHECK(test::compiled(fmt::format(kServed, " / degree")).warnings.empty());
  CHECK_THAT(test::only_warning_of(fmt::format(kServed, "")).message,
             ContainsSubstring("topology has no effect: workers talk to a server"));
}

TEST_CASE("a key that one of the runs uses is used, and defaults are not reported") {
  CHECK(warnings("").empty());
  const std::string both =
      "[[algorithms]]\nkind = \"ar-sgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n";
  CHECK(warnings("[topology]\nkind = \"star\"\n[streams]\ngossip = 3\n" + both).empty());
  CHECK(warnings("[sweep]\n\"workers.count\" = [1, 4]\n[[algorithms]]\nkind = \"ad-psgd\"\n"
                 "communication_rate = 2")
            .empty());
  CHECK(warnings("[sweep]\n\"topology.kind\" = [\"ring\", \"star\"]\n" + both).empty());
  CHECK(warnings("", {"optimizer.decay_one_dimensional=false"}).size() == 1);
  CHECK(warnings("", {"optimizer.decay_one_dimensional=false", "optimizer.weight_decay=0.1"})
            .empty());
}
