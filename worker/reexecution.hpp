#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "worker/compose.hpp"
#include "worker/recording_comparison.hpp"
#include "worker/verify.hpp"

namespace acid {

/// The cut with this number, whose file is there; −1 for 0, the beginning. UsageError if there is
/// none.
int index_of_cut(const Recording& recording, int number);

/// Executes a recorded run again, or a part of it, and compares. Everything that it is given
/// outlives it.
class Reexecution {
 public:
  /// UsageError if the run has no such checkpoints.
  Reexecution(const VerifyOptions& options, const Recording& recording, ComposedRun& run,
              std::stop_token stop);
  void execute();
  const RecordingComparison& comparison() const { return comparison_; }

 private:
  void open_checkpoint();
  void compare_file(const Cut& cut);
  void depart_at(const CheckpointRow& row, std::string what, std::string tensor);
  Outcome execute_again();
  bool ended() const;
  void show_progress(const Position& position);

  const Recording& recording_;
  ComposedRun& run_;
  const std::stop_token stop_;
  const int from_;
  const std::optional<std::size_t> until_;
  std::stop_source enough_;
  std::unique_ptr<CheckpointFile> file_;
  const CoarseClock clock_;
  Mutex showing_;
  double next_look_ GUARDED_BY(showing_) = 0;
  RecordingComparison comparison_;
  const std::string store_folder_;
};

}  // namespace acid
