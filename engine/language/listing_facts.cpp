#include "engine/language/listing_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/rng.hpp"
#include "engine/worker/worker.hpp"

namespace acid {
namespace {

constexpr std::size_t kMeasured = 16;  // elements of a vector
constexpr double kRate = 0.1;          // the learning rate
constexpr double kExact = 1e-9;        // the largest error of equal numbers

bool is_shown(const Listing& listing, const std::string& name) {
  return listing.keeps(name) || name == "g" || name == "u" || name == "at";
}

PartUse use_of(const Listing& listing, const char* part,
               std::initializer_list<const std::vector<Statement>*> lists) {
  std::set<std::string> reads, assigns;
  for (const auto* statements : lists)
    for (const Statement& one : *statements) {
      any_of(one, [&](const Expression& value) {
        if (is_heard(value.operation)) reads.insert(print(value));
        if (value.operation == Operation::name && is_shown(listing, value.name))
          reads.insert(value.name);
        return false;
      });
      if (is_shown(listing, one.target)) assigns.insert(one.target);
    }
  return {part, {reads.begin(), reads.end()}, {assigns.begin(), assigns.end()}};
}

using State = std::vector<std::vector<double>>;  // worker by worker: x, what it keeps, g

/// Whom each worker hears besides itself, all with the same weight. Of two that meet, only how many
/// neighbours each has.
struct Graph {
  const char* name;
  std::vector<int> degrees;  // by worker
  double weight = 0;
  std::vector<std::vector<std::size_t>> heard = {};  // by worker, ascending
  std::vector<double> surplus = {};  // by worker, the sum of its weights − 1; empty: 0
};

std::vector<Graph> graphs_for(const Listing& listing) {
  if (listing.meets()) return {{"a ring", {2, 2}}, {"a star", {3, 1}}};
  if (listing.peers == Peers::one)
    return {{"a ring", {2, 2, 2, 2}, 0.5, {{1}, {0}, {3}, {2}}},
            {"a star", {3, 1, 1, 1}, 0.5, {{1}, {0}, {}, {}}}};
  std::vector<Graph> graphs{
      {"a complete graph", {3, 3, 3, 3}, 0.25, {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}}}};
  if (listing.peers == Peers::all) return graphs;
  graphs.push_back({"a ring", {2, 2, 2, 2}, 0.25, {{1, 3}, {0, 2}, {1, 3}, {0, 2}}});
  graphs.push_back({"a star", {3, 1, 1, 1}, 0.25, {{1, 2, 3}, {0}, {0}, {0}}});
  // Edges are one-way on graphs that change only, and there no method runs that needs one graph.
  if (std::ranges::none_of(listing.of_graph.needs, is_of_graph))
    graphs.push_back({"a one-way ring", {1, 1, 1, 1}, 0.5, {{3}, {0}, {1}, {2}}});
  return graphs;
}

/// Workers that say and hear on a graph, in double precision.
class Experiment {
 public:
  Experiment(const Listing& listing, const Rules& rules, const Graph& graph)
      : meets_(listing.meets()), rules_(rules), graph_(graph) {
    settings_.dimension = kMeasured;
    settings_.decay = {{0, kMeasured, 0.0}};
    settings_.planned_rate = [](std::int64_t) { return kRate; };
    settings_.degrees = graph.degrees;
    settings_.follow(rules);
  }
  std::size_t workers() const { return graph_.degrees.size(); }
  std::size_t vectors() const { return 2 + settings_.slots.size(); }

  /// Makes of random vectors what workers can have: rounding errors are 0, for random numbers would
  /// be too large, and sums of pulls sum to 0 over the workers.
  void make_possible(const Listing& listing, State& state) const {
    for (std::size_t k = 0; k < settings_.slots.size(); ++k) {
      const auto kept = std::ranges::find(listing.vectors, settings_.slots[k].name, &Kept::name);
      if (kept == listing.vectors.end()) continue;
      const bool is_rest = kept->is_rest || kept->is_rest_of_x;
      if (!is_rest && !kept->pulled_by) continue;
      for (std::size_t at = (k + 1) * kMeasured; at < (k + 2) * kMeasured; ++at) {
        double mean = 0;
        for (const std::vector<double>& one : state)
          mean += one[at] / static_cast<double>(state.size());
        for (std::vector<double>& one : state) one[at] = is_rest ? 0 : one[at] - mean;
      }
    }
  }

  /// The states after each of the first exchanges, each from this state: what is done in every so
  /// many of them is among them.
  std::vector<State> exchanges(const State& state) const {
    constexpr std::int64_t kExchanges = 64;
    std::vector<State> all;
    Crew crew(*this, State(workers(), std::vector<double>(kMeasured)));
    for (std::int64_t number = 0; number < kExchanges; ++number) {
      for (std::size_t i = 0; i < workers(); ++i) put(crew.all[i], state[i]);
      crew.exchange();
      State& after = all.emplace_back();
      for (BasicWorker<double>& one : crew.all) after.push_back(taken(one));
    }
    return all;
  }

