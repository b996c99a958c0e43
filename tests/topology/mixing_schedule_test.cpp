// Schedules of graphs: their sums that are 1, their products, their random draws.
#include "engine/topology/mixing_schedule.hpp"

#include "engine/topology/schedule_numbers.hpp"
#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using namespace acid;
using acid::samples::dense;
using acid::samples::make;
using nlohmann::json;

namespace {

constexpr std::uint64_t kSeed = 11;

Eigen::MatrixXd mean_of(int n) { return Eigen::MatrixXd::Constant(n, n, 1.0 / n); }

Eigen::MatrixXd product(const Topology& graph) {
  const auto n = static_cast<Eigen::Index>(graph.workers());
  Eigen::MatrixXd all = Eigen::MatrixXd::Identity(n, n);
  for (std::int64_t e = 0; e < graph.schedule()->period(); ++e)
    all = dense(graph.schedule()->matrix(e, kSeed)) * all;
  return all;
}

double deviation(const Eigen::VectorXd& sums) { return (sums.array() - 1).abs().maxCoeff(); }

/// Every catalogued schedule of a size, in all forms that its options allow.
std::vector<Topology> schedules(int n) {
  std::vector<Topology> all;
  for (Topology& graph : samples::all_of_size(n))
    if (graph.schedule()) all.push_back(std::move(graph));
  if (n > 1)
    for (const char* form : {"local", "push"}) all.push_back(make("epidemic", n, {{"form", form}}));
  return all;
}

}  // namespace

TEST_CASE("schedules: matrices sum to 1 as they say, are of the graph, and depend on seed alone") {
  const int n = GENERATE(2, 3, 4, 6, 7, 16);
  int seen = 0;
  for (const Topology& graph : schedules(n)) {
    const MixingSchedule& schedule = *graph.schedule();
    INFO(graph.kind() << " n=" << n);
    double sent = 0;
    for (std::int64_t e = 0; e < 12; ++e) {
      const MixingMatrix matrix = schedule.matrix(e, kSeed);
      const Eigen::MatrixXd w = dense(matrix);
      CHECK(w.minCoeff() >= 0);
      if (schedule.stochastic() != Stochastic::columns) CHECK(deviation(w.rowwise().sum()) < 1e-12);
      if (schedule.stochastic() != Stochastic::rows) CHECK(deviation(w.colwise().sum()) < 1e-12);
      CHECK(w == dense(schedule.matrix(e, kSeed)));
      const auto receivers = receivers_of(matrix);
      for (int i = 0; i < n; ++i) {
        int last = -1;
        for (const Neighbour& heard : matrix.neighbours[static_cast<std::size_t>(i)]) {
          CHECK(heard.worker > last);
          last = heard.worker;
          CHECK(graph.adjacent(i, heard.worker));
          const auto& of_sender = receivers[static_cast<std::size_t>(heard.worker)];
          CHECK(std::ranges::count(of_sender, i) == 1);
        }
      }
      sent += static_cast<double>(messages_of(matrix));
      if (schedule.period() > 0) CHECK(w == dense(schedule.matrix(e + schedule.period(), 0)));
    }
    if (schedule.period() > 0 && 12 % schedule.period() == 0)
      CHECK(schedule_numbers(schedule, graph.workers()).messages == Approx(sent / 12));
    ++seen;
  }
  CHECK(seen >= 7);
}

TEST_CASE("CORRECTNESS 18: the product over a period is 11ᵀ/n for n = 2ᵏ, and not for n = 6") {
  for (const int n : {2, 4, 8, 16, 64}) {
    INFO("n=" << n);
    for (const bool directed : {true, false})
      CHECK((product(make("one-peer-exponential", n, {{"directed", directed}})) - mean_of(n))
                .cwiseAbs()
                .maxCoeff() < 1e-15);
    for (int size = 1; size <= n / 2; size *= 2) {
      const Topology graph = make("alternating-exponential-ring", n, {{"workers_per_node", size}});
      CHECK((product(graph) - mean_of(n)).cwiseAbs().maxCoeff() < 1e-15);
    }
  }
  const Topology six = make("one-peer-exponential", 6);
  CHECK((product(six) - mean_of(6)).cwiseAbs().maxCoeff() > 0.01);
  CHECK(*schedule_numbers(*six.schedule(), 6).left > 0.01);
  CHECK(*schedule_numbers(*make("one-peer-exponential", 8).schedule(), 8).left < 1e-7);
  // Three nodes of two are no power of two; one node of six workers is none either.
  CHECK_THROWS_AS(make("alternating-exponential-ring", 6, {{"workers_per_node", 2}}), UsageError);
  CHECK_THROWS_AS(make("alternating-exponential-ring", 6, {{"workers_per_node", 6}}), UsageError);
  CHECK_THROWS_AS(make("one-peer-exponential", 6, {{"directed", false}}), UsageError);
  CHECK((product(make("alternating-exponential-ring", 6, {{"workers_per_node", 3}})) - mean_of(6))
            .cwiseAbs()
            .maxCoeff() < 1e-15);
}

