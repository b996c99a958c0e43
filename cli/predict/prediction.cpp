#include "cli/predict/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/error.hpp"
#include "engine/drivers/virtual/virtual_clock.hpp"
#include "reports/statistics.hpp"
#include "settings/run_spec.hpp"

namespace acid {
namespace {

constexpr double kChance = 0.9, kEqualShare = 1e-9;
// All of these take about a second.
constexpr double kMostGradients = 2e6, kMostOfParts = 5e6;
constexpr double kQuick = 2e7;
constexpr double kMostIterations = 200, kFewestIterations = 50, kFewestOfAll = 4;
constexpr double kLongestPeriod = 1000;

double budget_of(const RunSpec& spec) {
  return spec.budget.normalised_time < kNever
             ? spec.budget.normalised_time
             : static_cast<double>(spec.budget.gradients) / spec.workers;
}

bool is_limited(const Budget& budget) { return std::min(budget.seconds, budget.bytes) < kNever; }

/// Iterations after which a method of rounds does the same again, or at least exchanges as often if
/// these are too many.
double period_of(const Method& method, const Topology& graph, std::size_t dimension) {
  std::size_t legs = std::max<std::size_t>(1, method.round.legs().size());
  for (const Method::Pace& pace : method.paces) legs = std::max(legs, pace.round.legs().size());
  const auto once = static_cast<double>(legs);
  const double all = once * static_cast<double>(exchange_period(method, graph, dimension));
  return all <= kLongestPeriod ? all : once;
}

/// What simulating one gradient costs, with the exchanges that go with it: 1 where these are few.
double work_of(const Method& method) { return std::max(1.0, method.rate); }

/// Iterations whose second half has so many exchanges that one more or less hardly matters.
double iterations_for_exchanges(const Method& method, int workers) {
  constexpr double kEnough = 200;
  return method.rate > 0 ? 4 * kEnough / (method.rate * workers) : 0;
}

/// At least so many iterations: two whole periods of the method, or a multiple of that.
double in_periods(double iterations, const RunSpec& spec, std::size_t dimension) {
  const double both = 2 * period_of(spec.method, *spec.topology, dimension);
  return std::max(1.0, std::ceil(iterations / both)) * both;
}

/// Half of the interval in which one further run lies.
double half_of(const Estimate& found, const Spread& spread) {
  const double n = found.n, factor = found.mean * spread.variation;
  const double rest = *found.sd * std::sqrt(spread.run_share * spread.run_share + 1 / n);
  return student_t_quantile((1 + kChance) / 2, n - 1) *
         (factor == 0 ? rest : std::hypot(rest, factor));
}

/// How far a run has come.
struct Ran {
  double iterations = 0, seconds = 0, bytes = 0, gradients = 0, idle = 0;