  /// Whether models that differ at the start differ by the same vectors after exchanges of all that
  /// there is to send, beside gradients of 0. `start`: the models.
  bool keeps_differences(const State& start) const {
    constexpr std::int64_t kExchanges = 64;
    Crew crew(*this, start);
    crew.begin();
    crew.step();
    Sent sent(rules_);
    for (std::int64_t number = 0; number < kExchanges; ++number) {
      sent.add(number);
      crew.begin();
      crew.exchange();
      crew.step();
      for (std::size_t i = 1; i < workers(); ++i)
        for (std::size_t k = 0; k < kMeasured; ++k) {
          const double before = start[i][k] - start[0][k];
          const double after = crew.all[i].x()[k] - crew.all[0].x()[k];
          if (!(std::abs(after - before) <= kExact)) return false;
        }
    }
    return sent.is_whole();
  }

  /// Whether workers that start at one model keep one model, and take their gradients at one point,
  /// while these are 0. The exchanges go on until each part of the message was sent, and then some
  /// more. Each worker takes every place of the graph in turn. A value that is no number decides
  /// nothing: a gradient of 0 has no direction.
  bool keeps_agreement(const State& start) const {
    constexpr double kApart = 1e-6;  // larger than what a listing adds to a divisor
    constexpr std::int64_t kMostExchanges = 4096;
    Sent sent(rules_);
    Crew crew(*this, start);
    std::vector<double> model(kMeasured), first(kMeasured);
    int more = 32;
    for (std::int64_t number = 0; number < kMostExchanges && more > 0; ++number) {
      crew.begin();
      crew.all[0].read_at(0, 0, first);
      for (const BasicWorker<double>& one : crew.all) {
        one.read_at(0, 0, model);
        for (std::size_t k = 0; k < kMeasured; ++k)
          if (std::abs(model[k] - first[k]) > kApart ||
              std::abs(one.snapshot()[k] - crew.all[0].snapshot()[k]) > kApart)
            return false;
      }
      sent.add(number);
      if (sent.is_whole()) --more;
      crew.exchange();
      crew.step();
      ++crew.turn;
    }
    return true;
  }

 private:
  /// Which vectors and numbers of the message were sent so far.
  class Sent {
   public:
    explicit Sent(const Rules& rules) : rules_(rules) {}
    void add(std::int64_t number) {
      const Extent extent = rules_.doubles->extent(number, kMeasured);
      vectors_ |= extent.vectors;
      scalars_ |= extent.scalars;
    }
    bool is_whole() const {
      const Extent whole(rules_.doubles->message(), kMeasured);
      return vectors_ == whole.vectors && scalars_ == whole.scalars;
    }

   private:
    const Rules& rules_;
    std::uint32_t vectors_ = 0, scalars_ = 0;
  };

  /// All workers, and their messages.
  struct Crew {
    Crew(const Experiment& of, const State& start)
        : experiment(of), memory(of.settings_, of.workers()) {
      for (std::size_t i = 0; i < of.workers(); ++i) {
        all.emplace_back(of.settings_, memory, i, static_cast<std::uint32_t>(i));
        all[i].start(start[i]);
        messages.emplace_back(of.rules_.doubles->message().floats(kMeasured));
      }
    }
    void begin() {
      for (BasicWorker<double>& one : all) {
        one.begin_gradient(0);
        std::ranges::fill(one.gradient(), 0.0);
      }
    }
    void step() {
      for (BasicWorker<double>& one : all) one.commit_gradient(0, one.gradient(), kRate);
    }
    void exchange() {
      for (std::size_t i = 0; i < all.size(); ++i) all[i].offer(0, messages[i]);
      for (std::size_t i = 0; i < all.size(); ++i) experiment.hear(all[i], i, messages, turn);
    }

    const Experiment& experiment;
    WorkerMemory<double> memory;
    std::vector<BasicWorker<double>> all;
    std::vector<std::vector<double>> messages;
    std::size_t turn = 0;  // worker i has the place i + turn in the graph
  };

  void hear(BasicWorker<double>& worker, std::size_t i,
            const std::vector<std::vector<double>>& messages, std::size_t turn) const {
    if (meets_) return worker.apply(0, 0, messages[i], messages[1 - i]);
    const std::size_t places = messages.size(), place = (i + turn) % places;
    std::vector<kernels::Weighted<double>> sources{
        {messages[i].data(), graph_.surplus.empty() ? 0 : graph_.surplus[place]}};
    for (const std::size_t j : graph_.heard[place])
      sources.push_back({messages[(j + places - turn % places) % places].data(), graph_.weight});
    worker.hear(0, {.sources = sources});
  }

