// `acid predict`: that it tells what runs take, who is fastest where, and what is refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/predictions.hpp"

using acid::test::Folder;
using acid::test::kTask;
using acid::test::prediction;
using Words = std::vector<std::string>;

namespace {

/// Where an all-reduce of 8 workers takes 1.75 vectors' time beside the gradient and a ring 2 in
/// its shadow: 1 + 1.75 M/b = 2 M/b at b = M/4.
const std::string kCrossing = std::string(kTask) + R"(
workers.count = 8
topology.kind = "ring"
budget.gradients = 160
algorithms = ["ar-sgd", "d-psgd"]
[execution.virtual]
cost.buckets = 1
network = { vector_bytes = 100000000, bandwidth_bytes_per_second = 1e8 }
)";

}  // namespace

TEST_CASE("a prediction's draws with the recipe's seeds take what its runs take, to the last bit") {
  const Folder folder;
  folder.write("real.toml", std::string(kTask) + R"(
seeds = [7, 3]
workers.count = 5
budget.gradients = 60
algorithms = ["ar-sgd", "ad-psgd", "a-psgd"]
[execution.virtual]
compute.kind = "exponential"
network = { latency_seconds = 0.05, bandwidth_bytes_per_second = 1e3 }
)");
  folder.done({"run", "real.toml"});
  const auto told = folder.told({"predict", "real.toml", "--draws", "3"});
  CHECK(told["schema_version"] == 1);
  CHECK(told["seeds"] == nlohmann::json({7, 3, 1}));
  REQUIRE(told["predictions"].size() == 3);
  int compared = 0;
  for (const auto& run : folder.runs()) {
    const auto shown = folder.shown(run["id"]);
    const auto one = prediction(told, run["algorithm"]);
    const std::size_t draw = run["seed"] == 7 ? 0 : 1;
    CHECK(one["seconds_of_draws"][draw] == shown["progress"]["seconds"]);
    ++compared;
  }
  CHECK(compared == 6);
  const auto one = prediction(told, "ad-psgd");
  CHECK(one["iteration_seconds"]["low"] < one["iteration_seconds"]["mean"]);
  CHECK(one["seconds"].get<double>() ==
        Approx(12 * one["iteration_seconds"]["mean"].get<double>()).epsilon(0.01));
}

TEST_CASE("closed forms stand beside what the clock takes, where they hold") {
  const Folder folder;
  folder.write("closed.toml", std::string(kTask) + R"(
workers.count = 2
budget.gradients = 400
algorithms = ["ar-sgd", "d-psgd", "ad-psgd"]
[execution.virtual]
cost.buckets = 4
network.gradient_seconds = 3
)");
  // F = 1, g = 0.5, four buckets; a ring of 2 takes two latencies, an exchange takes one.
  struct Case {
    double c, all_reduce, neighbours;
  };
  for (const Case& one : {Case{.1, 3.1, 3}, {.5, 3.5, 3}, {.75, 4.5, 3}, {1, 5.5, 4}}) {
    for (const auto& [algorithm, expected, latency] :
         {std::tuple("ar-sgd", one.all_reduce, one.c / 2), {"d-psgd", one.neighbours, one.c}}) {
      const auto told = prediction(
          folder.told({"predict", "closed.toml", "--draws", "2", "--set",
                       fmt::format("execution.virtual.network.latency_seconds={}", latency)}),
          algorithm);
      INFO(algorithm << " " << one.c);
      CHECK(told["closed_form_seconds"].get<double>() == Approx(expected).epsilon(1e-12));
      CHECK(told["iteration_seconds"]["mean"].get<double>() == Approx(expected).epsilon(0.01));
    }
  }
  const auto plain = folder.told({"predict", "closed.toml", "--draws", "2"});
  CHECK(prediction(plain, "ad-psgd")["closed_form_seconds"].is_null());
  for (const char* other : {"execution.virtual.compute={kind=\"exponential\"}",
                            "execution.virtual.slow_workers={0=2.0}"})
    CHECK(prediction(folder.told({"predict", "closed.toml", "--draws", "2", "--set", other}),
                     "ar-sgd")["closed_form_seconds"]
              .is_null());
  CHECK_THAT(folder.done({"predict", "closed.toml"}).out, ContainsSubstring("closed form"));
  for (const auto& alone :
       folder.told({"predict", "closed.toml", "--set", "workers.count=1"})["predictions"])
    if (!alone["closed_form_seconds"].is_null())
      CHECK(alone["closed_form_seconds"] ==
            Approx(alone["iteration_seconds"]["mean"].get<double>()));
}

