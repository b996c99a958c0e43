// The learning rate at every gradient of a run, by its recipe.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "settings/run_settings.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

using namespace acid;
using test::check_only_error;
using test::compiled;
using test::completed;
using test::digest;
using test::errors_of;

namespace {

// 6000 examples, 4 workers with batches of 40: 150 gradients are an epoch.
const std::string kTask =
    "[task]\ndataset = { kind = \"gaussian-mixture\", train = 6000 }\nmodel = \"linear\"\n"
    "batch_size = 40\n[optimizer]\nlearning_rate = 0.5\n";
const std::string kEpochs = "[budget]\nepochs = 10\n";  // 1500 gradients

struct Rates {
  RunSettings settings;
  explicit Rates(const std::string& schedule, const std::string& budget = kEpochs)
      : settings(settings_from(
            compiled(kTask + "[optimizer.schedule]\n" + schedule + budget).runs.at(0).settings)) {}
  // The rate of the gradient that begins when all workers have done so many.
  double operator()(std::int64_t gradients) const {
    return settings.schedule.rate(settings.budget.progress(
        {.gradients = gradients,
         .normalised_time = static_cast<double>(gradients) / settings.workers}));
  }
};

// Against a factor of the gradient's number, at every gradient.
template <class Factor>
void check_rates(const Rates& rates, const Factor& factor) {
  for (std::int64_t g = 0; g <= rates.settings.budget.gradients; ++g) {
    INFO("gradient " << g);
    REQUIRE(rates(g) == Approx(0.5 * factor(g)).epsilon(1e-12).margin(1e-15));
  }
}

}  // namespace

TEST_CASE("milestones in epochs, gradients and shares are at the same gradient, exactly") {
  const auto steps = [](std::int64_t g) { return g < 450 ? 1 : g < 900 ? 0.1 : 0.01; };
  const char* const spellings[] = {"milestones = [0.3, 0.6]", "milestones = { epochs = [3, 6] }",
                                   "milestones = { epochs = [3.0, 6.0] }",
                                   "milestones = { gradients = [450, 900] }"};
  const std::string first =
      digest(kTask + "[optimizer.schedule]\nkind = \"step\"\n" + spellings[0] + "\n" + kEpochs);
  for (const char* spelling : spellings) {
    INFO(spelling);
    const std::string schedule = std::string("kind = \"step\"\n") + spelling + "\n";
    check_rates(Rates(schedule), steps);
    CHECK(digest(kTask + "[optimizer.schedule]\n" + schedule + kEpochs) == first);
    // Normalised time is gradients per worker.
    check_rates(Rates(schedule, "[budget]\nnormalised_time = 375\n"), steps);
    check_rates(Rates(schedule, "[budget]\ngradients = 1500\n"), steps);
  }
  // A milestone within a gradient is at the next.
  check_rates(Rates("kind = \"step\"\nmilestones = { epochs = [2.001] }\n"),
              [](std::int64_t g) { return g < 301 ? 1 : 0.1; });
  check_rates(Rates("kind = \"step\"\ngamma = 0.5\nmilestones = { gradients = [1, 1499] }\n"),
              [](std::int64_t g) { return g < 1      ? 1
                                          : g < 1499 ? 0.5
                                                     : 0.25; });
}

TEST_CASE("a warm-up is so many epochs, gradients or a share, and begins at a share of the rate") {
  for (const char* length : {"0.2", "{ epochs = 2 }", "{ gradients = 300 }"})
    for (const double from : {-1.0, 0.0, 0.1, 0.5, 1.0}) {
      INFO(length << " from " << from);
      std::string warmup = fmt::format("warmup = {}\n", length);
      if (from >= 0) warmup += fmt::format("warmup_from = {}\n", from);
      const double start = std::max(from, 0.0);
      const auto rise = [&](std::int64_t g) {
        return g < 300 ? start + (1 - start) * static_cast<double>(g) / 300 : 1;
      };
      check_rates(Rates(warmup), rise);
      check_rates(Rates(warmup + "kind = \"cosine\"\nminimum = 0.1\n"), [&](std::int64_t g) {
        const double phase = std::numbers::pi * static_cast<double>(g - 300) / 1200;
        return g < 300 ? rise(g) : 0.1 + 0.9 * (1 + std::cos(phase)) / 2;
      });
      check_rates(Rates(warmup + "kind = \"inverse-sqrt\"\n"), [&](std::int64_t g) {
        return g < 300 ? rise(g) : std::sqrt(300 / static_cast<double>(g));
      });
      check_rates(Rates(warmup + "kind = \"step\"\nmilestones = { epochs = [4] }\n"),
                  [&](std::int64_t g) { return g < 600 ? rise(g) : 0.1; });
    }
}

// Goyal et al. begin at the unscaled rate; the recipe gives a share of the scaled one.
TEST_CASE("with linear scaling a warm-up begins at the unscaled rate, unless the recipe says so") {
  const std::string scaled =
      "scale_with_workers = \"linear\"\nreference_batch = 20\nwarmup = { epochs = 1 }\n";
  for (const auto& [from, start] :
       {std::pair("", 1.0), {"warmup_from = 0\n", 0.0}, {"warmup_from = 0.5\n", 4.0}}) {
    INFO(from);
    const double begin = start;
    check_rates(Rates(scaled + from), [begin](std::int64_t g) {
      return g < 150 ? begin + (8 - begin) * static_cast<double>(g) / 150 : 8.0;
    });
  }
}

