// How long synchronous rounds take: compared with recurrences written separately, through the clock
// alone and through the driver.
#include "engine/drivers/virtual/round_clock.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using namespace acid::test;

namespace {

using Row = std::vector<double>;
using Table = std::vector<Row>;
using Neighbours = std::vector<std::vector<int>>;

/// The same costs for all workers' messages of a leg.
std::vector<std::shared_ptr<const MessageCosts>> alike(MessageCosts costs) {
  return {std::make_shared<const MessageCosts>(std::move(costs))};
}

/// CORRECTNESS 29, literally. Worker, bucket.
struct Recurrence {
  Row S;
  Table end, done;
  Recurrence(std::size_t n, std::size_t B) : S(n, 0.0), end(n, Row(B, 0.0)), done(n, Row(B, 0.0)) {}

  void all_reduce(const Row& F, const Table& g, const Row& U, const Row& c) {
    double end_b = 0;
    for (std::size_t b = 0; b < c.size(); ++b) {
      double ready = 0;
      for (std::size_t i = 0; i < S.size(); ++i) {
        double own = S[i] + F[i];
        for (std::size_t k = 0; k <= b; ++k) own += g[i][k];
        ready = std::max(ready, own);
      }
      end_b = std::max(ready, end_b) + c[b];
    }
    for (std::size_t i = 0; i < S.size(); ++i) S[i] = end_b + U[i];
  }

