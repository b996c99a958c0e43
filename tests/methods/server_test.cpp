// How a server's listing handles arrivals, in double precision.
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/methods/walk.hpp"

using namespace acid;
using nlohmann::json;

namespace {

constexpr std::size_t kSize = 5;

/// A worker or a server, from x = 1, that hears the other's messages.
struct One {
  One(const Rules& rules, std::uint32_t number) {
    settings.dimension = kSize;
    settings.decay = {{0, kSize, 0.0}};
    settings.follow(rules);
    memory = std::make_unique<WorkerMemory<double>>(settings, 1);
    worker = std::make_unique<BasicWorker<double>>(settings, *memory, 0, number);
    worker->start(std::vector<double>(kSize, 1.0));
  }
  void hear(const std::vector<double>& own, const std::vector<double>& other, StepSize arrival) {
    const kernels::Weighted<double> sources[] = {{own.data(), 1}, {other.data(), 1}};
    worker->hear(0, {.sources = sources, .arrival = arrival.number > 0 ? &arrival : nullptr});
  }
  std::vector<double> say() const {
    std::vector<double> out(settings.rules.doubles->message().floats(kSize));
    worker->offer(0, out);
    return out;
  }
  WorkerSettings settings;
  std::unique_ptr<WorkerMemory<double>> memory;
  std::unique_ptr<BasicWorker<double>> worker;
};

std::vector<double> difference(int arrival) {
  std::vector<double> out(kSize);
  for (std::size_t k = 0; k < kSize; ++k)
    out[k] = std::sin(3.0 * arrival + static_cast<double>(k)) / (1 + arrival);
  return out;
}

/// The largest difference between async-diloco's server and `next`, which gets x, a difference and
/// the number of its arrival, from 1.
template <class Next>
double parts_from(const json& options, Next next) {
  const AlgorithmEntry& entry = *find_algorithm("async-diloco");
  const Method method = entry.make(with_fallbacks(entry.fields, options), nullptr);
  One server(*method.server, 1);
  std::vector<double> x(kSize, 1.0);
  double largest = 0;
  for (int arrival = 1; arrival <= 40; ++arrival) {
    const std::vector<double> delta = difference(arrival);
    server.hear(delta, delta, {0.1, arrival, 0});
    next(x, delta, arrival);
    const std::vector<double> reply = server.say();
    for (std::size_t k = 0; k < kSize; ++k) largest = std::max(largest, std::abs(reply[k] - x[k]));
  }
  return largest;
}

}  // namespace

TEST_CASE("CORRECTNESS 36: delayed Nesterov with N = 1 and c = 0 is Nesterov") {
  std::vector<double> m(kSize);
  const auto nesterov = [&](std::vector<double>& x, const std::vector<double>& delta, int) {
    for (std::size_t k = 0; k < kSize; ++k) {
      m[k] = 0.9 * m[k] + delta[k];
      x[k] -= 0.1 * (delta[k] + 0.9 * m[k]);
    }
  };
  CHECK(parts_from({{"period", 1}, {"c", 0.0}}, nesterov) < 1e-13);
  m.assign(kSize, 0);
  CHECK(parts_from({{"period", 2}, {"c", 0.0}}, nesterov) > 1e-3);
}

// Algorithm 3 of 2401.09135.
TEST_CASE("async-diloco's momentum moves every N arrivals, of which each has its share") {
  const double n = 4, c = 0.1, beta = 0.9, eta = 0.1;
  std::vector<double> m(kSize), sum(kSize);
  CHECK(parts_from({{"period", n}, {"c", c}},
                   [&](std::vector<double>& x, const std::vector<double>& delta, int arrival) {
                     const bool due = arrival % 4 == 0;
                     for (std::size_t k = 0; k < kSize; ++k) {
                       sum[k] += delta[k];
                       if (due) m[k] = beta * m[k] + sum[k] / n;
                       x[k] -= eta * ((due ? 1 - c * n + c : c) * beta * m[k] + delta[k] / n);
                       if (due) sum[k] = 0;
                     }
                   }) < 1e-13);
}

