#include "recipes/saturation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "engine/methods/listed.hpp"
#include "engine/topology/free_pairs.hpp"

namespace acid {
namespace {

// Where durations are alike, exchanges may fall into a rhythm that depends on the seed.
constexpr int kSeeds = 8;
constexpr double kSimulatedUnits = 100;  // with each seed, or so many exchanges:
constexpr std::int64_t kExchanges = 25'000, kExchangesPerWorker = 10;

/// The clock of the virtual driver with constant durations, as far as it decides who is free.
class SaturatedClock {
 public:
  SaturatedClock(const Topology& topology, double vector_bytes, const VirtualOptions& model,
                 std::uint64_t seed)
      : model_(model),
        bytes_(vector_bytes),
        workers_(topology.workers()),
        pairs_(topology, Seeds(seed)),
        cards_(model.network.cards(false)),
        state_(static_cast<std::size_t>(workers_)) {}

  Saturation simulate() {
    const std::int64_t most = std::max(kExchanges, kExchangesPerWorker * workers_);
    for (int w = 0; w < workers_; ++w) plan(gradient_seconds(w), w, kGradient);
    begin_exchanges();
    while (begun_ < most && gradients_ < kSimulatedUnits * workers_) {
      if (const double left = cards_.next_end(); left <= std::get<0>(next_.top())) {
        leave_cards(left);
        continue;
      }
      const auto [seconds, who, what] = next_.top();
      next_.pop();
      now_ = seconds;
      if (what == kGradient)
        end_gradient(who);
      else
        end_exchange(who, what);
      if (next_.top() > Event{now_, workers_, kGradient}) begin_exchanges();
    }
    return result();
  }

 private:
  static constexpr int kGradient = -1;
  using Event = std::tuple<double, int, int>;  // seconds, worker, kGradient or the partner
  struct State {
    double owed = 0;
    bool pays = false, exchanges = false;
    double begun = 0;  // seconds, of the gradient
    int partner = -1;  // of the first of two that exchange
  };

  double gradient_seconds(int w) const {
    return model_.compute.mean_seconds(w) *
           (model_.gradient_clock == GradientClock::duration ? 1 + model_.cost.optimizer_share : 1);
  }
  void plan(double seconds, int who, int what) { next_.emplace(now_ + seconds, who, what); }
  State& state(int w) { return state_[static_cast<std::size_t>(w)]; }
  void add(int w) {
    if (!state(w).pays && !state(w).exchanges) pairs_.add(w);
  }
  void begin_exchanges() {
    if (!pairs_.has_new()) return;
    for (const auto& [i, j] : pairs_.draw()) {
      state(i).exchanges = state(j).exchanges = true;
      const LinkCost& link = model_.network.between(i, j);
      if (model_.network.share_a_card(i, j))
        cards_.begin(i, model_.network.way(i, j, false), bytes_, link.most_bytes_per_second(),
                     now_);
      else
        plan(link.seconds(bytes_) + model_.cost.exchange_seconds, i, j);
      state(i).partner = j;
      ++counts_[{i, j}];
      ++begun_;
    }
  }
  // Messages have left the cards that they share, and arrive after their link's latency.
  void leave_cards(double seconds) {
    now_ = seconds;
    for (const int i : cards_.end_next()) {
      const int j = state(i).partner;
      plan(model_.network.between(i, j).latency_seconds + model_.cost.exchange_seconds, i, j);
    }
  }
  void end_exchange(int i, int j) {
    for (const int w : {i, j}) {
      state(w).exchanges = false;
      state(w).owed += model_.cost.exchange_seconds;
      add(w);
    }
  }
  void end_gradient(int w) {
    State& s = state(w);
    s.pays = s.owed > 0;
    if (s.pays) {
      plan(std::exchange(s.owed, 0), w, kGradient);
      return pairs_.remove(w);
    }
    ++gradients_;
    s.begun = now_;
    plan(gradient_seconds(w), w, kGradient);
    add(w);
  }
  Saturation result() {
    double gradients = static_cast<double>(gradients_);
    for (int w = 0; w < workers_; ++w)
      gradients += state(w).pays ? 1 : (now_ - state(w).begun) / gradient_seconds(w);
    const double units = gradients / workers_;
    Saturation found{.rate = 2 * static_cast<double>(begun_) / gradients, .edges = {}};
    for (const auto& [pair, count] : counts_)
      found.edges.push_back({pair.first, pair.second, static_cast<double>(count) / units});
    return found;
  }

