#include "store/write_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/utc.hpp"

namespace acid {
namespace {

constexpr double kBatchSeconds = 0.25;
constexpr double kHeartbeatSeconds = 2;
constexpr std::size_t kMany = 1'000'000;

}  // namespace

void Batch::clear() {
  new_series.clear();
  ticks.clear();
  points.clear();
  lines.clear();
  chunks.clear();
  events.clear();
  progressed = false;
  checkpoint.reset();
}

void WriteQueue::sample(const Position& position, std::span<const Value> values) {
  if (values.empty()) return;
  bool wake = false;
  {
    MutexLock lock(mutex_);
    wait_for_room();
    if (failure_) std::rethrow_exception(failure_);
    const bool was_empty = pending_.empty();
    const std::size_t before = pending_.records();
    const std::int64_t tick = next_tick_++;
    pending_.ticks.push_back({tick, position});
    for (const Value& value : values)
      pending_.points.push_back({series_index(value), tick, value.value});
    advance(position);
    wake = grown_from(before) || was_empty;
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
  if (was_empty) wake_.notify_one();  // else it sleeps on, but no longer than to the batch's end
}

void WriteQueue::note(Severity severity, std::string_view text) {
  bool was_empty = false;
  {
    MutexLock lock(mutex_);
    if (failure_) return;
    was_empty = pending_.empty();
    pending_.lines.push_back({utc_now(), severity, std::string(text)});
  }
  if (was_empty) wake_.notify_one();
}

void WriteQueue::events(int worker, std::int64_t first, std::span<const Event> events) {
  if (events.empty()) return;
  bool wake = false;
  {
    MutexLock lock(mutex_);
    wait_for_room();
    if (failure_) return;
    const bool was_empty = pending_.empty();
    const std::size_t before = pending_.records();
    pending_.chunks.push_back({worker, first, pending_.events.size(), events.size()});
    pending_.events.insert(pending_.events.end(), events.begin(), events.end());
    wake = grown_from(before) || was_empty;
  }
  if (wake) wake_.notify_one();
}

// After close(), the last batch takes all that is left, however much.
void WriteQueue::wait_for_room() {
  while (!failure_ && !closed_ && pending_.records() >= most_records_) room_.wait(mutex_);
}

bool WriteQueue::grown_from(std::size_t records_before) {
  const std::size_t records = pending_.records();
  const auto passed = [&](std::size_t mark) { return records_before < mark && records >= mark; };
  const bool waits = passed(most_records_);
  if (passed(kMany) || waits)
    pending_.lines.push_back(
        {utc_now(), Severity::warning,
         fmt::format("the store is slower than the run: {} values and {} events wait in memory to "
                     "be written{}; record less often, or put the store on a faster disk",
                     pending_.points.size(), pending_.events.size(),
                     waits ? ", and the run waits, too" : "")});
  return passed(full_batch_);
}

void WriteQueue::flush() {
  MutexLock lock(mutex_);
  std::int64_t target = batches_taken_ + (sealed_ ? 1 : 0);
  if (!pending_.empty()) {
    ++target;
    flush_wanted_ = true;
    wake_.notify_one();
  }
  while (!failure_ && batches_committed_ < target) done_.wait(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<std::string> WriteQueue::checkpoint(const CheckpointRecord& record, int keep) {
  ACID_ASSERT(keep >= 1, "{} checkpoints to keep", keep);
  MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  ACID_ASSERT(!sealed_, "a checkpoint while another one is waiting, at {} gradients",
              record.position.gradients);
  advance(record.position);
  pending_.checkpoint = {record, keep};
  sealed_.emplace();
  std::swap(*sealed_, pending_);
  room_.notify_all();
  const std::int64_t target = batches_taken_ + 1;
  wake_.notify_one();
  while (!failure_ && batches_committed_ < target) done_.wait(mutex_);
  // A later batch may have failed by now. The batch of this call is safe all the same.
  if (batches_committed_ < target) std::rethrow_exception(failure_);
  return std::exchange(released_, {});
}

void WriteQueue::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  wake_.notify_one();
  room_.notify_all();
}

bool WriteQueue::take(Batch& batch) {
  batch.clear();
  MutexLock lock(mutex_);
  while (!due()) {
    const double limit = pending_.empty() ? kHeartbeatSeconds : kBatchSeconds;
    wake_.wait_for(mutex_, last_take_seconds_ + limit - clock_.seconds());
  }
  if (sealed_) {
    batch = std::move(*sealed_);
    sealed_.reset();
  } else {
    if (closed_ && pending_.empty()) return false;
    std::swap(batch, pending_);
    flush_wanted_ = false;
    room_.notify_all();
  }
  last_take_seconds_ = clock_.seconds();
  ++batches_taken_;
  return true;
}

bool WriteQueue::due() {
  if (closed_ || flush_wanted_ || sealed_ || pending_.records() >= full_batch_) return true;
  const double limit = pending_.empty() ? kHeartbeatSeconds : kBatchSeconds;
  return clock_.seconds() >= last_take_seconds_ + limit;
}

void WriteQueue::committed(std::vector<std::string> released) {
  MutexLock lock(mutex_);
  released_.insert(released_.end(), released.begin(), released.end());
  batches_committed_ = batches_taken_;
  done_.notify_all();
}

void WriteQueue::fail(std::exception_ptr failure) {
  MutexLock lock(mutex_);
  failure_ = std::move(failure);
  done_.notify_all();
  room_.notify_all();
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
  if (position.gradients >= furthest_.gradients) {
    const std::int64_t told = furthest_.bytes;  // by a thread that was at fewer gradients
    furthest_ = position;
    furthest_.bytes = std::max(told, position.bytes);
  }
  pending_.progress = furthest_;
  pending_.progressed = true;
}

}  // namespace acid