  Ran operator+(const Ran& other) const {
    return {iterations + other.iterations, seconds + other.seconds, bytes + other.bytes,
            gradients + other.gradients, idle + other.idle};
  }
  Ran operator*(double factor) const {
    return {iterations * factor, seconds * factor, bytes * factor, gradients * factor,
            idle * factor};
  }
  Ran operator-(const Ran& other) const { return *this + other * -1; }
};

/// A run whose budget ends after so many iterations.
Ran ran_for(const RunSpec& spec, const VirtualOptions& options, std::size_t dimension,
            double iterations) {
  RunSpec part = spec;
  if (spec.budget.normalised_time < kNever)
    part.budget.normalised_time = iterations;
  else
    part.budget.gradients = static_cast<std::int64_t>(std::ceil(iterations * spec.workers));
  const Outcome outcome = run_clock(part, options, dimension);
  const Position& end = outcome.position;
  double idle = 0;
  for (const double one : outcome.worker_idle_seconds) idle += one;
  const auto gradients = static_cast<double>(end.gradients);
  const double done =
      spec.budget.normalised_time < kNever ? end.normalised_time : gradients / spec.workers;
  return {done, end.seconds, static_cast<double>(end.bytes), gradients, idle};
}

/// Timing::run_share. With s for the standard deviation of half a part of P iterations, that of the
/// draws is s √(1 + ((w − P/2) / (P/2))²), that of a run of w iterations s √(w / (P/2)).
double share_of_run(double part, double whole) {
  const double half = part / 2, continued = (whole - half) / half;
  return std::sqrt(whole / half / (1 + continued * continued));
}

constexpr double kRounding = 1e-12;

bool links_are_alike(const NetworkModel& network) {
  return network.edges.empty() && network.nodes() == 0 && network.between_nodes.empty();
}

bool has_equal_parts(const std::vector<double>& shares) {
  return std::ranges::all_of(shares,
                             [&](double share) { return std::abs(share - shares[0]) < kRounding; });
}

/// How many neighbours each worker hears in every exchange; nothing where these differ.
std::optional<int> neighbours_of_each(const Topology& graph) {
  if (graph.schedule()) return std::nullopt;
  for (int w = 1; w < graph.workers(); ++w)
    if (graph.neighbour_count(w) != graph.neighbour_count(0)) return std::nullopt;
  return graph.neighbour_count(0);
}

/// Seconds per iteration in steady state where a formula gives them: workers whose gradients take
/// the same time again and again, equal links, and equal buckets. With the forward pass F, the
/// backward pass G = Bg of B buckets, the exchange c of one of them and the optimiser's U,
///   max(F + G + c, F + g + Bc) + U   where gradients are all-reduced, in time order;
///   max(F + G + U, Bc, c + U/B)      where each worker hears equally many neighbours, beside the
///                                    gradient.
/// Nothing for all other runs.
std::optional<double> closed_form_seconds(const RunSpec& spec, const VirtualOptions& options,
                                          std::size_t dimension) {
  const Method& method = spec.method;
  const NetworkModel& network = options.network;
  const auto bytes = static_cast<double>(method.packed_message(spec.travelling(dimension)).bytes());
  const std::vector<double> shares =
      method.peers == Peers::neighbours && !method.reduces_groups && network.sends_whole()
          ? std::vector<double>{1}
          : options.cost.bucket_shares(bytes);
  if (options.variation > 0 || !options.compute.is_even() || !links_are_alike(network) ||
      !has_equal_parts(shares) || method.is_asynchronous() || method.varies() ||
      method.round.legs().size() != 1)
    return std::nullopt;
  const auto B = static_cast<double>(shares.size());
  const double both = options.compute.mean_seconds(0);
  const double F = options.cost.forward_share * both, G = both - F;
  const double U = options.cost.optimizer_share * both;
  const Leg& leg = method.round.leg(0);
  if (method.reduces_gradients && !method.gathers() &&
      leg == Leg{Phase::gradient, Phase::say, Phase::hear, Phase::step}) {
    if (network.all_reduce == AllReduceKind::direct && B > 1) return std::nullopt;
    const double c = network.all_reduce_seconds(spec.workers, bytes / B);
    return std::max(F + G + c, F + G / B + B * c) + U;
  }
  const std::optional<int> heard = neighbours_of_each(*spec.topology);
  if (method.peers != Peers::neighbours || heard.value_or(0) == 0 ||
      options.cost.exchange_seconds > 0 ||
      leg != Leg{Phase::say, Phase::gradient, Phase::hear, Phase::step})
    return std::nullopt;
  const double whole =
      std::max(*heard * network.link.port_seconds(bytes), network.link.transfer_seconds(bytes));
  const double c = method.reduces_groups ? network.all_reduce_seconds(*heard + 1, bytes / B)
                                         : network.link.latency_seconds +
                                               network.overhead.neighbours_seconds + whole / B;
  return std::max({F + G + U, B * c, c + U / B});
}

/// About how many iterations a run has until its budget or another limit ends it. What they take is
/// estimated from the `first` ones, or two periods of its method if these are more.
double reach_of(const RunSpec& spec, VirtualOptions options, std::size_t dimension, double first) {
  const double whole = budget_of(spec);
  if (!is_limited(spec.budget)) return whole;
  options.compute.pauses.clear();  // which need not come again
  const double part = std::min(whole, in_periods(first, spec, dimension));
  return std::min(whole, timing_of(spec, options, dimension, part).gradients / spec.workers);
}

/// What simulating runs whole takes, in gradients or, where these are more, in exchanges.
struct Load {
  double all = 0, one = 0;  // `one`: an iteration of each
  double most_work = 1;     // of a gradient
};
/// `first`: see reach_of(); absent: what their budgets have, whatever else ends them.
Load load_of(const std::vector<const PlannedRun*>& runs, std::size_t draws,
             std::optional<double> first) {
  Load load;
  for (const PlannedRun* run : runs) {
    const RunSettings settings = settings_from(run->settings);
    const Topology graph = topology_of(settings);
    const RunSpec spec = spec_from(settings, graph);
    const double work = work_of(spec.method);
    const double of_iteration = static_cast<double>(draws) * run->workers * work;
    load.one += of_iteration;
    load.all += of_iteration * (first ? reach_of(spec, settings.execution.simulation,
                                                 static_cast<std::size_t>(run->parameters), *first)
                                      : budget_of(spec));
    load.most_work = std::max(load.most_work, work);
  }
  return load;
}

}  // namespace

const PlannedRun& run_of(const Plan& plan, const std::string& group) {
  const auto found = std::ranges::find(plan.compared(), group, &PlannedRun::group);
  if (found == plan.compared().end())
    throw Error(fmt::format("the plan has no run of group {}", group));
  return *found;
}

std::vector<std::uint64_t> further_seeds(std::set<std::uint64_t> taken, std::size_t count) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seeds.size() < count; ++seed)
    if (taken.insert(seed).second) seeds.push_back(seed);
  return seeds;
}

