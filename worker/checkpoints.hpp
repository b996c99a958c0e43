#pragma once

#include <optional>
#include <string>

#include "engine/base/clock.hpp"
#include "engine/run/cut.hpp"
#include "engine/run/run_spec.hpp"
#include "settings/run_settings.hpp"
#include "store/queries.hpp"
#include "store/writer.hpp"
#include "worker/watched_files.hpp"

namespace acid {

/// What a cut holds, as the store keeps it and verification compares it: of each worker the SHA-256
/// of x and 8 bytes for each tensor of compared_tensors().
CutDigests digests_of(const std::vector<StateVectors>& vectors);

/// The tensors of a cut that say where the run stands, in order: x, its momentum copy, the
/// optimiser's state, buffers. Not the snapshot and offers, which are past.
std::vector<std::string> compared_tensors(const std::vector<StateVectors>& vectors);

/// Saves the cuts of an attempt: a file under checkpoints/RUN/, then its row together with all
/// telemetry, then lets go of the files that are no longer kept.
///
/// When: as the recipe's [checkpoint] says (every_time, every_seconds). When it says neither, every
/// half minute, or more rarely where saving takes so long that it would cost more than 2 % of the
/// time.
class StoreCheckpoints final : public Checkpoints {
 public:
  /// `attempt` is the row id of the attempt. `files` are looked at before each is saved: it throws
  /// where one has changed. `files` and `writer` outlive this.
  StoreCheckpoints(std::string store_folder, std::string run_id, std::int64_t attempt,
                   const CheckpointSettings& settings, WatchedFiles& files, RunWriter& writer);
  /// The attempt goes on from a checkpoint; a cut at the same place would say nothing new.
  void resumed_from(const CheckpointRow& row);

  bool due(std::int64_t step, const Position& position) override;
  double next_time() const override { return next_time_; }
  bool has(std::int64_t step) const override { return step == last_step_; }
  void save(const Cut& cut) override;
  /// Checkpoints of every_time that there is none of, in this attempt, because the run had gone on
  /// to the next, or to its end, before they could be taken.
  std::int64_t skipped(const Position& end) const;

 private:
  void schedule_next(const Position& position, double seconds_taken);

  const std::string store_folder_, run_id_;
  const std::int64_t attempt_;
  WatchedFiles& files_;
  RunWriter& writer_;
  const CoarseClock clock_;
  const int keep_;
  const double every_time_;  // 0: not by normalised time
  const std::optional<double>
      every_seconds_;  // absent: by what saving costs, unless by normalised time
  double next_time_ = 0, next_seconds_ = 0;
  double began_at_ = 0;           // normalised time
  int saved_ = 0;                 // by this attempt
  std::int64_t on_calendar_ = 0;  // of these, those that every_time_ asked for
  std::optional<std::int64_t> last_step_;
};

}  // namespace acid
