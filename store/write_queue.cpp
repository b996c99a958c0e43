#include "store/write_queue.hpp"

#include <fmt/format.h>

#include <utility>

#include "store/utc.hpp"

namespace acid {
namespace {

constexpr double kBatchSeconds = 0.25;
constexpr double kHeartbeatSeconds = 2;
constexpr std::size_t kFullBatchPoints = 50'000;
constexpr std::size_t kManyPoints = 1'000'000;

}  // namespace

void Batch::clear() {
  new_series.clear();
  ticks.clear();
  points.clear();
  lines.clear();
  progressed = false;
}

void WriteQueue::sample(const Position& position, std::span<const Value> values) {
  if (values.empty()) return;
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    const bool was_empty = pending_.empty();
    const std::size_t before = pending_.points.size();
    const std::int64_t tick = next_tick_++;
    pending_.ticks.push_back({tick, position});
    for (const Value& value : values)
      pending_.points.push_back({series_index(value), tick, value.value});
    advance(position);
    const std::size_t after = pending_.points.size();
    const auto passed = [&](std::size_t mark) { return before < mark && after >= mark; };
    if (passed(kManyPoints))
      pending_.lines.push_back({utc_now(), Severity::warning,
                                fmt::format("the store is slower than the run: {} values wait in "
                                            "memory to be written; record less often",
                                            after)});
    wake = was_empty || passed(kFullBatchPoints);
  }
  if (wake) wake_.notify_one();
}

void WriteQueue::progress(const Position& position) {
  bool was_empty = false;
  {
    MutexLock lock(mutex_);
    if (failure_) return;
    was_empty = pending_.empty();
    advance(position);
  }
  wake_if_first(was_empty);
}

void WriteQueue::note(Severity severity, std::string_view text) {
  bool was_empty = false;
  {
    MutexLock lock(mutex_);
    if (failure_) return;
    was_empty = pending_.empty();
    pending_.lines.push_back({utc_now(), severity, std::string(text)});
  }
  wake_if_first(was_empty);
}

// The writer then sleeps on, but no longer than to the end of the batch.
void WriteQueue::wake_if_first(bool was_empty) {
  if (was_empty) wake_.notify_one();
}

void WriteQueue::flush() {
  MutexLock lock(mutex_);
  std::int64_t target = batches_taken_;
  if (!pending_.empty()) {
    ++target;
    flush_wanted_ = true;
    wake_.notify_one();
  }
  while (!failure_ && batches_committed_ < target) done_.wait(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void WriteQueue::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  wake_.notify_one();
}

bool WriteQueue::take(Batch& batch) {
  batch.clear();
  MutexLock lock(mutex_);
  while (!due()) {
    const double limit = pending_.empty() ? kHeartbeatSeconds : kBatchSeconds;
    wake_.wait_for(mutex_, last_take_seconds_ + limit - clock_.seconds());
  }
  if (closed_ && pending_.empty()) return false;
  std::swap(batch, pending_);
  flush_wanted_ = false;
  last_take_seconds_ = clock_.seconds();
  ++batches_taken_;
  return true;
}

bool WriteQueue::due() {
  if (closed_ || flush_wanted_ || pending_.points.size() >= kFullBatchPoints) return true;
  const double limit = pending_.empty() ? kHeartbeatSeconds : kBatchSeconds;
  return clock_.seconds() >= last_take_seconds_ + limit;
}

void WriteQueue::committed() {
  MutexLock lock(mutex_);
  batches_committed_ = batches_taken_;
  done_.notify_all();
}

void WriteQueue::fail(std::exception_ptr failure) {
  MutexLock lock(mutex_);
  failure_ = std::move(failure);
  done_.notify_all();
}

std::uint32_t WriteQueue::series_index(const Value& value) {
  ACID_ASSERT(value.worker >= kWholeRun, "worker {} of {}", value.worker, value.metric);
  std::size_t metric = 0;  // a handful of names: a scan beats a hash
  while (metric < metrics_.size() && metrics_[metric].metric != value.metric) ++metric;
  if (metric == metrics_.size()) metrics_.push_back({std::string(value.metric), {}});
  auto& indices = metrics_[metric].index_of_worker;
  const auto slot = static_cast<std::size_t>(value.worker - kWholeRun);
  if (slot >= indices.size()) indices.resize(slot + 1, -1);
  if (indices[slot] < 0) {
    indices[slot] = series_count_++;
    pending_.new_series.push_back({std::string(value.metric), value.worker});
  }
  return static_cast<std::uint32_t>(indices[slot]);
}

// Reports of several threads may arrive out of order.
void WriteQueue::advance(const Position& position) {
  if (position.gradients >= furthest_.gradients) furthest_ = position;
  pending_.progress = furthest_;
  pending_.progressed = true;
}

}  // namespace acid
