#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;
using test::kAccelerated;
using test::kAverage;
using test::Mixing;
using test::Workers;

TEST_CASE("CORRECTNESS 1: mixing is the matrix exponential, a semigroup, and keeps x + x̃") {
  constexpr double kEta = 0.3;
  // From (x, x̃) = (0, 1), which an exchange with α = 0 and α̃ = 1 leaves.
  const auto mixed = [&](std::initializer_list<double> times) {
    Workers pair(2, 1, {.alpha = 0, .alpha_tilde = 1, .eta = kEta});
    pair[0].start(std::vector<double>{0.0});
    pair[1].start(std::vector<double>{1.0});
    BasicWorker<double>::exchange(pair[0], pair[1], 0);
    for (const double t : times) pair[0].finish(t);
    return std::pair(pair[0].x()[0], pair[0].slot("x_tilde")[0]);
  };
  for (const double t : {0.0, 0.1, 1.0, 7.5}) {
    // exp(t·η[[−1, 1], [1, −1]]) = [[1 − c, c], [c, 1 − c]].
    const auto [x, x_tilde] = mixed({t});
    CHECK(x == Approx((1 - std::exp(-2 * kEta * t)) / 2).margin(1e-15));
    CHECK(x + x_tilde == Approx(1));
    CHECK(mixed({0.77, 0.77 + t}).first == Approx(mixed({0.77 + t}).first).margin(1e-12));
  }
}

TEST_CASE("CORRECTNESS 1: a worker's mixing keeps x + x̃ and shrinks x − x̃") {
  Workers workers(2, 65, kAccelerated);
  workers.start_random(1);
  BasicWorker<double>::exchange(workers[0], workers[1], 0.5);  // now x ≠ x̃
  std::vector<double> sum, difference;
  for (std::size_t k = 0; k < 65; ++k) {
    sum.push_back(workers[0].x()[k] + workers[0].slot("x_tilde")[k]);
    difference.push_back(workers[0].x()[k] - workers[0].slot("x_tilde")[k]);
  }
  workers[0].finish(2.0);
  for (std::size_t k = 0; k < 65; ++k) {
    CHECK(workers[0].x()[k] + workers[0].slot("x_tilde")[k] == Approx(sum[k]).margin(1e-12));
    CHECK(workers[0].x()[k] - workers[0].slot("x_tilde")[k] ==
          Approx(difference[k] * std::exp(-2 * kAccelerated.eta * 1.5)).margin(1e-12));
  }
  CHECK_THROWS_AS(workers[0].finish(1.0), AssertionError);  // time never runs backwards
}

TEST_CASE("CORRECTNESS 3: sums over workers survive every event, partners applying apart") {
  Workers workers(4, 7, kAccelerated);
  workers.start_random(3);
  const double before = workers.sum_at(0, 3);
  Stream stream(4);
  double t = 0;
  std::vector<double> offer_i(7), offer_j(7);
  for (int event = 0; event < 400; ++event) {
    t += stream.exponential();
    const int i = static_cast<int>(stream.below(4));
    const int j = (i + 1 + static_cast<int>(stream.below(3))) % 4;
    double stored = 0;
    for (int w = 0; w < 4; ++w) stored += workers[w].x()[3] + workers[w].slot("x_tilde")[3];
    CHECK(stored == Approx(2 * before).margin(1e-9));
    workers[i].offer(t, offer_i);
    workers[j].offer(t, offer_j);
    workers[i].apply(t + 0.2, t, offer_i, offer_j);
    workers[j].apply(t + 0.9, t, offer_j, offer_i);
    t += 0.9;
    CHECK(workers.sum_at(t, 3) == Approx(before).margin(1e-9));
  }
}

TEST_CASE("applying late is exactly as if it had happened at the offers") {
  for (const double late : {0.0, 0.3, 2.0}) {
    Workers at_once(2, 5, kAccelerated), delayed(2, 5, kAccelerated);
    at_once.start_random(5);
    delayed.start_random(5);
    std::vector<double> oi(5), oj(5);
    BasicWorker<double>::exchange(at_once[0], at_once[1], 0.4);
    delayed[0].offer(0.4, oi);
    delayed[1].offer(0.4, oj);
    delayed[0].apply(0.4 + late, 0.4, oi, oj);
    delayed[1].apply(0.4, 0.4, oj, oi);
    for (int w = 0; w < 2; ++w) {
      at_once[w].finish(5);
      delayed[w].finish(5);
      for (std::size_t k = 0; k < 5; ++k)
        CHECK(delayed[w].x()[k] == Approx(at_once[w].x()[k]).margin(1e-12));
    }
  }
}

