#include "store/batch_writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "engine/base/folders.hpp"
#include "engine/recorder/metrics.hpp"
#include "store/impl.hpp"
#include "store/select.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

// Adds a batch to the summary of a series. It does so in SQL, so that a batch that has to be
// written again starts from what the store really has.
constexpr const char* kUpsertSeries = R"sql(
  INSERT INTO series (attempt, worker, metric, unit, better, count, last_tick, last, last_special,
                      best_tick, best)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (attempt, worker, metric) DO UPDATE SET
    count = count + excluded.count, last_tick = excluded.last_tick, last = excluded.last,
    last_special = excluded.last_special,
    best_tick = iif(best IS NULL OR better * excluded.best > better * best, excluded.best_tick,
                    best_tick),
    best = iif(best IS NULL OR better * excluded.best > better * best, excluded.best, best)
  RETURNING id)sql";

// Chunks of an attempt are numbered as they are committed.
constexpr const char* kInsertChunk = R"sql(
  INSERT INTO event_chunks (attempt, chunk, worker, first, count, events)
  VALUES (?1, (SELECT coalesce(max(chunk), 0) + 1 FROM event_chunks WHERE attempt = ?1),
          ?2, ?3, ?4, ?5))sql";

constexpr const char* kUpdateAttempt = R"sql(
  UPDATE attempts SET heartbeat = ?, gradients = coalesce(?, gradients),
    normalised_time = coalesce(?, normalised_time), seconds = coalesce(?, seconds),
    bytes = coalesce(?, bytes)
  WHERE id = ? AND outcome IS NULL)sql";

constexpr std::array<std::string_view, 3> kSeverityNames{"info", "warning", "error"};

}  // namespace

int special_of(double value) {
  if (std::isnan(value)) return 1;
  if (std::isinf(value)) return value > 0 ? 2 : 3;
  return 0;
}

BatchWriter::BatchWriter(WritingConnection& connection, const std::string& folder,
                         const std::string& run_id, std::int64_t attempt)
    : connection_(connection),
      folder_(folder),
      run_(run_id),
      attempt_(attempt),
      insert_points_(connection_.get(), "points", 4),
      insert_ticks_(connection_.get(), "ticks", 6),
      upsert_series_(connection_.get(), kUpsertSeries),
      insert_line_(connection_.get(),
                   "INSERT INTO log (attempt, time, severity, text) VALUES (?, ?, ?, ?)"),
      insert_chunk_(connection_.get(), kInsertChunk),
      update_attempt_(connection_.get(), kUpdateAttempt) {
  refuse_if_removed(connection_.get(), attempt, run_id);
}

std::int64_t BatchWriter::next_tick() {
  return 1 +
         one_number(connection_.get(), "SELECT max(tick) FROM ticks WHERE attempt = ?", attempt_);
}

void BatchWriter::add_series(const std::vector<Batch::SeriesName>& names) {
  names_.insert(names_.end(), names.begin(), names.end());
}

std::vector<std::string> BatchWriter::write(const Batch& batch) {
  std::optional<CommitsAs> synced;
  if (batch.checkpoint) synced.emplace(connection_, WritingConnection::Durability::every_commit);
  sqlite::Transaction transaction(connection_.get(), sqlite::Transaction::Kind::write);
  const std::int64_t run = run_of(connection_.get(), attempt_, run_);
  go_on(connection_.get(), attempt_);
  insert_ticks_.run(batch.ticks.size(), [&](std::size_t k, const auto& row) {
    const auto& [number, at] = batch.ticks[k];
    row(attempt_, number, at.gradients, at.normalised_time, at.seconds, at.bytes);
  });
  write_points(batch);
  for (const Batch::Line& line : batch.lines)
    insert_line_
        .bind(attempt_, line.time, kSeverityNames[static_cast<std::size_t>(line.severity)],
              line.text)
        .run();
  write_events(batch);
  if (batch.progressed)
    update_attempt_.bind(utc_now(), batch.progress.gradients, batch.progress.normalised_time,
                         batch.progress.seconds, batch.progress.bytes, attempt_);
  else
    update_attempt_.bind(utc_now(), std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                         attempt_);
  update_attempt_.run();
  std::vector<std::string> released;
  if (batch.checkpoint)
    released = add_checkpoint(connection_.get(), run, attempt_, batch.checkpoint->record,
                              batch.checkpoint->keep);
  transaction.commit();
  return released;
}

