#include "engine/language/listing_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "engine/base/rng.hpp"
#include "engine/worker/worker.hpp"

namespace acid {
namespace {

constexpr std::size_t kMeasured = 16;  // elements of a vector

bool is_shown(const Listing& listing, const std::string& name) {
  return listing.keeps(name) || name == "g" || name == "u" || name == "at";
}

void note_reads(const Listing& listing, const Expression& value, std::set<std::string>& reads) {
  any_of(value, [&](const Expression& one) {
    if (is_heard(one.operation)) reads.insert(print(one));
    if (one.operation == Operation::name && is_shown(listing, one.name)) reads.insert(one.name);
    return false;
  });
}

PartUse use_of(const Listing& listing, const char* part,
               std::initializer_list<const std::vector<Statement>*> lists) {
  std::set<std::string> reads, assigns;
  for (const auto* statements : lists)
    for (const Statement& one : *statements) {
      note_reads(listing, one.value, reads);
      if (one.condition) note_reads(listing, *one.condition, reads);
      if (is_shown(listing, one.target)) assigns.insert(one.target);
    }
  return {part, {reads.begin(), reads.end()}, {assigns.begin(), assigns.end()}};
}

using State = std::vector<std::vector<double>>;  // worker by worker: x, what it keeps, g

/// Workers that say and hear once, from any state, at the first exchange in which most of their
/// messages are sent.
class Experiment {
 public:
  Experiment(const Listing& listing, const Rules& rules) : meets_(listing.meets()), rules_(rules) {
    settings_.dimension = kMeasured;
    settings_.decay = {{0, kMeasured, 0.0}};
    settings_.planned_rate = [](std::int64_t) { return 0.1; };
    settings_.snapshots = false;
    settings_.degrees.assign(workers(), 2);
    settings_.follow(rules);
    constexpr std::int64_t kLooked = 64;
    int most = -1;
    for (std::int64_t number = 0; number < kLooked; ++number) {
      const Extent extent = rules.doubles->extent(number, kMeasured);
      const int sent = std::popcount(extent.vectors) + std::popcount(extent.scalars);
      if (sent > most) most = sent, before_ = number;
    }
  }
  std::size_t workers() const { return meets_ ? 2 : 4; }
  std::size_t vectors() const { return 2 + settings_.slots.size(); }

  State exchange(const State& state) {
    WorkerMemory<double> memory(settings_, workers());
    std::vector<BasicWorker<double>> all;
    std::vector<std::vector<double>> messages;
    for (std::size_t i = 0; i < workers(); ++i) {
      all.emplace_back(settings_, memory, i, static_cast<std::uint32_t>(i));
      all[i].start(std::vector<double>(kMeasured));
      messages.emplace_back(rules_.doubles->message().floats(kMeasured));
    }
    for (std::int64_t number = 0; number < before_; ++number) exchange(all, messages);
    for (std::size_t i = 0; i < workers(); ++i) put(all[i], state[i]);
    exchange(all, messages);
    State after;
    for (BasicWorker<double>& one : all) after.push_back(taken(one));
    return after;
  }

 private:
  void exchange(std::vector<BasicWorker<double>>& all,
                std::vector<std::vector<double>>& messages) const {
    for (std::size_t i = 0; i < workers(); ++i) all[i].offer(0, messages[i]);
    for (std::size_t i = 0; i < workers(); ++i) hear(all[i], i, messages);
  }
  void hear(BasicWorker<double>& worker, std::size_t i,
            const std::vector<std::vector<double>>& messages) const {
    if (meets_) return worker.apply(0, 0, messages[i], messages[1 - i]);
    std::vector<kernels::Weighted<double>> sources{{messages[i].data(), 0}};
    const std::size_t n = workers(), before = (i + n - 1) % n, after = (i + 1) % n;
    for (const std::size_t j : {std::min(before, after), std::max(before, after)})
      sources.push_back({messages[j].data(), 0.25});
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
  WorkerSettings settings_;
  std::int64_t before_ = 0;  // exchanges that send fewer messages
};

State random_state(Experiment& experiment, Stream& stream) {
  State state(experiment.workers());
  for (auto& one : state)
    for (std::size_t k = 0; k < experiment.vectors() * kMeasured; ++k)
      one.push_back(stream.normal());
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
  constexpr double kExact = 1e-9;
  Experiment experiment(listing, rules);
  Stream stream(1);
  const State a = random_state(experiment, stream), b = random_state(experiment, stream);
  const State of_a = experiment.exchange(a), of_b = experiment.exchange(b);
  const State of_sum = experiment.exchange(combined(a, 2.0, b));
  ExchangeFacts facts;
  const State difference = combined(combined(of_sum, -1, of_a), -2, of_b);
  const auto sum_of = [](const State& state) {
    double sum = 0;
    for (const auto& one : state)
      for (const double element : one) sum += element;
    return sum;
  };
  facts.is_finite = std::isfinite(sum_of(of_a) + sum_of(of_b) + sum_of(of_sum));
  facts.is_linear = largest(difference) <= kExact * (1 + largest(of_sum));
  double moved = 0;
  for (std::size_t k = 0; k < kMeasured; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += of_a[i][k] - a[i][k];
    moved = std::max(moved, std::abs(sum));
  }
  facts.conserves_mean = moved <= kExact;
  return facts;
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
