// `acid run --predict`: predictions are stored before the first gradient, and scored after.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr const char* kStudy = R"(
name = "study"
task.dataset = { kind = "quadratic", dimension = 16, noise = 0.1 }
optimizer.learning_rate = 0.05
workers.count = 4
topology.kind = "ring"
budget.gradients = 200
evaluation.every_gradients = 50
algorithms = ["ar-sgd", "ad-psgd"]
[execution.virtual]
compute = "exponential"
network = { latency_seconds = 0.01, bandwidth_bytes_per_second = 1e4 }
)";

struct PredictedStudy : Folder {
  explicit PredictedStudy(const std::string& more = "seeds = \"1-3\"\n") {
    write("study.toml", more + kStudy);
  }
};

std::vector<double> predicted_draws(const json& run, const std::string& quantity) {
  for (const json& value : run["values"])
    if (value["quantity"] == quantity) return value["draws"].get<std::vector<double>>();
  return {};
}

}  // namespace

TEST_CASE("a prediction is made of simulated runs with other seeds, before the first gradient") {
  const PredictedStudy folder;
  const Result ran = folder.done({"run", "study.toml", "--predict"});
  CHECK_THAT(ran.err, ContainsSubstring("prediction: 10 runs simulated, experiment "
                                        "study.predicted") &&
                          ContainsSubstring("predicted: 6 runs;"));
  const json scores = folder.told({"compare", "study", "--predicted"});
  REQUIRE(scores["runs"].size() == 6);
  CHECK(scores["without"].empty());
  // The draws are what the simulated runs did.
  std::vector<double> seconds;
  const json simulated = folder.told({"list", "--where", "experiment_name = 'study.predicted'",
                                      "--where", "algorithm = 'ar-sgd'"});
  for (const json& run : simulated["runs"]) {
    CHECK(run["seed"] > 3);
    seconds.push_back(folder.shown(run["id"])["progress"]["seconds"]);
  }
  std::vector<double> draws = predicted_draws(scores["runs"][0], "seconds");
  std::ranges::sort(seconds);
  std::ranges::sort(draws);
  CHECK(draws == seconds);
  // Every number of a run stands beside its prediction.
  for (const json& run : scores["runs"]) {
    const json shown = folder.shown(run["run"]);
    CHECK(predicted_draws(run, "eval_loss").size() == 5);
    std::size_t losses = 0;
    for (const json& value : run["values"]) {
      if (value["quantity"] == "seconds") CHECK(value["measured"] == shown["progress"]["seconds"]);
      if (value["quantity"] == "bytes") CHECK(value["measured"] == shown["progress"]["bytes"]);
      if (value["quantity"] == "eval_loss") ++losses;
    }
    CHECK(losses >= 5);  // at both ends and between
  }
  // Once they have begun they keep what was predicted; the same command does no more.
  const Result again = folder.done({"run", "study.toml", "--predict"});
  CHECK_THAT(again.err, !ContainsSubstring("predicted:") && !ContainsSubstring("simulated,"));
  CHECK(folder.told({"compare", "study", "--predicted"}) == scores);
  CHECK_THAT(folder.done({"compare", "study", "--predicted"}).out,
             ContainsSubstring("eval_loss, every evaluation"));
  folder.done({"doctor", "--store", "acid-store"});
  folder.done({"report", "study", "-o", "page.html"});
  CHECK_THAT(folder.read("page.html"), ContainsSubstring("Predicted and measured"));
}

TEST_CASE("what has begun cannot be predicted, and is told apart from what can") {
  const PredictedStudy folder;
  folder.done({"run", "study.toml"});
  const Result late = folder.done({"run", "study.toml", "--predict"});
  CHECK_THAT(late.err, ContainsSubstring("6 runs cannot be predicted any more, since they have "
                                         "begun before") &&
                           !ContainsSubstring("simulated,"));
  check_refused(folder.call({"compare", "study", "--predicted"}),
                {"none of these runs was predicted", "only before the first gradient"});
  // A further seed is predicted beside them; its simulated runs have seeds that no run has.
  const Result further =
      folder.done({"run", "study.toml", "--predict", "--set", "seeds=[1,2,3,4]"});
  CHECK_THAT(further.err, ContainsSubstring("predicted: 2 runs; 'acid compare --predicted'") &&
                              !ContainsSubstring("meanwhile"));
  const json scores = folder.told({"compare", "@latest", "--predicted"});
  CHECK(scores["runs"].size() == 2);
  CHECK(scores["without"].size() == 6);
  for (const json& run : scores["runs"]) CHECK(run["seed"] == 4);
  check_refused(folder.call({"run", "study.toml", "--set", "execution.predict_runs=1", "--set",
                             "execution.predict=true"}),
                {"one run has no interval", "at least 2, or 0"});
}