TEST_CASE("who is fastest where, with the crossover that the formulas give") {
  const Folder folder;
  folder.write("crossing.toml", kCrossing);
  const Words command{"predict", "crossing.toml", "--over", "network.bandwidth=1e6..1e9"};
  const auto told = folder.told(command);
  CHECK(told["predictions"].size() == 40);
  REQUIRE(told["crossovers"].size() == 1);
  const auto& crossover = told["crossovers"][0];
  CHECK(crossover["value"].get<double>() == Approx(2.5e7).epsilon(0.001));
  CHECK(crossover["high"].get<double>() / crossover["low"].get<double>() < 1.02);
  CHECK(crossover["key"] == "execution.virtual.network.bandwidth_bytes_per_second");
  CHECK(crossover["from"] == "ar-sgd");
  CHECK(crossover["to"] == "d-psgd");
  CHECK_THAT(
      folder.done(command).out,
      ContainsSubstring("ar-sgd is fastest below 25 MB/s; d-psgd is fastest above 25 MB/s."));
  const auto csv =
      folder.done({"predict", "crossing.toml", "--over",
                   "execution.virtual.network.bandwidth_bytes_per_second=1e7,2e7", "--csv"});
  CHECK(std::ranges::count(csv.out, '\n') == 5);
  CHECK_THAT(csv.out, ContainsSubstring("algorithm,iteration_seconds,iteration_seconds_low"));
  CHECK_THAT(folder
                 .done({"predict", "crossing.toml", "--over", "workers.count=4..6", "--linear",
                        "--set", "execution.virtual.network={}"})
                 .out,
             ContainsSubstring("ar-sgd = d-psgd: they take the same time everywhere from 4 to 6."));
  CHECK_THAT(
      folder.done({"predict", "crossing.toml", "--over", "network.bandwidth=1e8,2e8,3e8"}).out,
      ContainsSubstring("d-psgd is fastest at all 3 values from 100 MB/s to 300 MB/s."));
}

TEST_CASE("where it cannot be told begins and ends at the same values with any grid") {
  const Folder folder;
  folder.write("drawn.toml", kCrossing + "compute = { kind = \"lognormal\", sigma = 0.3 }\n");
  const auto ends = [&](const std::string& values) {
    const auto told =
        folder.told({"predict", "drawn.toml", "--over", "network.bandwidth=" + values});
    REQUIRE(told["crossovers"].size() == 1);
    const auto& one = told["crossovers"][0];
    return std::pair(one["low"].get<double>(), one["high"].get<double>());
  };
  const auto [low, high] = ends("1e6..1e9:4");
  CHECK(high / low > 1.05);  // else it is told everywhere
  for (const char* const values : {"1e6..1e9", "3e6,2.9e7,1e9"}) {
    INFO(values);
    CHECK(ends(values).first == Approx(low).epsilon(0.015));
    CHECK(ends(values).second == Approx(high).epsilon(0.015));
  }
  // So do they at an end of the range.
  const std::string part = folder
                               .done({"predict", "drawn.toml", "--over",
                                      fmt::format("network.bandwidth=1e6,{}", low * 1.02)})
                               .out;
  CHECK_THAT(part, ContainsSubstring("ar-sgd is fastest up to 15."));
}

TEST_CASE("values of an axis at which nothing runs are passed over") {
  const Folder folder;
  folder.write("cubes.toml", std::string(kTask) +
                                 "workers.count = 4\ntopology.kind = \"hypercube\"\n"
                                 "budget.gradients = 160\nalgorithms = [\"ar-sgd\", \"d-psgd\"]\n"
                                 "[execution.virtual]\nnetwork.latency_seconds = 0.1\n");
  const auto told = folder.told({"predict", "cubes.toml", "--over", "workers.count=2,4,16,64"});
  CHECK(told["predictions"].size() == 8);
}

