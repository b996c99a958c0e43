#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/shared/sample_queue.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// Samples of a synchronous run on threads. The workers reach a sample one by one: each leaves a
/// copy of its model and goes on, and the calling thread evaluates the copies once all are there. A
/// worker waits only if three samples are still to be evaluated, or if copies of all models that
/// take more than 256 MiB are there already.
class RoundSamples {
 public:
  /// All models at the beginning of a leg.
  struct Sample {
    std::vector<std::vector<float>> x, buffers;  // by worker
    std::vector<std::int64_t> gradients;         // by worker
    Totals totals;
    GradientRecords notes;         // of the gradients since the last sample
    std::int64_t extra_bytes = 0;  // received beside messages
    int models = 0;                // copies that are there
    bool evaluates = false, has_room = false;
  };

  /// `dimension`: floats of a model. The first sample is where `times` says; `spec` outlives this.
  RoundSamples(const RunSpec& spec, std::size_t dimension, const SampleTimes& times);

  /// Whether there is a sample before that leg, at `here`. Called once per leg, in order.
  bool take(std::int64_t leg, const Position& here) EXCLUDES_LOCK(mutex_);
  /// Adds worker w's part of the sample of that leg and empties `notes`. position_of() is called
  /// for the last part and returns the run's position. Returns false if the run is over.
  template <class PositionOf>
  bool leave(int w, std::int64_t leg, const Worker& worker, GradientRecords& notes,
             double idle_seconds, const PositionOf& position_of) EXCLUDES_LOCK(mutex_) {
    Sample* const sample = room_for(leg);
    if (sample == nullptr) return false;
    copy(w, worker, *sample);
    MutexLock lock(mutex_);
    sample->notes.insert(sample->notes.end(), notes.begin(), notes.end());
    notes.clear();
    sample->totals.idle_seconds += idle_seconds;
    sample->extra_bytes += worker.extra_bytes();
    if (++sample->models == spec_.workers) complete(leg, position_of());
    return true;
  }

  // The calling thread calls the next two.
  /// Sleeps until the next sample is whole; nothing if the run is over and there is none.
  std::optional<Sample> next() { return whole_.next(); }
  /// Tells that the last sample of next() is evaluated.
  void evaluated(const Sample& sample) EXCLUDES_LOCK(mutex_);

  /// Sleeps until all whole samples are evaluated. Returns false if the run failed.
  bool wait_until_evaluated() { return whole_.wait_until_recorded(); }
  /// Ends the run: there will be no other sample, and no thread waits any more.
  void close() EXCLUDES_LOCK(mutex_);
  /// As close(), but samples that are there will not be evaluated.
  void abandon() EXCLUDES_LOCK(mutex_);

 private:
  Sample* room_for(std::int64_t leg) EXCLUDES_LOCK(mutex_);
  bool is_room_for(const Sample& sample) const REQUIRES_LOCK(mutex_);
  static void copy(int w, const Worker& worker, Sample& sample);
  void complete(std::int64_t leg, const Position& here) REQUIRES_LOCK(mutex_);

  const RunSpec& spec_;
  const int most_;  // the most samples with room at once
  Mutex mutex_;
  Condition changed_;
  SampleTimes times_ GUARDED_BY(mutex_);
  std::map<std::int64_t, Sample> open_ GUARDED_BY(mutex_);  // by leg; with parts missing
  SampleQueue<Sample> whole_;
  bool awaited_ GUARDED_BY(mutex_) = false;  // a sample by the clock is not whole yet
  int with_room_ GUARDED_BY(mutex_) = 0;     // samples with room
  int to_evaluate_ GUARDED_BY(mutex_) = 0;   // samples with room that evaluate the model
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
