// Values that do not fit a lattice are sent beside the messages, under every driver.
#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/drivers/mpi_fixture.hpp"

namespace acid::test {
namespace {

constexpr int kDimension = 5000;  // two checks
constexpr std::int64_t kMessage = 4 * (1 + 2 + kDimension / 4), kWhole = 4 * kDimension;

void on_lattice(Setup& setup, double spacing, double latency) {
  setup.workers = 4;
  setup.task = {{"dimension", kDimension}, {"initial_spread", 1.0}, {"noise", 0.1}};
  if (spacing > 0)
    setup.options["codec"] = {
        {"kind", "lattice"}, {"bits", 8}, {"spacing", spacing}, {"error_feedback", false}};
  setup.virtual_time.network.link.latency_seconds = latency;
  setup.spec.schedule.learning_rate = 0.01;
  setup.spec.budget.gradients = 80;
}

/// The progress of a run, as reported by any thread.
class Told {
 public:
  explicit Told(MemoryRecorder& recorder) {
    recorder.when_progress = [this](const Position& here) {
      MutexLock lock(mutex_);
      positions_.push_back(here);
    };
  }
  std::vector<Position> positions() EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    return positions_;
  }

 private:
  Mutex mutex_;
  std::vector<Position> positions_ GUARDED_BY(mutex_);
};

struct Course {
  std::vector<Position> told;
  Outcome outcome;
};

/// The setup under a driver, and its progress.
Course course_of(Setup& setup, const std::string& driver) {
  setup.on_threads = driver == "threads";
  Course course;
  if (driver != "mpi") {
    Told told(setup.recorder);
    course.outcome = setup.run();
    course.told = told.positions();
    return course;
  }
  setup.run();  // fills in the run
  const Topology graph = make_topology(setup.workers, setup.topology);
  setup.spec.topology = &graph;
  Processes processes{.spec = setup.spec, .task = setup.task};
  MemoryRecorder recorder;
  Told told(recorder);
  course.outcome = processes.run(recorder);
  check_no_errors(processes);
  course.told = told.positions();
  return course;
}

std::int64_t exchanges(const Outcome& outcome) {
  std::int64_t all = 0;
  for (const EdgeUse& edge : outcome.edges) all += edge.count;
  return all;
}

}  // namespace

TEST_CASE("CORRECTNESS 26: bytes of a lattice are those of its messages and of what does not fit") {
  for (const double latency : {0.0, 0.2})
    for (const bool on_threads : {false, true}) {
      INFO((on_threads ? "threads" : "virtual") << ", latency " << latency);
      Setup plain, never, always, sometimes;
      on_lattice(plain, 0, latency);
      on_lattice(never, 1, latency);
      on_lattice(always, 1e-30, latency);
      on_lattice(sometimes, 0.008, latency);
      for (Setup* setup : {&plain, &never, &always, &sometimes}) setup->on_threads = on_threads;
      const Outcome fits = never.run(), broken = always.run(), mixed = sometimes.run();
      CHECK(fits.position.bytes == exchanges(fits) * 2 * kMessage);
      CHECK(broken.position.bytes == exchanges(broken) * 2 * (kMessage + kWhole));
      CHECK(mixed.position.bytes > exchanges(mixed) * 2 * kMessage);
      CHECK(mixed.position.bytes < exchanges(mixed) * 2 * (kMessage + kWhole));
      CHECK(mixed.position.bytes ==
            static_cast<std::int64_t>(sometimes.recorder.last("bytes_sent")));
      // Values that never fit travel unpacked.
      if (!on_threads) CHECK(broken.worker_digests == plain.run().worker_digests);
    }
}

TEST_CASE("a budget in bytes has what does not fit, on any number of threads") {
  std::vector<Outcome> outcomes;
  for (const int threads : {0, 3}) {
    Setup setup;
    on_lattice(setup, 0.008, 0.2);
    setup.virtual_time.threads = threads;
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.bytes = 2e6;
    outcomes.push_back(setup.run());
    CHECK(outcomes.back().position.bytes >= 2'000'000);
    CHECK(outcomes.back().position.bytes < 2'000'000 + 8 * (kMessage + kWhole));
  }
  CHECK(outcomes[0].worker_digests == outcomes[1].worker_digests);
  CHECK(outcomes[0].position.bytes == outcomes[1].position.bytes);
}

