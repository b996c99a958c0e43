#include "recipes/gossip_load.hpp"

#include <algorithm>

#include "settings/run_settings.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"
#include "tests/scratch.hpp"

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
  const Diagnostic limited = only_error_of(
      "[execution]\nmax_load = 0.2\n[execution.virtual.network]\nlatency_seconds = 0.25\n" + own);
  // 0.5 r / (1 + 0.25 r) = 0.2 at r = 0.2 / 0.45
  CHECK_THAT(limited.remedy, ContainsSubstring("communication_rate is 0.444 here"));
  check_only_error("[execution.virtual]\ngradient_clock = \"poisson\"\ncost.exchange_seconds = 0.1",
                   3, "no effect with gradient_clock = \"poisson\"");
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
    check_only_error(
        "[execution.virtual.network]\nvector_bytes = " + std::string(size) + "\n" + rest, 2, what);
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

TEST_CASE("what cannot be averaged by an all-reduce cannot with one worker either") {
  const auto with = [](const std::string& kind) {
    return first_error_of(
        "[task]\ndataset = \"quadratic\"\n[workers]\ncount = 1\n"
        "[[algorithms]]\nexchange = \"all-reduce\"\nkind = \"" +
        kind + "\"\n");
  };
  CHECK(with("sgp").starts_with("sgp cannot average by an all-reduce: "));
  CHECK(with("d-psgd").empty());
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
  const std::string slow = "[execution.virtual.network]\nlatency_seconds = 0.35\n";
  CHECK(compiled(slow).runs[0].warnings.size() == 1);
  CHECK(only_warning_of(slow).line > 0);
}

namespace {

const std::string kStar =
    "[workers]\ncount = 16\n[topology]\nkind = \"star\"\n"
    "[execution.virtual.network]\nlatency_seconds = 0.5\n";

}  // namespace

TEST_CASE("a link is named once, in either direction") {
  CHECK_THAT(
      first_error_of("[execution.virtual.network]\nedges = [{ edge = [0, 1], latency_seconds "
                     "= 1 }, { edge = [1, 0], bandwidth_bytes_per_second = 2 }]"),
      ContainsSubstring("edges[1].edge has been named before"));
}

TEST_CASE("a target beyond what its metric can be is refused") {
  const auto refused = [](const std::string& target) {
    return first_error_of("[budget]\ngradients = 9\ntarget = { " + target + " }");
  };
  CHECK_THAT(refused("metric = \"eval_accuracy\", value = 90"),
             ContainsSubstring("an accuracy is at most 1"));
  CHECK_THAT(refused("metric = \"consensus_distance\", value = -0.5"),
             ContainsSubstring("never below 0"));
  CHECK(refused("metric = \"eval_accuracy\", value = 1").empty());
}

TEST_CASE("a budget in which workers never exchange is a warning") {
  const auto warnings = [](const std::string& algorithm) {
    return compiled("[budget]\ngradients = 40\n[[algorithms]]\n" + algorithm + "\n")
        .runs[0]
        .warnings;
  };
  REQUIRE(warnings("kind = \"local-sgd\"\nsteps = 11").size() == 1);
  CHECK_THAT(
      warnings("kind = \"local-sgd\"\nsteps = 11")[0],
      ContainsSubstring(
          "workers never exchange: the first message of local-sgd comes after the 10 gradients"));
  CHECK(warnings("kind = \"local-sgd\"\nsteps = 10").empty());
  CHECK(warnings("kind = \"async-diloco\"\nsteps = 64").size() == 1);
  CHECK(warnings("kind = \"des-loc\"\nsteps = 16").size() == 1);
}

