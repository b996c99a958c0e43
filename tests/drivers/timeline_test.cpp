// How the workers spend their time, and how stale their gradients are.
#include "engine/run/timeline.hpp"

#include <algorithm>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using namespace acid::test;

namespace {

double seconds_of(const std::vector<Span>& spans, SpanKind kind) {
  double sum = 0;
  for (const Span& span : spans)
    if (span.kind == kind) sum += span.end - span.begin;
  return sum;
}

std::int64_t count_of(const std::vector<Span>& spans, SpanKind kind) {
  return std::count_if(spans.begin(), spans.end(),
                       [kind](const Span& span) { return span.kind == kind; });
}

/// A worker's own actions come one after the other; exchanges may go on beside them.
void check_spans(const Outcome& outcome, int workers) {
  REQUIRE(outcome.worker_spans.size() == static_cast<std::size_t>(workers));
  for (const std::vector<Span>& spans : outcome.worker_spans) {
    double before = 0;
    for (const Span& span : spans) {
      CHECK(span.begin <= span.end);
      CHECK(span.end <= outcome.position.seconds + 1e-9);
      if (span.kind == SpanKind::exchange) continue;
      CHECK(span.begin >= before - 1e-12);
      before = span.end;
    }
  }
}

std::int64_t counted(const Outcome& outcome) {
  return std::accumulate(outcome.staleness.begin(), outcome.staleness.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("an all-reduce makes the fast wait for the slow, and then all exchange") {
  Setup setup;
  setup.algorithm = "ar-sgd";
  setup.workers = 4;
  setup.virtual_time.compute.slow_factors = {3, 1, 1, 1};
  setup.virtual_time.network.link.latency_seconds = 0.125;
  setup.virtual_time.cost = {.forward_share = 0.5, .optimizer_share = 0, .buckets = 1};
  setup.spec.budget.gradients = 40;
  const Outcome outcome = setup.run();
  check_spans(outcome, 4);
  const double exchange = 2 * 3 * 0.125;  // a ring's latency
  const std::vector<Span>& slow = outcome.worker_spans[0];
  CHECK(count_of(slow, SpanKind::compute) == 10);
  CHECK(seconds_of(slow, SpanKind::compute) == Approx(30));
  CHECK(count_of(slow, SpanKind::wait) == 0);
  CHECK(seconds_of(slow, SpanKind::exchange) == Approx(10 * exchange));
  const std::vector<Span>& fast = outcome.worker_spans[2];
  CHECK(seconds_of(fast, SpanKind::compute) == Approx(10));
  CHECK(seconds_of(fast, SpanKind::wait) == Approx(20));
  CHECK(seconds_of(fast, SpanKind::exchange) == Approx(10 * exchange));
  CHECK(outcome.staleness == std::vector<std::int64_t>{40});
}

TEST_CASE("a neighbour average waits for its neighbours alone") {
  Setup setup;
  setup.algorithm = "d-psgd";
  setup.options = {{"order", "adapt-then-combine"}};
  setup.workers = 6;
  setup.virtual_time.compute.slow_factors = {2, 1, 1, 1, 1, 1};
  setup.virtual_time.network.link.latency_seconds = 0.25;
  setup.spec.budget.gradients = 6;
  const Outcome outcome = setup.run();
  check_spans(outcome, 6);
  CHECK(seconds_of(outcome.worker_spans[1], SpanKind::wait) == Approx(1));
  CHECK(count_of(outcome.worker_spans[3], SpanKind::wait) == 0);
  CHECK(seconds_of(outcome.worker_spans[3], SpanKind::exchange) == Approx(0.25));
}

TEST_CASE("asynchronous workers compute beside their exchanges, and a throttled one waits") {
  Setup setup;
  setup.workers = 4;
  setup.topology = {{"kind", "star"}};
  setup.virtual_time.network.link.latency_seconds = 0.6;  // the hub's load is 1.2
  setup.spec.max_backlog = 1;
  setup.spec.budget.gradients = 400;
  const Outcome outcome = setup.run();
  check_spans(outcome, 4);
  double waited = 0;
  for (const std::vector<Span>& spans : outcome.worker_spans) {
    CHECK(count_of(spans, SpanKind::compute) == Timeline::kGradients);
    CHECK(seconds_of(spans, SpanKind::compute) == Approx(Timeline::kGradients));
    for (const Span& span : spans)
      if (span.kind == SpanKind::exchange) CHECK(span.end - span.begin == Approx(0.6));
    waited += seconds_of(spans, SpanKind::wait);
  }
  CHECK(count_of(outcome.worker_spans[0], SpanKind::exchange) > 0);
  CHECK(waited > 0);
}

TEST_CASE("on threads as in virtual time spans add up, and every gradient has a staleness") {
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd", "a2cid2"}) {
    INFO(algorithm);
    Setup setup;
    setup.algorithm = algorithm;
    setup.workers = 3;
    setup.on_threads = true;
    setup.spec.budget.gradients = 300;
    const Outcome outcome = setup.run();
    check_spans(outcome, 3);
    // On threads an early starter may have computed the whole budget before another begins.
    std::int64_t computed = 0;
    for (const std::vector<Span>& spans : outcome.worker_spans) {
      CHECK(count_of(spans, SpanKind::compute) <= Timeline::kGradients);
      computed += count_of(spans, SpanKind::compute);
    }
    CHECK(computed >= Timeline::kGradients);
    CHECK(counted(outcome) == 300);
  }
}

TEST_CASE("staleness is that of the exchanges between a snapshot and its commit") {
  Setup setup;
  setup.algorithm = "ad-psgd";
  setup.options = {{"communication_rate", 2.0}};
  setup.workers = 8;
  setup.spec.budget.gradients = 8000;
  const Outcome outcome = setup.run();
  CHECK(counted(outcome) == 8000);
  double mean = 0;
  for (std::size_t s = 0; s < outcome.staleness.size(); ++s)
    mean += static_cast<double>(s) * static_cast<double>(outcome.staleness[s]) / 8000;
  CHECK(mean == Approx(2).epsilon(0.05));  // two exchanges a gradient, on average
}

TEST_CASE("a timeline is bounded") {
  Timeline timeline(1000);
  for (int k = 0; k < 1000; ++k) {
    timeline.add(0, SpanKind::compute, k, k + 1);
    timeline.add(1, SpanKind::exchange, k, k);
    timeline.add(999, SpanKind::compute, k, k + 1);
  }
  const auto spans = timeline.take();
  REQUIRE(spans.size() == Timeline::kMostWorkers);
  CHECK(spans[0].size() == Timeline::kGradients);
  CHECK(spans[1].size() == Timeline::kMostSpans);
}
