#include "reports/html/theory.hpp"

#include <cmath>

#include "engine/topology/spectral.hpp"
#include "engine/topology/topology.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

namespace {

nlohmann::json gossip_settings() {
  return {{"execution",
           {{"driver", "virtual"},
            {"virtual",
             {{"gradient_clock", "poisson"},
              {"slow_workers", nlohmann::json::object()},
              {"network",
               {{"latency_seconds", 0.0},
                {"bandwidth_bytes_per_second", nullptr},
                {"edges", nlohmann::json::array()}}}}}}},
          {"optimizer",
           {{"kind", "sgd"},
            {"learning_rate", 0.5},
            {"momentum", 0.0},
            {"weight_decay", 0.0},
            {"schedule", {{"kind", "constant"}, {"warmup", 0.0}, {"scale_with_workers", "none"}}}}},
          {"task",
           {{"dataset",
             {{"kind", "quadratic"}, {"curvature", 0.0}, {"noise", 0.0}, {"dimension", 64}}}}}};
}

struct Case {
  ComparedGroup group;
  GroupNetwork network;
};

Case gossip(const std::string& algorithm, const std::string& topology, int workers) {
  Case made;
  made.group.algorithm = made.group.label = algorithm;
  made.group.settings = gossip_settings();
  made.network.workers = workers;
  const Spectral s = spectral(make_topology(workers, {{"kind", topology}}), 1.0);
  const bool momentum = algorithm == "a2cid2";
  made.network.numbers = {{"chi1", s.chi1},
                          {"chi2", s.chi2},
                          {"eta", momentum ? s.eta : 0.0},
                          {"alpha", 0.5},
                          {"alpha_tilde", momentum ? s.alpha_tilde : 0.5}};
  return made;
}

std::optional<TheoryLine> line_of(const Case& made, double end,
                                  const std::vector<CurvePoint>& starts = {{0, 1}}) {
  return consensus_theory(made.group, made.network, starts, end);
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
    // Of no use if it were far above: its rate is half of the slowest mode's or more.
    CHECK(std::log(line->value.back() / 2) < 0.4 * std::log(row.ratio));
  }
}

TEST_CASE("with gradient noise the bound lies above the exact stationary level") {
  // Stationary consensus distance per parameter in units of the squared step times the variance.
  for (const auto& [algorithm, level] :
       {std::pair{"ad-psgd", 2.07812}, std::pair{"a2cid2", 2.04227}}) {
    CAPTURE(algorithm);
    Case made = gossip(algorithm, "ring", 8);
    made.group.settings["task"]["dataset"]["noise"] = 2.0;
    // Learning rate 0.5 and noise 2 make a unit step; 64 parameters.
    const auto line = line_of(made, 1000, {{0, 0}});
    REQUIRE(line);
    CHECK(line->bound);
    CHECK(line->value.front() == 0);
    CHECK(line->value.back() > 64 * level);
    CHECK(line->value.back() < 64 * level * 4);
    CHECK(has(line->note, "gradient noise"));
    made.group.settings["optimizer"]["momentum"] = 0.9;
    CHECK_FALSE(line_of(made, 1000, {{0, 0}}));
  }
}

TEST_CASE("where theory does not cover a run its line is called a guide, or is absent") {
  Case made = gossip("a2cid2", "ring", 8);
  REQUIRE(line_of(made, 10));
  CHECK(line_of(made, 10)->label == "a2cid2 bound");
  made.group.settings["execution"]["virtual"]["network"]["latency_seconds"] = 0.1;
  REQUIRE(line_of(made, 10));
  CHECK_FALSE(line_of(made, 10)->bound);
  CHECK(has(line_of(made, 10)->label, "gossip alone"));
  CHECK(has(line_of(made, 10)->note, "no bound"));

  Case rounds = gossip("d-psgd", "ring", 8);
  CHECK_FALSE(line_of(rounds, 10));
  rounds.network.numbers["left"] = 0.8;
  rounds.network.numbers["exchanges"] = 0.5;
  REQUIRE(line_of(rounds, 10));
  CHECK_FALSE(line_of(rounds, 10)->bound);
  CHECK(line_of(rounds, 10)->value.back() == Approx(std::pow(0.8, 10)));  // 5 exchanges, squared

  Case training = gossip("ad-psgd", "ring", 8);
  training.group.settings["task"]["dataset"]["curvature"] = 1.0;
  REQUIRE(line_of(training, 10));
  CHECK_FALSE(line_of(training, 10)->bound);

  CHECK_FALSE(line_of(made, 10, {{0, 0}}));  // workers start at one point
  CHECK_FALSE(line_of(made, 10, {{1, 1}}));  // first sampled later
  CHECK_FALSE(line_of(made, 10, {}));
  made.network.numbers["eta"] *= 1.1;  // not theory's parameters
  CHECK_FALSE(line_of(made, 10));
  CHECK_FALSE(line_of(gossip("ar-sgd", "ring", 8), 10));
}

TEST_CASE("the bound starts at the geometric mean of the seeds") {
  const auto line = line_of(gossip("ad-psgd", "ring", 8), 10, {{0, 1}, {0, 4}});
  REQUIRE(line);
  CHECK(line->value.front() == Approx(2));
}
