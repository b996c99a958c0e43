#include "store/writer.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "store/batch_writer.hpp"
#include "store/files.hpp"
#include "store/impl.hpp"

namespace acid {

struct RunWriter::Impl {
  Impl(const std::string& store_folder, Store* lender, const std::string& run_id,
       std::int64_t attempt, bool bounded)
      : folder(store_folder),
        connection(lender != nullptr
                       ? *lender->impl().writing
                       : own.emplace(folder, WritingConnection::Durability::every_commit)),
        batched(connection, WritingConnection::Durability::batched),
        writer(connection, folder, run_id, attempt),
        queue(writer.next_tick(), bounded ? WriteQueue::kMostRecords : SIZE_MAX),
        thread([this] { loop(); }) {}

  ~Impl() {
    queue.close();
    thread.join();
  }

  void loop() {
    Batch batch;
    try {
      while (queue.take(batch)) {
        writer.add_series(batch.new_series);
        queue.committed(sqlite::once_unlocked([&] { return writer.write(batch); }));
      }
    } catch (const sqlite::StoreGone& gone) {
      queue.fail(std::make_exception_ptr(StoreError(
          fmt::format("{}; {}", gone.what(), writer.keep_what_is_left(std::move(batch))))));
    } catch (...) {
      queue.fail(std::current_exception());
    }
  }

  void discard(const std::string& path) {
    try {
      remove_file(folder, path);
    } catch (const StoreError&) {  // acid gc will find it
    }
  }

  const std::string folder;
  std::optional<WritingConnection> own;  // absent: the connection is lent
  WritingConnection& connection;
  const CommitsAs batched;
  BatchWriter writer;  // used by `thread` once that runs, with the connection
  WriteQueue queue;
  std::thread thread;
};

RunWriter::RunWriter(const std::string& store_folder, const std::string& run_id,
                     std::int64_t attempt, bool bounded)
    : impl_(std::make_unique<Impl>(store_folder, nullptr, run_id, attempt, bounded)) {}

RunWriter::RunWriter(Store& store, const std::string& run_id, std::int64_t attempt, bool bounded)
    : impl_(std::make_unique<Impl>(store.folder(), &store, run_id, attempt, bounded)) {}

RunWriter::~RunWriter() = default;

void RunWriter::sample(const Position& position, std::span<const Value> values) {
  impl_->queue.sample(position, values);
}

void RunWriter::progress(const Position& position) { impl_->queue.progress(position); }

void RunWriter::note(Severity severity, std::string_view text) {
  impl_->queue.note(severity, text);
}

void RunWriter::events(int worker, std::int64_t first, std::span<const Event> events) {
  impl_->queue.events(worker, first, events);
}

void RunWriter::flush() { impl_->queue.flush(); }

void RunWriter::refuse_if_gone() {
  try {
    impl_->writer.refuse_if_gone();
  } catch (const sqlite::StoreGone& gone) {
    note(Severity::error, gone.what());  // makes a batch, with which the writer fails
    flush();
    throw;
  }
}

std::vector<std::string> RunWriter::checkpoint(const CheckpointRecord& record, int keep) {
  try {
    return impl_->queue.checkpoint(record, keep);
  } catch (const sqlite::SqliteError& error) {
    if (error.full()) impl_->discard(record.path);
    throw;
  }
}

}  // namespace acid