Range range_of(std::span<const double> draws, const Spread& spread) {
  const Estimate found = estimate(draws);
  std::vector<double> all(draws.begin(), draws.end());
  if (!found.sd) return {found.mean, std::nan(""), std::nan(""), std::move(all)};
  const double half = half_of(found, spread);
  return {found.mean, found.mean - half, found.mean + half, std::move(all), spread.run_share};
}

Range positive_range_of(std::span<const double> draws, const Spread& spread) {
  Range range = range_of(draws, spread);
  range.low = range.low < 0 ? 0 : range.low;  // NaN stays
  return range;
}

bool overlap(const Range& a, const Range& b) {
  if (a.draws.size() < 2 || a.draws.size() != b.draws.size())
    return a.low <= b.high && b.low <= a.high;
  std::vector<double> differences;
  for (std::size_t k = 0; k < a.draws.size(); ++k) differences.push_back(a.draws[k] - b.draws[k]);
  const Estimate found = estimate(differences);
  return !(std::abs(found.mean) >
           half_of(found, {.run_share = std::max(a.run_share, b.run_share)}) +
               kEqualShare * std::abs(a.mean));
}

Timing timing_of(const RunSpec& spec, const VirtualOptions& options, std::size_t dimension,
                 double iterations) {
  const double whole = budget_of(spec);
  const Ran part = ran_for(spec, options, dimension, std::min(iterations, whole));
  double more = 0;
  Ran slope;
  // Else a limit in seconds or bytes has ended it, which ends the whole run as well.
  if (iterations < whole && part.iterations >= iterations * (1 - kEqualShare)) {
    slope = (part - ran_for(spec, options, dimension, iterations / 2)) * (2 / iterations);
    more = std::min({whole - iterations, (spec.budget.seconds - part.seconds) / slope.seconds,
                     slope.bytes > 0 ? (spec.budget.bytes - part.bytes) / slope.bytes : kNever});
  }
  const Ran end = part + slope * std::max(0.0, more);
  const double each = end.gradients > 0 ? end.gradients / spec.workers : end.iterations;
  return {.iteration_seconds = end.seconds / each,
          .gradients_per_second = end.gradients / end.seconds,
          .seconds = end.seconds,
          .bytes = end.bytes,
          .gradients = end.gradients,
          .idle_share = std::max(0.0, end.idle / (end.seconds * spec.workers)),  // rounding
          .run_share = more > 0 ? share_of_run(iterations, iterations + more) : 1};
}