std::string BatchWriter::folder_of_what_is_left() const {
  namespace fs = std::filesystem;
  const fs::path now = connection_.get().whereabouts();
  if (now.filename() == "store.db") return now.parent_path().string();
  std::string beside = fs::absolute(folder_).lexically_normal().string();
  while (beside.ends_with('/')) beside.pop_back();
  // A removed file is there until the last process that has it open closes it. What an earlier
  // attempt of the same number lost is kept, too.
  const std::string name = fmt::format("{}-kept-{}-{}", beside, run_, attempt_);
  std::string kept = name;
  for (int more = 2; !fs::create_directory(kept); ++more) kept = fmt::format("{}-{}", name, more);
  create_folders(kept + "/checkpoints");
  sqlite::Statement(connection_.get(), "VACUUM INTO ?").bind(kept + "/store.db").run();
  return kept;
}

std::string BatchWriter::keep_what_is_left(Batch batch) const {
  try {
    const std::string folder = folder_of_what_is_left();
    WritingConnection connection(folder, WritingConnection::Durability::batched);
    BatchWriter there(connection, folder, run_, attempt_);
    there.add_series(names_);
    batch.checkpoint.reset();  // the checkpoint's file is not there
    sqlite::once_unlocked([&] { return there.write(batch); });
    return fmt::format(
        "what it held and what this run recorded is kept in {}: 'acid list --store {}' shows it",
        folder, folder);
  } catch (const std::exception& error) {
    return fmt::format("what it held could not be kept: {}", error.what());
  }
}

void BatchWriter::write_events(const Batch& batch) {
  for (const Batch::Chunk& chunk : batch.chunks) {
    encoded_.resize(chunk.count * kEventBytes);
    for (std::size_t i = 0; i < chunk.count; ++i) {
      const EventBytes event = encode_event(batch.events[chunk.begin + i], chunk.worker,
                                            chunk.first + static_cast<std::int64_t>(i));
      std::copy(event.begin(), event.end(),
                encoded_.begin() + static_cast<std::ptrdiff_t>(i * kEventBytes));
    }
    insert_chunk_.bind(attempt_, chunk.worker, chunk.first, chunk.count, encoded_).run();
  }
}

// By series first: points are clustered by (series, tick), so each series is one run of
// neighbouring rows. A counting sort keeps ticks in order.
void BatchWriter::write_points(const Batch& batch) {
  starts_.assign(names_.size() + 1, 0);
  for (const Batch::Point& point : batch.points) ++starts_[point.series + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  order_.resize(batch.points.size());
  std::vector<std::size_t> next(starts_.begin(), starts_.end());
  for (std::size_t i = 0; i < batch.points.size(); ++i)
    order_[next[batch.points[i].series]++] = static_cast<std::uint32_t>(i);
  for (std::uint32_t series = 0; series < names_.size(); ++series)
    if (starts_[series] < starts_[series + 1])
      write_series(batch, series, starts_[series], starts_[series + 1]);
}

void BatchWriter::write_series(const Batch& batch, std::uint32_t series, std::size_t begin,
                               std::size_t end) {
  const std::int64_t id = summarise(batch, series, begin, end);
  std::int64_t last_tick = 0;
  insert_points_.run(end - begin, [&](std::size_t k, const auto& row) {
    const Batch::Point& point = batch.points[order_[begin + k]];
    ACID_ASSERT(point.tick > last_tick, "two values of {} for worker {} in one sample",
                names_[series].metric, names_[series].worker);
    last_tick = point.tick;
    row(id, point.tick, point.value, special_of(point.value));
  });
}

std::int64_t BatchWriter::summarise(const Batch& batch, std::uint32_t series, std::size_t begin,
                                    std::size_t end) {
  const Batch::SeriesName& name = names_[series];
  const Metric* metric = find_metric(name.metric);
  const int better = metric != nullptr ? metric->better : 0;
  const Batch::Point* best = nullptr;
  if (better != 0)
    for (std::size_t k = begin; k < end; ++k) {
      const Batch::Point& point = batch.points[order_[k]];
      if (std::isnan(point.value)) continue;
      if (best == nullptr || better * point.value > better * best->value) best = &point;
    }
  const Batch::Point& last = batch.points[order_[end - 1]];
  upsert_series_.bind(attempt_, name.worker, name.metric, metric ? metric->unit : "1", better,
                      end - begin, last.tick, last.value, special_of(last.value),
                      best ? std::optional(best->tick) : std::nullopt,
                      best ? std::optional(best->value) : std::nullopt);
  upsert_series_.step();
  const std::int64_t id = upsert_series_.integer(0);
  upsert_series_.reset();
  return id;
}

}  // namespace acid
