#include "reports/html/theory.hpp"

#include <cmath>

#include "engine/codecs/codec.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

namespace {

// A task without curvature: only exchanges and the noise of gradients change the models.
std::string recipe_of(const std::string& algorithm, const std::string& more = "") {
  const auto has_section = [&](const char* header) {
    return more.find(header) != std::string::npos;
  };
  return (has_section("[task]") ? ""
                                : "[task]\ndataset = { kind = \"quadratic\", curvature = 0.0, "
                                  "initial_spread = 1.0 }\n") +
         std::string(has_section("[workers]") ? "" : "[workers]\ncount = 8\n") +
         (has_section("[budget]") ? "" : "[budget]\nnormalised_time = 10.0\n") + more +
         "\n[[algorithms]]\n" + algorithm + "\n";
}

const std::string kPoisson = "[execution.virtual]\ngradient_clock = \"poisson\"\n";
const std::string kNoise =
    "[task]\ndataset = { kind = \"quadratic\", curvature = 0.0, noise = 2.0 }\n";

struct Case {
  ComparedGroup group;
  GroupNetwork network;
};

Case planned(const std::string& recipe) {
  INFO(recipe);
  const PlannedRun run = test::compiled(recipe).runs.at(0);
  Case made;
  made.group.algorithm = run.algorithm;
  made.group.label = run.label;
  made.group.settings = run.settings;
  made.network.workers = run.workers;
  if (run.chi1) made.network.numbers = {{"chi1", *run.chi1}, {"chi2", *run.chi2}};
  if (run.agreement.left)
    made.network.numbers.insert(
        {{"left", *run.agreement.left}, {"exchanges", run.agreement.exchanges_per_gradient}});
  return made;
}

Case gossip(const std::string& algorithm, const std::string& topology, int workers,
            const std::string& more = "") {
  return planned(recipe_of("kind = \"" + algorithm + "\"",
                           "[topology]\nkind = \"" + topology +
                               "\"\n[workers]\ncount = " + std::to_string(workers) + "\n" + more));
}

std::optional<TheoryLine> line_of(const Case& made, double end,
                                  const std::vector<CurvePoint>& starts = {{0, 1}}) {
  return theory_line(made.group, made.network, starts, end);
}

// "bound", "guide" or "" where nothing is drawn.
std::string claim(const std::string& recipe) {
  const auto line = line_of(planned(recipe), 10);
  if (!line) return "";
  CHECK(has(line->note, "at most") == line->bound);
  CHECK(has(line->label, "bound") == line->bound);
  CHECK(has(line->note, "no bound") != line->bound);
  return line->bound ? "bound" : "guide";
}

}  // namespace

TEST_CASE("theory's bound lies above the exact expectation of the consensus distance") {
  // Ratios to the start, from the exact second-moment operator for workers that start i.i.d.
  struct Row {
    const char* algorithm;
    const char* topology;
    int workers;
    double time, ratio;
  };
  for (const Row& row :
       {Row{"ad-psgd", "ring", 8, 1, 5.914186e-01}, Row{"ad-psgd", "ring", 8, 10, 3.082214e-02},
        Row{"ad-psgd", "ring", 8, 40, 9.809745e-06}, Row{"a2cid2", "ring", 8, 1, 5.963691e-01},
        Row{"a2cid2", "ring", 8, 10, 2.237275e-02}, Row{"a2cid2", "ring", 8, 40, 4.610465e-07},
        Row{"ad-psgd", "exponential", 16, 10, 7.791038e-03},
        Row{"ad-psgd", "exponential", 16, 40, 1.225290e-08},
        Row{"a2cid2", "exponential", 16, 10, 8.099930e-03},
        Row{"a2cid2", "exponential", 16, 40, 6.517577e-09}}) {
    CAPTURE(row.algorithm, row.topology, row.workers, row.time);
    const auto line = line_of(gossip(row.algorithm, row.topology, row.workers), row.time);
    REQUIRE(line);
    CHECK(line->bound);
    CHECK(line->normalised_time.back() == row.time);
    CHECK(line->value.back() > row.ratio);
    // A bound far above would be useless: its rate is at least half of the slowest mode's.
    CHECK(std::log(line->value.back() / 2) < 0.4 * std::log(row.ratio));
  }
}

