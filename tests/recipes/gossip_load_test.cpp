#include "recipes/gossip_load.hpp"

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

PlannedRun run(const std::string& network, const std::string& rest = "") {
  return compiled(
             "[task]\ndataset = { kind = \"quadratic\", dimension = 1000 }\n"
             "[execution.virtual.network]\n" +
             network + "\n" + rest)
      .runs.at(0);
}

}  // namespace

TEST_CASE("instantaneous exchanges are no load") { CHECK(run("").load.largest == 0); }

TEST_CASE("the load of a ring is the rate times the exchange's share of a gradient") {
  // Every worker of a ring has Λᵢᵢ = r = 1; a vector is 4,000 bytes.
  CHECK(run("latency_seconds = 0.1").load.largest == Approx(0.1));
  CHECK(run("bandwidth_bytes_per_second = 1e5").load.largest == Approx(0.04));
  CHECK(run("latency_seconds = 0.1\ngradient_seconds = 0.5").load.largest == Approx(0.2));
  CHECK(run("latency_seconds = 0.1", "[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = 2")
            .load.largest == Approx(0.2));
}

TEST_CASE("slow workers lengthen the unit of normalised time") {
  // Mean speed (3 + 1/4) / 4; a unit is its inverse.
  const PlannedRun slow =
      run("latency_seconds = 0.1", "[execution.virtual]\nslow_workers = { 0 = 4.0 }");
  CHECK(slow.load.largest == Approx(0.1 * 3.25 / 4));
  const PlannedRun random =
      run("latency_seconds = 0.1",
          "[execution.virtual]\nrandom_slowdown = { probability = 0.5, factor = 3.0 }");
  CHECK(random.load.largest == Approx(0.05));
}

TEST_CASE("the optimiser's time lengthens a gradient, so that exchanges load it less") {
  const PlannedRun run_with =
      run("latency_seconds = 0.1", "[execution.virtual.cost]\noptimizer_share = 0.25");
  CHECK(run_with.load.largest == Approx(0.08));
}

TEST_CASE("what exchanges take of the workers' own time lengthens both them and the unit") {
  // An exchange takes 0.1 + 0.25 s, a unit the gradient and one exchange's 0.25 s.
  const std::string own = "[execution.virtual.cost]\nexchange_seconds = 0.25";
  CHECK(run("latency_seconds = 0.1", own).load.largest == Approx(0.35 / 1.25));
  CHECK(run("", own).load.largest == Approx(0.25 / 1.25));
  const auto limited = errors_of(completed(
      "[execution]\nmax_load = 0.2\n[execution.virtual.network]\nlatency_seconds = 0.25\n" + own));
  REQUIRE(limited.size() == 1);  // 0.5 r / (1 + 0.25 r) = 0.2 at r = 0.2 / 0.45
  CHECK_THAT(limited[0].remedy, ContainsSubstring("communication_rate is 0.444 here"));
  const Diagnostic poisson = only_error_of(
      "[execution.virtual]\ngradient_clock = \"poisson\"\ncost.exchange_seconds = 0.1", 3);
  CHECK_THAT(poisson.message, ContainsSubstring("no effect with gradient_clock = \"poisson\""));
}

TEST_CASE("one slow link loads its two workers") {
  const PlannedRun slow = run("edges = [{ edge = [2, 3], latency_seconds = 0.4 }]");
  CHECK(slow.load.largest == Approx(0.2));  // λ₂₃ = ½
  CHECK(slow.load.worker == 2);
  const nlohmann::json link = slow.settings["execution"]["virtual"]["network"]["edges"][0];
  CHECK(link["latency_seconds"] == 0.4);
  CHECK(link["bandwidth_bytes_per_second"].is_null());
}