TEST_CASE("the one-pass exchange has the bits of offer and apply") {
  for (const Mixing mixing : {kAverage, kAccelerated})
    for (const std::size_t size : {0u, 1u, 63u, 64u, 65u}) {
      WorkerSettings settings;
      settings.dimension = size;
      settings.follow(mixing.rules());
      settings.decay = {{0, size, 0}};
      std::vector<float> x(size), y(size), oi(size), oj(size);
      Stream stream(6);
      for (std::size_t k = 0; k < size; ++k) {
        x[k] = static_cast<float>(stream.normal());
        y[k] = static_cast<float>(stream.normal());
      }
      WorkerMemory<float> memory(settings, 4);
      Worker a(settings, memory, 0), b(settings, memory, 1), c(settings, memory, 2),
          d(settings, memory, 3);
      a.start(x), c.start(x), b.start(y), d.start(y);
      for (const double t : {0.0, 0.3, 1.7}) {
        Worker::exchange(a, b, t);
        c.offer(t, oi);
        d.offer(t, oj);
        c.apply(t, t, oi, oj);
        d.apply(t, t, oj, oi);
      }
      for (std::size_t k = 0; k < size; ++k) {
        CHECK(a.x()[k] == c.x()[k]);
        CHECK(b.x()[k] == d.x()[k]);
      }
    }
}

TEST_CASE("CORRECTNESS 4: with α̃ = ½, as on complete graphs, A²CiD² is AD-PSGD for any η") {
  // x̃ always equals x, so mixing changes nothing. A vanishing η stands for 0, with which x̃ is not
  // kept.
  const double eta = GENERATE(1e-300, 0.05, 2.0);
  const Mixing mixing{.alpha = 0.5, .alpha_tilde = 0.5, .eta = eta};
  Workers with(3, 64, mixing), without(3, 64, kAverage);
  with.start_random(8);
  without.start_random(8);
  Stream stream(9);
  double t = 0;
  for (int event = 0; event < 50; ++event) {
    t += stream.exponential();
    const int i = static_cast<int>(stream.below(3)), j = (i + 1) % 3;
    BasicWorker<double>::exchange(with[i], with[j], t);
    BasicWorker<double>::exchange(without[i], without[j], t);
  }
  for (int w = 0; w < 3; ++w)
    for (std::size_t k = 0; k < 64; ++k) {
      CHECK(with[w].x()[k] == without[w].x()[k]);
      CHECK(with[w].slot("x_tilde")[k] == with[w].x()[k]);
    }
  CHECK(without[0].slot("x_tilde").empty());
}

TEST_CASE("CORRECTNESS 5: an exchange leaves both partners at the average of their offers") {
  WorkerSettings settings;
  settings.dimension = 1000;
  settings.follow(Mixing{.alpha = 0.5, .alpha_tilde = 1.9, .eta = 0.1}.rules());
  settings.decay = {{0, 1000, 0}};
  Stream stream(10);
  std::vector<float> x(1000), y(1000), oi(1000), oj(1000);
  for (std::size_t k = 0; k < 1000; ++k) {
    x[k] = static_cast<float>(stream.normal());
    y[k] = static_cast<float>(stream.normal());
  }
  WorkerMemory<float> memory(settings, 2);
  Worker i(settings, memory, 0), j(settings, memory, 1);
  i.start(x);
  j.start(y);
  i.offer(0.5, oi);
  j.offer(0.5, oj);
  std::vector<float> tildes;
  for (std::size_t k = 0; k < 1000; ++k)
    tildes.push_back(i.slot("x_tilde")[k] + j.slot("x_tilde")[k]);
  i.apply(0.5, 0.5, oi, oj);
  j.apply(0.5, 0.5, oj, oi);
  for (std::size_t k = 0; k < 1000; ++k) {
    const float largest = std::max(std::abs(oi[k]), std::abs(oj[k]));
    const float ulp = std::nextafter(largest, INFINITY) - largest;
    CHECK(std::abs(i.x()[k] - (oi[k] + oj[k]) / 2) <= ulp);
    CHECK(std::abs(j.x()[k] - (oi[k] + oj[k]) / 2) <= ulp);
    CHECK(i.slot("x_tilde")[k] + j.slot("x_tilde")[k] == Approx(tildes[k]).margin(1e-5));
  }
}

TEST_CASE("CORRECTNESS 6: an AD-PSGD exchange lowers the spread by half the pair's distance") {
  Workers workers(5, 3, kAverage);
  workers.start_random(11);
  Stream stream(12);
  for (int event = 0; event < 100; ++event) {
    const int i = static_cast<int>(stream.below(5)), j = (i + 1) % 5;
    double distance = 0;
    for (std::size_t k = 0; k < 3; ++k)
      distance += std::pow(workers[i].x()[k] - workers[j].x()[k], 2);
    const double before = workers.spread();
    BasicWorker<double>::exchange(workers[i], workers[j], event);
    CHECK(before - workers.spread() == Approx(distance / 2).margin(1e-12));
  }
}