TEST_CASE("recipes whose warm-up begins at 0 have the digests that they always had") {
  const std::string warm = "[optimizer.schedule]\nwarmup = 0.1\n";
  CHECK(digest(warm + "warmup_from = 0\n") == digest(warm));
  CHECK(digest(warm + "warmup_from = 0.1\n") != digest(warm));
  CHECK_FALSE(compiled(warm).runs[0].settings["optimizer"]["schedule"].contains("warmup_from"));
}

TEST_CASE("milestones and warm-ups that a run does not come to, or cannot count, are refused") {
  const std::string at = kTask + "[optimizer.schedule]\n";  // lines 1 to 7
  const std::string step = at + "kind = \"step\"\n";
  check_only_error(step + "milestones = { epochs = [3, 10] }\n" + kEpochs, 9,
                   "milestones: 10 epochs are not within the budget, which ends after 10");
  check_only_error(step + "milestones = { gradients = [1500] }\n" + kEpochs, 9,
                   "milestones: 1500 gradients are not within the budget, which ends after 1500");
  check_only_error(step + "milestones = { epochs = [6, 3] }\n" + kEpochs, 9, "must ascend");
  check_only_error(step + "milestones = { gradients = [1.5] }\n" + kEpochs, 9, "a whole number");
  check_only_error(step + "milestones = { gradients = [0] }\n" + kEpochs, 9, "must be above 0");
  check_only_error(step + "milestones = { epochs = 3 }\n" + kEpochs, 9,
                   "must be a list of numbers");
  check_only_error(step + "milestones = { seconds = [3] }\n" + kEpochs, 9,
                   "{ epochs = [...] } or { gradients = [...] }");
  check_only_error(step + "milestones = { epochs = [3], gradients = [9] }\n" + kEpochs, 9,
                   "{ epochs = [...] } or { gradients = [...] }");
  check_only_error(at + "warmup = { epochs = 12 }\n" + kEpochs, 8,
                   "warmup: 12 epochs are not within the budget, which ends after 10");
  check_only_error(at + "warmup = { epochs = [1] }\n" + kEpochs, 8, "must be a number");
  check_only_error(at + "warmup = [0.1]\n" + kEpochs, 8, "must be a number");
  check_only_error(at + "warmup = 0.1\nwarmup_from = 1.5\n" + kEpochs, 9,
                   "must be at least 0 and at most 1");
  const std::string endless = "[task]\ndataset = { kind = \"quadratic\", noise = 0.1 }\n";
  check_only_error(endless + "[optimizer.schedule]\nwarmup = { epochs = 2 }\n", 4,
                   "has no meaning: the task has no finite data set");
  // If gradients come at random only time is known beforehand.
  const std::string random = "[execution.virtual]\ngradient_clock = \"poisson\"\n";
  check_only_error(at + "warmup = { gradients = 9 }\n[budget]\nnormalised_time = 9\n" + random, 8,
                   "they come at random: with budget.normalised_time schedules follow time");
  CHECK(compiled(at + "warmup = { gradients = 9 }\n[budget]\ngradients = 99\n" + random)
            .runs.size() == 1);
}

TEST_CASE("a milestone that the warm-up hides is told") {
  const std::string step = kTask + "[optimizer.schedule]\nkind = \"step\"\n";
  const Diagnostic hidden = test::only_warning_of(
      step + "warmup = { epochs = 1 }\nmilestones = { epochs = [0.5, 8] }\n" + kEpochs);
  CHECK(hidden.line == 10);
  CHECK_THAT(hidden.message,
             ContainsSubstring("milestones: one is at 0.05 of the budget, within the warm-up, "
                               "which lasts until 0.1"));
  CHECK(compiled(step + "warmup = { epochs = 1 }\nmilestones = { epochs = [2, 8] }\n" + kEpochs)
            .warnings.empty());
}

TEST_CASE("where a warm-up begins is of no effect without one, and said so") {
  CHECK_THAT(test::only_warning_of(kTask + "[optimizer.schedule]\nwarmup_from = 0.5\n").message,
             ContainsSubstring("warmup_from has no effect: warmup is 0"));
}