TEST_CASE("schedules: who hears whom is what their names say") {
  const auto heard = [](const Topology& graph, std::int64_t e, int worker) {
    std::vector<int> workers;
    const MixingMatrix matrix = graph.schedule()->matrix(e, kSeed);
    for (const Neighbour& one : matrix.neighbours[static_cast<std::size_t>(worker)])
      workers.push_back(one.worker);
    return workers;
  };
  using List = std::vector<int>;
  const Topology exponential = make("one-peer-exponential", 6);
  CHECK(exponential.schedule()->period() == 3);
  CHECK(heard(exponential, 0, 0) == List{5});
  CHECK(heard(exponential, 2, 0) == List{2});
  CHECK(heard(exponential, 5, 0) == List{2});
  const Topology ring = make("alternating-ring", 6);
  CHECK(heard(ring, 0, 0) == List{1});
  CHECK(heard(ring, 1, 0) == List{5});
  CHECK(heard(ring, 3, 2) == List{1});
  // With 8 nodes two pairs cross the network in each exchange, with 2 nodes one in every other.
  const Topology nodes = make("alternating-exponential-ring", 16, {{"workers_per_node", 2}});
  CHECK(nodes.schedule()->period() == 6);
  CHECK(heard(nodes, 0, 0) == List{1, 2, 3});
  CHECK(heard(nodes, 1, 0) == List{1});
  CHECK(heard(nodes, 0, 4) == List{5});
  const Topology two = make("alternating-exponential-ring", 4, {{"workers_per_node", 2}});
  CHECK(heard(two, 0, 3) == List{0, 1, 2});
  CHECK(heard(two, 1, 3) == List{2});
  const Topology list = make("graphs", 6, {{"graphs", "ring,complete , 1 chain"}});
  CHECK(list.schedule()->period() == 3);
  CHECK(heard(list, 0, 0) == List{1, 5});
  CHECK(heard(list, 1, 0).size() == 5);
  CHECK(heard(list, 5, 0) == List{1});
}

TEST_CASE("graphs: a ring fifteen times and then all, as Gossip-PGA") {
  const Topology graph = make("graphs", 6, {{"graphs", "15 ring, complete"}});
  CHECK(graph.schedule()->period() == 16);
  for (std::int64_t e = 0; e < 32; ++e)
    CHECK(messages_of(graph.schedule()->matrix(e, kSeed)) == (e % 16 == 15 ? 30 : 12));
  CHECK(schedule_numbers(*graph.schedule(), graph.workers()).messages ==
        Approx((15 * 12 + 30) / 16.0));
  CHECK(*schedule_numbers(*graph.schedule(), 6).left < 1e-7);
}

