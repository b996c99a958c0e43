#include "engine/drivers/threads/round_samples.hpp"

#include <algorithm>

namespace acid {
namespace {

constexpr double kMostBytes = 256 << 20;  // of copies of models
constexpr int kMostSamples = 64, kMostToEvaluate = 3;

int most_samples(const RunSpec& spec, std::size_t dimension) {
  const double bytes = 4.0 * spec.workers * static_cast<double>(dimension);
  return static_cast<int>(std::clamp(kMostBytes / std::max(1.0, bytes), 1.0, double{kMostSamples}));
}

}  // namespace

RoundSamples::RoundSamples(const RunSpec& spec, std::size_t dimension, const SampleTimes& times)
    : spec_(spec), most_(most_samples(spec, dimension)), times_(times) {}

// A sample by the clock is where the last worker reaches it, so the next is due only after that.
bool RoundSamples::take(std::int64_t leg, const Position& here) {
  MutexLock lock(mutex_);
  if (awaited_ || !times_.due(here)) return false;
  open_[leg].evaluates = times_.evaluates(here.normalised_time);
  if (!spec_.cadence.at_gradients && times_.next_seconds() < kNever)
    awaited_ = true;
  else
    times_.pass(here, spec_.workers);
  return true;
}

// Earlier samples have room: the first worker that came here has left its parts of them.
bool RoundSamples::is_room_for(const Sample& sample) const {
  return with_room_ < most_ && (!sample.evaluates || to_evaluate_ < kMostToEvaluate);
}

RoundSamples::Sample* RoundSamples::room_for(std::int64_t leg) {
  MutexLock lock(mutex_);
  Sample& sample = open_.at(leg);
  while (!closed_ && !sample.has_room && !is_room_for(sample)) changed_.wait(mutex_);
  if (closed_) return nullptr;
  if (sample.has_room) return &sample;
  sample.has_room = true;
  ++with_room_;
  if (sample.evaluates) ++to_evaluate_;
  const auto n = static_cast<std::size_t>(spec_.workers);
  sample.x.resize(n);
  sample.buffers.resize(n);
  sample.gradients.resize(n);
  changed_.notify_all();
  return &sample;
}

void RoundSamples::copy(int w, const Worker& worker, Sample& sample) {
  const auto i = static_cast<std::size_t>(w);
  sample.x[i].resize(worker.x().size());
  worker.read_at(worker.last_event(), 0, sample.x[i]);
  sample.buffers[i].assign(worker.buffers().begin(), worker.buffers().end());
  sample.gradients[i] = worker.gradients();
}

void RoundSamples::complete(std::int64_t leg, const Position& here) {
  Sample sample = std::move(open_.extract(leg).mapped());
  sample.totals.position = here;
  sample.totals.learning_rate = spec_.learning_rate(here);
  sample.totals.position.bytes += sample.extra_bytes;
  if (awaited_) times_.pass(here, spec_.workers);
  awaited_ = false;
  const bool evaluates = sample.evaluates;
  whole_.add(std::move(sample), evaluates);  // waits for nothing: the sample has room
}

void RoundSamples::evaluated(const Sample& sample) {
  whole_.recorded();
  MutexLock lock(mutex_);
  --with_room_;
  if (sample.evaluates) --to_evaluate_;
  changed_.notify_all();
}

void RoundSamples::close() {
  whole_.close();
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void RoundSamples::abandon() {
  whole_.abandon();
  close();
}

}  // namespace acid
