#include "worker/recording_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/recorder/metrics.hpp"
#include "worker/checkpoints.hpp"

namespace acid {

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

namespace {

/// The last cut of a run that did not come to an end, unless another is given.
std::optional<std::size_t> last_cut(const Recording& recording, std::optional<std::size_t> until) {
  if (until || is_over(recording.run.summary.state) || recording.cuts.empty()) return until;
  return recording.cuts.size() - 1;
}

}  // namespace

RecordingComparison::RecordingComparison(const Recording& recording, int from,
                                         std::optional<std::size_t> until,
                                         std::function<void(const Cut&)> enough,
                                         std::function<void(const Position&)> progress)
    : recording_(recording),
      simulated_(recording.settings.execution.entry().simulates),
      finished_(recording.run.summary.state == RunState::finished),
      diverged_(recording.run.summary.state == RunState::diverged),
      from_(from),
      until_(last_cut(recording, until)),
      enough_(std::move(enough)),
      progress_(std::move(progress)),
      next_cut_(static_cast<std::size_t>(from + 1)),
      departed_(recording.events.size()),
      next_event_(recording.events.size(), -1) {}

void RecordingComparison::depart_at(double time, std::string what, int worker) {
  depart({.time = time, .what = std::move(what), .worker = worker});
}

bool RecordingComparison::of_the_clock(std::string_view metric) const {
  const Metric* const known = find_metric(metric);
  return known != nullptr && known->of_the_clock && !simulated_;
}

bool RecordingComparison::differs_by_rounding(const Metric* metric, const SeriesPoint& then,
                                              double now) {
  constexpr double kRounding = 1e-9;
  if (metric == nullptr || !(std::abs(then.value - now) <= kRounding * std::abs(then.value)))
    return false;
  if (event_version(attempt_at(recording_, then.position)) >= metric->rounded_since) return false;
  rounded_.insert(metric->name);
  return true;
}

void RecordingComparison::depart(Departure departure) {
  MutexLock lock(mutex_);
  if (first_tensor_.empty()) first_tensor_ = departure.tensor;
  if (!first_ || departure.time < first_->time ||
      (departure.time == first_->time && departure.event && !first_->event))
    first_ = std::move(departure);
}

void RecordingComparison::events(int worker, std::int64_t first, std::span<const Event> events) {
  const auto w = static_cast<std::size_t>(worker);
  if (w >= recording_.events.size()) return;  // the recording has no log
  for (const Event& event : events) {
    {
      MutexLock lock(mutex_);
      if (departed_[w] || over_) return;
      next_event_[w] = first + 1;
    }
    compare_event(worker, first++, event);
  }
}

void RecordingComparison::compare_event(int worker, std::int64_t number, const Event& event) {
  const auto w = static_cast<std::size_t>(worker);
  Departure found{.time = event.time, .worker = worker, .event = number};
  if (number >= event_count(recording_, worker)) {
    // When the workers hear of a divergence is a matter of luck.
    if (diverged_ && !simulated_) return;
    found.what = fmt::format("{} is not in the event log", event_name(event.kind));
  } else {
    try {
      const Event recorded = event_of(recording_, worker, number);
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
      found.what = kAlteredEvent;
    }
  }
  {
    MutexLock lock(mutex_);
    ++events_;
    if (found.what.empty()) return;
    departed_[w] = true;
  }
  depart(std::move(found));
}

void RecordingComparison::sample(const Position& position, std::span<const Value> values) {
  {
    MutexLock lock(mutex_);
    if (over_) return;
  }
  const auto& chosen = recording_.settings.record.metrics;
  for (const Value& value : values)
    if (!of_the_clock(value.metric) && (!chosen || chosen->contains(value.metric)))
      compare_value(position, value);
}

void RecordingComparison::compare_value(const Position& position, const Value& value) {
  ++values_;
  const double time = position.normalised_time;
  const auto series = std::find_if(
      recording_.series.begin(), recording_.series.end(),
      [&](const Series& s) { return s.metric == value.metric && s.worker == value.worker; });
  const auto is_missing = [&](const char* where) {
    if (!had_metric(attempt_at(recording_, position), value.metric)) return;
    depart_at(time, fmt::format("{} was not recorded{}", value.metric, where), value.worker);
  };
  if (series == recording_.series.end()) return is_missing("");
  const auto [entry, first] = next_point_.try_emplace({std::string(value.metric), value.worker}, 0);
  std::size_t& next = entry->second;
  const std::vector<SeriesPoint>& points = series->points;
  if (first && from_ >= 0)  // those before the checkpoint
    while (next < points.size() && is_before(points[next].position, position)) ++next;
  if (next >= points.size() || is_before(position, points[next].position))
    return is_missing(" here");
  const SeriesPoint& point = points[next++];
  if (is_before(point.position, position))
    return depart_at(point.position.normalised_time,
                     fmt::format("{} was recorded, but is not measured here", value.metric),
                     value.worker);
  if (!same_value(point.value, value.value) &&
      !differs_by_rounding(find_metric(value.metric), point, value.value))
    return depart_at(
        time, fmt::format("{} was {:.17g}, is {:.17g}", value.metric, point.value, value.value),
        value.worker);
  compare_position(point.position, position, "of a sample");
}

void RecordingComparison::compare_position(const Position& recorded, const Position& found,
                                           std::string_view where) {
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

bool RecordingComparison::due(std::int64_t step, const Position&) {
  return !cuts_are_compared() && step == recording_.cuts[next_cut_].step;
}

void RecordingComparison::save(const Cut& cut) {
  if (cuts_are_compared()) return;
  const CheckpointRow& row = recording_.cuts[next_cut_];
  const CutDigests& recorded = recording_.digests[next_cut_];
  ++next_cut_;
  const double time = cut.position.normalised_time;
  if (cut.step != row.step)
    depart_at(time, fmt::format("checkpoint {} was taken at step {}, not {}", row.number, row.step,
                                cut.step));
  compare_position(row.position, cut.position, fmt::format("of checkpoint {}", row.number));
  compare_cut(recorded, digests_of(cut.vectors), compared_tensors(cut.vectors),
              {.time = time, .what = fmt::format("other parameters at checkpoint {}", row.number)});
  if (!until_ || next_cut_ <= *until_) return;
  {
    MutexLock lock(mutex_);
    over_ = true;
  }
  enough_(cut);
}

void RecordingComparison::compare_cut(const CutDigests& recorded, const CutDigests& found,
                                      const std::vector<std::string>& tensors,
                                      Departure departure) {
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

// How many values of the series lie before the start or have been measured again.
std::size_t RecordingComparison::accounted_for(const Series& series) const {
  const auto next = next_point_.find({series.metric, series.worker});
  if (next != next_point_.end()) return next->second;
  if (from_ < 0) return 0;
  const Position& start = recording_.cuts[static_cast<std::size_t>(from_)].position;
  auto left = std::ranges::find_if(
      series.points, [&](const SeriesPoint& point) { return is_before(start, point.position); });
  // A replay's first sample has no values of gradients, and it may also be its last sample.
  const Metric* const known = find_metric(series.metric);
  const bool is_replay = !simulated_ && !recording_.events.empty();
  if (is_replay && left != series.points.end() && known != nullptr &&
      known->of == MetricOf::gradients)
    ++left;
  return static_cast<std::size_t>(left - series.points.begin());
}

void RecordingComparison::expect_nothing_left(const Position& end, bool nor_after_it) {
  for (const Series& series : recording_.series) {
    const std::size_t next = accounted_for(series);
    if (of_the_clock(series.metric) || next == series.points.size()) continue;
    const Position& position = series.points[next].position;
    if (nor_after_it || is_before(position, end))
      depart_at(position.normalised_time,
                fmt::format("{} was recorded, but is not measured here", series.metric),
                series.worker);
  }
  for (int w = 0; w < static_cast<int>(recording_.events.size()); ++w)
    look_at_rest_of_log(w, end.normalised_time, nor_after_it);
}

// Checks events that did not happen again. Those after the end of what can be repeated must at
// least be unaltered.
void RecordingComparison::look_at_rest_of_log(int worker, double time, bool is_too_much) {
  const auto w = static_cast<std::size_t>(worker);
  const std::int64_t count = event_count(recording_, worker);
  std::int64_t next = 0;
  {
    MutexLock lock(mutex_);
    if (departed_[w]) return;
    next = next_event_[w];
  }
  if (next < 0 && from_ >= 0) return;  // the place where its log goes on is unknown
  Departure departure{.time = time, .worker = worker};
  for (departure.event = std::max<std::int64_t>(next, 0); *departure.event < count;
       ++*departure.event) {
    if (is_too_much) {
      departure.what = "recorded, but did not happen";
      return depart(std::move(departure));
    }
    try {
      departure.time = event_of(recording_, worker, *departure.event).time;
    } catch (const DamagedEvent&) {
      departure.what = kAlteredEvent;
      return depart(std::move(departure));
    }
  }
}

bool RecordingComparison::compared_anything() const {
  MutexLock lock(mutex_);
  return final_state_ || static_cast<int>(next_cut_) > from_ + 1 || events_ + values_ > 0;
}

std::optional<Departure> RecordingComparison::first_departure() const {
  MutexLock lock(mutex_);
  std::optional<Departure> first = first_;
  if (first && first->tensor.empty()) first->tensor = first_tensor_;
  return first;
}

std::string RecordingComparison::compared() const {
  MutexLock lock(mutex_);
  const int cuts = static_cast<int>(next_cut_) - (from_ + 1);
  const char* end = !final_state_ ? "" : diverged_ ? " and the divergence" : " and the final state";
  const std::string rounded =
      rounded_.empty()
          ? ""
          : fmt::format(" ({} to nine digits: an older acid added it up in another order)",
                        fmt::join(rounded_, ", "));
  return fmt::format(
      "{}{} of {}, {}, {}{}{}", counted(cuts, "checkpoint"), end,
      counted(recording_.run.summary.workers, "worker"), counted(events_, "event"),
      counted(values_, "measured value"), rounded,
      until_ ? fmt::format(" (nothing after checkpoint {}{})", recording_.cuts[*until_].number,
                           finished_ || diverged_ ? "" : ", where it was interrupted")
             : "");
}

}  // namespace acid