TEST_CASE("labels are smoothed in the loss that is acid's own, and in no other") {
  const std::string task = "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n";
  const Plan plain = compiled(task), smooth = compiled(task + "label_smoothing = 0.1\n");
  CHECK(settings_from(smooth.runs[0].settings).task.label_smoothing == 0.1);
  CHECK(settings_from(plain.runs[0].settings).task.label_smoothing == 0);
  CHECK(smooth.runs[0].id != plain.runs[0].id);
  CHECK(compiled(task + "label_smoothing = 0\n").runs[0].id == plain.runs[0].id);
  check_only_error(task + "label_smoothing = 1\n", 4, "at least 0 and below 1");
  check_only_error("[task]\ndataset = \"quadratic\"\nlabel_smoothing = 0.1\n", 3,
                   "task.label_smoothing has no meaning for the analytic task 'quadratic'",
                   "remove it: tasks that train a model have label_smoothing, such as");
  CHECK_THAT(test::only_error_of("[task]\ndataset = \"quadratic\"\nbatch_size = 8\n", 3).remedy,
             ContainsSubstring("remove it: logistic and tasks that train a model have batch_size"));
  const std::string file = std::string(SOURCE_ROOT) + "/docs/examples/numpy_model.py";
  const auto errors =
      test::errors_of(test::completed("[task]\ndataset = \"glyphs\"\nlabel_smoothing = 0.1\n"
                                      "model = { kind = \"python\", file = \"" +
                                      file + "\" }\n"));
  const bool refused = std::ranges::any_of(errors, [](const Diagnostic& error) {
    return error.line == 3 &&
           error.message.find("that of 'python' is the file's") != std::string::npos;
  });
  CHECK(refused);  // and the interpreter, if it has no NumPy
}

TEST_CASE(
    "neighbours in groups of more than two average by an all-reduce, unless asked otherwise") {
  const auto run_of = [](const std::string& graph, const std::string& keys,
                         const char* method = "d-psgd", const std::string& network = "") {
    return compiled("[workers]\ncount = 8\n" + network + "[topology]\nkind = \"" + graph +
                    "\"\n[[algorithms]]\nkind = \"" + method + "\"\n" + keys)
        .runs.at(0);
  };
  const std::string nodes = "alternating-exponential-ring\"\nworkers_per_node = 2 # ";
  for (const std::string& graph : {std::string("complete"), nodes}) {
    const PlannedRun by_default = run_of(graph, "");
    CHECK(by_default.settings["algorithm"]["exchange"] == "all-reduce");
    CHECK(by_default.graph.largest_group == (graph == "complete" ? 8 : 4));
    CHECK(run_of(graph, "exchange = \"all-reduce\"\n").digest == by_default.digest);
    const PlannedRun messages = run_of(graph, "exchange = \"messages\"\n");
    CHECK_FALSE(messages.settings["algorithm"].contains("exchange"));
    CHECK(messages.graph.exchange == "messages");
    CHECK(messages.bytes > by_default.bytes);
    // What needs each message has no all-reduce by default.
    for (const char* method : {"sgp", "decentlam"})
      CHECK_FALSE(run_of(graph, "", method).settings["algorithm"].contains("exchange"));
    CHECK_FALSE(run_of(graph, "codec = \"bf16\"\n").settings["algorithm"].contains("exchange"));
  }
  // A plan says which way is much slower: 7 messages for 7/4 of a vector, or 14 latencies for one.
  const std::string slow =
      "[execution.virtual.network]\nlatency_seconds = 1e-3\nbandwidth_bytes_per_second = 1e4\n";
  const std::string distant = "[execution.virtual.network]\nlatency_seconds = 1\n";
  CHECK(run_of("complete", "", "d-psgd", slow).warnings.empty());
  CHECK_THAT(run_of("complete", "exchange = \"messages\"\n", "d-psgd", slow).warnings.at(0),
             ContainsSubstring("by an all-reduce in each group it would take"));
  CHECK_THAT(run_of("complete", "", "d-psgd", distant).warnings.at(0),
             ContainsSubstring("by messages it would take"));
  // Pairs send each other one message each.
  CHECK_FALSE(run_of("hypercube", "").settings["algorithm"].contains("exchange"));
  CHECK(run_of("one-peer-exponential", "").graph.exchange == "messages");
  CHECK(run_of("alternating-ring", "exchange = \"all-reduce\"\n").graph.exchange == "all-reduce");
  CHECK_FALSE(run_of("alternating-ring", "").settings["algorithm"].contains("exchange"));
}

TEST_CASE("an all-reduce of neighbours is refused where they form no groups, with the reason") {
  const auto message_of = [](const std::string& graph, const std::string& algorithm) {
    const auto errors =
        errors_of(completed("[topology]\nkind = \"" + graph + "\"\n[[algorithms]]\n" + algorithm +
                            "\nexchange = \"all-reduce\"\n"));
    REQUIRE(errors.size() == 1);
    const bool other_graphs_help = errors[0].message.find("among groups") != std::string::npos;
    CHECK((errors[0].remedy.find("complete") != std::string::npos) == other_graphs_help);
    return errors[0].message;
  };
  CHECK_THAT(message_of("ring", "kind = \"d-psgd\""), ContainsSubstring("among groups"));
  CHECK_THAT(message_of("epidemic", "kind = \"d-psgd\""), ContainsSubstring("among groups"));
  CHECK_THAT(message_of("complete", "kind = \"d-psgd\"\ncodec = \"bf16\""),
             ContainsSubstring("codec"));
  CHECK_THAT(message_of("complete", "kind = \"d2\""), ContainsSubstring("sum to 0"));
  CHECK_THAT(message_of("complete", "kind = \"sgp\""), ContainsSubstring("numbers"));
}
