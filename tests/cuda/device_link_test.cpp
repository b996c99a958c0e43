// How processes with a device each get a link, and how runs use it; without a device.
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/cuda/fake_links.hpp"
#include "tests/cuda/strict_backend.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::FakeLinks;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;
using test::strict_backend;

namespace {

/// Imitates MpiRuntime's collective calls between threads.
class Meeting {
 public:
  explicit Meeting(int size) : said_(static_cast<std::size_t>(size)) {}
  std::vector<std::string> gather(int rank, const std::string& text) {
    MutexLock lock(mutex_);
    said_[static_cast<std::size_t>(rank)] = text;
    const int round = round_;
    if (++arrived_ == static_cast<int>(said_.size())) {
      heard_ = said_;
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    while (round_ == round) changed_.wait(mutex_);
    return heard_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> said_ GUARDED_BY(mutex_), heard_ GUARDED_BY(mutex_);
  int arrived_ GUARDED_BY(mutex_) = 0, round_ GUARDED_BY(mutex_) = 0;
};

class FakeMpi final : public MpiRuntime {
 public:
  FakeMpi(Meeting& meeting, int rank, int size) : meeting_(meeting), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  nlohmann::json environment() const override { return {}; }
  std::string broadcast(const std::string& text) override {
    return meeting_.gather(rank_, text).front();
  }
  std::vector<std::string> gather(const std::string& text) override {
    return meeting_.gather(rank_, text);
  }
  std::unique_ptr<Transport> connect(const MpiTransportOptions&) override { return nullptr; }
  void library_sum(std::span<float>) override {}
  void assemble(double, const std::function<void(int)>&) override {}
  void finish(bool) override {}
  [[noreturn]] void abort(int) override { std::abort(); }

 private:
  Meeting& meeting_;
  const int rank_, size_;
};

class FakeNccl final : public NcclRuntime {
 public:
  std::string version() const override { return "2.0.0"; }
  std::string new_id() const override {
    ++ids;
    return std::string("\0\xff\x80 id\n", 7);
  }
  std::unique_ptr<DeviceLink> connect(const std::string& id, int device, int rank,
                                      std::vector<ProcessPlace> places) const override {
    if (id == std::string("\0\xff\x80 id\n", 7) && device == 7 &&
        places.at(static_cast<std::size_t>(rank)).rank == rank)
      ++connected;
    return std::make_unique<Nothing>();
  }
  mutable std::atomic<int> ids{0}, connected{0};

 private:
  class Nothing final : public DeviceLink {
    void swap(int, std::span<const float>, std::span<float>) override {}
    bool done() override { return true; }
    void abort() noexcept override {}
  };
};

/// The result of each of the processes with these ends.
std::vector<DeviceConnection> connect_all(const std::vector<DeviceEnd>& ends) {
  const int size = static_cast<int>(ends.size());
  Meeting meeting(size);
  std::vector<ProcessPlace> places;
  for (int rank = 0; rank < size; ++rank) places.push_back({rank, "node", 100 + rank});
  std::vector<DeviceConnection> connections(ends.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      FakeMpi mpi(meeting, rank, size);
      const auto k = static_cast<std::size_t>(rank);
      connections[k] = connect_devices(mpi, ends[k], places);
    });
  for (std::thread& thread : threads) thread.join();
  return connections;
}

}  // namespace

TEST_CASE("processes with a device each are linked, by one id that rank 0 makes") {
  const FakeNccl nccl;
  const auto connections =
      connect_all({{&nccl, "", 7, "a"}, {&nccl, "", 7, "b"}, {&nccl, "", 7, "c"}});
  for (const DeviceConnection& connection : connections) {
    CHECK(connection.link != nullptr);
    CHECK(connection.why_not == "");
  }
  CHECK(nccl.ids == 1);
  CHECK(nccl.connected == 3);
}

TEST_CASE("no process is linked when one cannot be, and all know why") {
  const FakeNccl nccl;
  const DeviceEnd first{&nccl, "", 0, "a"}, second{&nccl, "", 0, "b"};
  const auto check_unlinked = [](const std::vector<DeviceEnd>& ends, const char* why) {
    for (const DeviceConnection& connection : connect_all(ends)) {
      CHECK(connection.link == nullptr);
      CHECK_THAT(connection.why_not, ContainsSubstring(why) && ContainsSubstring("worker"));
    }
  };
  check_unlinked({first, {nullptr, "no libnccl.so.2", 0, "b"}}, "no libnccl.so.2");
  check_unlinked({first, second, first}, "share one GPU");
  check_unlinked({{nullptr, "", 0, ""}, second}, "worker 0");
  CHECK(nccl.ids == 0);
}

TEST_CASE("mpi: with a link, offers are swapped between devices, and the run replays bit for bit") {
  for (const char* algorithm : {"ad-psgd", "a2cid2"})
    for (const int workers : {2, 3, 6}) {
      INFO(algorithm << ", n = " << workers);
      Replayable run(
          {.algorithm = algorithm, .workers = workers, .rate = 1.5, .gradients = 200 * workers});
      run.spec.backend = &strict_backend();
      FakeLinks links(workers);
      Processes processes{run.spec, run.task};
      processes.options.resize(static_cast<std::size_t>(workers));
      for (int rank = 0; rank < workers; ++rank)
        processes.options[static_cast<std::size_t>(rank)].link = &links.at(rank);
      MemoryRecorder recorder, again;
      const Outcome recorded = processes.run(recorder);
      check_no_errors(processes);
      REQUIRE(recorded.ending == Ending::finished);
      CHECK(recorded.exchanges_done == recorded.exchanges_drawn);
      CHECK(links.swaps() == recorded.exchanges_done);
      CHECK(links.aborts() == 0);
      CHECK(links.complaint() == "");
      CHECK(strict_backend().complaint() == "");
      CHECK(strict_backend().allocated() == 0);
      run.spec.backend = &cpu_backend();
      ReplayScript script = test::script_of(recorder, workers);
      script.shared_clock = false;
      test::check_same_end(run.replay(script, again), recorded);
      CHECK(test::difference(again, recorder, workers) == "");
    }
}

TEST_CASE(
    "mpi: a link that fails ends the run, names the partner, and gives the memory back first") {
  Replayable run({.workers = 3, .rate = 2, .gradients = 1'000'000});
  run.spec.backend = &strict_backend();
  FakeLinks links(3);
  Processes processes{run.spec, run.task};
  processes.options.resize(3);
  for (int rank = 0; rank < 3; ++rank)
    processes.options[static_cast<std::size_t>(rank)].link = &links.at(rank);
  processes.meanwhile = [&](LocalCluster&) {
    for (int wait = 0; links.swaps() < 5 && wait < 60'000; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    links.fail(1);
  };
  MemoryRecorder recorder;
  processes.run(recorder);
  CHECK_THAT(processes.errors[1], ContainsSubstring("the link broke"));
  CHECK(processes.errors[0] != "");
  CHECK(processes.errors[2] != "");
  CHECK(links.aborts() >= 1);
  CHECK(strict_backend().allocated() == 0);
}