TEST_CASE("codecs that spoil what a method averages are warned of, or refused") {
  const auto recipe = [](const std::string& method, const std::string& codec) {
    return "[[algorithms]]\nkind = \"" + method + "\"\ncodec = { " + codec + " }\n";
  };
  const auto warned = [&](const std::string& method, const std::string& codec) {
    INFO(method << ", " << codec);
    const auto warnings = compiled(recipe(method, codec)).runs[0].warnings;
    return std::ranges::any_of(warnings, [](const std::string& one) {
      return one.find("this codec") != std::string::npos;
    });
  };
  const std::string sparse = "kind = \"top-k\", share = 0.1", bf16 = "kind = \"bf16\"",
                    common = "kind = \"random-k\", share = 0.1, common = true";
  for (const char* method : {"d-psgd", "ad-psgd", "noloco", "gasloc", "decentlam", "loscar-sgd",
                             "swarm-sgd-nonblocking", "sparta"})
    CHECK(warned(method, sparse));
  for (const char* method : {"choco-sgd", "sparseloco", "diloco"})
    CHECK_FALSE(warned(method, sparse));
  for (const char* method : {"sparta", "loscar-sgd"}) {
    CHECK_FALSE(warned(method, common));
    CHECK(warned(method, common + ", error_feedback = true"));
  }
  CHECK(warned("d2", common));
  CHECK(warned("des-loc", "kind = \"lattice\", spacing = 0.01"));
  CHECK_FALSE(warned("local-sgd", "kind = \"lattice\", spacing = 0.01"));
  CHECK(warned("local-sgd", common));
  for (const char* method : {"d-psgd", "local-sgd", "gradient-tracking", "sgp", "des-loc"}) {
    CHECK(warned(method, bf16));
    CHECK_FALSE(warned(method, bf16 + ", error_feedback = true"));
  }
  for (const char* method : {"ad-psgd", "a2cid2", "d2", "diloco", "ar-sgd"})
    CHECK_FALSE(warned(method, bf16));

  const auto refused = [&](const std::string& method, const std::string& codec) {
    return first_error_of(recipe(method, codec));
  };
  for (const char* method : {"choco-sgd", "choco-sgd-overlapped", "sparseloco"})
    CHECK_THAT(refused(method, sparse + ", error_feedback = true"),
               ContainsSubstring("the errors grow without end"));
  CHECK(refused("diloco", sparse + ", error_feedback = true").empty());
  CHECK_THAT(refused("ad-psgd", common), ContainsSubstring("different numbers of messages"));
}

TEST_CASE("a graph on the bound of what a method needs is a warning") {
  const auto warnings = [](const char* workers) {
    return compiled("[workers]\ncount = " + std::string(workers) +
                    "\n[[algorithms]]\nkind = \"d2\"\n")
        .runs[0]
        .warnings;
  };
  REQUIRE(warnings("8").size() == 1);
  CHECK_THAT(warnings("8")[0], ContainsSubstring("on the bound"));
  CHECK(warnings("9").empty());
}

TEST_CASE("sums that a graph does not keep are a warning") {
  const auto warnings = [](const std::string& method) {
    return compiled("[topology]\nkind = \"epidemic\"\nform = \"local\"\n[[algorithms]]\nkind = \"" +
                    method + "\"\n")
        .runs[0]
        .warnings;
  };
  for (const char* method : {"sgp", "gradient-tracking", "diging"}) {
    INFO(method);
    REQUIRE(warnings(method).size() == 1);
    CHECK_THAT(warnings(method)[0], ContainsSubstring("keeps a sum over all workers"));
  }
  CHECK(warnings("d-psgd").empty());
}

TEST_CASE("weights of edges that a method's rounds do not use are a warning") {
  const auto warnings = [](const std::string& algorithm) {
    return compiled(
               "[topology]\nkind = \"edges\"\nedges = [[0, 1, 2.5], [1, 2], [2, 3]]\n"
               "[[algorithms]]\nkind = \"" +
               algorithm + "\"\n")
        .runs[0]
        .warnings;
  };
  REQUIRE(warnings("d-psgd").size() == 1);
  CHECK_THAT(warnings("d-psgd")[0],
             ContainsSubstring("weights of edges") && ContainsSubstring("d-psgd"));
  CHECK(warnings("ad-psgd").empty());
}

TEST_CASE("a load above 1 is a warning with the pace that the throttle leaves") {
  const Plan plan = compiled(kStar);
  REQUIRE(plan.warnings.size() == 1);
  CHECK_THAT(plan.warnings[0].message,
             ContainsSubstring("worker 0 cannot keep up") &&
                 ContainsSubstring("at most 0.25 exchanges and 0.25 gradients"));
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
  const Diagnostic error = only_error_of(
      kStar + "[execution.virtual]\ngradient_clock = \"none\"\n[budget]\nnormalised_time = 9\n");
  CHECK_THAT(error.message, ContainsSubstring("worker 0 cannot keep up") &&
                                ContainsSubstring("no gradients are there to be held"));
}

