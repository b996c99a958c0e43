// `acid predict`: that it tells what runs take, who is fastest where, and what is refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/predict/race.hpp"
#include "settings/run_spec.hpp"
#include "tests/catch.hpp"
#include "tests/cli/predictions.hpp"

using acid::Race;
using acid::Range;
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

TEST_CASE("values at which nothing runs are no part of a stretch") {
  const Range fast{1, 1, 1}, slow{2, 2, 2};
  const Race race{{"a", "b"}, {{4, {fast, slow}}, {6, {{}, {}}}, {8, {fast, slow}}}};
  CHECK(words_of(race, [](double value) { return fmt::format("{}", value); }) ==
        "a is fastest at 4; a is fastest at 8.");
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

namespace {

Race race_of(const std::vector<std::string>& names,
             const std::vector<std::vector<std::pair<double, double>>>& times) {
  Race race{names, {}, false, false};
  for (std::size_t k = 0; k < times.size(); ++k) {
    Race::Point point{static_cast<double>(k), {}, true};
    for (const auto& [mean, half] : times[k])
      point.times.push_back(Range{mean, mean - half, mean + half});
    race.points.push_back(std::move(point));
  }
  return race;
}

std::string words(const Race& race) {
  return words_of(race, [](double value) { return fmt::format("{:.3g}", value); });
}

}  // namespace

TEST_CASE("what cannot be told is not told") {
  const auto sure = race_of({"a", "b"}, {{{1, 0}, {4, 0}}, {{2, 0}, {2.5, 0}}, {{4, 0}, {2, 0}}});
  REQUIRE(crossovers(sure).size() == 1);
  CHECK(words(sure) == "a is fastest below 1.24; b is fastest above 1.24.");
  const auto close = race_of({"a", "b", "c"}, {{{1, .1}, {4, .1}, {9, 0}},
                                               {{2, .5}, {2.5, .1}, {9, 0}},
                                               {{3, .6}, {2.4, .1}, {9, 0}},
                                               {{4, .1}, {2, .1}, {9, 0}}});
  CHECK(words(close) ==
        "a is fastest at 0; it cannot be told whether a or b is fastest from 0 to 3; b is "
        "fastest at 3.");
  REQUIRE(crossovers(close).size() == 1);
  CHECK(crossovers(close)[0].value > 1);
  CHECK(crossovers(close)[0].value < 2);
  CHECK(words(race_of({"a", "b"}, {{{1, 1}, {1.1, 1}}, {{1, 1}, {1.1, 1}}})) ==
        "It cannot be told whether a or b is fastest at both values, 0 and 1.");
  CHECK(words(race_of({"a", "b"}, {{{1, 0}, {2, 0}}, {{2, 0}, {2, 0}}})) ==
        "a is fastest at 0; a and b are equally fast above 0.");
  CHECK(words(race_of({"a", "b", "c"}, {{{1, 0}, {1, 0}, {1, 0}}, {{2, 0}, {1, 0}, {1, 0}}})) ==
        "a, b and c are equally fast below 1; b and c are equally fast at 1.");
  auto same = race_of({"a", "b", "c"}, {{{1, 0}, {1, 0}, {2, 0}}, {{3, 0}, {3, 0}, {2, 0}}});
  same.join_equal();
  CHECK(same.names == Words{"a = b", "c"});
  CHECK(words(same) == "a = b is fastest below 0.631; c is fastest above 0.631.");
  // One that cannot run at some values.
  auto gap = race_of({"a", "b"}, {{{1, 0}, {2, 0}}, {{1, 0}, {2, 0}}});
  gap.points[1].times[0].reset();
  CHECK(crossovers(gap).size() == 1);
  CHECK(values_to_add(sure, [](double value) { return value; }).size() == 7);
}

TEST_CASE("values are added wherever the verdict changes, until they are near") {
  const auto added = [](const Race& race) {
    return values_to_add(race, [](double value) { return value; }).size();
  };
  const std::pair<double, double> sure{1, 0}, slow{2, 0}, unsure{1.1, 1};
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {slow, sure}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, unsure}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, unsure}, {sure, slow}, {sure, slow}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, sure}, {sure, slow}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, sure}, {sure, unsure}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, unsure}, {slow, sure}})) == 14);
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, slow}})) == 0);
  // One of which nothing is said but that it is not told.
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, unsure}, {sure, slow}})) == 0);
  // Equal steps come as near to 0 as 1/10,000 of the range, of which no 1 % is left.
  auto zero = race_of({"a", "b"}, {{sure, sure}, {sure, slow}, {sure, slow}});
  zero.points[1].value = 1e-4;
  zero.points[2].value = 1;
  CHECK(added(zero) == 0);
  zero.points[1].value = 1.1e-4;
  CHECK(added(zero) == 7);
}

TEST_CASE("between whole numbers there is no crossover, only the last and the first") {
  const auto whole = [](const std::vector<std::vector<std::pair<double, double>>>& times) {
    Race race = race_of({"a", "b"}, times);
    race.step = 1;
    return race;
  };
  const auto crossing = whole({{{1, 0}, {4, 0}}, {{2, 0}, {2.5, 0}}, {{4, 0}, {2, 0}}});
  CHECK(words(crossing) == "a is fastest up to 1; b is fastest at 2.");
  CHECK(crossovers(crossing).at(0).value == 1);
  const auto tie = whole({{{1, 0}, {4, 0}}, {{2, 0}, {2, 0}}, {{4, 0}, {2, 0}}});
  CHECK(words(tie) == "a is fastest at 0; a and b are equally fast at 1; b is fastest at 2.");
  const auto rounded = [](double value) { return std::round(value); };
  CHECK(values_to_add(tie, rounded).empty());
  CHECK(words(whole({{{1, 0}, {2, 0}}, {{2, 0}, {2, 0}}, {{2, 0}, {2, 0}}})) ==
        "a is fastest at 0; a and b are equally fast from 1.");
  auto many = tie;  // not all values were looked at beside the one at which the means cross
  for (std::size_t k = 0; k < 3; ++k) many.points[k].value = 996 + 4 * static_cast<double>(k);
  CHECK(words_of(many, [](double value) { return fmt::format("{}", value); }) ==
        "a is fastest at 996; b is fastest at 1004.");
  auto apart = whole({{{1, 0}, {4, 0}}, {{2, 0}, {2, 0}}, {{4, 0}, {2, 0}}});
  apart.points[2].value = 5;
  CHECK(values_to_add(apart, rounded) == std::vector<double>{2, 3, 4});
}

TEST_CASE("draws with the same durations are compared with each other") {
  const auto of = [](const std::vector<double>& draws) { return acid::range_of(draws); };
  const Range slow = of({1, 2, 3, 4}), fast = of({0.9, 1.9, 2.9, 3.88});
  CHECK(slow.low < fast.high);  // the intervals overlap
  CHECK_FALSE(overlap(slow, fast));
  CHECK_FALSE(overlap(fast, slow));
  CHECK(overlap(slow, of({0.9, 2.1, 2.9, 4.1})));
  CHECK(overlap(slow, slow));
  CHECK(overlap(slow, of({1 + 1e-15, 2 + 1e-15, 3 + 1e-15, 4 + 1e-15})));
  CHECK_FALSE(overlap(Range{1, 1, 1}, Range{2, 2, 2}));
}