TEST_CASE("with gradient noise the bound lies above the exact stationary level") {
  // Stationary consensus distance per parameter in units of the squared step times the variance.
  for (const auto& [algorithm, level] :
       {std::pair{"ad-psgd", 2.07812}, std::pair{"a2cid2", 2.04227}}) {
    CAPTURE(algorithm);
    // Learning rate 0.5 and noise 2 make a unit step; 64 parameters.
    const std::string more = kNoise + kPoisson + "[optimizer]\nlearning_rate = 0.5\n";
    const auto line = line_of(gossip(algorithm, "ring", 8, more), 1000, {{0, 0}});
    REQUIRE(line);
    CHECK(line->bound);
    CHECK(line->value.front() == 0);
    CHECK(line->value.back() > 64 * level);
    CHECK(line->value.back() < 64 * level * 4);
    CHECK(has(line->note, "gradient noise"));
    const Case momentum = gossip(algorithm, "ring", 8, more + "momentum = 0.9\n");
    CHECK_FALSE(line_of(momentum, 1000, {{0, 0}}));
  }
}

TEST_CASE("where theory does not cover a run its line is called a guide, or is absent") {
  const Case made = gossip("a2cid2", "ring", 8);
  REQUIRE(line_of(made, 10));
  CHECK(line_of(made, 10)->label == "A²CiD² bound");
  CHECK_FALSE(line_of(made, 10, {{0, 0}}));  // workers start at one point
  CHECK_FALSE(line_of(made, 10, {{1, 1}}));  // first sampled later
  CHECK_FALSE(line_of(made, 10, {}));

  Case rounds = gossip("d-psgd", "ring", 8);
  rounds.network.numbers["left"] = 0.8;
  rounds.network.numbers["exchanges"] = 0.5;
  REQUIRE(line_of(rounds, 10));
  CHECK_FALSE(line_of(rounds, 10)->bound);
  CHECK(line_of(rounds, 10)->value.back() == Approx(std::pow(0.8, 10)));  // 5 exchanges, squared
  rounds.network.numbers.erase("left");
  CHECK_FALSE(line_of(rounds, 10));

  Case another = made;  // its settings are not as this acid writes them
  another.group.settings["execution"].erase("driver");
  CHECK_FALSE(line_of(another, 10));
}

// Every method with every codec, as its entry or as a listing of the recipe's own that has its
// name.
TEST_CASE("a bound is claimed of two methods' plain exchanges and of no other") {
  const std::set<std::string> proven{"ad-psgd", "a2cid2"};
  std::set<std::string> bounds;
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    const std::string kind = "kind = \"" + std::string(entry.name) + "\"";
    const std::string graph =
        has(std::string(entry.name), "sgp") ? "[topology]\nkind = \"exponential\"\n" : "";
    if (claim(recipe_of(kind, graph)) == "bound") bounds.insert(std::string(entry.name));
    for (const CodecEntry& codec : codec_catalog()) {
      if (codec.name == "none") continue;
      const std::string needs = codec.name == "lattice"              ? ", bits = 4, spacing = 0.05"
                                : has(std::string(codec.name), "-k") ? ", share = 0.5"
                                                                     : "";
      const std::string with = "\ncodec = { kind = \"" + std::string(codec.name) + "\"" + needs;
      INFO(kind << with);
      CHECK(claim(recipe_of(kind + with + " }", graph)) == "");
      if (codec.name != "lattice" && !corrects_codec(entry))
        CHECK(claim(recipe_of(kind + with + ", error_feedback = true }", graph)) == "");
    }
  }
  CHECK(bounds == proven);

  const std::string own = "[[methods]]\nname = \"mine\"\nlabel = \"AD-PSGD\"\nrate = 1.0\n";
  CHECK(claim(recipe_of("kind = \"mine\"", own)) == "");
  CHECK(claim(recipe_of("kind = \"mine\"",
                        own + "hear = [\"x = x - 0.1 * (mine(0) - theirs(0))\"]\n")) == "");
  for (const std::string& name : proven) {
    Case renamed = planned(recipe_of("kind = \"mine\"", own));
    renamed.group.algorithm = name;
    renamed.group.settings["algorithm"]["kind"] = name;
    CHECK_FALSE(line_of(renamed, 10));
  }
}