TEST_CASE("without simulated runs the clock predicts seconds and bytes, as acid predict does") {
  const PredictedStudy folder(
      "seeds = [1]\nexecution.predict = true\nexecution.predict_runs = 0\n");
  folder.done({"run", "study.toml"});
  const json scores = folder.told({"compare", "--predicted"});
  const json clock =
      folder.told({"predict", "study.toml", "--set", "seeds=[2,3,4,5,6,7,8,9,10,11]"});
  REQUIRE(scores["runs"].size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(predicted_draws(scores["runs"][k], "seconds") ==
          clock["predictions"][k]["seconds_of_draws"]);
    CHECK(predicted_draws(scores["runs"][k], "eval_loss").empty());
  }
  CHECK(folder.runs().size() == 2);  // nothing else was run
  // Beside one that has begun, another algorithm is predicted alone.
  folder.done({"run", "study.toml", "--set", "algorithms=[\"ar-sgd\",\"d-psgd\"]"});
  CHECK(folder.told({"compare", "--predicted"})["runs"].size() == 2);
  CHECK_THAT(folder.done({"plan", "study.toml"}).out, !ContainsSubstring("simulated"));
  CHECK_THAT(folder.done({"plan", "study.toml", "--set", "execution.predict_runs=3"}).out,
             ContainsSubstring("study: 2 runs, predicted from 6 simulated ones"));
  // Other runs, which have not begun, take their simulated ones as well.
  const std::vector<std::string> other{"plan",  "study.toml",
                                       "--set", "execution.predict_runs=3",
                                       "--set", "optimizer.learning_rate=0.06"};
  CHECK(folder.told(other)["states"] == json{{"planned", 8}});
}

TEST_CASE("where vectors stand for larger ones, real runs have no seconds and bytes predicted") {
  const PredictedStudy folder("seeds = [1]\nexecution.predict = true\n");
  const std::string size = "execution.virtual.network.vector_bytes=";
  const auto quantities = [&](const std::string& driver, const std::string& bytes) {
    const Result ran = folder.done({"run", "study.toml", "--driver", driver, "--set", size + bytes,
                                    "--set", "algorithms=[\"ar-sgd\"]"});
    std::set<std::string> found;
    const json scores = folder.told({"compare", "--predicted"});
    for (const json& value : scores["runs"][0]["values"]) found.insert(value["quantity"]);
    const bool warned =
        ran.err.find("neither seconds nor bytes of these runs are predicted") != std::string::npos;
    CHECK(warned == !found.contains("bytes"));
    CHECK(found.contains("seconds") == found.contains("bytes"));
    CHECK(found.contains("iteration_seconds") == found.contains("bytes"));
    CHECK(found.contains("eval_loss"));
    return found.contains("bytes");
  };
  CHECK_FALSE(quantities("threads", "4000"));
  CHECK(quantities("threads", "64"));  // the model's own
  CHECK(quantities("virtual", "4000"));
}

TEST_CASE("runs against the clock are predicted on the simulated machine that the recipe has") {
  const PredictedStudy folder(
      "seeds = [1, 2]\nexecution.driver = \"threads\"\nexecution.predict = true\n");
  const Result ran = folder.done({"run", "study.toml"});
  CHECK_THAT(ran.err, !ContainsSubstring("has no effect"));
  const json scores = folder.told({"compare", "--predicted"});
  REQUIRE(scores["runs"].size() == 4);
  // Threads need microseconds for what takes seconds there.
  for (const json& score : scores["scores"]) {
    if (score["quantity"] == "seconds") CHECK(score["error"] > 10);
    if (score["quantity"] == "eval_loss" && score["every_evaluation"] == true)
      CHECK(score["values"] >= 4);
  }
}

