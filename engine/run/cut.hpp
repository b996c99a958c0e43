#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/archive.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/recorder/recorder.hpp"

namespace acid {

/// A consistent cut of a run between two events: everything that is needed to resume it there.
/// Borrowed from the driver for the length of a call; no worker changes meanwhile.
struct Cut {
  /// The driver's progress, in its own unit. For the virtual driver and for synchronous methods it
  /// names the same moment in every execution of the run.
  std::int64_t step = 0;
  Position position;
  std::vector<StateVectors> vectors;  // the first is x
  std::string_view layout;            // names what `state` holds, with a version
  std::vector<std::byte> state;
};

/// The checkpoint's metadata that holds Cut::layout.
inline constexpr const char* kLayoutKey = "state_layout";

/// Where the cuts of a run go, and when they are wanted. The driver calls it from one thread at a
/// time. Asking changes nothing in the run.
class Checkpoints {
 public:
  virtual ~Checkpoints() = default;
  /// Whether a cut is wanted now. Cheap: called after every event of the virtual driver, by the
  /// others a few times a second and at next_time().
  virtual bool due(std::int64_t step, const Position& position) = 0;
  /// Normalised time of the next cut at the latest; kNever if only due() can tell.
  virtual double next_time() const = 0;
  /// Whether a cut at this step is saved already. Called before the last cut of a stopped run.
  virtual bool has(std::int64_t step) const = 0;
  /// Durable when it returns, with everything that was recorded before.
  virtual void save(const Cut& cut) = 0;
};

/// Where a run is saved, and the checkpoint it resumes. Everything it points to outlives the run.
struct Checkpointing {
  Checkpoints* checkpoints = nullptr;      // absent: no cuts are taken
  const CheckpointFile* resume = nullptr;  // absent: the run starts from its beginning
  /// mpi: called in every process before its part of a cut, or of the end, leaves it. An exception
  /// from it ends the run there. Any thread, one at a time; may be empty.
  std::function<void()> look_first = {};

  /// Saves a cut, where cuts are taken. Its state is what state.persist(archive) describes.
  template <class State>
  void save(std::int64_t step, const Position& position, std::vector<StateVectors> vectors,
            std::string_view layout, State& state) const {
    if (checkpoints == nullptr) return;
    ArchiveWriter archive;
    state.persist(archive);
    checkpoints->save({step, position, std::move(vectors), layout, archive.take()});
  }
};

/// Throws UsageError if the checkpoint's state is not of this layout: another driver wrote it, or
/// an acid that kept another state. `remedy`: what to do then.
inline void check_layout(const CheckpointFile& file, std::string_view layout,
                         std::string_view remedy = "'acid run RECIPE --force' starts again") {
  const auto found = file.metadata().find(kLayoutKey);
  const std::string has = found == file.metadata().end() ? "none" : found->second;
  if (has != layout)
    throw UsageError(
        fmt::format("the checkpoint {} holds the state '{}', not '{}': it was written by another "
                    "version of acid; {}",
                    file.path(), has, layout, remedy));
}

/// Fills `state` from a checkpoint. Throws Error if the checkpoint does not hold exactly that.
template <class State>
void load_state(const CheckpointFile& file, std::string_view layout, State& state) {
  check_layout(file, layout);
  ArchiveReader archive(file.state());
  state.persist(archive);
  if (archive.left() > 0)
    throw Error(fmt::format("the checkpoint {} holds {} bytes of state too many", file.path(),
                            archive.left()));
}

}  // namespace acid