  void decentralised(const Row& F, const Table& g, const Table& u, const Table& c,
                     const Neighbours& partners) {
    const std::size_t B = done[0].size();
    for (std::size_t i = 0; i < S.size(); ++i) {  // the exchanges of the iteration before
      double free = end[i].back();
      for (std::size_t b = 0; b < B; ++b) {
        double begin = std::max(free, done[i][b]);
        for (const int j : partners[i])
          begin = std::max(begin, done[static_cast<std::size_t>(j)][b]);
        free = end[i][b] = begin + c[i][b];
      }
    }
    for (std::size_t i = 0; i < S.size(); ++i) {
      double before = S[i] + F[i];
      for (std::size_t b = 0; b < B; ++b)
        before = done[i][b] = std::max(before + g[i][b], end[i][b]) + u[i][b];
      S[i] = before;
    }
  }
  double last() const { return *std::max_element(S.begin(), S.end()); }
};

Neighbours circle(int n) {
  Neighbours list;
  for (int i = 0; i < n; ++i)
    list.push_back(n == 2 ? std::vector<int>{1 - i}
                          : std::vector<int>{(i + n - 1) % n, (i + 1) % n});
  return list;
}

Neighbours everybody_else(int n) {
  Neighbours list(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (i != j) list[static_cast<std::size_t>(i)].push_back(j);
  return list;
}

/// The recurrence's result for gradients of these durations.
struct Pieces {
  Row F, U;
  Table g, u;
  Pieces(const Row& durations, double forward, double optimizer, const Row& shares) {
    for (const double d : durations) {
      F.push_back(d * forward);
      U.push_back(d * optimizer);
      Row backward, update;
      for (const double share : shares) {
        backward.push_back(d * (1 - forward) * share);
        update.push_back(d * optimizer * share);
      }
      g.push_back(backward);
      u.push_back(update);
    }
  }
};

std::vector<RoundWork> work_of(const Row& durations, double optimizer) {
  std::vector<RoundWork> work;
  for (const double d : durations) work.push_back({d, d * optimizer});
  return work;
}

/// Seconds per round in steady state.
template <class Round>
double pace(int warm_up, int rounds, Round round) {
  double warm = 0, end = 0;
  for (int k = 0; k < warm_up; ++k) warm = round(k);
  for (int k = 0; k < rounds; ++k) end = round(warm_up + k);
  return (end - warm) / rounds;
}

/// A round of the driver takes exactly what the recurrence says, to 1e-9.
void compare_driver(Setup& setup, const std::vector<double>& expected) {
  setup.spec.cadence.consensus_every = 1;
  setup.spec.budget.gradients =
      static_cast<std::int64_t>(expected.size()) * static_cast<std::int64_t>(setup.workers);
  setup.run();
  const auto& samples = setup.recorder.series("consensus_distance");
  REQUIRE(samples.size() == expected.size() + 1);  // the start is one
  for (std::size_t k = 0; k < expected.size(); ++k) {
    INFO("round " << k);
    CHECK(samples[k + 1].position.seconds == Approx(expected[k]).epsilon(1e-9));
  }
}

const Leg kReduce = Round("gradient say hear step").leg(0);
const Leg kMix = Round(kCombineWhileAdapt).leg(0);

constexpr double kVectorBytes = 4000;

/// Lognormal durations, a slow worker, unequal buckets and an optimiser, on a ring with one slow
/// link.
void enrich(Setup& setup, const char* algorithm, int workers) {
  setup.algorithm = algorithm;
  setup.workers = workers;
  setup.task = {{"dimension", kVectorBytes / 4}};
  setup.virtual_time.compute.kind = ComputeKind::lognormal;
  setup.virtual_time.compute.parameter = 0.4;
  setup.virtual_time.compute.gradient_seconds = 0.5;
  setup.virtual_time.compute.slow_factors.assign(static_cast<std::size_t>(workers), 1.0);
  setup.virtual_time.compute.slow_factors[0] = 1.5;
  setup.virtual_time.cost = {.forward_share = 0.25,
                             .optimizer_share = 0.3,
                             .first_bucket_bytes = 500,
                             .bucket_bytes = 1500};
  setup.virtual_time.network.link = {0.01, 50'000};
  setup.virtual_time.network.edges[{0, 1}] = {0.05, 20'000};
}
const Row kRichShares = {0.125, 0.375, 0.375, 0.125};

Row drawn(const Setup& setup, int round) {
  Row durations;
  for (int w = 0; w < setup.workers; ++w)
    durations.push_back(setup.virtual_time.compute.draw_seconds(w, round, Seeds(setup.seed)));
  return durations;
}

}  // namespace

TEST_CASE("buckets are PyTorch's: 1 MiB first, then 25 MiB, or as many equal ones as wanted") {
  const CostModel usual;
  constexpr double kMiB = 1 << 20;
  CHECK(usual.bucket_shares(1000) == Row{1});
  CHECK(usual.bucket_shares(kMiB) == Row{1});
  CHECK(usual.bucket_shares(4 * kMiB) == Row{0.25, 0.75});
  CHECK(usual.bucket_shares(64 * kMiB) == Row{1.0 / 64, 25.0 / 64, 25.0 / 64, 13.0 / 64});
  CHECK(CostModel{.buckets = 4}.bucket_shares(1000) == Row(4, 0.25));
  CHECK(CostModel{.first_bucket_bytes = 500, .bucket_bytes = 1500}.bucket_shares(kVectorBytes) ==
        kRichShares);
}

TEST_CASE("CORRECTNESS 29: the clock of rounds follows the recurrences, to 1e-9") {
  Stream stream(29, 0);
  for (const int n : {1, 2, 3, 7, 16})
    for (const Row& shares : {Row{1}, Row(4, 0.25), kRichShares}) {
      INFO(n << " workers, " << shares.size() << " buckets");
      const double forward = stream.uniform(), optimizer = stream.uniform();
      Recurrence reduced(static_cast<std::size_t>(n), shares.size()), mixed = reduced;
      RoundClock reduce(n, forward, shares), mix(n, forward, shares);
      Row c;
      Table each(static_cast<std::size_t>(n));
      std::vector<NeighbourCost> costs;
      for (std::size_t b = 0; b < shares.size(); ++b) c.push_back(stream.uniform());
      for (Row& own : each) {
        costs.push_back({stream.uniform() / 4, stream.uniform()});
        for (const double share : shares) own.push_back(costs.back().seconds(share));
      }
      const Neighbours partners = n == 1 ? Neighbours(1) : circle(n);
      for (int round = 0; round < 30; ++round) {
        Row durations;
        for (int i = 0; i < n; ++i) durations.push_back(2 * stream.exponential());
        const Pieces p(durations, forward, optimizer, shares);
        const auto work = work_of(durations, optimizer);
        reduced.all_reduce(p.F, p.g, p.U, c);
        mixed.decentralised(p.F, p.g, p.u, each, partners);
        CHECK(reduce.advance(kReduce, work, alike({.bucket_seconds = c, .of_gradients = true})) ==
              Approx(reduced.last()).epsilon(1e-9));
        CHECK(mix.advance(kMix, work, alike({partners, costs})) ==
              Approx(mixed.last()).epsilon(1e-9));
        for (int i = 0; i < n; ++i) {
          CHECK(reduce.ready_seconds(i) ==
                Approx(reduced.S[static_cast<std::size_t>(i)]).epsilon(1e-9));
          CHECK(mix.ready_seconds(i) == Approx(mixed.S[static_cast<std::size_t>(i)]).epsilon(1e-9));
        }
      }
    }
}

TEST_CASE("CORRECTNESS 29: the driver's all-reduce rounds follow the recurrence, to 1e-9") {
  for (const int n : {2, 3, 7}) {
    INFO(n << " workers");
    Setup setup;
    enrich(setup, "ar-sgd", n);
    Row c;
    for (const double share : kRichShares)
      c.push_back(setup.virtual_time.network.all_reduce_seconds(n, share * kVectorBytes));
    Recurrence expected(static_cast<std::size_t>(n), kRichShares.size());
    Row ends;
    for (int round = 0; round < 25; ++round) {
      const Pieces p(drawn(setup, round), 0.25, 0.3, kRichShares);
      expected.all_reduce(p.F, p.g, p.U, c);
      ends.push_back(expected.last());
    }
    compare_driver(setup, ends);
  }
}

TEST_CASE("CORRECTNESS 29: the driver's neighbour averages follow the recurrence, to 1e-9") {
  for (const int n : {2, 3, 7}) {
    INFO(n << " workers");
    Setup setup;
    enrich(setup, "d-psgd", n);
    // A worker's transfers share its link; worker 0 and 1 have the slow one, too.
    Table c;
    for (int i = 0; i < n; ++i) {
      const double slow = i < 2 ? 1 : 0, usual = (n == 2 ? 1 : 2) - slow;
      Row own;
      for (const double share : kRichShares)
        own.push_back((slow > 0 ? 0.05 : 0.01) +
                      share * kVectorBytes * (slow / 20'000 + usual / 50'000));
      c.push_back(own);
    }
    Recurrence expected(static_cast<std::size_t>(n), kRichShares.size());
    Row ends;
    for (int round = 0; round < 25; ++round) {
      const Pieces p(drawn(setup, round), 0.25, 0.3, kRichShares);
      expected.decentralised(p.F, p.g, p.u, c, circle(n));
      ends.push_back(expected.last());
    }
    compare_driver(setup, ends);
  }
}

TEST_CASE("CORRECTNESS 29: equal workers and buckets take the closed forms' time") {
  constexpr double F = 1, g = 0.5, B = 4, G = B * g;
  for (const double U : {0.0, 1.0})
    for (const double c : {0.1, 0.5, 0.75, 1.0}) {
      INFO("U = " << U << ", c = " << c);
      const double reduced = std::max(F + G + c, F + g + B * c) + U;
      const double mixed = std::max({F + G + U, B * c, c + U / B});
      const Row shares(4, 0.25);
      const auto work = work_of(Row(8, F + G), U / (F + G));
      RoundClock reduce(8, F / (F + G), shares), mix(8, F / (F + G), shares);
      CHECK(pace(5, 5, [&](int) {
              return reduce.advance(kReduce, work,
                                    alike({.bucket_seconds = Row(4, c), .of_gradients = true}));
            }) == Approx(reduced).epsilon(1e-9));
      const std::vector<NeighbourCost> costs(8, {c, 0});
      CHECK(pace(30, 10, [&](int) {
              return mix.advance(kMix, work, alike({everybody_else(8), costs}));
            }) == Approx(mixed).epsilon(1e-9));

      const auto driven = [&](const char* algorithm, double latency,
                              AllReduceKind kind = AllReduceKind::ring) {
        Setup setup;
        setup.algorithm = algorithm;
        setup.task = {{"dimension", 1}};
        setup.virtual_time.compute.gradient_seconds = F + G;
        setup.virtual_time.cost = {
            .forward_share = F / (F + G), .optimizer_share = U / (F + G), .buckets = 4};
        setup.virtual_time.network.link.latency_seconds = latency;
        setup.virtual_time.network.all_reduce = kind;
        setup.spec.cadence.consensus_every = 1;
        setup.spec.budget.gradients = 8 * 40;
        const Outcome outcome = setup.run();
        return (outcome.position.seconds -
                setup.recorder.series("consensus_distance").at(30).position.seconds) /
               10;
      };
      CHECK(driven("ar-sgd", c / 14) == Approx(reduced).epsilon(1e-9));  // 2(n − 1) latencies
      CHECK(driven("d-psgd", c) == Approx(mixed).epsilon(1e-9));
      // acid's own messages to neighbours are whole.
      CHECK(driven("d-psgd", 4 * c, AllReduceKind::direct) ==
            Approx(std::max(F + G + U, 4 * c + U)).epsilon(1e-9));
    }
}

TEST_CASE("buckets of a direct all-reduce travel side by side, their bytes one after the other") {
  constexpr double kWay = 0.1, kBytes = 0.2;  // latency of a way, and what a bucket's bytes take
  MessageCosts costs{.bucket_seconds = Row(2, 2 * (kWay + kBytes))};
  costs.way_seconds = kWay;
  const auto ends = [&](const Row& said) { return costs.all_reduced(said); };
  CHECK(ends({0, 9})[0] == Approx(2 * (kWay + kBytes)));
  CHECK(ends({0, 9})[1] == Approx(9 + 2 * (kWay + kBytes)));
  // The sum of the first leaves when the second's parts have: the link is never idle.
  CHECK(ends({0, 0})[1] == Approx(4 * kBytes + kWay));
  CHECK(ends({0, 0.25})[1] == Approx(4 * kBytes + kWay + 0.05));
  // Over a long way both sums come back together.
  costs.bucket_seconds = Row(2, 2 * (1 + kBytes));
  costs.way_seconds = 1;
  CHECK(ends({0, 0})[0] == Approx(2 * (1 + kBytes)));
  CHECK(ends({0, 0})[1] == Approx(2 + 3 * kBytes));
}

TEST_CASE("CORRECTNESS 29: jitter costs an all-reduce its maximum, neighbours much less",
          "[release]") {
  ComputeModel compute;  // 3 · (1 + an exponential of mean 0.3)
  compute.kind = ComputeKind::shifted_exponential;
  compute.parameter = 1 / 1.3;
  compute.gradient_seconds = 3.9;
  constexpr int n = 8, kWarmUp = 500, kRounds = 40'000;
  constexpr std::uint64_t kSeed = 29;
  const auto work = [&](int round) {
    Row durations;
    for (int w = 0; w < n; ++w) durations.push_back(compute.draw_seconds(w, round, Seeds(kSeed)));
    return work_of(durations, 0);
  };
  const Row shares(4, 0.25);
  const std::vector<NeighbourCost> costs(n, {0.1, 0});
  RoundClock reduce(n, 1.0 / 3, shares), complete = reduce, ring = reduce;
  const double reduced = pace(kWarmUp, kRounds, [&](int k) {
    return reduce.advance(kReduce, work(k),
                          alike({.bucket_seconds = Row(4, 0.1), .of_gradients = true}));
  });
  const double mixed = pace(kWarmUp, kRounds, [&](int k) {
    return complete.advance(kMix, work(k), alike({everybody_else(n), costs}));
  });
  const double mixed_on_ring = pace(kWarmUp, kRounds, [&](int k) {
    return ring.advance(kMix, work(k), alike({circle(n), costs}));
  });
  INFO("seed " << kSeed << ": " << reduced << " " << mixed << " " << mixed_on_ring);
  double harmonic = 0, squares = 0;
  for (int k = 1; k <= n; ++k) {
    harmonic += 1.0 / k;
    squares += 1.0 / (k * k);
  }
  const double standard_error = 0.9 * std::sqrt(squares / kRounds);
  CHECK(std::abs(reduced - (3 + 0.9 * harmonic + 0.1)) < 3 * standard_error);
  CHECK(reduced == Approx(5.55).margin(0.02));
  CHECK(mixed == Approx(4.17).margin(0.03));
  CHECK(mixed_on_ring == Approx(4.10).margin(0.03));
  CHECK(mixed_on_ring < mixed);
}

TEST_CASE("CORRECTNESS 29: a permanent straggler drags synchronous neighbours to its own pace") {
  Setup setup;
  setup.algorithm = "d-psgd";
  setup.virtual_time.compute.gradient_seconds = 3;
  setup.virtual_time.compute.slow_factors = {2, 1, 1, 1, 1, 1, 1, 1};
  setup.virtual_time.cost = {.forward_share = 1.0 / 3, .buckets = 4};
  setup.virtual_time.network.link.latency_seconds = 0.1;
  setup.spec.cadence.consensus_every = 1;
  setup.spec.budget.gradients = 8 * 40;
  const double end = setup.run().position.seconds;
  const double warm = setup.recorder.series("consensus_distance").at(30).position.seconds;
  CHECK((end - warm) / 10 == Approx(6).epsilon(1e-9));
}

TEST_CASE("the optimiser's time is on top of the gradient, for every method alike") {
  for (const auto& [algorithm, order] : {std::pair{"ar-sgd", ""},
                                         {"d-psgd", "combine-while-adapt"},
                                         {"d-psgd", "adapt-then-combine"},
                                         {"ad-psgd", ""},
                                         {"a2cid2", ""}}) {
    INFO(algorithm << " " << order);
    Setup setup;
    setup.algorithm = algorithm;
    if (*order != 0) setup.options = {{"order", order}};
    setup.virtual_time.compute.gradient_seconds = 0.5;
    setup.virtual_time.cost.optimizer_share = 0.5;
    setup.spec.budget.gradients = 8 * 100;
    const Outcome outcome = setup.run();
    CHECK(outcome.position.seconds == Approx(100 * 0.75).epsilon(1e-9));
    CHECK(outcome.position.normalised_time == Approx(100).epsilon(1e-9));
    double idle = 0;
    for (const double seconds : outcome.worker_idle_seconds) idle += seconds;
    CHECK(idle == Approx(0).margin(1e-9));
  }
}
