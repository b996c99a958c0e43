#include "cli/worker_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "cli/worker_checkpoints.hpp"

namespace acid {
namespace {

// SQLite keeps −0.0 as 0.0.
bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool before(const Position& a, const Position& b) {
  return a.gradients < b.gradients ||
         (a.gradients == b.gradients && a.normalised_time < b.normalised_time);
}

}  // namespace

Comparison::Comparison(const Recording& recording, int from, std::function<void()> enough,
                       std::function<void(const Position&)> progress)
    : recording_(recording),
      simulated_(recording.run.summary.driver == "virtual"),
      finished_(recording.run.summary.state == RunState::finished),
      diverged_(recording.run.summary.state == RunState::diverged),
      from_start_(from < 0),
      enough_(std::move(enough)),
      progress_(std::move(progress)),
      next_cut_(static_cast<std::size_t>(from + 1)),
      departed_(recording.events.size()),
      next_event_(recording.events.size(), -1) {}

void Comparison::depart_at(double time, std::string what, int worker) {
  depart({.time = time, .what = std::move(what), .worker = worker, .event = {}, .tensor = ""});
}

bool Comparison::of_the_clock(std::string_view metric) const {
  return metric == "idle_share" && !simulated_;
}

bool Comparison::wanted(std::string_view metric) const {
  const nlohmann::json& chosen = recording_.run.settings.at("record").at("metrics");
  return !chosen.is_array() || std::find(chosen.begin(), chosen.end(), metric) != chosen.end();
}

void Comparison::depart(Departure departure) {
  MutexLock lock(mutex_);
  if (first_tensor_.empty()) first_tensor_ = departure.tensor;
  if (!first_ || departure.time < first_->time ||
      (departure.time == first_->time && departure.event && !first_->event))
    first_ = std::move(departure);
}

void Comparison::events(int worker, std::int64_t first, std::span<const Event> events) {
  const auto w = static_cast<std::size_t>(worker);
  if (w >= recording_.events.size()) return;  // the recording has no log
  for (const Event& event : events) {
    {
      MutexLock lock(mutex_);
      if (departed_[w] || over_) return;
      next_event_[w] = first + 1;
      ++events_;
    }
    compare_event(worker, first++, event);
  }
}

void Comparison::compare_event(int worker, std::int64_t number, const Event& event) {
  const auto w = static_cast<std::size_t>(worker);
  const std::vector<std::byte>& log = recording_.events[w];
  const std::size_t offset = static_cast<std::size_t>(number) * kEventBytes;
  Departure found{.time = event.time, .what = "", .worker = worker, .event = number, .tensor = ""};
  if (offset + kEventBytes > log.size()) {
    if (diverged_) return;  // how soon everybody hears of it is a matter of luck
    found.what = fmt::format("{} is not in the event log", event_name(event.kind));
  } else {
    try {
      const Event recorded =
          decode_event(std::span<const std::byte, kEventBytes>(log.data() + offset, kEventBytes),
                       worker, number);
      if (recorded.kind != event.kind)
        found.what = fmt::format("{} was recorded, {} happened", event_name(recorded.kind),
                                 event_name(event.kind));
      else if (recorded.time != event.time)
        found.what = fmt::format("{} was recorded at {}, happened at {}", event_name(event.kind),
                                 recorded.time, event.time);
      else if (recorded.exchange != (event.exchange & kExchangeMask))
        found.what = fmt::format("another exchange than the recorded one ({})", event.exchange);
      else if (recorded.fingerprint != event.fingerprint)
        found.what = fmt::format("other parameters after {}", event_name(event.kind));
    } catch (const DamagedEvent&) {
      found.what = "altered in the event log: its check fails";
    }
  }
  if (found.what.empty()) return;
  {
    MutexLock lock(mutex_);
    departed_[w] = true;
  }
  depart(std::move(found));
}

void Comparison::sample(const Position& position, std::span<const Value> values) {
  {
    MutexLock lock(mutex_);
    if (over_) return;
  }
  for (const Value& value : values)
    if (!of_the_clock(value.metric) && wanted(value.metric)) compare_value(position, value);
}

void Comparison::compare_value(const Position& position, const Value& value) {
  {
    MutexLock lock(mutex_);
    ++values_;
  }
  const double time = position.normalised_time;
  const auto series = std::find_if(
      recording_.series.begin(), recording_.series.end(),
      [&](const Series& s) { return s.metric == value.metric && s.worker == value.worker; });
  if (series == recording_.series.end())
    return depart_at(time, fmt::format("{} was not recorded", value.metric), value.worker);
  const auto [entry, first] = next_point_.try_emplace({std::string(value.metric), value.worker}, 0);
  std::size_t& next = entry->second;
  const std::vector<SeriesPoint>& points = series->points;
  if (first && !from_start_)  // those before the checkpoint
    while (next < points.size() && before(points[next].position, position)) ++next;
  if (next >= points.size() || before(position, points[next].position))
    return depart_at(time, fmt::format("{} was not recorded here", value.metric), value.worker);
  const SeriesPoint& point = points[next++];
  if (before(point.position, position))
    return depart_at(point.position.normalised_time,
                     fmt::format("{} was recorded, but is not measured here", value.metric),
                     value.worker);
  if (!same_value(point.value, value.value))
    return depart_at(
        time, fmt::format("{} was {:.17g}, is {:.17g}", value.metric, point.value, value.value),
        value.worker);
  compare_position(point.position, position, "of a sample");
}

void Comparison::compare_position(const Position& recorded, const Position& found,
                                  const char* where) {
  const double time = found.normalised_time;
  if (recorded.gradients != found.gradients)
    depart_at(time, fmt::format("gradients {} were {}, are {}", where, recorded.gradients,
                                found.gradients));
  else if (!same_value(recorded.normalised_time, time))
    depart_at(time,
              fmt::format("the normalised time {} was {:.17g}", where, recorded.normalised_time));
  else if (recorded.bytes != found.bytes)
    depart_at(time, fmt::format("bytes {} were {}, are {}", where, recorded.bytes, found.bytes));
  else if (simulated_ && !same_value(recorded.seconds, found.seconds))
    depart_at(time, fmt::format("seconds {} were {:.17g}, are {:.17g}", where, recorded.seconds,
                                found.seconds));
}

bool Comparison::due(std::int64_t step, const Position&) {
  return next_cut_ < recording_.cuts.size() && step == recording_.cuts[next_cut_].step;
}

void Comparison::save(const Cut& cut) {
  if (next_cut_ >= recording_.cuts.size()) return;
  const CheckpointRow& row = recording_.cuts[next_cut_];
  const CutDigests& recorded = recording_.digests[next_cut_];
  ++next_cut_;
  const double time = cut.position.normalised_time;
  if (cut.step != row.step)
    depart_at(time, fmt::format("checkpoint {} was taken at step {}, not {}", row.number, row.step,
                                cut.step));
  compare_position(row.position, cut.position, fmt::format("of checkpoint {}", row.number).c_str());
  compare_cut(recorded, digests_of(cut.vectors), compared_tensors(cut.vectors),
              {.time = time,
               .what = fmt::format("other parameters at checkpoint {}", row.number),
               .worker = kWholeRun,
               .event = {},
               .tensor = ""});
  const bool last = next_cut_ == recording_.cuts.size() && !finished_ && !diverged_;
  {
    MutexLock lock(mutex_);
    ++cuts_;
    over_ = last;
  }
  if (last) enough_();
}

void Comparison::compare_cut(const CutDigests& recorded, const CutDigests& found,
                             const std::vector<std::string>& tensors, const Departure& at) {
  Departure departure = at;
  if (recorded.workers.size() != found.workers.size()) {
    departure.what += fmt::format(": {} workers were recorded", recorded.workers.size());
    return depart(std::move(departure));
  }
  for (std::size_t w = 0; w < found.workers.size(); ++w) {
    if (found.workers[w] == recorded.workers[w] && found.tensors[w] == recorded.tensors[w])
      continue;
    departure.worker = static_cast<int>(w);
    const auto& mine = found.tensors[w];
    const auto& theirs = recorded.tensors[w];
    const auto different = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
    const auto tensor = static_cast<std::size_t>(different.first - mine.begin());
    if (tensor < tensors.size()) departure.tensor = tensors[tensor];
    return depart(std::move(departure));
  }
}

void Comparison::end(const Outcome& outcome) {
  const double time = outcome.position.normalised_time;
  if (next_cut_ < recording_.cuts.size() && outcome.ending != Ending::stopped)
    depart_at(time,
              fmt::format("the end came before checkpoint {}", recording_.cuts[next_cut_].number));
  const RunSummary& run = recording_.run.summary;
  if (diverged_ && outcome.ending != Ending::diverged)
    return depart_at(time, "the recorded run diverged: " + run.message);
  if (diverged_ && outcome.message != run.message)
    return depart_at(time, fmt::format("the recorded run diverged otherwise: {}; this one: {}",
                                       run.message, outcome.message));
  if (diverged_) {
    MutexLock lock(mutex_);
    final_state_ = true;
    return;
  }
  if (!finished_) return;
  if (outcome.ending != Ending::finished)
    return depart_at(time, "this execution ended: " + outcome.message);
  compare_result(outcome);
  compare_mean(outcome);
  expect_nothing_left(time);
  MutexLock lock(mutex_);
  final_state_ = true;
}

void Comparison::compare_result(const Outcome& outcome) {
  const AttemptResult& recorded = *recording_.run.result;
  const double time = outcome.position.normalised_time;
  compare_position(recorded.position, outcome.position, "at the end");
  if (recorded.worker_digests.size() != outcome.worker_digests.size())
    return depart_at(time,
                     fmt::format("{} workers were recorded at the end, not {}",
                                 recorded.worker_digests.size(), outcome.worker_digests.size()));
  const auto compare_workers = [&](const auto& then, const auto& now, const char* what) {
    for (std::size_t w = 0; w < now.size(); ++w)
      if (w >= then.size() || then[w] != now[w])
        return depart_at(time, fmt::format("{} at the end", what), static_cast<int>(w));
  };
  compare_workers(recorded.worker_digests, outcome.worker_digests, "other parameters");
  compare_workers(recorded.worker_gradients, outcome.worker_gradients,
                  "another number of gradients");
  if (recorded.exchanges_done != outcome.exchanges_done)
    depart_at(time, fmt::format("{} exchanges were recorded, {} happened", recorded.exchanges_done,
                                outcome.exchanges_done));
  std::map<std::pair<int, int>, std::int64_t> counts;
  for (const EdgeUse& edge : outcome.edges) counts[{edge.i, edge.j}] = edge.count;
  for (const AttemptResult::EdgeCount& edge : recorded.edges)
    if (std::exchange(counts[{edge.i, edge.j}], 0) != edge.count)
      return depart_at(
          time, fmt::format("another number of exchanges between {} and {}", edge.i, edge.j));
  for (const auto& [edge, count] : counts)
    if (count > 0)
      return depart_at(time, fmt::format("exchanges between {} and {} were not recorded",
                                         edge.first, edge.second));
}

// The mean's digest, and the file with the final model tensor by tensor, buffers included.
void Comparison::compare_mean(const Outcome& outcome) {
  Departure departure{.time = outcome.position.normalised_time,
                      .what = "another mean at the end",
                      .worker = kWholeRun,
                      .event = {},
                      .tensor = ""};
  const auto compare = [&](const std::vector<Segment>& segments, const std::vector<float>& values) {
    for (const Segment& segment : segments) {
      const auto recorded = recording_.final_mean.find(segment.name);
      if (recorded == recording_.final_mean.end() || !departure.tensor.empty()) return;
      const std::vector<float>& then = recorded->second.values;
      if (then.size() != static_cast<std::size_t>(segment.size) ||
          !std::equal(then.begin(), then.end(), values.begin() + segment.offset, same_value))
        departure.tensor = segment.name;
    }
  };
  compare(recording_.segments, outcome.mean);
  compare(recording_.buffer_segments, outcome.mean_buffers);
  if (recording_.run.result->mean_digest != outcome.mean_digest || !departure.tensor.empty())
    depart(std::move(departure));
  else if (recording_.final_mean_altered)
    depart_at(departure.time, "the file of the final model was altered since it was written");
}

void Comparison::expect_nothing_left(double time) {
  for (const Series& series : recording_.series) {
    if (of_the_clock(series.metric)) continue;
    const auto next = next_point_.find({series.metric, series.worker});
    if (next == next_point_.end() && !from_start_) continue;
    const std::size_t used = next == next_point_.end() ? 0 : next->second;
    if (used < series.points.size())
      depart_at(series.points[used].position.normalised_time,
                fmt::format("{} was recorded, but is not measured here", series.metric),
                series.worker);
  }
  for (std::size_t w = 0; w < recording_.events.size(); ++w) {
    const auto count = static_cast<std::int64_t>(recording_.events[w].size() / kEventBytes);
    std::int64_t next = 0;
    {
      MutexLock lock(mutex_);
      if (departed_[w] || next_event_[w] < 0) continue;
      next = next_event_[w];
    }
    if (next < count)
      depart({.time = time,
              .what = "recorded, but did not happen",
              .worker = static_cast<int>(w),
              .event = next,
              .tensor = ""});
  }
}

bool Comparison::compared_anything() const {
  MutexLock lock(mutex_);
  return final_state_ || cuts_ + events_ + values_ > 0;
}

std::optional<Departure> Comparison::first_departure() const {
  MutexLock lock(mutex_);
  std::optional<Departure> first = first_;
  if (first && first->tensor.empty()) first->tensor = first_tensor_;
  return first;
}

std::string Comparison::compared() const {
  MutexLock lock(mutex_);
  const char* end = !final_state_ ? "" : diverged_ ? " and the divergence" : " and the final state";
  return fmt::format("{} checkpoints{} of {} workers, {} events, {} measured values", cuts_, end,
                     recording_.run.summary.workers, events_, values_);
}

}  // namespace acid
