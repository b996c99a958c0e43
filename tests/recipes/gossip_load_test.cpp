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

TEST_CASE("one slow link loads its two workers") {
  const PlannedRun slow = run("edges = [{ edge = [2, 3], latency_seconds = 0.4 }]");
  CHECK(slow.load.largest == Approx(0.2));  // λ₂₃ = ½
  CHECK(slow.load.worker == 2);
  const nlohmann::json link = slow.settings["execution"]["virtual"]["network"]["edges"][0];
  CHECK(link["latency_seconds"] == 0.4);
  CHECK(link["bandwidth_bytes_per_second"].is_null());
}

TEST_CASE("sizes have units, and bytes and load are those of the vectors that messages stand for") {
  const PlannedRun small = run("bandwidth_bytes_per_second = 1e6");
  const auto stands_for = [](const char* size, const char* rest = "") {
    return run("bandwidth_bytes_per_second = 1e6\nvector_bytes = " + std::string(size), rest);
  };
  for (const auto& [size, bytes] : {std::pair("160000", 160000),
                                    {"1.6e5", 160000},
                                    {"\"160 kB\"", 160000},
                                    {"\"0.16MB\"", 160000},
                                    {"\"64 KiB\"", 65536},
                                    {"\"4000 B\"", 4000}}) {
    INFO(size);
    const PlannedRun large = stands_for(size);
    CHECK(large.settings["execution"]["virtual"]["network"]["vector_bytes"] == bytes);
    CHECK(large.bytes == Approx(small.bytes * bytes / 4000));
    CHECK(large.load.largest == Approx(bytes / 1e6));
    CHECK(large.parameters == small.parameters);
    CHECK(large.digest != small.digest);
  }
  CHECK(stands_for("160000").digest == stands_for("\"160 kB\"").digest);
  const char* const packed = "[[algorithms]]\nkind = \"ad-psgd\"\ncodec = \"bf16\"";
  CHECK(stands_for("160000", packed).bytes == Approx(small.bytes * 160000 / 4000 / 2));
  CHECK_FALSE(small.settings["execution"]["virtual"]["network"].contains("vector_bytes"));
}

TEST_CASE("what is no size of larger vectors is refused with the size that was read") {
  const auto refuses = [](const char* size, const char* what, const char* rest = "") {
    INFO(size);
    const std::string recipe =
        "[execution.virtual.network]\nvector_bytes = " + std::string(size) + "\n" + rest;
    CHECK_THAT(only_error_of(recipe, 2).message, ContainsSubstring(what));
  };
  refuses("\"260\"", "vector_bytes is no size: '260'");
  refuses("\"260 Mb\"", "vector_bytes is no size: '260 Mb'");
  refuses("\"-4 kB\"", "vector_bytes is no size: '-4 kB'");
  refuses("-8", "must be above 0");
  refuses("\"0 B\"", "must be above 0");
  refuses("\"1.5 B\"", "must be a whole number of bytes, and the text \"1.5 B\" is 1.5");
  refuses("[4]", "must be a number of bytes, or text such as \"260 MB\"");
  refuses("\"1.022 kB\"", "1022 bytes are no whole number of parameters of 4 bytes each");
  refuses("8", "cuts vectors into 4 fragments",
          "[[algorithms]]\nkind = \"streaming-diloco\"\nsteps = 8\nfragments = 4\n");
}

TEST_CASE("the size of larger vectors has no effect where messages are real") {
  const Plan plan =
      compiled("[execution]\ndriver = \"threads\"\nvirtual.network.vector_bytes = \"1 MB\"");
  REQUIRE_FALSE(plan.warnings.empty());
  CHECK_THAT(plan.warnings[0].message, ContainsSubstring("execution.virtual"));
  CHECK(plan.runs[0].bytes == compiled("[execution]\ndriver = \"threads\"").runs[0].bytes);
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

TEST_CASE("a load from 1 on is an error with the largest feasible rate, which is feasible") {
  const std::string star =
      "[workers]\ncount = 16\n[topology]\nkind = \"star\"\n"
      "[execution.virtual.network]\nlatency_seconds = 0.5\n";
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