  template <class Visit>
  static void for_each_part(BasicWorker<double>& worker, Visit visit) {
    std::size_t at = 0;
    const auto part = [&](std::span<const double> values) {
      visit(std::span(const_cast<double*>(values.data()), values.size()), at);
      at += kMeasured;
    };
    part(worker.x());
    for (std::size_t k = 0; k < worker.slots(); ++k) part(worker.slot(k));
    part(worker.gradient());
  }
  static void put(BasicWorker<double>& worker, const std::vector<double>& state) {
    for_each_part(worker, [&](std::span<double> part, std::size_t at) {
      std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(at), part.size(), part.begin());
    });
  }
  static std::vector<double> taken(BasicWorker<double>& worker) {
    std::vector<double> state;
    for_each_part(worker, [&](std::span<double> part, std::size_t) {
      state.insert(state.end(), part.begin(), part.end());
    });
    return state;
  }

  const bool meets_;
  const Rules& rules_;
  const Graph& graph_;
  WorkerSettings settings_;
};

/// For each worker this many vectors of random numbers.
State random_state(std::size_t workers, std::size_t vectors, Stream& stream) {
  State state(workers);
  for (auto& one : state)
    for (std::size_t k = 0; k < vectors * kMeasured; ++k) one.push_back(stream.normal());
  return state;
}

State combined(const State& a, double factor, const State& b) {
  State sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i)
    for (std::size_t k = 0; k < sum[i].size(); ++k) sum[i][k] += factor * b[i][k];
  return sum;
}

double largest(const State& state) {
  double value = 0;
  for (const auto& one : state)
    for (const double element : one) value = std::max(value, std::abs(element));
  return value;
}

}  // namespace

std::vector<PartUse> uses_of(const Listing& listing) {
  std::vector<PartUse> uses{use_of(listing, "step", {&listing.step}),
                            use_of(listing, "say", {&listing.say, &listing.send}),
                            use_of(listing, "hear", {&listing.hear})};
  const auto add_server = [&](const Listing& server, const char* name) {
    uses.push_back(use_of(server, name, {&server.hear, &server.send}));
  };
  if (!listing.served.server) return uses;
  const auto& hubs = listing.served.server->served.hubs;
  add_server(*listing.served.server, hubs ? "hub" : "server");
  if (!hubs) return uses;
  const Listing& visit = *hubs->visit;
  uses.push_back(use_of(visit, "visit", {&visit.say, &visit.send, &visit.hear}));
  add_server(*visit.served.server, "above");
  return uses;
}

ExchangeFacts measure_exchange(const Listing& listing, const Rules& rules) {
  Stream stream(1);
  ExchangeFacts facts;
  const auto sum_of = [](const State& state) {
    double sum = 0;
    for (const auto& one : state)
      for (const double element : one) sum += element;
    return sum;
  };
  for (const Graph& graph : graphs_for(listing)) {
    const Experiment experiment(listing, rules, graph);
    const auto drawn = [&] {
      State state = random_state(experiment.workers(), experiment.vectors(), stream);
      experiment.make_possible(listing, state);
      return state;
    };
    const State a = drawn(), b = drawn();
    const auto of_a = experiment.exchanges(a), of_b = experiment.exchanges(b);
    const auto of_sum = experiment.exchanges(combined(a, 2.0, b));
    bool any_finite = false, moves = false;
    for (std::size_t e = 0; e < of_a.size(); ++e) {
      const State difference = combined(combined(of_sum[e], -1, of_a[e]), -2, of_b[e]);
      const bool is_finite = std::isfinite(sum_of(of_a[e]) + sum_of(of_b[e]) + sum_of(of_sum[e]));
      any_finite |= is_finite;
      facts.is_linear &= is_finite && largest(difference) <= kExact * (1 + largest(of_sum[e]));
      for (std::size_t k = 0; k < kMeasured; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += of_a[e][i][k] - a[i][k];
        moves |= !(std::abs(sum) <= kExact);
      }
    }
    ++facts.graphs;
    facts.is_finite &= any_finite;
    if (moves) facts.moves_mean_on.emplace_back(graph.name);
  }
  return facts;
}

bool keeps_differences(const Listing& listing, const Rules& rules) {
  Stream stream(1);
  const Graph graph = graphs_for(listing).front();
  const Experiment experiment(listing, rules, graph);
  return experiment.keeps_differences(random_state(experiment.workers(), 1, stream));
}

bool keeps_agreement(const Listing& listing, const Rules& rules) {
  Stream stream(1);
  // Each keeps one half of its message, and another worker hears the other half.
  const Graph graph{"one-way", {1, 1, 1, 1}, 0.5, {{1, 2}, {3}, {}, {0}}, {0.5, 0, -0.5, 0}};
  const State one = random_state(1, 1, stream);
  return Experiment(listing, rules, graph).keeps_agreement(State(graph.degrees.size(), one[0]));
}

std::string overlap_of(const Round& round) {
  int gradients = 0, most = 0;
  bool said = false;
  for (const Leg& leg : round.legs())
    for (const Phase phase : leg) {
      if (phase == Phase::say) said = true, gradients = 0;
      if (phase == Phase::gradient && said) most = std::max(most, ++gradients);
      if (phase == Phase::hear) said = false;
    }
  if (most == 0) return "";
  return most == 1 ? "a gradient is" : fmt::format("{} gradients are", most);
}

}  // namespace acid