  const VirtualOptions& model_;
  const double bytes_;
  const int workers_;
  FreePairs pairs_;
  Cards cards_;
  std::vector<State> state_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> next_;
  std::map<std::pair<int, int>, std::int64_t> counts_;
  std::int64_t begun_ = 0, gradients_ = 0;
  double now_ = 0;
};

// Whether no exchange of `vector_bytes` between workers that may meet is over at once.
bool exchanges_take_time(const Topology& topology, double vector_bytes,
                         const VirtualOptions& model) {
  const NetworkModel& network = model.network;
  if (model.cost.exchange_seconds > 0) return true;
  const auto take_time = [&](const auto& links) {
    return std::ranges::all_of(
        links, [&](const auto& link) { return link.second.seconds(vector_bytes) > 0; });
  };
  bool inside = true;
  topology.for_each_edge([&](const Edge& edge) {
    const bool shares = network.nodes() > 0 && network.node(edge.i) == network.node(edge.j);
    inside &= !shares || network.between(edge.i, edge.j).seconds(vector_bytes) > 0;
  });
  return inside && (network.nodes() == 1 || network.link.seconds(vector_bytes) > 0) &&
         take_time(network.edges) && take_time(network.between_nodes);
}

}  // namespace

Saturation saturation(const Topology& topology, double vector_bytes, const VirtualOptions& model) {
  Saturation mean;
  std::map<std::pair<int, int>, double> rates;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Saturation one = SaturatedClock(topology, vector_bytes, model, seed).simulate();
    mean.rate += one.rate / kSeeds;
    for (const Edge& edge : one.edges) rates[{edge.i, edge.j}] += edge.weight / kSeeds;
  }
  for (const auto& [pair, rate] : rates) mean.edges.push_back({pair.first, pair.second, rate});
  return mean;
}

Expected expected_saturation(const RunSettings& settings, const Topology& topology,
                             std::int64_t parameters) {
  const auto refused = [](std::string_view why, std::string remedy) {
    Expected expected;
    expected.problem = {fmt::format("communication_rate = \"saturate\" {}", why),
                        std::move(remedy)};
    return expected;
  };
  const VirtualOptions& model = settings.execution.simulation;
  if (!settings.execution.entry().simulates)
    return refused("needs simulated time, where it is known who is free",
                   "use driver = \"virtual\", or write a number");
  if (settings.workers == 1) return {};
  const Method method = method_of(algorithm_of(settings.algorithm), settings.algorithm, nullptr);
  const auto bytes = static_cast<double>(
      method
          .packed_message(model.network.stands_for().value_or(static_cast<std::size_t>(parameters)))
          .bytes());
  if (!exchanges_take_time(topology, bytes, model))
    return refused("has no meaning where exchanges take no time: there would be no end of them",
                   "set execution.virtual.network.latency_seconds or bandwidth_bytes_per_second "
                   "for all links, inside nodes too, or execution.virtual.cost.exchange_seconds");
  if (numbers_are_of_seed(settings.algorithm))
    return refused("draws no list of exchanges from which spectral = \"realised\" could be known",
                   "remove spectral");
  const Saturation found = saturation(topology, bytes, model);
  if (found.rate > kMostCommunicationRate)
    return refused(
        fmt::format("would be {:.3g} exchanges per gradient", found.rate),
        fmt::format("make exchanges longer: at most {} are carried out", kMostCommunicationRate));
  const Spectral spectral = spectral_of_rates(settings.workers, found.edges);
  if (!std::isfinite(spectral.chi1))
    return refused("leaves some workers without each other in 100 gradients of each",
                   "use a network without links that are that slow, or write a number");
  return {
      .problem = {}, .rate = std::stod(fmt::format("{:.4g}", found.rate)), .spectral = spectral};
}

}  // namespace acid
