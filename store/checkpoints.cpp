#include <climits>

#include "store/impl.hpp"
#include "store/select.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

// The bytes are little-endian: a number that was read from eight bytes is stored as those bytes.
std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::byte> bytes;
  bytes.reserve(numbers.size() * 8);
  for (const std::uint64_t number : numbers)
    for (int shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::byte>(number >> shift & 0xff));
  return bytes;
}

std::vector<std::uint64_t> numbers_of(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> numbers(bytes.size() / 8, 0);
  for (std::size_t i = 0; i < numbers.size() * 8; ++i)
    numbers[i / 8] |= std::to_integer<std::uint64_t>(bytes[i]) << i % 8 * 8;
  return numbers;
}

void insert_digests(const Connection& connection, std::int64_t checkpoint,
                    const CheckpointRecord& record) {
  ACID_ASSERT(record.worker_digests.size() == record.tensor_digests.size(),
              "digests of {} workers, of tensors of {}", record.worker_digests.size(),
              record.tensor_digests.size());
  Statement insert(connection, "INSERT INTO cut_digests VALUES (?, ?, ?, ?)");
  for (std::size_t worker = 0; worker < record.worker_digests.size(); ++worker)
    insert
        .bind(checkpoint, worker, record.worker_digests[worker],
              bytes_of(record.tensor_digests[worker]))
        .run();
}

/// Lets go of all checkpoint files but the `keep` newest and returns their paths.
std::vector<std::string> release(const Connection& connection, std::int64_t run, int keep) {
  std::vector<std::string> paths = texts(connection, R"sql(
    UPDATE checkpoints SET removed = ?1
    WHERE removed IS NULL AND attempt IN (SELECT id FROM attempts WHERE run = ?2)
      AND id NOT IN (SELECT c.id FROM checkpoints c JOIN attempts a ON a.id = c.attempt
                     WHERE a.run = ?2 AND c.superseded = 0 AND c.removed IS NULL
                     ORDER BY c.number DESC LIMIT ?3)
    RETURNING path)sql",
                                         utc_now(), run, keep);
  // A later checkpoint may have replaced the file of a superseded one.
  Statement still_named(connection,
                        "SELECT 1 FROM checkpoints c JOIN attempts a ON a.id = c.attempt"
                        " WHERE a.run = ? AND c.path = ? AND c.removed IS NULL");
  std::erase_if(paths, [&](const std::string& path) { return still_named.bind(run, path).step(); });
  return paths;
}

}  // namespace

std::vector<std::string> add_checkpoint(const Connection& connection, std::int64_t run,
                                        std::int64_t attempt, const CheckpointRecord& record,
                                        int keep) {
  const Position& at = record.position;
  Statement(connection, R"sql(
    INSERT INTO checkpoints (attempt, number, step, gradients, normalised_time, seconds, bytes,
                             last_tick, last_chunk, path, sha256, file_bytes, created)
    VALUES (?1,
            (SELECT 1 + coalesce(max(c.number), 0)
             FROM checkpoints c JOIN attempts a ON a.id = c.attempt WHERE a.run = ?2),
            ?3, ?4, ?5, ?6, ?7,
            (SELECT coalesce(max(tick), 0) FROM ticks WHERE attempt = ?1),
            (SELECT coalesce(max(chunk), 0) FROM event_chunks WHERE attempt = ?1),
            ?8, ?9, ?10, ?11))sql")
      .bind(attempt, run, record.step, at.gradients, at.normalised_time, at.seconds, at.bytes,
            record.path, record.sha256, record.bytes, utc_now())
      .run();
  insert_digests(connection, connection.last_insert_id(), record);
  return release(connection, run, keep);
}

std::vector<CheckpointRow> read_checkpoints(const Connection& connection,
                                            const std::string& run_id) {
  Statement select(connection,
                   "SELECT c.id, c.number, a.number, c.step, c.gradients, c.normalised_time,"
                   " c.seconds, c.bytes, c.path, c.sha256, c.file_bytes, c.created, c.removed"
                   " FROM runs r JOIN attempts a ON a.run = r.number"
                   " JOIN checkpoints c ON c.attempt = a.id"
                   " WHERE r.id = ? AND c.superseded = 0 ORDER BY c.number");
  select.bind(run_id);
  std::vector<CheckpointRow> rows;
  while (select.step()) {
    CheckpointRow row;
    row.id = select.integer(0);
    row.number = static_cast<int>(select.integer(1, 1, INT_MAX, "a checkpoint of run " + run_id));
    const std::string whose = fmt::format("checkpoint {} of run {}", row.number, run_id);
    row.attempt = static_cast<int>(select.integer(2, 1, INT_MAX, whose));
    row.step = select.integer(3, 0, kMostGradients, whose);
    row.position = stored_position(select, 4, whose);
    row.path = select.text(8);
    row.sha256 = select.text(9);
    row.bytes = select.integer(10, 0, kMostBytes, whose);
    row.created = select.text(11);
    row.removed = !select.is_null(12);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CheckpointRow> checkpoints_of(const Store& store, const std::string& run_id) {
  return read_checkpoints(store.impl().connection(), run_id);
}

CutDigests cut_digests(const Store& store, std::int64_t checkpoint) {
  Statement select(store.impl().connection(),
                   "SELECT digest, tensors FROM cut_digests WHERE checkpoint = ? ORDER BY worker");
  select.bind(checkpoint);
  CutDigests cut;
  while (select.step()) {
    cut.workers.push_back(select.text(0));
    cut.tensors.push_back(numbers_of(select.bytes(1)));
  }
  if (cut.workers.empty())
    throw StoreError(
        fmt::format("the store {} has no digests of the checkpoint with id {}: 'acid gc' removed "
                    "it meanwhile, or the store is damaged; 'acid doctor --store {}' looks for "
                    "damage",
                    store.folder(), checkpoint, store.folder()));
  return cut;
}

}  // namespace acid
