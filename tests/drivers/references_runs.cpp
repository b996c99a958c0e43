// The runs that are compared with references.
#include <algorithm>
#include <limits>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/codecs/packed_message.hpp"
#include "engine/methods/listed.hpp"
#include "engine/topology/mixing_schedule.hpp"
#include "engine/topology/spectral.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/drivers/references.hpp"
#include "tests/methods/walk.hpp"

namespace acid::test::references {
namespace {

constexpr std::uint64_t kSeed = 7, kWalkSeed = 5;

/// 1/(1 + the larger degree) for neighbours (Xiao & Boyd 2004, Metropolis).
Matrix metropolis(const Topology& graph) {
  const auto n = static_cast<std::size_t>(graph.workers());
  Matrix weights(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    weights[i][i] = 1;
    for (std::size_t j = 0; j < n; ++j) {
      const int a = static_cast<int>(i), b = static_cast<int>(j);
      if (a == b || !graph.adjacent(a, b)) continue;
      weights[i][j] = 1.0 / (1 + std::max(graph.neighbour_count(a), graph.neighbour_count(b)));
      weights[i][i] -= weights[i][j];
    }
  }
  return weights;
}

/// 1/(1 + number of receivers) for a sender (1811.10792, uniform weights): with one partner ½.
Matrix by_out_degree(const MixingMatrix& drawn) {
  const std::size_t n = drawn.self.size();
  std::vector<int> receivers(n);
  for (const auto& row : drawn.neighbours)
    for (const Neighbour& heard : row) ++receivers[static_cast<std::size_t>(heard.worker)];
  Matrix weights(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    weights[i][i] = 1.0 / (1 + receivers[i]);
    for (const Neighbour& heard : drawn.neighbours[i]) {
      const auto j = static_cast<std::size_t>(heard.worker);
      weights[i][j] = 1.0 / (1 + receivers[j]);
    }
  }
  return weights;
}

Topology topology_of(const Comparison& what) {
  const TopologyEntry* const kind = find_topology(what.graph.at("kind").get<std::string>());
  return make_topology(what.workers > 0 ? what.workers : workers_on(what.graph),
                       with_fallbacks(kind->fields, what.graph));
}

/// A comparison with everything that a run of it needs.
class Trial {
 public:
  Trial(const Comparison& what, double spread)
      : what_(what),
        graph(topology_of(what)),
        task(graph.workers(), what.variant->dimension, spread),
        options(with_fallbacks(what.entry->fields, what.variant->options)) {
    if (!what.variant->codec.is_null()) options["codec"] = what.variant->codec;
    const double rate = options.value("communication_rate", 0.0);
    if (rate > 0) nominal = spectral(graph, rate);
    method = method_of(*what.entry, options, nominal ? &*nominal : nullptr);
    slow_factors = what.variant->slow_factors;
    slow_factors.resize(static_cast<std::size_t>(graph.workers()), 1.0);
    method.set_pace(slow_factors);
    ACID_ASSERT(!unmet_need(*what.entry, method, graph), "{} on {}", what.entry->name,
                graph.kind());
  }
  Trial(const Trial&) = delete;

  /// A walk whose graphs and draws have these seeds.
  Rounds rounds(std::uint64_t pairing, std::uint64_t dither) const {
    const auto drawn = method.peers == Peers::all ? nullptr : mixing_of(method, graph);
    const bool changes = method.peers == Peers::one || graph.schedule();
    return Rounds(
        {.task = task,
         .workers = graph.workers(),
         .gradients = what_.variant->gradients,
         .schedule = what_.schedule,
         .momentum = what_.variant->momentum,
         .options = options,
         .matrix =
             [this, drawn, changes, pairing](std::int64_t exchange) {
               return changes ? by_out_degree(drawn->matrix(exchange, pairing)) : metropolis(graph);
             },
         .mask =
             [this, dither](std::int64_t exchange) {
               std::vector<float> ones(task.dimension(), 1.0F);
               if (method.codec)
                 method.codec->project(
                     draw_of(dither, 0, static_cast<std::uint64_t>(exchange), 0, 1), ones);
               Vector mask(ones.size());
               std::copy(ones.begin(), ones.end(), std::begin(mask));
               return mask;
             }});
  }

 private:
  const Comparison& what_;