Predictor::Predictor(Effort effort, std::vector<std::uint64_t> seeds)
    : effort_(effort), seeds_(std::move(seeds)) {
  seeds_.resize(std::min(seeds_.size(), effort_.draws));
  const auto further = further_seeds({seeds_.begin(), seeds_.end()}, effort_.draws - seeds_.size());
  seeds_.insert(seeds_.end(), further.begin(), further.end());
}

void Predictor::size(const Plan& plan) {
  if (effort_.iterations) return;
  std::vector<const PlannedRun*> runs;
  std::set<std::string> seen;
  for (const PlannedCell& cell : plan.cells)
    if (seen.insert(cell.group).second) runs.push_back(&run_of(plan, cell.group));
  Load load = load_of(runs, effort_.draws, std::nullopt);
  const double fewest = std::max(kFewestIterations / load.most_work, kFewestOfAll);
  if (load.all > kMostGradients) load = load_of(runs, effort_.draws, fewest);
  if (load.all > kMostGradients) affordable_ = std::round(kMostOfParts / load.one);
  effort_.iterations =
      load.all > kMostGradients ? std::clamp(affordable_, fewest, kMostIterations) : kNever;
}

std::vector<std::pair<const char*, const Range*>> Prediction::totals() const {
  return {{"gradients_per_second", &gradients_per_second},
          {"seconds", &seconds},
          {"bytes", &bytes},
          {"gradients", &gradients},
          {"idle_share", &idle_share}};
}

bool Predictor::is_quick() const { return simulated_ <= kQuick; }

const Prediction& Predictor::of(const Plan& plan, const std::string& group) {
  const auto known = known_.find(group);
  if (known != known_.end()) return known->second;
  return known_[group] = predict(run_of(plan, group));
}

Prediction Predictor::predict(const PlannedRun& run) {
  RunSettings settings = settings_from(run.settings);
  const Topology graph = topology_of(settings);
  RunSpec spec = spec_from(settings, graph);
  const VirtualOptions& options = settings.execution.simulation;
  const auto dimension = static_cast<std::size_t>(run.parameters);
  Prediction prediction;
  prediction.budget = budget_of(spec);
  double asked = effort_.iterations.value_or(kNever);
  asked =
      std::max(asked, std::min(affordable_, iterations_for_exchanges(spec.method, run.workers)));
  // Both halves are whole periods.
  prediction.iterations = std::min(prediction.budget, in_periods(asked, spec, dimension));
  prediction.closed_form = closed_form_seconds(spec, options, dimension);
  prediction.has_target = spec.budget.target.has_value();
  prediction.sends_again = spec.method.rules.floats->extra_floats().has_value();
  prediction.is_limited = is_limited(spec.budget);
  prediction.has_pauses = !options.compute.pauses.empty();
  std::vector<Timing> timings;
  std::vector<double> factors;  // of its times, by draw
  for (const std::uint64_t seed : seeds_) {
    settings.seed = seed;
    spec.seeds = settings.seeds();
    timings.push_back(timing_of(spec, options, dimension, prediction.iterations));
    simulated_ += std::min(prediction.iterations * run.workers, timings.back().gradients) *
                  work_of(spec.method);
    factors.push_back(variation_factor(options, spec.seeds));
  }
  // A factor of all times is as far from 1 in a long run as in a part of it.
  const bool apart =
      timings.front().run_share < 1 && options.variation > 0 && !prediction.is_limited;
  const auto range = [&](double Timing::*member, int power = 0) {
    std::vector<double> values;
    for (std::size_t k = 0; k < timings.size(); ++k)
      values.push_back(timings[k].*member / (apart ? std::pow(factors[k], power) : 1));
    return positive_range_of(values, {.run_share = timings.front().run_share,
                                      .variation = apart && power != 0 ? options.variation : 0});
  };
  prediction.iteration_seconds = range(&Timing::iteration_seconds, 1);
  prediction.gradients_per_second = range(&Timing::gradients_per_second, -1);
  prediction.seconds = range(&Timing::seconds, 1);
  prediction.bytes = range(&Timing::bytes);
  prediction.gradients = range(&Timing::gradients);
  prediction.idle_share = range(&Timing::idle_share);
  return prediction;
}

}  // namespace acid
