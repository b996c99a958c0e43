#include "engine/drivers/threads/round_samples.hpp"

#include <algorithm>

namespace acid {
namespace {

// Copies of all models that may wait for parts or for evaluation.
constexpr double kMostBytes = 256 << 20;
constexpr std::size_t kFewest = 2, kMost = 64;

std::size_t most_samples(const RunSpec& spec, std::size_t dimension) {
  const double bytes =
      4.0 * spec.workers * static_cast<double>(std::max<std::size_t>(1, dimension));
  return std::clamp(static_cast<std::size_t>(kMostBytes / bytes), kFewest, kMost);
}

}  // namespace

RoundSamples::RoundSamples(const RunSpec& spec, std::size_t dimension)
    : spec_(spec), most_(most_samples(spec, dimension)), times_(spec.cadence) {}

void RoundSamples::resume_at(const SampleTimes& times) {
  MutexLock lock(mutex_);
  times_ = times;
}

// By the clock a sample is where the last worker comes to it, so the next is due only after that.
bool RoundSamples::take(const Position& here) {
  MutexLock lock(mutex_);
  if (awaited_ || !times_.due(here)) return false;
  if (times_.next_seconds() < kNever)
    awaited_ = true;
  else
    times_.pass(here, spec_.workers);
  return true;
}

RoundSamples::Sample* RoundSamples::room_for(std::int64_t leg) {
  MutexLock lock(mutex_);
  while (!closed_ && !open_.contains(leg) && open_.size() + whole_.size() >= most_)
    changed_.wait(mutex_);
  if (closed_) return nullptr;
  const auto [found, is_new] = open_.try_emplace(leg);
  Sample& sample = found->second;
  if (is_new) {
    const auto n = static_cast<std::size_t>(spec_.workers);
    sample.x.resize(n);
    sample.buffers.resize(n);
    sample.gradients.resize(n);
  }
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
  sort_by_commit(sample.notes);
  sample.totals.position = here;
  sample.totals.learning_rate = spec_.learning_rate(here);
  if (awaited_) times_.pass(here, spec_.workers);
  awaited_ = false;
  whole_.push_back(std::move(sample));
  changed_.notify_all();
}

const RoundSamples::Sample* RoundSamples::next() {
  MutexLock lock(mutex_);
  while (whole_.empty() && !closed_) changed_.wait(mutex_);
  return whole_.empty() ? nullptr : &whole_.front();
}

void RoundSamples::evaluated() {
  MutexLock lock(mutex_);
  whole_.pop_front();
  changed_.notify_all();
}

bool RoundSamples::wait_until_evaluated() {
  MutexLock lock(mutex_);
  while (!whole_.empty() && !closed_) changed_.wait(mutex_);
  return !closed_;
}

void RoundSamples::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace acid
