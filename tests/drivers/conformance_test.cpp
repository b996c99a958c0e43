// Every method of the catalog, in all its forms, under every driver, for several numbers of workers
// and on every possible graph: a new one is tested here automatically.
#include <cmath>
#include <numeric>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/methods/listed.hpp"
#include "engine/run/sampler.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/worker/direction.hpp"
#include "tests/catch.hpp"
#include "tests/codecs/made.hpp"
#include "tests/drivers/mpi_fixture.hpp"

namespace acid::test {
namespace {

#ifdef ACID_SANITIZED
constexpr int kWorkers[] = {1, 2, 7}, kFewWorkers[] = {1, 2, 7};  // of many forms on many graphs
#else
constexpr int kWorkers[] = {1, 2, 3, 4, 7, 16}, kFewWorkers[] = {1, 2, 4, 7};
#endif
constexpr std::int64_t kLegs = 12;

/// A method as recipes may ask for it: with its fallbacks, except for one choice.
struct Form {
  const AlgorithmEntry* entry;
  nlohmann::json options;
  std::string name() const { return std::string(entry->name) + " " + options.dump(); }
};

/// Features of the language that the catalog's fallbacks do not use.
constexpr const char* kListings[] = {
    R"j({"name": "parts, and numbers that are seldom sent", "fragments": "parts",
         "parameters": {"parts": 3}, "scalars": {"s": 0}, "say": "s = norm(x)",
         "step": "x = x - lr * u / (1 + s)",
         "send": ["s if mod(exchange, 2) == 0", "x"],
         "hear": ["s = mean(0) if mod(exchange, 2) == 0", "x = mean(1)"]})j",
    R"j({"name": "turns, parts, and a vector that is seldom sent", "fragments": 2,
         "peers": ["2 one", "all"], "round": "say gradient hear step", "keep": {"y": "x"},
         "step": ["x = x - lr * u", "y = y - 0.1 * lr * g"],
         "send": ["y if mod(exchange, 3) == 1", "x"],
         "hear": ["y = mean(0) if mod(exchange, 3) == 1", "x = mean(1)"]})j",
    R"j({"name": "all workers, seldom", "peers": "all", "keep": {"m": 0}, "scalars": {"s": 1},
         "round": "gradient step 2 * (say hear)",
         "step": ["m = 0.5 * m + g", "x = x - lr * m / (1 + s)"], "fragments": 2,
         "send": ["x if mod(exchange, 4) == 0", "m if mod(exchange, 3) == 1"],
         "hear": ["s = norm(mine(1)) if mod(exchange, 3) == 1",
                  "x = mean(0) if mod(exchange, 4) == 0",
                  "m = mean(1) if mod(exchange, 3) == 1"]})j",
    R"j({"name": "parts of gradients", "peers": "all", "fragments": 2, "send": "g",
         "round": "gradient say hear step", "hear": "g = mean(0)"})j",
    R"j({"name": "all workers and neighbours, late", "peers": ["all", "neighbours"],
         "round": "gradient step say gradient step hear", "fragments": 3,
         "hear": "x = x + (mean(0) - mine(0))"})j",
    R"j({"name": "a server that hears more than it says", "peers": "server", "keep": {"p": "x"},
         "scalars": {"s": 0}, "say": "s = norm(x - p)", "send": ["x - p", "s", "p"],
         "hear": ["p = theirs(0)", "x = theirs(0)"], "server": {"hear": ["d = norm(theirs(2))",
              "x = x + theirs(0) / (2 + theirs(1) + 0 * d)"]}})j",
    R"j({"name": "a server that says more than it hears", "peers": "server",
         "hear": ["d = norm(theirs(2))", "x = x + theirs(1) * (theirs(0) - mine(0)) / (1 + d)"],
         "server": {"send": ["x", "0.5", "x"], "hear": "x = x + 0 * theirs(0)"}})j",
    R"j({"name": "hubs that visit a server", "peers": "server", "keep": {"p": "x"},
         "send": "x - p", "hear": ["p = theirs(0)", "x = theirs(0)"], "parameters": {"hubs": 3},
         "server": {"hubs": "hubs", "keep": {"met": "x"}, "scalars": {"s": 1},
           "hear": "x = x + 0.2 * s * theirs(0)",
           "visit": {"every": 2, "send": ["x - met", "s"],
             "hear": ["s = theirs(1)", "x = x + 0.5 * (theirs(0) - met)", "met = x"]},
           "above": {"hear": ["a = norm(theirs(0))",
               "x = x + 0.3 * theirs(1) * theirs(0) / (1 + 0 * a)"],
             "send": ["x", "1 - 0.5 / exchange"]}}})j"};

