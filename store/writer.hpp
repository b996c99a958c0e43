#pragma once

#include <memory>

#include "engine/recorder/recorder.hpp"
#include "store/store.hpp"

namespace acid {

/// Writes what a running attempt reports, with a queue and one writer thread, in transactions of at
/// most 250 ms. Recording drops nothing. It blocks training only where memory would run out: at 1 M
/// waiting values and events the log gets a warning, and at 4 M sample() and events() wait until
/// the store takes some. A write that fails is retried for as long as the store is merely locked.
/// Any other failure, such as a later attempt of another process, is kept and rethrown by flush()
/// and by the next sample(). A store that is removed, moved or replaced is noticed with the next
/// batch, and is such a failure. The writer thread also refreshes the lease's heartbeat (every 2 s
/// at least) and the run's progress. Call flush() before Store::end_attempt(), so that no failure
/// goes unseen.
class RunWriter final : public Recorder {
 public:
  /// `bounded`: whether sample() and events() may wait as described above. They may not where the
  /// calling threads have to keep connections alive meanwhile, as under MPI: then only memory
  /// limits the queue.
  RunWriter(const std::string& store_folder, const std::string& run_id, std::int64_t attempt,
            bool bounded = true);
  /// The same on the connection of a store that was opened for writing: while this object lives,
  /// nothing else may use that store.
  RunWriter(Store& store, const std::string& run_id, std::int64_t attempt, bool bounded = true);
  ~RunWriter() override;  // flushes; never throws

  // Any thread. They wait for the store only as described above.
  void sample(const Position& position, std::span<const Value> values) override;
  void progress(const Position& position) override;
  void note(Severity severity, std::string_view text) override;
  void events(int worker, std::int64_t first, std::span<const Event> events) override;

  /// Everything recorded so far is committed when it returns. Waits while the store is locked.
  void flush();

  /// Throws StoreError when the store has been removed, moved or replaced. Call it before writing a
  /// file into the store's folder. What the store held is then kept, as with any batch that finds
  /// this, under a name that the error says. Any thread.
  void refuse_if_gone();

  /// Commits the checkpoint and everything recorded so far in one transaction, synced to disk when
  /// it returns, and in it marks all but the `keep` newest checkpoints of the run as removed.
  /// Returns the paths (relative to the store's folder) of the files that may now be deleted,
  /// including those of superseded checkpoints. Waits while the store is locked; throws as flush()
  /// does. When the disk is full, the checkpoint is certainly not in the store: its file is then
  /// deleted, so that a full disk gathers no unnamed files. After another failure the checkpoint
  /// may be in the store, and its file stays. One thread at a time; what other threads record
  /// meanwhile is not part of the checkpoint.
  std::vector<std::string> checkpoint(const CheckpointRecord& record, int keep);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid
