#include <fmt/format.h>

#include <cmath>

#include "engine/methods/method.hpp"
#include "engine/topology/spectral.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {

TEST_CASE("a small recipe resolves to settings with nothing left to default") {
  const Plan plan = compiled("seeds = [3]");
  REQUIRE(plan.runs.size() == 1);
  CHECK(plan.name == "test");
  const PlannedRun& run = plan.runs[0];
  CHECK(run.id == run.digest.substr(0, 12));
  CHECK(run.algorithm == "ad-psgd");
  CHECK(run.label == "AD-PSGD");
  CHECK(run.seed == 3);
  CHECK(run.workers == 4);
  CHECK(run.parameters == 28 * 28 * 10 + 10);
  CHECK(run.budget_gradients == 100);
  const nlohmann::json& s = run.settings;
  CHECK(s["seed"] == 3);
  CHECK(s["task"]["dataset"]["kind"] == "glyphs");
  CHECK(s["task"]["dataset"].contains("noise"));
  CHECK(s["task"]["model"]["kind"] == "linear");
  CHECK(s["task"]["batch_size"] == 32);
  CHECK(s["task"]["partition"]["kind"] == "shared");
  CHECK(s["task"]["buffers"] == "average");
  CHECK(s["optimizer"]["kind"] == "sgd");
  CHECK(s["optimizer"]["learning_rate"] == 0.05);
  CHECK(s["optimizer"]["schedule"]["kind"] == "constant");
  CHECK(s["topology"]["kind"] == "ring");
  CHECK(s["execution"]["driver"] == "virtual");
  CHECK(s["execution"]["virtual"]["compute"]["kind"] == "constant");
  CHECK(s["execution"]["virtual"]["network"]["bandwidth_bytes_per_second"].is_null());
  CHECK(s["execution"]["threads"]["exchange_threads"].is_null());
  CHECK(s["evaluation"]["every_time"] == 100.0 / 4 / 4);
  CHECK(s["evaluation"]["consensus_every_time"] == 1.0);
  CHECK(s["evaluation"]["workers"] == "end");
  CHECK(s["execution"]["max_restarts"] == 3);
  CHECK(s["checkpoint"]["every_time"].is_null());
  CHECK(s["checkpoint"]["every_seconds"].is_null());
  CHECK(s["checkpoint"]["keep"] == 2);
  CHECK(s["record"]["metrics"] == "all");
  CHECK(s["record"]["events"] == false);
  CHECK(s["streams"].empty());
}

TEST_CASE("buckets are sizes or a number of equal ones, and what was said last holds") {
  const auto cost = [](const std::string& keys, const std::vector<std::string>& overrides = {}) {
    const std::string section = "[execution.virtual.cost]\n" + keys + "\n";
    return compiled(section, overrides).runs.at(0).settings["execution"]["virtual"]["cost"];
  };
  const auto check = [](const nlohmann::json& got, const nlohmann::json& equal,
                        const nlohmann::json& first, const nlohmann::json& size) {
    INFO(got.dump());
    CHECK(got["buckets"] == equal);
    CHECK(got["first_bucket_bytes"] == first);
    CHECK(got["bucket_bytes"] == size);
  };
  constexpr int kMiB = 1 << 20;
  check(cost(""), nullptr, kMiB, 25 * kMiB);
  check(cost("bucket_bytes = 2000000"), nullptr, kMiB, 2'000'000);
  check(cost("bucket_bytes = 2000"), nullptr, 2000, 2000);
  check(cost("first_bucket_bytes = 2000"), nullptr, 2000, 25 * kMiB);
  check(cost("buckets = 3"), 3, nullptr, nullptr);
  check(cost("bucket_bytes = 2000", {"execution.virtual.cost.buckets=3"}), 3, nullptr, nullptr);
  check(cost("buckets = 3", {"execution.virtual.cost.bucket_bytes=2000"}), nullptr, 2000, 2000);
}

TEST_CASE("the bytes of a plan are those that the all-reduce sends") {
  const auto bytes = [](const std::string& kind) {
    return compiled(
               "[[algorithms]]\nkind = \"ar-sgd\"\n[execution.virtual.network]\nall_reduce = \"" +
               kind + "\"\n")
        .runs.at(0)
        .bytes;
  };
  CHECK(bytes("tree") == bytes("ring"));
  CHECK(bytes("blocking") == bytes("ring"));
  // Four workers: 2 · 3 vectors in all, or 2 each.
  CHECK(bytes("recursive-doubling") == Approx(bytes("ring") * 8 / 6));
}

TEST_CASE("a run without gradients plans none, but the same exchanges and samples") {
  const std::string rest = "[budget]\nnormalised_time = 50\n[execution.virtual]\n";
  const PlannedRun with = compiled(rest).runs.at(0);
  const PlannedRun without = compiled(rest + "gradient_clock = \"none\"\n").runs.at(0);
  CHECK(with.budget_gradients == 200);
  CHECK(without.budget_gradients == 0);
  CHECK(without.settings["budget"]["gradients"] == 0);
  CHECK(without.settings["budget"]["normalised_time"] == 50);
  CHECK(without.bytes == with.bytes);
  CHECK(without.chi1 == with.chi1);
  CHECK(without.settings["evaluation"] == with.settings["evaluation"]);
  CHECK(without.digest != with.digest);
}

TEST_CASE("threads runs keep their events, virtual ones when asked") {
  const auto kept = [](const std::string& text) {
    const Plan plan = compiled(text);
    CHECK(plan.warnings.empty());
    return plan.runs.at(0).settings["record"]["events"];
  };
  CHECK(kept("[execution]\ndriver = \"virtual\"\n") == false);
  CHECK(kept("[record]\nevents = false\n") == false);
  CHECK(kept("[record]\nevents = true\n") == true);
  CHECK(kept("[execution]\ndriver = \"threads\"\n") == true);
  CHECK(kept("[execution]\ndriver = \"threads\"\n[record]\nevents = true\n") == true);
}

TEST_CASE("checkpoints and restarts are settings of a run, without a warning") {
  const Plan plan = compiled(
      "[checkpoint]\nevery_seconds = 30\nkeep = 5\n"
      "[execution]\nmax_restarts = 0\n");
  CHECK(plan.warnings.empty());
  const nlohmann::json& s = plan.runs.at(0).settings;
  CHECK(s["checkpoint"] ==
        nlohmann::json{{"every_seconds", 30.0}, {"every_time", nullptr}, {"keep", 5}});
  CHECK(s["execution"]["max_restarts"] == 0);
}

TEST_CASE("runs are ordered by sweep point, algorithm and seed") {
  const Plan plan = compiled(
      "seeds = [1, 2]\n[sweep]\n\"workers.count\" = [4, 8]\n"
      "[[algorithms]]\nkind = \"ar-sgd\"\n[[algorithms]]\nkind = \"a2cid2\"\nlabel = \"mine\"\n");
  REQUIRE(plan.runs.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(plan.runs[i].workers == (i < 4 ? 4 : 8));
    CHECK(plan.runs[i].label == (i / 2 % 2 == 0 ? "AR-SGD" : "mine"));
    CHECK(plan.runs[i].seed == 1 + i % 2);
  }
}

TEST_CASE("pairwise algorithms resolve to the numbers of the theory, or to the recipe's own") {
  const Plan plan = compiled(
      "[[algorithms]]\nkind = \"a2cid2\"\ncommunication_rate = 2\n"
      "[[algorithms]]\nkind = \"a2cid2\"\neta = 0.125\nalpha = 0.25\nalpha_tilde = 0.75\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\n[[algorithms]]\nkind = \"ar-sgd\"\n");
  const Spectral theory = spectral(make_topology(4, {{"kind", "ring"}}), 2);
  const PlannedRun& run = plan.runs[0];
  CHECK(run.chi1.value() == Approx(theory.chi1));
  CHECK(run.chi2.value() == Approx(theory.chi2));
  CHECK(run.numbers.at("eta") == Approx(theory.eta));
  CHECK(run.numbers.at("alpha_tilde") == Approx(theory.alpha_tilde));
  CHECK(run.settings["algorithm"]["eta"] == run.numbers.at("eta"));
  CHECK(run.settings["algorithm"]["communication_rate"] == 2.0);
  CHECK(run.bytes == Approx(2.0 * 4 * 7850 * 100));
  const nlohmann::json& own = plan.runs[1].settings["algorithm"];
  CHECK(own["eta"] == 0.125);
  CHECK(own["alpha"] == 0.25);
  CHECK(own["alpha_tilde"] == 0.75);
  const nlohmann::json& plain = plan.runs[2].settings["algorithm"];
  CHECK(plain["eta"] == 0.0);
  CHECK(plain["alpha_tilde"] == 0.5);
  CHECK_FALSE(plan.runs[3].chi1.has_value());
  CHECK(plan.runs[3].numbers.empty());
}

