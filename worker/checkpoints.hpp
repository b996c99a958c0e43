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

/// The digests of a cut, as the store keeps them and verification compares them: for each worker
/// the SHA-256 of x, and 8 bytes for each tensor of compared_tensors().
CutDigests digests_of(const std::vector<StateVectors>& vectors);

/// The tensors of a cut that determine how the run goes on, in order: x, its momentum copy, the
/// optimiser's state, buffers. The snapshot and offers are past and left out.
std::vector<std::string> compared_tensors(const std::vector<StateVectors>& vectors);

/// Saves the cuts of an attempt: writes a file under checkpoints/RUN/, then its row together with
/// all telemetry, then lets go of the files that are no longer kept.
///
/// The recipe's [checkpoint] sets when (every_time, every_seconds). When it sets neither: every
/// half minute, or more rarely when saving would cost more than 2 % of the time.
class StoreCheckpoints final : public Checkpoints {
 public:
  /// `attempt` is the row id of the attempt. `files` are looked at before each save, which throws
  /// when one has changed. `files` and `writer` must outlive this object.
  StoreCheckpoints(std::string store_folder, std::string run_id, std::int64_t attempt,
                   const CheckpointSettings& settings, WatchedFiles& files, RunWriter& writer);
  /// Tells that the attempt goes on from this checkpoint, so that no cut is saved at the same
  /// place.
  void resumed_from(const CheckpointRow& row);

  bool due(std::int64_t step, const Position& position) override;
  double next_time() const override { return next_time_; }
  bool has(std::int64_t step) const override { return step == last_step_; }
  void save(const Cut& cut) override;
  /// How many checkpoints of every_time this attempt did not take, because the run had gone on to
  /// the next one, or to its end, before they could be taken.
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
      every_seconds_;  // absent: set by the cost of saving, unless every_time_ is set
  double next_time_ = 0, next_seconds_ = 0;
  double began_at_ = 0;           // normalised time
  int saved_ = 0;                 // by this attempt
  std::int64_t on_calendar_ = 0;  // how many of saved_ every_time_ asked for
  std::optional<std::int64_t> last_step_;
};

}  // namespace acid
