#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid::test {

inline Position at(int step) { return {step, step / 2.0, step / 10.0, 100LL * step}; }

inline CheckpointRecord record_at(int step, const std::string& mark = "") {
  CheckpointRecord record;
  record.step = step;
  record.position = at(step);
  record.path = fmt::format("checkpoints/run/{}{}.safetensors", mark, step);
  record.sha256 = sha256_hex(record.path);
  record.bytes = 1000 + step;
  record.worker_digests = {sha256_hex("0"), sha256_hex(std::to_string(step))};
  record.tensor_digests = {{1, 0xFEDCBA9876543210}, {static_cast<std::uint64_t>(step), ~0ULL}};
  return record;
}

/// What an attempt of two workers leaves that ends after four steps.
inline AttemptResult result_of_four() {
  AttemptResult result;
  result.position = at(4);
  result.mean_digest = sha256_hex("mean");
  result.realised_chi1 = 1.5;
  result.exchanges_drawn = 7;
  result.staleness = {3, 1};
  result.worker_digests = {sha256_hex("0"), sha256_hex("1")};
  result.worker_gradients = {2, 2};
  result.worker_idle_seconds = {0.5, 0.25};
  result.edges = {{0, 1, 0.5, 3}};
  result.worker_spans = {{{SpanKind::compute, 0, 1}}, {{SpanKind::wait, 0, 1}}};
  return result;
}

/// A run of two workers that is executed, killed and continued, step by step. Every value shows
/// which attempt recorded it.
class Story : public OneRun {
 public:
  void begin(const std::optional<Continuation>& continued = std::nullopt) {
    writer_.reset();  // everything is written, but the attempt is not ended
    attempt_id_ = store.begin_attempt(run.id, dead_lease(), {{"host", "here"}}, {},
                                      {{"data.bin", fmt::format("d{}", ++attempt_)}}, continued);
    writer_.emplace(temp.store(), run.id, attempt_id_);
  }
  /// Begins, and records steps 1 to this one and a checkpoint after it.
  void begin_to(int step) {
    begin();
    steps(1, step);
    checkpoint(step);
  }
  void steps(int from, int to) {
    for (int step = from; step <= to; ++step) {
      const double x = value(attempt_, step);
      sample(*writer_, at(step), {{"train_loss_at_mean", kWholeRun, x}, {"staleness", 1, -x}});
      for (const int worker : {0, 1}) {
        const Event event{EventKind::commit_gradient, step / 2.0, 0, static_cast<std::uint32_t>(x)};
        writer_->events(worker, step - 1, {&event, 1});
      }
    }
  }
  std::vector<std::string> checkpoint(int step, int keep = 100) {
    return writer_->checkpoint(record_at(step, fmt::format("{}-", attempt_)), keep);
  }
  Continuation from(int checkpoint_number) const {
    for (const CheckpointRow& row : checkpoints_of(store, run.id))
      if (row.number == checkpoint_number) return {row.id, nullptr};
    FAIL("no checkpoint " << checkpoint_number);
    return {};
  }
  void kill() { writer_.reset(); }
  /// Steps 1 to 3, of which a checkpoint is made, to 6, and from the checkpoint again to 5.
  void begin_and_go_on() {
    begin_to(3);
    steps(4, 6);
    begin(from(1));
    steps(4, 5);
    kill();
  }
  RunWriter& writer() { return *writer_; }
  std::int64_t attempt_id() const { return attempt_id_; }

  static double value(int attempt, int step) { return 1000.0 * attempt + step; }
  /// Checks which attempt counts for each step (from 1).
  void check(const std::vector<int>& attempts) const {
    const std::vector<Series> all = read_series(store, run.id);
    REQUIRE(all.size() == (attempts.empty() ? 0 : 2));
    for (const Series& series : all) {
      REQUIRE(series.points.size() == attempts.size());
      for (std::size_t i = 0; i < attempts.size(); ++i) {
        const int step = static_cast<int>(i) + 1;
        CHECK(series.points[i].position.gradients == step);
        CHECK(std::abs(series.points[i].value) == value(attempts[i], step));
      }
    }
    CHECK(wrong_summaries(store, run.id) == std::vector<std::string>{});
    CHECK(number(store, "SELECT count(*) FROM points_view") ==
          2 * static_cast<std::int64_t>(attempts.size()));
    const auto events = read_events(store, run.id);
    REQUIRE(events.size() == 4);
    for (const int worker : {0, 1}) {
      const std::span<const std::byte> bytes = events[static_cast<std::size_t>(worker)];
      REQUIRE(bytes.size() == attempts.size() * kEventBytes);
      for (std::size_t i = 0; i < attempts.size(); ++i) {
        const auto one = bytes.subspan(i * kEventBytes).first<kEventBytes>();
        const Event event = decode_event(one, worker, static_cast<std::int64_t>(i));
        CHECK(event.fingerprint == value(attempts[i], static_cast<int>(i) + 1));
      }
    }
    CHECK(events[2].empty());
    CHECK(number(store, "SELECT coalesce(sum(count), 0) FROM event_list") ==
          2 * static_cast<std::int64_t>(attempts.size()));
  }

 private:
  int attempt_ = 0;
  std::int64_t attempt_id_ = 0;
  std::optional<RunWriter> writer_;
};

}  // namespace acid::test