TEST_CASE("realised spectral numbers differ from seed to seed, within one group") {
  const Plan plan = compiled(
      "seeds = [1, 2]\n[budget]\ngradients = 2000\n"
      "[[algorithms]]\nkind = \"a2cid2\"\nspectral = \"realised\"\n");
  REQUIRE(plan.runs.size() == 2);
  const auto eta = [](const PlannedRun& run) { return run.numbers.at("eta"); };
  CHECK(eta(plan.runs[0]) != eta(plan.runs[1]));
  CHECK(eta(plan.runs[0]) ==
        Approx(eta(compiled("[[algorithms]]\nkind = \"a2cid2\"\n").runs[0])).epsilon(0.2));
  CHECK(plan.runs[0].group == plan.runs[1].group);
  const Diagnostic error = only_error_of(
      "[budget]\ngradients = 1\n[[algorithms]]\nkind = \"a2cid2\"\nspectral = \"realised\"\n");
  CHECK_THAT(error.message, ContainsSubstring("do not connect"));
}

TEST_CASE("a single worker is plain SGD without spectral numbers") {
  const Plan plan = compiled("[workers]\ncount = 1\n[[algorithms]]\nkind = \"a2cid2\"\n");
  const PlannedRun& run = plan.runs.at(0);
  CHECK_FALSE(run.chi1.has_value());
  CHECK(run.bytes == 0);
  CHECK(run.settings["algorithm"]["eta"] == 0.0);
}

TEST_CASE("budgets in epochs and normalised time become gradients, rounded up") {
  const auto gradients = [](const std::string& budget) {
    return compiled(
               "[task]\ndataset = { kind = \"glyphs\", train = 1000 }\nmodel = \"linear\"\n"
               "batch_size = 16\n[budget]\n" +
               budget)
        .runs.at(0);
  };
  CHECK(gradients("epochs = 4").budget_gradients == 250);
  CHECK(gradients("epochs = 0.1").budget_gradients == 7);            // 6.25
  CHECK(gradients("normalised_time = 2.6").budget_gradients == 11);  // 10.4
  CHECK(gradients("normalised_time = 2.6").settings["budget"]["normalised_time"] == 2.6);
  CHECK(gradients("gradients = 9").budget_gradients == 9);
  const nlohmann::json budget =
      gradients("epochs = 4\nseconds = 60\ntarget = { metric = \"eval_loss\", value = 1 }")
          .settings["budget"];
  CHECK(budget["gradients"] == 250);
  CHECK(budget["seconds"] == 60.0);
  CHECK(budget["bytes"].is_null());
  CHECK(budget["target"]["metric"] == "eval_loss");
  CHECK(budget["normalised_time"].is_null());
  const nlohmann::json of_workers =
      gradients(
          "epochs = 4\ntarget = { metric = \"worker_accuracy_worst\", value = 0.9 }\n"
          "[evaluation]\nworkers = \"always\"")
          .settings;
  CHECK(of_workers["budget"]["target"]["metric"] == "worker_accuracy_worst");
  CHECK(of_workers["evaluation"]["workers"] == "always");
  CHECK(gradients("gradients = 9").gradients_per_epoch.value() == 62.5);
  const Plan endless = compiled("[task]\ndataset = \"quadratic\"\n");
  CHECK_FALSE(endless.runs.at(0).gradients_per_epoch.has_value());
}

TEST_CASE("cadences become normalised time") {
  const auto evaluation = [](const std::string& text) {
    return compiled(
               "[task]\ndataset = { kind = \"glyphs\", train = 1600 }\nmodel = \"linear\"\n"
               "batch_size = 16\n[budget]\nepochs = 4\n" +
               text)
        .runs.at(0)
        .settings;
  };
  CHECK(evaluation("[evaluation]\nevery_epochs = 0.5")["evaluation"]["every_time"] == 12.5);
  CHECK(evaluation("[evaluation]\nevery_gradients = 40")["evaluation"]["every_time"] == 10.0);
  const auto by_time = evaluation("[evaluation]\nevery_time = 3")["evaluation"];
  CHECK(by_time["every_time"] == 3.0);
  CHECK(by_time["consensus_every_time"] == 3.0);
  CHECK(evaluation(
            "[evaluation]\nevery_time = 3\nconsensus_every_time = 0.5")["evaluation"]
                                                                       ["consensus_every_time"] ==
        0.5);
  const auto by_clock = evaluation("[evaluation]\nevery_seconds = 3")["evaluation"];
  CHECK(by_clock["every_seconds"] == 3.0);
  CHECK(by_clock["every_time"].is_null());
  CHECK(by_clock["consensus_every_time"].is_null());
  CHECK_FALSE(by_time.contains("every_seconds"));  // nor in the digests that stores hold
  CHECK(evaluation("[checkpoint]\nevery_epochs = 1")["checkpoint"]["every_time"] == 25.0);
}

