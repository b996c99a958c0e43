#include "bench/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/interruption.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/drivers/mpi/thread_seconds.hpp"

namespace acid::bench {
namespace {

constexpr double kQuietSeconds = 1, kSecondsBetweenDrawings = 0.2, kSecondsBetweenLines = 10;

double wall_seconds() { return SteadyClock().seconds(); }

double spent(Stopwatch::Cpu cpu) {
  return cpu == Stopwatch::Cpu::thread ? thread_seconds() : cpu_seconds();
}

std::vector<double> values_of(std::span<const Sample> samples) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.value);
  return values;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  ACID_ASSERT(!values.empty(), "no values");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

Spread measured_spread(const Row& row) { return spread_of(values_of(row.measured)); }

std::optional<Spread> peer_spread(const Row& row) {
  if (row.peers.empty()) return std::nullopt;
  return spread_of(values_of(row.peers));
}

std::optional<Spread> ratio_spread(const Row& row) {
  if (row.peers.empty()) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t k = 0; k < row.measured.size(); ++k)
    ratios.push_back(row.measured[k].value / row.peers[k].value);
  return spread_of(std::move(ratios));
}

std::optional<double> cpu_seconds_per_gradient(std::span<const Sample> samples) {
  std::vector<double> values;
  for (const Sample& sample : samples)
    if (sample.cpu_seconds_per_gradient) values.push_back(*sample.cpu_seconds_per_gradient);
  if (values.empty()) return std::nullopt;
  return spread_of(std::move(values)).median;
}

std::optional<double> cpu_ratio(const Row& row) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < row.peers.size(); ++k)
    if (row.measured[k].cpu_seconds_per_gradient && row.peers[k].cpu_seconds_per_gradient)
      ratios.push_back(*row.measured[k].cpu_seconds_per_gradient /
                       *row.peers[k].cpu_seconds_per_gradient);
  if (ratios.empty()) return std::nullopt;
  return spread_of(std::move(ratios)).median;
}

std::optional<bool> met(const Row& row) {
  if (!row.wanted) return std::nullopt;
  const auto ratio = ratio_spread(row);
  ACID_ASSERT(ratio || row.wanted->of == Wanted::Of::value, "'{}' wants a ratio to nothing",
              row.what);
  const double reached =
      row.wanted->of == Wanted::Of::ratio ? ratio->median : measured_spread(row).median;
  return row.wanted->sense == Wanted::Sense::at_least ? reached >= row.wanted->bound
                                                      : reached <= row.wanted->bound;
}

Stopwatch::Stopwatch(Cpu cpu) : cpu_(cpu), begun_(wall_seconds()), cpu_begun_(spent(cpu)) {}
double Stopwatch::seconds() const { return wall_seconds() - begun_; }
double Stopwatch::cpu_seconds() const { return spent(cpu_) - cpu_begun_; }

Bench::Bench(const Options& options, bool terminal) : options_(options), terminal_(terminal) {}
Bench::~Bench() { clear_progress(); }

std::vector<std::vector<Sample>> Bench::interleave(const std::string& what,
                                                   const std::vector<Side>& sides) {
  std::vector<std::vector<Sample>> samples(sides.size());
  next_progress_ = wall_seconds() + kQuietSeconds;
  for (int round = 0; round < options_.rounds; ++round)
    for (std::size_t k = 0; k < sides.size(); ++k) {
      throw_if_interrupted();
      show_progress(what, round);
      const std::size_t side = round % 2 == 0 ? k : sides.size() - 1 - k;
      samples[side].push_back(sides[side]());
    }
  throw_if_interrupted();
  clear_progress();
  return samples;
}

void Bench::compare(Row row, const Side& measured, const Side& peer) {
  std::vector<Side> sides{measured};
  if (peer) sides.push_back(peer);
  auto samples = interleave(row.what, sides);
  row.measured = std::move(samples[0]);
  if (peer) row.peers = std::move(samples[1]);
  add(std::move(row));
}

void Bench::add(Row row) {
  ACID_ASSERT(
      !row.measured.empty() && (row.peers.empty() || row.peers.size() == row.measured.size()),
      "'{}': {} rounds, {} of its peer", row.what, row.measured.size(), row.peers.size());
  row.command = command_;
  rows_.push_back(std::move(row));
}

void Bench::note(const std::string& text) {
  clear_progress();
  fmt::print(stderr, "{}: {}\n", command_, text);
}

void Bench::show_progress(const std::string& what, int round) {
  const double now = wall_seconds();
  if (now < next_progress_) return;
  next_progress_ = now + (terminal_ ? kSecondsBetweenDrawings : kSecondsBetweenLines);
  const std::string line =
      fmt::format("{}: {}, round {} of {}", command_, what, round + 1, options_.rounds);
  fmt::print(stderr, "{}{}", terminal_ ? "\r" : "", line);
  fmt::print(stderr, "{}", terminal_ ? "\x1b[K" : "\n");
  std::fflush(stderr);
  drawn_ = terminal_;
}

void Bench::clear_progress() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace acid::bench