TEST_CASE("a value at which two are equally fast hides neither side of it") {
  const Folder folder;
  folder.write("crossing.toml", kCrossing);
  for (const char* values : {"1e6,2.5e7,1e9", "1e6,2.4e7,2.5e7,2.6e7,1e9"}) {
    INFO(values);
    const Words command{"predict", "crossing.toml", "--over",
                        std::string("network.bandwidth=") + values};
    const auto told = folder.told(command);
    REQUIRE(told["crossovers"].size() == 1);
    const auto& crossover = told["crossovers"][0];
    CHECK(crossover["value"].get<double>() == Approx(2.5e7).epsilon(0.001));
    CHECK(crossover["low"].get<double>() > 0.99 * 2.5e7);
    CHECK(crossover["high"].get<double>() < 1.01 * 2.5e7);
    CHECK_THAT(
        folder.done(command).out,
        ContainsSubstring("ar-sgd is fastest below 25 MB/s; d-psgd is fastest above 25 MB/s."));
  }
  CHECK_THAT(folder.done({"predict", "crossing.toml", "--over", "network.bandwidth=1e6,2.5e7"}).out,
             ContainsSubstring("ar-sgd is fastest up to 24."));
}

TEST_CASE("crossovers are the same beside an equal algorithm, and one of the same name") {
  const Folder folder;
  folder.write("crossing.toml", kCrossing);
  const auto crossing = [&](const std::string& algorithms) {
    const auto told =
        folder.told({"predict", "crossing.toml", "--over", "network.bandwidth=1e6..1e9:5", "--set",
                     "algorithms=[" + algorithms + "]"});
    REQUIRE(told["crossovers"].size() == 1);
    const auto& one = told["crossovers"][0];
    CHECK(one["high"].get<double>() / one["low"].get<double>() < 1.02);
    return one["value"].get<double>();
  };
  const std::string all_reduce = "{kind=\"ar-sgd\"}", ring = "{kind=\"d-psgd\"}";
  const double alone = crossing(all_reduce + "," + ring);
  CHECK(alone == Approx(2.5e7).epsilon(0.001));
  CHECK(crossing(all_reduce + "," + ring + ",{kind=\"decent-adam\"}") == alone);
  // At each value the network carries another rate, and the algorithm is the same all the same.
  const std::string gossip = "{kind=\"ad-psgd\",communication_rate=";
  folder.done({"predict", "crossing.toml", "--over", "network.bandwidth=1e6..1e9:5", "--set",
               "algorithms=[" + all_reduce + "," + gossip + "\"saturate\"}," + gossip + "0.5}]",
               "-o", "named.svg"});
  const std::string csv = folder.read("named.csv");
  const auto rows = [&](const std::string& name) {
    int count = 0;
    for (std::size_t at = csv.find(name); at != std::string::npos; at = csv.find(name, at + 1))
      ++count;
    return count;
  };
  CHECK(rows("\nar-sgd,") >= 5);
  CHECK(rows("saturate true,") == rows("\nar-sgd,"));
}

TEST_CASE("who is fastest where is drawn on paper, with its numbers beside it") {
  const Folder folder;
  folder.write("crossing.toml", kCrossing);
  const auto with = [&](const Words& more) {
    Words words{"predict", "crossing.toml"};
    words.insert(words.end(), more.begin(), more.end());
    return folder.call(words);
  };
  const Words over{"--over", "network.bandwidth=1e6..1e9:4"};
  CHECK(with({over[0], over[1], "-o", "crossing.svg"}).code == 0);
  CHECK_THAT(folder.read("crossing.svg"), ContainsSubstring("Seconds per iteration"));
  CHECK_THAT(folder.read("crossing.csv"), ContainsSubstring("ar-sgd,1000000,176"));
  CHECK(with({over[0], over[1], "-o", "crossing.pdf", "--width", "text"}).code == 0);
  CHECK_THAT(with({over[0], over[1], "-o", "crossing.png"}).err, ContainsSubstring("end in .svg"));
  CHECK_THAT(with({"-o", "crossing.svg"}).err, ContainsSubstring("a chart needs --over"));
  const auto two =
      with({over[0], over[1], "-o", "two.svg", "--set", "sweep={topology=[\"ring\",\"chain\"]}"});
  CHECK(two.code == 2);
  CHECK_THAT(two.err, ContainsSubstring("a chart is of one setting, and this recipe has 2") &&
                          ContainsSubstring("--set 'sweep.topology=[\"ring\"]'") &&
                          !ContainsSubstring("predicted"));
  CHECK(with({over[0], over[1], "-o", "two.svg", "--set", "sweep={topology=[\"ring\",\"chain\"]}",
              "--set", "sweep.topology=[\"ring\"]"})
            .code == 0);
  CHECK_THAT(with({over[0], over[1], "-o", "nowhere/x.svg", "--set", "budget.gradients=-1"}).err,
             ContainsSubstring("cannot create"));
  CHECK_THAT(with({over[0], over[1], "--width", "84"}).err, ContainsSubstring("--width needs -o"));
  CHECK_THAT(with({over[0], over[1], "-o", "crossing.svg", "--json"}).err,
             ContainsSubstring("-o writes a chart and its numbers"));
}