TEST_CASE("an all-reduce in one bucket is a warning, unless it was asked for or costs nothing") {
  const auto warnings = [](const std::string& network, const std::string& rest = "",
                           const char* algorithm = "ar-sgd") {
    return compiled(
               "[task]\ndataset = { kind = \"quadratic\", dimension = 1000 }\n"
               "[[algorithms]]\nkind = \"" +
               std::string(algorithm) + "\"\n[execution.virtual.network]\n" + network + "\n" + rest)
        .warnings;
  };
  // Four workers: 2 · 3/4 of the 4,000 bytes.
  const std::string slow = "bandwidth_bytes_per_second = 3e4";
  REQUIRE(warnings(slow).size() == 1);
  CHECK(warnings(slow)[0].message.find("an all-reduce takes 0.2 gradients, none of it") !=
        std::string::npos);
  CHECK(warnings(slow)[0].line > 0);
  CHECK(warnings("").empty());
  CHECK(warnings("bandwidth_bytes_per_second = 1e6").empty());
  CHECK(warnings(slow, "[execution.virtual.cost]\nbuckets = 1").empty());
  CHECK(warnings(slow, "[execution.virtual.cost]\nbucket_bytes = 2000").empty());
  CHECK(warnings(slow, "", "ad-psgd").empty());
  // One worker has no other to talk to; its network gets this one warning.
  for (const auto& warning : warnings(slow, "[workers]\ncount = 1"))
    CHECK(warning.message.find("all-reduce takes") == std::string::npos);
}

TEST_CASE("a load above 0.3 is a warning") {
  const Plan plan = compiled("[execution.virtual.network]\nlatency_seconds = 0.35\n");
  CHECK(plan.runs[0].warnings.size() == 1);
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0].line > 0);
}

namespace {

const std::string kStar =
    "[workers]\ncount = 16\n[topology]\nkind = \"star\"\n"
    "[execution.virtual.network]\nlatency_seconds = 0.5\n";

}  // namespace

TEST_CASE("a load above 1 is a warning with the pace that the throttle leaves") {
  const Plan plan = compiled(kStar);
  REQUIRE(plan.warnings.size() == 1);
  CHECK_THAT(plan.warnings[0].message,
             ContainsSubstring("worker 0 cannot keep up") &&
                 ContainsSubstring("about 0.25 exchanges and 0.25 gradients"));
  CHECK(plan.runs[0].load.largest == Approx(4));
}

TEST_CASE("max_load refuses a load that is not below it, and leaves a run's id alone") {
  const std::string slow = "[execution.virtual.network]\nlatency_seconds = 0.25\n";
  CHECK(digest(slow + "[execution]\nmax_load = 0.26\n") == digest(slow));
  const Diagnostic error = errors_of(completed(slow + "[execution]\nmax_load = 0.2\n")).at(0);
  CHECK_THAT(error.message, ContainsSubstring("spends 25 % of its time in exchanges") &&
                                ContainsSubstring("execution.max_load is 0.2"));
  CHECK_THAT(error.remedy, ContainsSubstring("communication_rate is 0.799 here"));
}

TEST_CASE("a load from 1 on is an error where no gradient can be held") {
  const auto errors = errors_of(completed(
      kStar + "[execution.virtual]\ngradient_clock = \"none\"\n[budget]\nnormalised_time = 9\n"));
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0].message, ContainsSubstring("worker 0 cannot keep up") &&
                                    ContainsSubstring("no gradients are there to be held"));
}

TEST_CASE("with max_load = 1 a load from 1 on is an error with a rate that is feasible") {
  const std::string star = kStar + "[execution]\nmax_load = 1\n";
  const auto errors = errors_of(completed(star));
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0].message, ContainsSubstring("worker 0") && ContainsSubstring("load 4"));
  const std::string marker = "communication_rate is ";
  const std::size_t at = errors[0].remedy.find(marker);
  REQUIRE(at != std::string::npos);
  const double feasible = std::stod(errors[0].remedy.substr(at + marker.size()));
  CHECK(feasible == Approx(0.25).epsilon(0.01));
  const PlannedRun run =
      compiled(star, {"algorithms.0.communication_rate=" + std::to_string(feasible)}).runs[0];
  CHECK(run.load.largest < 1);
  CHECK(run.load.largest > 0.99);
}

TEST_CASE("a load is no error for drivers that measure it, nor for synchronous algorithms") {
  const std::string slow = "[execution.virtual.network]\nlatency_seconds = 9.0\n";
  CHECK_NOTHROW(compiled("[execution]\ndriver = \"threads\"\n" + slow));
  CHECK_NOTHROW(compiled(slow + "[[algorithms]]\nkind = \"ar-sgd\"\n"));
}

}  // namespace acid::test