TEST_CASE("a bound is claimed for theory's own steps and no others") {
  CHECK(claim(recipe_of("kind = \"ad-psgd\"\nalpha = 0.5\ncommunication_rate = 2.0")) == "bound");
  CHECK(claim(recipe_of("kind = \"ad-psgd\"\nalpha = 0.4")) == "");
  CHECK(claim(recipe_of("kind = \"a2cid2\"\nalpha = 0.4")) == "");
  CHECK(claim(recipe_of("kind = \"a2cid2\"\neta = 0.3")) == "");
  CHECK(claim(recipe_of("kind = \"a2cid2\"\nalpha_tilde = 0.7")) == "");
  CHECK(claim(recipe_of("kind = \"a2cid2\"\nspectral = \"realised\"")) == "");
  // Without mixing it is AD-PSGD and has its bound.
  CHECK(claim(recipe_of("kind = \"a2cid2\"\neta = 0.0")) == "bound");
}

TEST_CASE("a bound is claimed for the settings that the proof covers, and a guide for others") {
  const std::string quadratic = "[task]\ndataset = { kind = \"quadratic\", initial_spread = 1.0, ";
  const std::string none = "[execution.virtual]\ngradient_clock = \"none\"\n";
  for (const char* kind : {"ad-psgd", "a2cid2"}) {
    const std::string algorithm = "kind = \"" + std::string(kind) + "\"";
    const auto with = [&](const std::string& more) { return claim(recipe_of(algorithm, more)); };
    for (const std::string& covered :
         {std::string(), kPoisson, none, kNoise + kPoisson, kNoise + none,
          std::string("[optimizer]\nmomentum = 0.9\nschedule = \"cosine\"\n"),
          std::string("[budget]\ngradients = 100\n"),
          std::string("[budget]\ngradients = 100\nseconds = 5.0\n"),
          std::string("[execution.virtual]\ncompute = { kind = \"exponential\" }\n"),
          std::string("[execution]\nmax_backlog = 1\n"), std::string("[streams]\ninit = 3\n"),
          std::string("[topology]\nkind = \"star\"\n"),
          std::string("[topology]\nkind = \"erdos-renyi\"\np = 0.7\n")}) {
      INFO(algorithm << "\n" << covered);
      CHECK(with(covered) == "bound");
    }
    const std::string virtual_time = "[execution.virtual]\n", network = virtual_time + "network = ";
    for (const std::string& other :
         {quadratic + "curvature = 1.0 }\n",
          kNoise,
          quadratic + "curvature = 1.0 }\n" + none,
          kNoise + kPoisson + "[optimizer]\nmomentum = 0.9\n",
          kNoise + kPoisson + "[optimizer]\nclip_norm = 1.0\n",
          kNoise + kPoisson + "[optimizer]\nschedule = \"cosine\"\n",
          kNoise + kPoisson + "[optimizer]\nschedule = { kind = \"constant\", warmup = 0.1 }\n",
          std::string("[optimizer]\nkind = \"adam\"\n"),
          std::string("[optimizer]\nkind = \"adamw\"\n"),
          std::string("[optimizer]\nweight_decay = 0.01\n"),
          std::string("[task]\ndataset = { kind = \"logistic\" }\nbatch_size = 4\n"),
          std::string("[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n"),
          std::string("[budget]\nnormalised_time = 10.0\nbytes = 1e9\n"),
          std::string("[budget]\ngradients = 100\n"
                      "target = { metric = \"eval_loss\", value = 0.0 }\n"),
          std::string("[streams]\ngossip = 3\n"),
          kNoise + kPoisson + "[streams]\ndata = 3\n",
          kPoisson + "[streams]\ncompute = 3\n",
          virtual_time + "slow_workers = { 1 = 3.0 }\n",
          virtual_time + "random_slowdown = { probability = 0.01, factor = 10.0 }\n",
          virtual_time + "pauses = [{ worker = 0, at_seconds = 3.0, for_seconds = 9.0 }]\n",
          network + "{ latency_seconds = 0.01 }\n",
          network + "{ bandwidth_bytes_per_second = 1e6 }\n",
          network + "{ edges = [{ edge = [0, 1], latency_seconds = 0.1 }] }\n",
          std::string("[execution]\ndriver = \"threads\"\n"),
          std::string("[execution]\ndriver = \"mpi\"\n")}) {
      INFO(algorithm << "\n" << other);
      const std::string budget =
          has(other, "driver") ? "[budget]\ngradients = 100\n" : std::string();
      CHECK(with(other + budget) == "guide");
    }
  }
}

TEST_CASE("the bound starts at the geometric mean of the seeds") {
  const auto line = line_of(gossip("ad-psgd", "ring", 8), 10, {{0, 1}, {0, 4}});
  REQUIRE(line);
  CHECK(line->value.front() == Approx(2));
}