 public:
  const Topology graph;
  Bowls task;
  nlohmann::json options;
  std::optional<Spectral> nominal;
  Method method;
  std::vector<double> slow_factors;
};

Trajectory trajectory_of(const Bowls& task, const Outcome& outcome, std::size_t workers) {
  Trajectory run;
  run.points = task.points;
  run.models.assign(task.evaluated.end() - static_cast<std::ptrdiff_t>(workers),
                    task.evaluated.end());
  run.mean.resize(outcome.mean.size());
  std::copy(outcome.mean.begin(), outcome.mean.end(), std::begin(run.mean));
  return run;
}

VirtualOptions machine_of(const Trial& trial, const Variant& variant) {
  VirtualOptions machine;
  if (!trial.method.is_asynchronous()) return machine;
  machine.compute.kind = ComputeKind::exponential;
  machine.compute.slow_factors = trial.slow_factors;
  if (variant.late) machine.network.link.latency_seconds = 0.15;
  machine.network.hubs = LinkCost{};
  return machine;
}

}  // namespace

int workers_on(const nlohmann::json& graph) { return graph.at("kind") == "ring" ? 5 : 6; }

std::vector<std::vector<double>> Logged::rates(
    const std::function<bool(const Event&)>& counts) const {
  std::vector<std::pair<double, std::size_t>> commits;  // when, whose
  for (std::size_t w = 0; w < events.size(); ++w)
    for (const Event& event : events[w])
      if (counts(event)) commits.emplace_back(event.time, w);
  std::ranges::sort(commits);
  std::vector<std::vector<double>> rates(events.size());
  for (std::size_t k = 0; k < commits.size(); ++k) {
    ACID_ASSERT(k == 0 || commits[k - 1].first < commits[k].first,
                "two commits at {}: their order is not known", commits[k].first);
    const double progress = static_cast<double>(k + 1) / static_cast<double>(gradients);
    rates[commits[k].second].push_back(rate_of(schedule, std::min(1.0, progress)));
  }
  return rates;
}

std::string Comparison::name() const {
  return std::string(entry->name) + (entry->source == "a recipe" ? " (listing) " : " ") +
         variant->options.dump() + (variant->codec.is_null() ? "" : variant->codec.dump()) +
         ", momentum " + std::to_string(variant->momentum) + ", " + graph.dump() + ", " + schedule;
}

bool Comparison::is_possible() const {
  const Method method = method_of(*entry, with_fallbacks(entry->fields, variant->options), nullptr);
  return !unmet_need(*entry, method, topology_of(*this));
}

double Comparison::simulated(double (*measure)(const Trajectory&, const Trajectory&)) const {
  Trial trial(*this, variant->spread);
  RunSpec spec;
  spec.workers = trial.graph.workers();
  spec.topology = &trial.graph;
  spec.method = trial.method;
  spec.seeds = Seeds(kSeed);
  spec.schedule = schedule_of(schedule);
  spec.optimizer.momentum = variant->momentum;
  spec.budget.gradients = std::int64_t{variant->gradients} * spec.workers;
  spec.cadence.consensus_every = 1e9;
  spec.keep_events = true;
  MemoryRecorder recorder;
  const Outcome outcome = run_virtual({spec, trial.task, recorder}, machine_of(trial, *variant));
  if (outcome.ending != Ending::finished) return std::numeric_limits<double>::infinity();
  const Trajectory run = trajectory_of(trial.task, outcome, static_cast<std::size_t>(spec.workers));
  if (reference->rounds != nullptr) {
    Rounds rounds =
        trial.rounds(spec.seeds.derived(Purpose::pairing), spec.seeds.derived(Purpose::dither));
    const Rows models = reference->rounds(rounds);
    return measure(run, rounds.trajectory(models));
  }
  Logged log{.task = trial.task,
             .workers = spec.workers,
             .gradients = spec.budget.gradients,
             .schedule = schedule,
             .momentum = variant->momentum,
             .options = trial.options,
             .slow_factors = trial.slow_factors,
             .events = {},
             .end = outcome.position.normalised_time,
             .chi1 = trial.nominal ? trial.nominal->chi1 : 0,
             .chi2 = trial.nominal ? trial.nominal->chi2 : 0};
  for (int w = 0; w < spec.workers; ++w) log.events.push_back(recorder.events_of(w));
  return measure(run, reference->logged(log));
}

double Comparison::in_double_precision() const {
  Trial trial(*this, 0);
  const Vector start = trial.task.start(0);
  OptimizerSettings optimizer;
  optimizer.momentum = variant->momentum;
  Walk it(trial.graph, *entry, trial.options, {std::begin(start), std::end(start)}, optimizer);
  Trajectory run;
  run.points.resize(it.workers.size());
  const auto gradient = [&](int worker, const std::vector<double>& x) {
    auto& points = run.points[static_cast<std::size_t>(worker)];
    points.emplace_back(x.data(), x.size());
    const Vector g =
        trial.task.gradient(worker, static_cast<std::int64_t>(points.size()) - 1, points.back());
    return std::vector<double>(std::begin(g), std::end(g));
  };
  for (int leg = 1; leg <= variant->gradients; ++leg)
    it.go(1, rate_of(schedule, static_cast<double>(leg) / variant->gradients), gradient);
  run.mean.resize(start.size(), 0.0);
  for (const BasicWorker<double>& worker : it.workers) {
    std::vector<double> model(start.size());
    worker.read_at(worker.last_event(), 0, model);
    run.models.emplace_back(model.data(), model.size());
    run.mean += run.models.back() / static_cast<double>(it.workers.size());
  }
  Rounds rounds = trial.rounds(kWalkSeed, 0);
  const Rows models = reference->rounds(rounds);
  return deviation(run, rounds.trajectory(models));
}

const std::vector<Reference>& all_references() {
  static const std::vector<Reference> all = [] {
    std::vector<Reference> joined;
    for (const auto& some : {with_neighbours(), with_corrections(), with_all_workers(),
                             with_partners(), with_meetings(), with_servers()})
      joined.insert(joined.end(), some.begin(), some.end());
    return joined;
  }();
  return all;
}

}  // namespace acid::test::references