/// The catalog's forms, and those.
std::vector<const AlgorithmEntry*> entries() {
  std::vector<const AlgorithmEntry*> all;
  for (const AlgorithmEntry& entry : algorithm_catalog()) all.push_back(&entry);
  for (const char* text : kListings) {
    std::vector<Finding> findings;
    const auto listing = read_listing(nlohmann::json::parse(text), findings);
    INFO(text << (findings.empty() ? "" : findings.front().message));
    REQUIRE(listing.has_value());
    all.push_back(&listed_entry(*listing));
  }
  return all;
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const AlgorithmEntry* const entry : entries()) {
    nlohmann::json fallbacks = with_fallbacks(entry->fields, nlohmann::json::object());
    // As many local steps as leave time for exchanges.
    if (fallbacks.value("steps", 0.0) > kLegs / 3.0) fallbacks["steps"] = kLegs / 3;
    all.push_back({entry, fallbacks});
    for (const Field& field : entry->fields)
      for (auto left = field.type == FieldType::text ? field.choices : ""; !left.empty();) {
        const std::string_view choice = left.substr(0, left.find(','));
        left.remove_prefix(std::min(left.size(), choice.size() + 1));
        if (fallbacks.at(field.name) == choice || choice == "messages") continue;  // the default
        all.push_back({entry, fallbacks});
        all.back().options[std::string(field.name)] = choice;
      }
  }
  return all;
}

/// Every method with one of the codecs, in turn.
std::vector<Form> coded_forms() {
  std::vector<nlohmann::json> codecs = {
      {{"kind", "random-k"}, {"share", 0.5}, {"common", true}, {"error_feedback", true}}};
  for (const CodecEntry& entry : codec_catalog()) {
    if (entry.name == "none" || entry.name == "lattice") continue;
    codecs.push_back(codec_options(entry, {{"error_feedback", codecs.size() % 2 == 0}}));
  }
  // Most messages do not fit at first, and most do later.
  const nlohmann::json lattice = {
      {"kind", "lattice"}, {"bits", 4}, {"spacing", 0.05}, {"error_feedback", false}};
  std::vector<Form> all;
  for (const AlgorithmEntry* const entry : entries()) {
    all.push_back({entry, with_fallbacks(entry->fields, nlohmann::json::object())});
    all.back().options["codec"] = codecs[all.size() % codecs.size()];
    all.push_back(all.back());
    all.back().options["codec"] = lattice;
  }
  return all;
}

std::vector<Form> with_coded_forms() {
  std::vector<Form> all = forms(), coded = coded_forms();
  all.insert(all.end(), coded.begin(), coded.end());
  return all;
}

/// The graphs of this size whose kinds have no required options.
std::vector<Topology> graphs(int workers) {
  std::vector<Topology> all;
  for (const TopologyEntry& kind : topology_catalog()) try {
      nlohmann::json options = with_fallbacks(kind.fields, nlohmann::json::object());
      options["kind"] = kind.name;
      all.push_back(make_topology(workers, options));
      if (workers == 1) break;
    } catch (const std::exception&) {  // it takes other sizes, or a list of edges
    }
  return all;
}

Topology ring(int workers) { return make_topology(workers, {{"kind", "ring"}}); }

struct Ended {
  Outcome outcome;
  MemoryRecorder recorder;
};

/// One run of a form on a graph; small, with noise, momentum, and optima and start points that
/// differ between workers.
class Trial {
 public:
  Trial(const Form& form, const Topology& graph) : graph_(graph) {
    spec.workers = graph.workers();
    spec.topology = &graph_;
    spec.seeds = Seeds(3);
    const double rate = form.options.value("communication_rate", 0.0);
    std::optional<Spectral> nominal;
    if (spec.workers > 1 && rate > 0) nominal = spectral(graph_, rate);
    spec.method = method_of(*form.entry, form.options, nominal ? &*nominal : nullptr);
    spec.schedule.learning_rate = 0.02;
    spec.optimizer.momentum = 0.9;
    spec.budget.gradients = kLegs * spec.workers;
    spec.cadence.consensus_every = 1;
    spec.cadence.evaluate_every = 5;
    spec.keep_events = true;
  }
  Trial(const Trial&) = delete;