// The rule of HALoS with K = 3, one hub, against a loop.
TEST_CASE("halos merges a hub, whose momentum is its own, with the server above it") {
  const AlgorithmEntry& entry = *find_algorithm("halos");
  const Method method = entry.make(
      with_fallbacks(entry.fields, {{"hubs", 1}, {"every", 3}, {"period_hub", 4}, {"period", 2}}),
      nullptr);
  REQUIRE(method.hubs.has_value());
  CHECK(method.hubs->every == 3);
  One hub(*method.server, 1), above(method.hubs->above, 2);
  struct Nesterov {
    double x = 1, m = 0, delta = 0;
    void take(double update, bool due, double n, double eta, double beta) {
      delta += update;
      x -= eta * update;
      if (!due) return;
      m = beta * m + delta / n;
      x -= eta * n * beta * m;
      delta = 0;
    }
  };
  std::vector<Nesterov> hubs(kSize), tops(kSize);
  std::vector<double> merged(kSize, 1.0), said(kSize);
  for (int arrival = 1; arrival <= 24; ++arrival) {
    const std::vector<double> update = difference(arrival);
    hub.hear(update, update, {0.1, arrival, 0});
    for (std::size_t k = 0; k < kSize; ++k) hubs[k].take(update[k], arrival % 4 == 0, 4, 0.2, 0.9);
    if (arrival % 3 == 0) {
      hub.worker->say_by(*method.hubs->visit.doubles, 0, said);
      above.hear(said, said, {0.1, arrival / 3, 0});
      const std::vector<double> reply = above.say();
      const kernels::Weighted<double> sources[] = {{said.data(), 1}, {reply.data(), 1}};
      hub.worker->hear_by(*method.hubs->visit.doubles, 0, {.sources = sources});
      for (std::size_t k = 0; k < kSize; ++k) {
        tops[k].take(merged[k] - hubs[k].x, arrival % 6 == 0, 2, 0.15, 0.5);
        merged[k] = hubs[k].x = 0.75 * hubs[k].x + 0.25 * tops[k].x;
        CHECK(reply[k] == Approx(tops[k].x).margin(1e-12));
      }
    }
    for (std::size_t k = 0; k < kSize; ++k)
      CHECK(hub.worker->x()[k] == Approx(hubs[k].x).margin(1e-12));
  }
}

TEST_CASE("a worker and its server may send each other different things") {
  const json table = {
      {"name", "weighted"},
      {"peers", "server"},
      {"keep", {{"phi", "x"}}},
      {"scalars", {{"all", 0}}},
      {"parameters", {{"weight", 3}}},
      {"send", {"weight", "x - phi", "x"}},
      {"hear", {"all = theirs(1)", "phi = theirs(2) + 0 * all", "x = theirs(0)"}},
      {"server",
       {{"scalars", {{"total", 0}}},
        {"hear",
         {"total = total + theirs(0)", "x = x + (theirs(0) / total) * theirs(1) * theirs(2)"}},
        {"send", {"x", "total", "2 * x"}}}}};
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings);
  for (const Finding& one : findings) UNSCOPED_INFO(one.path << ": " << one.message);
  REQUIRE(listing.has_value());
  const AlgorithmEntry& entry = listed_entry(*listing);
  const Method method = entry.make(with_fallbacks(entry.fields, json::object()), nullptr);
  CHECK(method.message().vectors == 2);
  One worker(method.rules, 0), server(*method.server, 1);
  for (int exchange = 1; exchange <= 2; ++exchange) {
    const std::vector<double> gradient(kSize, -1.0);
    std::ranges::copy(gradient, worker.worker->gradient().begin());
    worker.worker->begin_gradient(0);
    worker.worker->commit_gradient(0, gradient, 1);
    const std::vector<double> said = worker.say();
    server.hear(said, said, {0.1, exchange, 0});
    worker.hear(said, server.say(), {});
    CHECK(worker.worker->scalars().back() == 3 * exchange);
    // x: 1 + 1·(1·2) = 3 with total 3; then 4 − 6 = −2: 3 + ½·(−2·4) = −1.
    CHECK(worker.worker->x()[kSize - 1] == (exchange == 1 ? 3 : -1));
    CHECK(worker.worker->slot(std::size_t{0})[0] == 2 * worker.worker->x()[0]);
  }
  std::vector<Finding> again;
  json printed = canonical(*listing);
  printed["name"] = "weighted";
  const auto reread = read_listing(printed, again);
  REQUIRE(reread.has_value());
  CHECK(canonical(*reread) == canonical(*listing));
}