TEST_CASE("CORRECTNESS 26: in rounds a lattice has the same bits and bytes under every driver") {
  // With 4 workers: D-PSGD on a ring has 8 messages in an exchange, a perfect matching 4. In a
  // one-way one-peer graph each is heard by one other. In an epidemic each draws two that hear it;
  // it hears some of these but not all, and others hear more of them.
  const struct {
    const char* algorithm;
    nlohmann::json options, topology;
    std::int64_t messages;
  } cases[] = {
      {"d-psgd", {{"order", "combine-while-adapt"}}, {{"kind", "ring"}}, 20 * 8},
      {"d-psgd", {{"order", "adapt-then-combine"}}, {{"kind", "ring"}}, 20 * 8},
      {"swarm-sgd-fixed", {{"steps", 1}}, {{"kind", "complete"}}, 20 * 4},
      {"d-psgd", {}, {{"kind", "one-peer-exponential"}, {"directed", true}}, 20 * 4},
      {"d-psgd", {}, {{"kind", "epidemic"}, {"form", "local"}, {"peers", 2}}, 20 * 8},
      {"local-sgd", {{"steps", 2}}, {{"kind", "ring"}}, 10 * 12},
  };
  for (const auto& [algorithm, options, topology, messages] : cases) {
    INFO(algorithm << options.dump() << topology.dump());
    const auto run = [&, name = algorithm, &given = options, &graph = topology](double spacing,
                                                                                bool on_threads) {
      Setup setup;
      setup.algorithm = name;
      setup.options = given;
      setup.topology = graph;
      on_lattice(setup, spacing, 0.2);
      setup.on_threads = on_threads;
      return setup.run();
    };
    const Outcome fits = run(1, false), broken = run(1e-30, false), mixed = run(0.008, false);
    CHECK(fits.position.bytes == messages * kMessage);
    CHECK(broken.position.bytes == messages * (kMessage + kWhole));
    CHECK(mixed.position.bytes > messages * kMessage);
    CHECK(mixed.position.bytes < messages * (kMessage + kWhole));
    CHECK(broken.worker_digests == run(0, false).worker_digests);  // the rest travels unpacked
    const Outcome on_threads = run(0.008, true);
    CHECK(on_threads.worker_digests == mixed.worker_digests);
    CHECK(on_threads.position.bytes == mixed.position.bytes);
    Setup again;
    again.algorithm = algorithm;
    again.options = options;
    again.topology = topology;
    on_lattice(again, 0.008, 0);
    const Outcome as_processes = run_as_processes(again);
    CHECK(as_processes.worker_digests == mixed.worker_digests);
    CHECK(as_processes.position.bytes == mixed.position.bytes);
    CHECK(again.recorder.last("bytes_sent") == static_cast<double>(mixed.position.bytes));
  }
}

TEST_CASE("CORRECTNESS 26: a server hears a lattice around 0, under every driver") {
  // A message, and the server's model in reply.
  const auto bytes = [](const Outcome& outcome, bool again) {
    return outcome.exchanges_drawn * (kMessage + (again ? kWhole : 0) + kWhole);
  };
  const auto a_psgd = [](Setup& setup, double spacing) -> Setup& {
    setup.algorithm = "a-psgd";
    on_lattice(setup, spacing, 0.2);
    return setup;
  };
  Setup plain, never, always;
  const Outcome fits = a_psgd(never, 1).run(), broken = a_psgd(always, 1e-30).run();
  CHECK(fits.exchanges_drawn == 80);
  CHECK(fits.position.bytes == bytes(fits, false));
  CHECK(broken.position.bytes == bytes(broken, true));
  CHECK(broken.worker_digests == a_psgd(plain, 0).run().worker_digests);  // sent unpacked
  for (const char* const driver : {"virtual", "threads", "mpi"}) {
    INFO(driver);
    Setup sometimes;
    const Outcome mixed = course_of(a_psgd(sometimes, 0.02), driver).outcome;
    CHECK(mixed.position.bytes > bytes(mixed, false));
    CHECK(mixed.position.bytes < bytes(mixed, true));
  }
}

TEST_CASE("in rounds all drivers tell the same bytes of every leg while it goes on") {
  for (const char* const order : {"combine-while-adapt", "adapt-then-combine"}) {
    std::map<std::int64_t, std::int64_t> bytes{{0, 0}};  // by gradients
    for (const char* const driver : {"virtual", "threads", "mpi"}) {
      INFO(order << " on " << driver);
      Setup setup;
      setup.algorithm = "d-psgd";
      setup.options["order"] = order;
      on_lattice(setup, 0.008, 0.2);
      const Course course = course_of(setup, driver);
      if (driver == std::string("virtual"))
        for (const Position& here : course.told) bytes[here.gradients] = here.bytes;
      for (const Position& here : course.told) CHECK(here.bytes == bytes.at(here.gradients));
      REQUIRE(course.told.size() >= 20);
      CHECK(course.told.back().gradients == 80);
      CHECK(course.told.back().bytes == course.outcome.position.bytes);
    }
  }
}

TEST_CASE("a run without rounds tells bytes that never fall and come near those of its end") {
  constexpr int kGradients = 320;
  for (const char* const algorithm : {"ad-psgd", "a-psgd"})
    for (const char* const driver : {"virtual", "threads", "mpi"}) {
      INFO(algorithm << " on " << driver);
      Setup setup;
      setup.algorithm = algorithm;
      on_lattice(setup, 1e-30, 0.2);  // nothing fits
      setup.spec.cadence.consensus_every = 10;
      // What the throttle lets wait is done at the end, and is little of so many.
      setup.spec.budget.gradients = kGradients;
      const Course course = course_of(setup, driver);
      REQUIRE(!course.told.empty());
      const std::int64_t most = std::ranges::max(course.told, {}, &Position::bytes).bytes;
      const std::int64_t end = course.outcome.position.bytes;
      CHECK(most > end / 2);
      CHECK(most <= end);
      if (driver != std::string("threads"))  // threads may report in another order than they commit
        CHECK(std::ranges::is_sorted(course.told, {}, &Position::bytes));
      // A message that fits is a fifth of one that does not.
      for (const Position& here : course.told)
        if (driver == std::string("virtual") && here.gradients >= 32)
          CHECK(2.0 * static_cast<double>(here.bytes) >
                static_cast<double>(end * here.gradients) / kGradients);
    }
}

TEST_CASE("in rounds a budget in bytes has what does not fit, on any number of threads") {
  for (const int threads : {0, 3, -1}) {  // the last: a thread of each worker
    Setup setup;
    setup.algorithm = "d-psgd";
    on_lattice(setup, 0.008, 0.2);
    setup.on_threads = threads < 0;
    setup.virtual_time.threads = std::max(0, threads);
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.bytes = 2e6;
    const Outcome outcome = setup.run();
    CHECK(outcome.position.bytes >= 2'000'000);
    CHECK(outcome.position.bytes < 2'000'000 + 3 * 8 * (kMessage + kWhole));
  }
}

}  // namespace acid::test