TEST_CASE("by default samples are as many as a chart shows, and evaluations cost little") {
  const auto planned = [](const std::string& rest) { return compiled(rest).runs.at(0); };
  const PlannedRun brief = planned("[budget]\nnormalised_time = 200");
  CHECK(brief.settings["evaluation"]["consensus_every_time"] == 1.0);
  CHECK_FALSE(brief.settings["evaluation"].contains("consensus_samples"));
  const PlannedRun lasting = planned("[budget]\nnormalised_time = 8000");
  CHECK(lasting.settings["evaluation"]["consensus_every_time"].is_null());
  CHECK(lasting.settings["evaluation"]["consensus_samples"] == 200);
  CHECK(lasting.samples->consensus == 200);
  const PlannedRun chosen =
      planned("[budget]\nnormalised_time = 8000\n[evaluation]\nconsensus_samples = 10");
  CHECK(chosen.settings["evaluation"]["consensus_samples"] == 10);
  CHECK(chosen.samples->consensus == 10);
  // Rounds are looked at between two of their legs.
  const PlannedRun rounds = planned(
      "[[algorithms]]\nkind = \"ar-sgd\"\n[budget]\ngradients = 98\n[evaluation]\n"
      "every_gradients = 1\n");
  CHECK(rounds.samples->evaluations == 25);
  CHECK(rounds.samples->consensus <= 25);

  // 200 examples to test on, 1,000 to train on and the 4 workers' own 800 at the end: in gradients
  // of 8 examples, 50 for each evaluation and 33 at the end.
  const auto evaluations = [&](int gradients, const std::string& more = "") {
    return *planned(fmt::format("[task]\ndataset = {{ kind = \"gaussian-mixture\", train = 4000, "
                                "test = 200 }}\nmodel = \"linear\"\nbatch_size = 8\n[budget]\n"
                                "gradients = {}\n[evaluation]\n{}",
                                gradients, more))
                .samples;
  };
  const double of_one = 1200.0 / 24, of_workers = 800.0 / 24;
  CHECK(evaluations(1000).evaluations == 4);
  CHECK(*evaluations(1000).share == Approx((5 * of_one + of_workers) / 1000));
  CHECK(evaluations(10'100).evaluations == 8);
  CHECK(*evaluations(10'100).share <= 0.05);
  CHECK(evaluations(10'100, "workers = \"always\"").evaluations == 5);
  CHECK(evaluations(10'100, "workers = \"never\"").evaluations == 9);
  CHECK(evaluations(1'000'000).evaluations == 20);
  CHECK(evaluations(1000, "every_gradients = 300").evaluations == 4);
  const PlannedRun formula = planned("[task]\ndataset = \"quadratic\"");
  CHECK(formula.samples->evaluations == 20);
  CHECK_FALSE(formula.samples->share);
}

TEST_CASE("planned evaluations are those of the run, or say that it may end earlier") {
  const auto samples = [](const std::string& rest, const std::string& budget = "") {
    return *compiled("[budget]\ngradients = 100\n" + budget + "[evaluation]\n" + rest)
                .runs.at(0)
                .samples;
  };
  // Of 4 workers, 25 units of normalised time.
  const std::string every = "every_gradients = 20\n",
                    slow = "[execution.virtual]\nslow_workers = { 0 = 2.0 }\n";
  CHECK(samples(every).evaluations == 5);
  CHECK(samples(every).is_exact);
  CHECK_FALSE(samples(every).may_end_early);
  // The slow worker has a gradient in hand at the moment of the fifth, and then there is the end.
  CHECK(samples(every + slow).evaluations == 6);
  CHECK_FALSE(samples(every + slow).is_exact);
  CHECK(samples(every + "[execution.virtual]\nslow_workers = { 0 = 2, 1 = 2, 2 = 2, 3 = 2 }\n")
            .evaluations == 5);
  CHECK(samples("every_gradients = 30\n" + slow).evaluations == 4);
  const std::string rounds = "[[algorithms]]\nkind = \"ar-sgd\"\n";
  CHECK(samples(every + slow + rounds).evaluations == 5);
  // Due at 12.25 and 24.5 units, after 13 rounds and after 25, where the end is.
  CHECK(samples("every_gradients = 49\n" + rounds).evaluations == 2);
  CHECK(samples(every + "[[algorithms]]\nkind = \"a-psgd\"\n").evaluations == 5);
  CHECK(samples(every +
                "[execution.virtual.network]\nlatency_seconds = 0.1\n[[algorithms]]\nkind = "
                "\"a-psgd\"\n")
            .evaluations == 6);
  for (const char* const limit :
       {"seconds = 3\n", "bytes = 1000\n", "target = { metric = \"eval_loss\", value = 0.1 }\n"})
    CHECK(samples(every, limit).may_end_early);
}

TEST_CASE("an algorithm's set changes that algorithm only") {
  const Plan plan = compiled(
      "[optimizer]\nlearning_rate = 0.05\n"
      "[[algorithms]]\nkind = \"ar-sgd\"\n"
      "[[algorithms]]\nkind = \"a2cid2\"\nset = { \"optimizer.learning_rate\" = 0.1 }\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\nset = { optimizer.momentum = 0.5 }\n");
  CHECK(plan.runs[0].settings["optimizer"]["learning_rate"] == 0.05);
  CHECK(plan.runs[1].settings["optimizer"]["learning_rate"] == 0.1);
  CHECK(plan.runs[2].settings["optimizer"]["learning_rate"] == 0.05);
  CHECK(plan.runs[2].settings["optimizer"]["momentum"] == 0.5);
  CHECK_FALSE(plan.runs[1].settings["algorithm"].contains("set"));
}

TEST_CASE("one entry may be adam while d-psgd keeps sgd") {
  const Plan plan = compiled(
      "[optimizer]\nmomentum = 0.9\n[[algorithms]]\nkind = \"d-psgd\"\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\nset = { \"optimizer.kind\" = \"adam\" }\n");
  CHECK(plan.runs[0].settings["optimizer"]["momentum"] == 0.9);
  CHECK(plan.runs[1].settings["optimizer"]["beta1"] == 0.9);
  CHECK_FALSE(plan.runs[1].settings["optimizer"].contains("momentum"));
}

TEST_CASE("streams that are held fixed are kept, the others left to the seed") {
  const Plan plan = compiled("[streams]\ninit = 7\n");
  CHECK(plan.runs[0].settings["streams"] == nlohmann::json{{"init", 7}});
}

TEST_CASE("an analytic task has no model, and a batch size only where it uses batches") {
  const Plan quadratic = compiled("[task]\ndataset = \"quadratic\"\n");
  const nlohmann::json& task = quadratic.runs[0].settings["task"];
  CHECK(task["model"].is_null());
  CHECK(task["batch_size"].is_null());
  CHECK(quadratic.runs[0].parameters == 64);
  const Plan logistic = compiled("[task]\ndataset = \"logistic\"\n[budget]\nepochs = 1\n");
  CHECK(logistic.runs[0].settings["task"]["batch_size"] == 32);
  CHECK(logistic.runs[0].settings["task"]["partition"]["kind"] == "shared");
}

TEST_CASE("the plan as JSON has the documented keys, absent numbers as null") {
  const nlohmann::json plan = to_json(compiled("[[algorithms]]\nkind = \"ar-sgd\"\n"));
  CHECK(plan["schema_version"] == 1);
  CHECK(plan["recipe_digest"].get<std::string>().size() == 64);
  const nlohmann::json& run = plan["runs"][0];
  for (const char* key : {"id", "algorithm", "label", "seed", "digest", "group", "settings",
                          "budget_gradients", "gradients_per_epoch", "bytes", "load", "warnings"})
    CHECK(run.contains(key));
  for (const char* key : {"chi1", "chi2", "eta", "alpha", "alpha_tilde"}) {
    REQUIRE(run.contains(key));
    CHECK(run[key].is_null());
  }
  // The plan has no key of its own if a method has a number.
  for (const Shown& shown : shown_by_any()) CHECK(run[std::string(shown.key)].is_null());
}

TEST_CASE("a recipe that cannot be read is a usage error that names it") {
  CHECK_THROWS_WITH(load_recipe("/no/such/recipe.toml"), ContainsSubstring("/no/such/recipe.toml"));
  CHECK_THROWS_AS(load_recipe(SOURCE_ROOT), UsageError);
  CHECK_THROWS_WITH(load_recipe("/dev/zero"), ContainsSubstring("longer than 16 MiB"));
}

}  // namespace acid::test