TEST_CASE("CORRECTNESS 12: a gradient step leaves x − x̃ alone, decay and momentum included") {
  OptimizerSettings optimizer;
  optimizer.momentum = 0.9;
  optimizer.weight_decay = 0.1;
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw}) {
    optimizer.kind = kind;
    Workers workers(2, 9, kAccelerated, optimizer);
    workers.start_random(13);
    BasicWorker<double>::exchange(workers[0], workers[1], 1.0);
    std::vector<double> g(9), difference;
    for (std::size_t k = 0; k < 9; ++k)
      difference.push_back(workers[0].x()[k] - workers[0].slot("x_tilde")[k]);
    Stream stream(14);
    for (int step = 0; step < 5; ++step) {
      for (double& value : g) value = stream.normal();
      workers[0].begin_gradient(1.0);
      workers[0].commit_gradient(1.0, g, 0.1);  // no time passes, so nothing mixes
    }
    for (std::size_t k = 0; k < 9; ++k)
      CHECK(workers[0].x()[k] - workers[0].slot("x_tilde")[k] ==
            Approx(difference[k]).margin(1e-12));
  }
}

TEST_CASE("CORRECTNESS 20: pairwise gossip on the complete graph contracts by 1 − 1/(n − 1)") {
  for (const auto& [n, expected] : {std::pair{4, 2.0 / 3}, {8, 6.0 / 7}, {16, 14.0 / 15}}) {
    Workers start(n, 1, kAverage);
    start.start_random(15);
    const double before = start.spread();
    double after = 0;
    int pairs = 0;
    for (int i = 0; i < n; ++i)  // every pair once: the expectation, not a sample
      for (int j = i + 1; j < n; ++j, ++pairs) {
        Workers workers(n, 1, kAverage);
        workers.start_random(15);
        BasicWorker<double>::exchange(workers[i], workers[j], 0);
        after += workers.spread();
      }
    CHECK(after / pairs / before == Approx(expected).epsilon(1e-10));
  }
}

TEST_CASE("CORRECTNESS 20: a one-sided pull would not keep the mean") {
  Workers workers(2, 1, kAverage);
  workers.start_random(16);
  const double before = workers.sum_at(0, 0);
  std::vector<double> oi(1), oj(1);
  workers[0].offer(0, oi);
  workers[1].offer(0, oj);
  workers[0].apply(0, 0, oi, oj);
  CHECK(std::abs(workers.sum_at(0, 0) - before) > 1e-3);  // half an exchange is one
  workers[1].apply(0, 0, oj, oi);
  CHECK(workers.sum_at(0, 0) == Approx(before).margin(1e-12));
}

TEST_CASE("CORRECTNESS 16: a ring renumbered by rotation gives the rotated result") {
  constexpr int kWorkers = 7, kShift = 3;
  const auto run = [](int shift) {
    OptimizerSettings optimizer;
    optimizer.momentum = 0.9;
    Workers workers(kWorkers, 5, kAccelerated, optimizer);
    const auto renumbered = [shift](int i) { return (i + shift) % kWorkers; };
    std::vector<Stream> streams;
    for (int i = 0; i < kWorkers; ++i) {
      streams.emplace_back(derive_seed(1, static_cast<std::uint32_t>(i), Purpose::gradient_noise));
      std::vector<double> x0(5);
      for (double& value : x0) value = streams.back().normal();
      workers[renumbered(i)].start(x0);
    }
    const Topology ring = make_topology(kWorkers, {{"kind", "ring"}});
    EdgeSchedule edges(ring, 1.0, Seeds(1));
    Stream who(2);
    for (int event = 0; event < 500; ++event) {
      const DueEdge due = edges.pop();
      BasicWorker<double>::exchange(workers[renumbered(due.i)], workers[renumbered(due.j)],
                                    due.due);
      const int i = static_cast<int>(who.below(kWorkers));
      std::vector<double> g(5);
      for (double& value : g) value = streams[static_cast<std::size_t>(i)].normal();
      BasicWorker<double>& worker = workers[renumbered(i)];
      worker.begin_gradient(due.due);
      worker.commit_gradient(due.due, g, 0.01);
    }
    std::vector<std::vector<double>> x;
    for (int i = 0; i < kWorkers; ++i)
      x.emplace_back(workers[renumbered(i)].x().begin(), workers[renumbered(i)].x().end());
    return x;
  };
  CHECK(run(0) == run(kShift));
}
