// Measures how fast the store takes what a run records.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "store/writer.hpp"

namespace acid::bench {
namespace {

constexpr double kLeastPerSecond = 500'000;
constexpr int kWorkers = 16;
constexpr std::size_t kPortion = 1024;  // events that a driver records at once
// Limits the queue, so that the store's speed is measured and not the memory's.
constexpr std::size_t kUnwritten = 100'000;

RunRecord run_to_write() {
  RunRecord run;
  run.digest = sha256_hex("acid-bench");
  run.id = run.digest.substr(0, 12);
  run.algorithm = run.label = "ad-psgd";
  run.settings = nlohmann::json::object();
  run.driver = "virtual";
  run.topology = "ring";
  run.workers = kWorkers;
  run.budget_gradients = 1'000'000;
  return run;
}

// As many values as a sample with an evaluation has, or one of the frequent samples between.
std::vector<Value> values_of_a_sample(bool evaluated) {
  std::vector<Value> values{{"consensus_distance", kWholeRun, 0.5}};
  if (!evaluated) return values;
  for (const char* metric : {"train_loss", "eval_loss", "eval_accuracy", "learning_rate",
                             "staleness", "exchanges", "bytes_sent"})
    values.push_back({metric, kWholeRun, 0.25});
  for (int worker = 0; worker < kWorkers; ++worker) values.push_back({"idle_share", worker, 0.125});
  return values;
}

std::size_t record_points(RunWriter& writer, std::size_t count, bool evaluated) {
  std::vector<Value> values = values_of_a_sample(evaluated);
  std::size_t written = 0, unwritten = 0;
  for (std::int64_t tick = 1; written < count; ++tick) {
    for (Value& value : values) value.value *= 1.000001;
    const auto place = static_cast<double>(tick);
    writer.sample({tick * kWorkers, place, 0.05 * place, tick * 1'000'000}, values);
    written += values.size();
    unwritten += values.size();
    if (unwritten >= kUnwritten) writer.flush(), unwritten = 0;
  }
  writer.flush();
  return written;
}

std::size_t record_events(RunWriter& writer, std::size_t count) {
  std::vector<Event> portion(kPortion);
  std::size_t written = 0, unwritten = 0;
  for (std::int64_t first = 0; written < count; first += static_cast<std::int64_t>(kPortion))
    for (int worker = 0; worker < kWorkers && written < count; ++worker) {
      for (std::size_t k = 0; k < kPortion; ++k)
        portion[k] = {EventKind::exchange, static_cast<double>(written + k), written + k,
                      static_cast<std::uint32_t>(k)};
      writer.events(worker, first, portion);
      written += kPortion;
      unwritten += kPortion;
      if (unwritten >= kUnwritten) writer.flush(), unwritten = 0;
    }
  writer.flush();
  return written;
}

// Writes this many bytes into a new file in the simplest way, down to the disk.
void write_bare(const std::string& path, std::size_t bytes) {
  const auto check = [&](bool good, const char* doing) {
    if (!good) throw Error(fmt::format("cannot {} {}: {}", doing, path, std::strerror(errno)));
  };
  const std::vector<char> block(1 << 20, 'a');
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  check(file >= 0, "make");
  for (std::size_t left = bytes; left > 0;) {
    const ssize_t written = write(file, block.data(), std::min(left, block.size()));
    check(written > 0, "write");
    left -= static_cast<std::size_t>(written);
  }
  check(fsync(file) == 0, "write");
  close(file);
}

/// One kind of record: each round writes a new store, then a bare file of as many bytes.
class Recording {
 public:
  using Record = std::function<std::size_t(RunWriter&)>;
  explicit Recording(Record record) : record_(std::move(record)) {}

  Sample write() {
    const Scratch scratch;
    const RunRecord run = run_to_write();
    Store store(scratch.path("store"), Store::Access::write);
    store.add_experiment({run.id, "bench", "bench", "", run.digest, {}, "", nullptr}, {run});
    const std::int64_t attempt =
        store.begin_attempt(run.id, Lease::of_this_process(), nullptr, nullptr, {});
    const auto size = [&] { return std::filesystem::file_size(store.folder() + "/store.db"); };
    const auto before = size();
    std::optional<RunWriter> writer(std::in_place, store.folder(), run.id, attempt);
    const Stopwatch watch;
    count_ = static_cast<double>(record_(*writer));
    writer.reset();
    store.end_attempt(attempt, {});  // moves the records into the store's file, on the disk
    const Sample sample{count_ / watch.seconds()};
    cpu.push_back({count_ / watch.cpu_seconds()});
    bytes_ = static_cast<std::size_t>(size() - before);
    return sample;
  }
  // Every other round measures in reverse order: there the bare file comes first and has the size
  // of the round before.
  Sample write_bare_file() {
    const Scratch scratch;
    const Stopwatch watch;
    write_bare(scratch.path("file"), bytes_);
    return {count_ / watch.seconds()};
  }
  double bytes_per_record() const { return static_cast<double>(bytes_) / count_; }

  std::vector<Sample> cpu;  // by round, per second of processor time

 private:
  Record record_;
  double count_ = 0;
  std::size_t bytes_ = 0;
};

void measure_records(Bench& bench, const std::string& what, Recording recording) {
  const auto samples = bench.interleave(
      what, {[&] { return recording.write(); }, [&] { return recording.write_bare_file(); }});
  const std::string peer =
      fmt::format("write() and fsync(), {:.0f} bytes each", recording.bytes_per_record());
  bench.add({what, "1/s", peer, value_at_least(kLeastPerSecond), samples[0], samples[1]});
  bench.add({what + ", per processor second", "1/s", {}, {}, recording.cpu});
}

}  // namespace

Measure prepare_store(CLI::App& app) {
  const auto points = add_option(app, "--points", std::size_t{500'000}, "Metric points in a round");
  const auto events = add_option(app, "--events", std::size_t{2'000'000}, "Events in a round");
  return [points, events](Bench& bench) {
    for (const bool evaluated : {true, false})
      measure_records(
          bench, fmt::format("metric points, {} to a sample", evaluated ? 24 : 1),
          Recording([&](RunWriter& writer) { return record_points(writer, *points, evaluated); }));
    measure_records(bench, "events",
                    Recording([&](RunWriter& writer) { return record_events(writer, *events); }));
  };
}

}  // namespace acid::bench
