#pragma once

#include <string>
#include <vector>

#include "store/open.hpp"
#include "store/write_queue.hpp"

namespace acid {

/// Puts batches of one attempt into the store. One thread at a time.
class BatchWriter {
 public:
  /// The connection must be to the store in `folder`, and outlive this object.
  BatchWriter(WritingConnection& connection, const std::string& folder, const std::string& run_id,
              std::int64_t attempt);

  /// One past the last tick that the attempt has in the store.
  std::int64_t next_tick();
  /// Adds the series that the next batches may name. Call it once per batch, before its first
  /// write().
  void add_series(const std::vector<Batch::SeriesName>& names);
  /// Writes the batch in one transaction: points, the summaries of their series, ticks, log lines,
  /// events, progress, heartbeat and the checkpoint, with which the transaction is synced to disk.
  /// Returns the paths of files that the checkpoint made superfluous. Throws with nothing changed:
  /// StoreError when another process has begun a later attempt or removed the run; when the store
  /// was merely locked, call again.
  std::vector<std::string> write(const Batch& batch);

  /// Call it when the store was removed, moved or replaced. Saves what the store had, and the batch
  /// without its checkpoint: in the store itself where it has been moved to, else in a new store
  /// beside its place. Returns where that is and what to do with it; never throws.
  std::string keep_what_is_left(Batch batch) const;
  /// Throws sqlite::StoreGone when the store is no longer in its place. Any thread.
  void refuse_if_gone() const { connection_.get().refuse_if_gone(); }

 private:
  /// Points of the batch in order_[begin … end) belong to `series`, oldest first.
  void write_series(const Batch& batch, std::uint32_t series, std::size_t begin, std::size_t end);
  std::int64_t summarise(const Batch& batch, std::uint32_t series, std::size_t begin,
                         std::size_t end);
  void write_points(const Batch& batch);
  void write_events(const Batch& batch);

  std::string folder_of_what_is_left() const;

  WritingConnection& connection_;
  const std::string folder_, run_;
  const std::int64_t attempt_;
  std::vector<Batch::SeriesName> names_;
  std::vector<std::size_t> starts_;   // scratch: of each series in order_
  std::vector<std::uint32_t> order_;  // scratch: points of the batch by series, then tick
  std::vector<std::byte> encoded_;    // scratch: the events of a chunk
  sqlite::BulkInsert insert_points_, insert_ticks_;
  sqlite::Statement upsert_series_, insert_line_, insert_chunk_, update_attempt_;
};

}  // namespace acid