  void simulate(Ended& ended, int threads = 0, const Checkpointing& checkpointing = {},
                std::stop_token stop = {}) const {
    const auto objective = make_objective(std::max(1, threads));
    VirtualOptions options;
    options.threads = threads;
    options.compute.kind = ComputeKind::exponential;
    options.network.link.latency_seconds = 0.1;
    ended.outcome = run_virtual({spec, *objective, ended.recorder, checkpointing, stop}, options);
  }
  void run_on_threads(Ended& ended, std::stop_token stop = {}) const {
    const auto objective = make_objective(spec.workers + 1);
    ended.outcome = run_threads({spec, *objective, ended.recorder, {}, stop}, {});
  }
  void run_as_processes(Ended& ended, std::stop_token stop = {}) const {
    Processes processes{.spec = spec, .task = task};
    ended.outcome = processes.run(ended.recorder, {}, stop);
    check_no_errors(processes);
  }
  void replay(const MemoryRecorder& recorded, bool shared_clock, Ended& ended) const {
    const auto objective = make_objective(2);
    ReplayScript script = script_of(recorded, spec.workers);
    script.shared_clock = shared_clock;
    ended.outcome = run_replay({spec, *objective, ended.recorder}, script, true, 2);
  }
  /// Whether the bits depend only on the seed, with any driver.
  bool synchronous() const { return !spec.method.is_asynchronous(); }
  std::unique_ptr<Objective> make_objective(int lanes) const {
    return quadratic(task, spec.workers, spec.seeds, lanes);
  }

  RunSpec spec;
  nlohmann::json task{
      {"dimension", 7}, {"noise", 0.3}, {"heterogeneity", 1.0}, {"initial_spread", 1.0}};

 private:
  const Topology graph_;
};

/// Calls body(trial) for every form that takes the graph.
template <class Body>
void for_each_form(const Topology& graph, Body body, const std::vector<Form>& list = forms()) {
  for (const Form& form : list) {
    INFO(form.name() << " on " << graph.kind() << ", n = " << graph.workers());
    std::optional<Trial> trial;
    try {
      trial.emplace(form, graph);
      if (unmet_need(*form.entry, trial->spec.method, graph)) continue;
      require_schedule_fits(trial->spec.method, graph);
      mixing_of(trial->spec.method, graph);
    } catch (const UsageError&) {  // uniform weights where degrees differ, or no groups
      CHECK((form.entry->source != "a recipe" || graph.kind() != "ring" ||
             form.options.value("exchange", nlohmann::json()) == "all-reduce"));
      continue;
    }
    body(*trial);
  }
}

void check_whole(const Trial& trial, const Outcome& outcome) {
  CHECK(outcome.ending == Ending::finished);
  CHECK(outcome.position.gradients >= trial.spec.budget.gradients);
  CHECK(outcome.position.gradients < trial.spec.budget.gradients + trial.spec.workers);
  std::int64_t committed = 0;
  for (const std::int64_t gradients : outcome.worker_gradients) committed += gradients;
  CHECK(committed == outcome.position.gradients);
  CHECK(outcome.exchanges_done == outcome.exchanges_drawn);
}

void check_same_bits(const Ended& a, const Ended& b) {
  CHECK(a.outcome.worker_digests == b.outcome.worker_digests);
  CHECK(a.outcome.mean_digest == b.outcome.mean_digest);
  CHECK(a.outcome.position.gradients == b.outcome.position.gradients);
  CHECK(a.recorder.last("consensus_distance") == b.recorder.last("consensus_distance"));
  CHECK(a.recorder.last("eval_loss") == b.recorder.last("eval_loss"));
  CHECK(a.recorder.last("train_loss") == b.recorder.last("train_loss"));
  CHECK(a.recorder.last("gradient_norm") == b.recorder.last("gradient_norm"));
}

std::vector<double> mean_start(const Trial& trial) {
  const auto objective = trial.make_objective(1);
  std::vector<double> mean(objective->dimension());
  std::vector<float> x(mean.size());
  for (int w = 0; w < trial.spec.workers; ++w) {
    objective->start(w, x, {});
    for (std::size_t k = 0; k < x.size(); ++k)
      mean[k] += static_cast<double>(x[k]) / trial.spec.workers;
  }
  return mean;
}

void check_replays(const Trial& trial, const Ended& ended, bool shared_clock) {
  Ended again;
  trial.replay(ended.recorder, shared_clock, again);
  check_same_bits(again, ended);
  CHECK(again.outcome.position.bytes == ended.outcome.position.bytes);
}

void check_drivers_agree(const Trial& trial) {
  Ended simulated, threads, processes;
  trial.simulate(simulated);
  trial.run_on_threads(threads);
  check_whole(trial, threads.outcome);
  if (!trial.synchronous()) check_replays(trial, threads, true);
  trial.run_as_processes(processes);
  check_whole(trial, processes.outcome);
  if (!trial.synchronous()) return check_replays(trial, processes, false);
  check_same_bits(threads, simulated);
  check_same_bits(processes, simulated);
  CHECK(threads.outcome.position.bytes == simulated.outcome.position.bytes);
  CHECK(processes.outcome.position.bytes == simulated.outcome.position.bytes);
}

}  // namespace

TEST_CASE("conformance, CORRECTNESS 14, 16: on budget on any graph, equal bits for any threads") {
  int trials = 0;
  for (const int workers : kWorkers)
    for (const Topology& graph : graphs(workers))
      for_each_form(graph, [&](const Trial& trial) {
        Ended alone, pooled;
        trial.simulate(alone, 0);
        trial.simulate(pooled, 3);
        check_whole(trial, alone.outcome);
        check_same_bits(alone, pooled);
        ++trials;
      });
  CHECK(trials > 100);
}

TEST_CASE("conformance: without gradients every form keeps the mean of all workers") {
  for (const int workers : kWorkers)
    for (const Topology& graph : graphs(workers))
      for_each_form(graph, [](Trial& trial) {
        trial.task["curvature"] = 0.0;
        trial.task["noise"] = 0.0;
        const std::vector<double> before = mean_start(trial);
        Ended ended;
        trial.simulate(ended);
        REQUIRE(ended.outcome.mean.size() == before.size());
        for (std::size_t k = 0; k < before.size(); ++k)
          CHECK(std::abs(ended.outcome.mean[k] - before[k]) < 1e-5);
      });
}

TEST_CASE("conformance: threads and processes execute every form, and can prove it") {
  for (const int workers : kFewWorkers)
    for_each_form(ring(workers), &check_drivers_agree, with_coded_forms());
}

TEST_CASE("conformance: and so they do on graphs that change from exchange to exchange") {
  int trials = 0;
  for (const int workers : {2, 4, 7})
    for (const Topology& graph : graphs(workers))
      if (graph.schedule())
        for_each_form(graph, [&](const Trial& trial) {
          if (trial.spec.method.peers != Peers::neighbours) return;
          check_drivers_agree(trial);
          ++trials;
        });
  CHECK(trials > 100);
}

// The norm of the averaged gradient would be up to √n smaller.
TEST_CASE("conformance: gradient_norm is a worker's own, the mean over the workers") {
  for_each_form(ring(4), [](Trial& trial) {
    trial.spec.cadence.consensus_every = trial.spec.cadence.evaluate_every = 1e9;
    const auto objective = trial.make_objective(1);
    std::vector<float> x(objective->dimension()), g(x.size());
    std::vector<double> norms;  // of each worker's first gradient, at its start point
    for (int w = 0; w < trial.spec.workers; ++w) {
      objective->start(w, x, {});
      objective->gradient(0, w, 0, x, {}, g);
      norms.push_back(euclidean_norm(g));
    }
    const double expected = std::accumulate(norms.begin(), norms.end(), 0.0) / 4;
    Ended simulated, threads, processes;
    trial.simulate(simulated);
    CHECK(simulated.recorder.last("gradient_norm") == Approx(expected));
    if (!trial.synchronous()) return;  // workers may meet others before their first gradient
    trial.run_on_threads(threads);
    trial.run_as_processes(processes);
    CHECK(threads.recorder.last("gradient_norm") == Approx(expected));
    CHECK(processes.recorder.last("gradient_norm") == Approx(expected));
  });
}

TEST_CASE("conformance: every form goes on from any cut with the same bits") {
  for (const int workers : kFewWorkers)
    for_each_form(
        ring(workers),
        [](const Trial& trial) {
          Ended whole, watched;
          trial.simulate(whole);
          CheckpointFolder folder(3);
          trial.simulate(watched, 0, {&folder, nullptr});
          check_same_bits(watched, whole);
          REQUIRE(folder.saved().size() >= 2);
          for (const CheckpointFolder::Saved& saved : folder.saved()) {
            INFO("from step " << saved.step);
            const CheckpointFile file(saved.path);
            Ended rest;
            rest.recorder.events_may_start_late();
            trial.simulate(rest, 2, {nullptr, &file});
            check_same_bits(rest, whole);
          }
        },
        with_coded_forms());
}

TEST_CASE("conformance: every form stops when it is asked to, under every driver") {
  for_each_form(ring(3), [](Trial& trial) {
    trial.spec.budget.gradients = 1'000'000'000;
    const auto stopped = [&](const auto& execute) {
      std::stop_source stop;
      Ended ended;
      ended.recorder.stop_after_samples(3, stop);
      execute(ended, stop.get_token());
      CHECK(ended.outcome.ending == Ending::stopped);
    };
    stopped([&](Ended& ended, std::stop_token stop) { trial.simulate(ended, 0, {}, stop); });
    stopped([&](Ended& ended, std::stop_token stop) { trial.run_on_threads(ended, stop); });
    stopped([&](Ended& ended, std::stop_token stop) { trial.run_as_processes(ended, stop); });
  });
}

}  // namespace acid::test
