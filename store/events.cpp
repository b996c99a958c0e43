#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

/// Adds a chunk to the events of its worker. The chunk must follow the last event there.
void append_chunk(const Store& store, const std::string& run_id, const Statement& row,
                  std::vector<std::vector<std::byte>>& workers) {
  const auto incomplete = [&](const std::string& what) {
    return StoreError(
        fmt::format("the event log of run {} in the store {} is damaged: {}; 'acid doctor --store "
                    "{}' looks for more damage",
                    run_id, store.folder(), what, store.folder()));
  };
  const std::int64_t worker = row.integer(0);
  if (worker < 0 || worker >= static_cast<std::int64_t>(workers.size()))
    throw incomplete(fmt::format("it has events of worker {} of {}", worker, workers.size()));
  std::vector<std::byte>& events = workers[static_cast<std::size_t>(worker)];
  const auto next = static_cast<std::int64_t>(events.size() / kEventBytes);
  const std::int64_t first = row.integer(1);
  if (first != next)
    throw incomplete(fmt::format("events of worker {} go on with number {} where {} is due", worker,
                                 first, next));
  const std::span<const std::byte> chunk = row.bytes(3);
  if (static_cast<std::int64_t>(chunk.size()) !=
      row.integer(2) * static_cast<std::int64_t>(kEventBytes))
    throw incomplete(fmt::format("{} bytes hold {} events of worker {} from number {}",
                                 chunk.size(), row.integer(2), worker, first));
  events.insert(events.end(), chunk.begin(), chunk.end());
}

}  // namespace

std::vector<std::vector<std::byte>> read_events(const Store& store, const std::string& run_id) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement run(connection, "SELECT workers FROM runs WHERE id = ?");
  if (!run.bind(run_id).step()) throw UsageError(no_such_run(store.folder(), run_id));
  std::vector<std::vector<std::byte>> workers(
      static_cast<std::size_t>(run.integer(0, 1, kMostWorkers, "run " + run_id)));
  Statement chunks(connection,
                   "SELECT worker, first, count, events FROM event_list WHERE run = ?"
                   " ORDER BY attempt, chunk");
  chunks.bind(run_id);
  while (chunks.step()) append_chunk(store, run_id, chunks, workers);
  return workers;
}

}  // namespace acid