TEST_CASE("the runs that a search has chosen are predicted, and those that it tried are not") {
  const Folder folder;
  folder.write("search.toml",
               std::string("seeds = [1, 2]\nexecution.predict = true\n") + kStudy +
                   "[search]\noptimizer.learning_rate = [0.01, 0.05]\nseeds = [3]\n");
  folder.done({"run", "search.toml"});
  const json scores = folder.told({"compare", "study", "--predicted"});
  CHECK(scores["runs"].size() == 4);
  CHECK(scores["without"].empty());
  const json simulated =
      folder.told({"list", "--where", "experiment_name = 'study.predicted'"})["runs"];
  CHECK(simulated.size() == 10);
  for (const json& run : simulated) CHECK(run["seed"] > 3);  // the search's seed is taken, too
}

TEST_CASE("a prediction that was interrupted goes on, and no run begins without it") {
  const PredictedStudy folder("seeds = [1]\nexecution.predict = true\n");
  Running running(folder, {"run", "study.toml", "--set", "budget.gradients=2000000"});
  REQUIRE(comes_true([&] {
    const Result listed = folder.call({"list", "--json", "--where", "gradients > 0"});
    return listed.code == 0 && !listed.json()["runs"].empty();
  }));
  kill(running.pid(), SIGINT);
  CHECK(running.wait().code == 130);
  for (const json& run : folder.runs()) CHECK(run["seed"] != 1);
  folder.done({"run", "study.toml", "--set", "budget.gradients=200"});
  CHECK(folder.told({"compare", "study", "--predicted"})["runs"].size() == 2);
}

TEST_CASE("a chart shows who is fastest where, as predicted and as measured") {
  const PredictedStudy folder("seeds = [1, 2]\nexecution.predict = true\n");
  const std::string sweep =
      "sweep={\"execution.virtual.network.bandwidth_bytes_per_second\"=[1e3,1e4,1e5]}";
  folder.done({"run", "study.toml", "--set", sweep});
  folder.done({"figure", "study", "--chart", "crossover", "-o", "who.svg"});
  const std::string csv = folder.read("who.csv");
  CHECK_THAT(csv, ContainsSubstring("algorithm,what,execution.virtual.network.bandwidth_bytes_per_"
                                    "second,mean,low,high\nAR-SGD,predicted,1000,") &&
                      ContainsSubstring("\nAD-PSGD,measured,100000,"));
  CHECK(std::ranges::count(csv, '\n') == 1 + 2 * 2 * 3);
  check_refused(folder.call({"figure", "study.predicted", "--where",
                             "execution.virtual.network.bandwidth_bytes_per_second = 1000",
                             "--chart", "crossover", "-o", "who.svg"}),
                {"over one numeric key that a sweep varies"});
}

TEST_CASE("messages that differ from exchange to exchange are scaled by whole periods of them") {
  const Folder folder;
  folder.write("long.toml", R"(
task.dataset = { kind = "quadratic", dimension = 16 }
optimizer.learning_rate = 0.001
workers.count = 8
topology.kind = "ring"
[execution.virtual]
cost.buckets = 1
network = { vector_bytes = 100000000, bandwidth_bytes_per_second = 1e8 }
)");
  for (const char* algorithm :
       {"{ kind = \"des-loc\", steps = 2, steps_m = 6, steps_v = 18 }",
        "{ kind = \"gossip-pga\", period = 7 }", "{ kind = \"halos\", steps = 3 }"}) {
    INFO(algorithm);
    const auto bytes_and_seconds = [&](std::vector<std::string> more) {
      more.insert(more.begin(),
                  {"predict", "long.toml", "--set", fmt::format("algorithms=[{}]", algorithm),
                   "--set", "budget.gradients=5760"});
      const auto one = folder.told(more)["predictions"][0];
      return std::pair(one["bytes"].get<double>(), one["seconds"].get<double>());
    };
    const auto [bytes, seconds] = bytes_and_seconds({});
    const auto [part_bytes, part_seconds] = bytes_and_seconds({"--iterations", "20"});
    CHECK(part_bytes == Approx(bytes).epsilon(0.01));
    CHECK(part_seconds == Approx(seconds).epsilon(0.01));
  }
}

}  // namespace acid::test