TEST_CASE("with max_load = 1 a load from 1 on is an error with a rate that is feasible") {
  const std::string star = kStar + "[execution]\nmax_load = 1\n";
  const Diagnostic error = only_error_of(star);
  CHECK_THAT(error.message, ContainsSubstring("worker 0") && ContainsSubstring("load 4"));
  const std::string marker = "communication_rate is ";
  const std::size_t at = error.remedy.find(marker);
  REQUIRE(at != std::string::npos);
  const double feasible = std::stod(error.remedy.substr(at + marker.size()));
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

TEST_CASE("nodes are read with the links between them, and must fit the workers") {
  const ScratchFolder scratch;
  const std::string file = scratch.path("sites.csv");
  const auto recipe = [&](const std::string& keys) {
    return "[execution.virtual.network]\nbandwidth_bytes_per_second = 1e9\n" + keys + "\n";
  };
  const auto network = [&](const std::string& keys) {
    return settings_from(compiled(recipe(keys)).runs[0].settings).execution.simulation.network;
  };
  CHECK(network("").nodes() == 0);
  CHECK(network("workers_per_node = 1").nodes() == 0);
  CHECK(network("workers_per_node = []").nodes() == 0);
  CHECK(network("workers_per_node = 3").node_of == std::vector{0, 0, 0, 1});
  CHECK(network("workers_per_node = [1, 3]").node_of == std::vector{0, 1, 1, 1});
  CHECK(compiled(recipe("")).runs[0].digest !=
        compiled(recipe("workers_per_node = 1")).runs[0].digest);
  const std::string matrix = "workers_per_node = 2\nmatrix = \"" + file + "\"";
  put(file, "node,node,latency,bandwidth\n# the ocean\n1, 0, 30 ms, 100 Mbit/s\n");
  CHECK(network(matrix).between(0, 3).latency_seconds == Approx(0.03));
  CHECK(network(matrix).between(0, 3).bytes_per_second == Approx(12.5e6));
  put(file, "0,1,1e-2,\n");
  CHECK(network(matrix).between(0, 3).bytes_per_second == 1e9);

  const auto refused = [&](const std::string& keys) { return first_error_of(recipe(keys)); };
  CHECK_THAT(refused("workers_per_node = [1, 2]"), ContainsSubstring("2 nodes have 3 workers"));
  CHECK_THAT(refused("workers_per_node = 0"), ContainsSubstring("at least 1"));
  CHECK_THAT(refused("workers_per_node = \"2\""), ContainsSubstring("workers_per_node"));
  CHECK_THAT(refused("matrix = \"nowhere.csv\""), ContainsSubstring("does not exist"));
  CHECK_THAT(refused("matrix = \"\""), ContainsSubstring("'' does not exist"));
  for (const auto& [line, message] :
       std::vector<std::pair<std::string, std::string>>{{"0,2,1,1", "names node 2 of 2"},
                                                        {"0,0,1,1", "line 1 must begin"},
                                                        {"0,1,1 m,1", "'1 m' is no latency"},
                                                        {"0,1,nan,1", "'nan' is no latency"},
                                                        {"0,1,1,0", "'0' is no bandwidth"},
                                                        {"0,1,inf,1", "it must be finite, not inf"},
                                                        {"0,1,2e12,1", "and at most 1000000000000"},
                                                        {"0,1,1e-70 s,1", "it cannot be 1e-70: "},
                                                        {"# a\n0,1,1,1e-300 B/s",
                                                         "line 2: '1e-300 B/s' is no bandwidth: it "
                                                         "cannot be 1e-300: products of numbers "},
                                                        {"0,1,1,1,1", "5 columns"},
                                                        {"0,1,1\n1,0,2", "1 and 0 again"},
                                                        {"node,node", "it has no links"}}) {
    put(file, line + "\n");
    CHECK_THAT(refused(matrix), ContainsSubstring(message));
  }
}

}  // namespace acid::test