TEST_CASE("long budgets are scaled from their first iterations, and limits are kept") {
  const Folder folder;
  folder.write("long.toml", kCrossing);
  const auto told = [&](Words more) {
    more.insert(more.begin(), {"predict", "long.toml"});
    return prediction(folder.told(more), "ar-sgd");
  };
  const auto whole = told({}), part = told({"--iterations", "5"});
  CHECK(whole["simulated_iterations"] == 20.0);
  CHECK(part["simulated_iterations"] == 6.0);  // two whole periods
  for (const char* key : {"seconds", "bytes", "gradients"})
    CHECK(part[key].get<double>() == Approx(whole[key].get<double>()));
  const auto limited = told({"--set", "budget.seconds=20"});
  CHECK(limited["gradients"] == 56.0);  // 7 rounds of 2.75 s
  CHECK(told({"--set", "budget.seconds=20", "--iterations", "3"})["seconds"].get<double>() ==
        Approx(20));
  // What ends the run says whether it is long.
  const Words long_budget{"--set", "budget.gradients=1000000000000"};
  for (const char* limit : {"budget.seconds=20", "budget.bytes=4000"}) {
    INFO(limit);
    const auto ended = told({"--set", limit, long_budget[0], long_budget[1]});
    const auto short_one = told({"--set", limit, "--set", "budget.gradients=1600"});
    for (const char* key : {"seconds", "bytes", "gradients"}) CHECK(ended[key] == short_one[key]);
  }
  const auto longest = told({"--set", "budget.gradients=1000000000000"});
  CHECK(longest["simulated_iterations"] == 200.0);
  CHECK_THAT(folder.done({"predict", "long.toml", "--set", "budget.gradients=1000000000000"}).out,
             ContainsSubstring("The first 200 iterations"));
  // Local steps: exchanges are seldom, and whole periods of them are simulated.
  CHECK(prediction(folder.told({"predict", "long.toml", "--iterations", "5", "--set",
                                "algorithms=[{ kind = \"local-sgd\", steps = 8 }]"}),
                   "local-sgd")["simulated_iterations"] == 16.0);
}

TEST_CASE("recipes of other drivers are predicted, and those that say too little are refused") {
  const Folder folder;
  folder.write("crossing.toml", kCrossing);
  for (const char* driver : {"threads", "mpi"})
    CHECK(folder
              .told({"predict", "crossing.toml", "--set",
                     fmt::format("execution.driver={}", driver)})["predictions"]
              .size() == 2);
  const auto refused = [&](const std::string& over, const Words& says) {
    INFO(over);
    check_refused(folder.call({"predict", "crossing.toml", "--over", over}), says);
  };
  refused("network.bandwith=1..2", {"did you mean 'network.bandwidth'?"});
  refused("execution.driver=1..2", {"no number", "[sweep]"});
  refused("network.bandwidth=5..5", {"from 5 to 5 there is nothing"});
  refused("network.bandwidth=0..5", {"--linear"});
  refused("network.bandwidth=1e9", {"two values"});
  refused("network.bandwidth=2,1", {"ascending"});
  refused("network.bandwidth=fast..faster", {"'fast' is no number"});
  refused("network.bandwidth=1..2:1", {"2 to 1000"});
  refused("workers.count=4,4.5", {"whole numbers"});
  refused("bandwidth", {"KEY="});
  check_refused(folder.call({"predict", "crossing.toml", "--linear"}), {"--over"});
  check_refused(folder.call({"predict", "crossing.toml", "--draws", "1"}), {"--draws"});
  check_refused(folder.call({"predict", "nowhere.toml"}), {"nowhere.toml"});
  folder.write("swept.toml", kCrossing + "[sweep]\n\"workers.count\" = [4, 8]\n");
  check_refused(folder.call({"predict", "swept.toml", "--over", "workers.count=4..8"}),
                {"sweeps over 'workers.count' too"});
  CHECK(
      folder.told({"predict", "swept.toml", "--over", "network.bandwidth=1e6..1e9:3"})["crossovers"]
          .size() == 2);
}