TEST_CASE(
    "CORRECTNESS 20: random pairs of the complete graph leave (n − 2)/(2(n − 1)) of Σ‖x − x̄‖²") {
  const int n = GENERATE(4, 8, 16);
  const auto schedule = make("random-matching", n).schedule();
  constexpr int kDraws = 4000;
  Eigen::MatrixXd squares = Eigen::MatrixXd::Zero(n, n), pairs = squares;
  for (std::int64_t e = 0; e < kDraws; ++e) {
    const Eigen::MatrixXd w = dense(schedule->matrix(e, kSeed));
    squares += w.transpose() * w / kDraws;
    pairs += (w.array() > 0).cast<double>().matrix() / kDraws;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(squares - mean_of(n));
  const double expected = (n - 2.0) / (2 * (n - 1.0));
  CHECK(std::abs(solver.eigenvalues().mean() * n / (n - 1) - expected) < 1e-9);
  CHECK(solver.eigenvalues().maxCoeff() == Approx(expected).epsilon(0.1));
  // Each other worker is equally likely as partner.
  for (Eigen::Index j = 1; j < n; ++j)
    CHECK(std::abs(pairs(0, j) - 1.0 / (n - 1)) < 5 / std::sqrt(kDraws * (n - 1.0)));
  CHECK(schedule_numbers(*schedule, n).expected.chi1 == Approx((n - 1.0) / n).epsilon(0.1));
}

TEST_CASE("random matchings are maximal, and leave out no worker for good") {
  const Topology star = make("random-matching", 7, {{"base", "star"}});
  const Topology chain = make("random-matching", 7, {{"base", "chain"}});
  std::vector<int> met(7);
  for (std::int64_t e = 0; e < 200; ++e) {
    CHECK(messages_of(star.schedule()->matrix(e, kSeed)) == 2);
    const MixingMatrix matrix = chain.schedule()->matrix(e, kSeed);
    for (std::size_t i = 0; i < 7; ++i) {
      met[i] += matrix.neighbours[i].empty() ? 0 : 1;
      if (i > 0) CHECK_FALSE((matrix.neighbours[i].empty() && matrix.neighbours[i - 1].empty()));
    }
  }
  CHECK(*std::ranges::min_element(met) > 40);
  CHECK(*std::ranges::max_element(met) <= 200);
}

TEST_CASE("matchings: a budget's share of the base graph's edges, and W = I − αL of them") {
  for (const double budget : {0.25, 1.0}) {
    const auto schedule = make("matchings", 8, {{"base", "torus"}, {"budget", budget}}).schedule();
    const double all = static_cast<double>(make("torus", 8).edge_count()) * 2;
    CHECK(std::abs(schedule_numbers(*schedule, 8).messages - budget * all) < 0.05 * all);
  }
  const auto all = make("matchings", 6, {{"budget", 1.0}, {"alpha", 0.25}}).schedule();
  const MixingMatrix matrix = all->matrix(3, kSeed);
  CHECK(matrix.self[2] == Approx(0.5));
  CHECK(matrix.neighbours[2][0].worker == 1);
  CHECK(matrix.neighbours[2][1].weight == Approx(0.25));
  const auto drawn = make("matchings", 16, {{"base", "complete"}}).schedule();
  CHECK(dense(drawn->matrix(0, 1)) != dense(drawn->matrix(1, 1)));
  CHECK(dense(drawn->matrix(0, 1)) != dense(drawn->matrix(0, 2)));
  CHECK_THROWS_WITH(make("matchings", 6, {{"alpha", 0.6}}), ContainsSubstring("alpha ≤ 0.5"));
}

TEST_CASE("epidemic: every worker sends to so many, in each form") {
  for (const char* form : {"oracle", "local", "push"}) {
    const auto schedule = make("epidemic", 8, {{"peers", 3}, {"form", form}}).schedule();
    for (std::int64_t e = 0; e < 20; ++e)
      for (const auto& receivers : receivers_of(schedule->matrix(e, kSeed)))
        CHECK(receivers.size() == 3);
  }
  CHECK_THROWS_WITH(make("epidemic", 7, {{"peers", 3}}), ContainsSubstring("local"));
  CHECK_NOTHROW(make("epidemic", 7, {{"peers", 3}, {"form", "local"}}));
}

TEST_CASE("schedules: the expected graph has the numbers of meetings at the same rate") {
  const Spectral ring = spectral(make("ring", 8), 1.0);
  const ScheduleNumbers alternating = schedule_numbers(*make("alternating-ring", 8).schedule(), 8);
  CHECK(alternating.expected.chi1 == Approx(ring.chi1));
  CHECK(alternating.expected.chi2 == Approx(ring.chi2));
  CHECK(alternating.messages == 8);
  CHECK(alternating.period == 2);
  // The first period leaves √½ of some differences, and each later one half of what is left.
  CHECK(*alternating.left == Approx(std::sqrt(0.5)));
  CHECK(mixing_numbers(alternating).rho == Approx(std::sqrt(0.5)));
}

TEST_CASE("a base graph is a kind that does not change and needs no options") {
  CHECK_THROWS_WITH(make("matchings", 6, {{"base", "rnig"}}), ContainsSubstring("no kind"));
  CHECK_THROWS_WITH(make("matchings", 6, {{"base", "edges"}}), ContainsSubstring("options"));
  CHECK_THROWS_WITH(make("random-matching", 6, {{"base", "epidemic"}}),
                    ContainsSubstring("exchange to exchange"));
  CHECK_THROWS_WITH(make("graphs", 6, {{"graphs", "ring,"}}), ContainsSubstring("no kind"));
  CHECK_THROWS_WITH(make("graphs", 6, {{"graphs", "ring chain"}}), ContainsSubstring("commas"));
  CHECK_THROWS_WITH(make("graphs", 6, {{"graphs", "0 ring"}}), ContainsSubstring("1 to"));
}
