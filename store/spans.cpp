#include <cstring>

#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

constexpr std::size_t kSpanBytes = 20;

template <class T>
void put(std::vector<std::byte>& bytes, T value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

Span span_at(std::span<const std::byte> bytes) {
  std::uint32_t kind = 0;
  Span span;
  std::memcpy(&kind, bytes.data(), sizeof kind);
  std::memcpy(&span.begin, &bytes[4], sizeof span.begin);
  std::memcpy(&span.end, &bytes[12], sizeof span.end);
  span.kind = static_cast<SpanKind>(kind);
  return span;
}

}  // namespace

void insert_spans(const Connection& connection, std::int64_t attempt,
                  const std::vector<std::vector<Span>>& workers) {
  Statement insert(connection, "INSERT INTO worker_spans VALUES (?, ?, ?)");
  std::vector<std::byte> bytes;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    bytes.clear();
    for (const Span& span : workers[w]) {
      put(bytes, static_cast<std::uint32_t>(span.kind));
      put(bytes, span.begin);
      put(bytes, span.end);
    }
    if (!bytes.empty()) insert.bind(attempt, w, bytes).run();
  }
}

std::vector<std::vector<Span>> read_spans(const Store& store, const std::string& run_id) {
  Statement select(store.impl().connection(),
                   "SELECT w.worker, w.spans, r.workers FROM worker_spans w"
                   " JOIN attempts a ON a.id = w.attempt JOIN runs r ON r.number = a.run"
                   " WHERE r.id = ?"
                   " AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)");
  select.bind(run_id);
  std::vector<std::vector<Span>> workers;
  while (select.step()) {
    const std::string whose = "run " + run_id;
    const std::int64_t of = select.integer(2, 1, kMostWorkers, whose);
    const auto worker = static_cast<std::size_t>(select.integer(0, 0, of - 1, whose));
    const std::span<const std::byte> bytes = select.bytes(1);
    if (bytes.size() % kSpanBytes != 0)
      throw StoreError(
          fmt::format("run {} in the store {}: what worker {} did with its time is "
                      "damaged ({} bytes); 'acid doctor --store {}' looks for more",
                      run_id, store.folder(), worker, bytes.size(), store.folder()));
    workers.resize(static_cast<std::size_t>(of));
    for (std::size_t at = 0; at < bytes.size(); at += kSpanBytes) {
      const Span span = span_at(bytes.subspan(at, kSpanBytes));
      if (span.kind <= SpanKind::exchange) workers[worker].push_back(span);
    }
  }
  return workers;
}

}  // namespace acid
