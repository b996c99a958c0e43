#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/safetensors.hpp"
#include "engine/recorder/event.hpp"
#include "settings/run_settings.hpp"
#include "store/queries.hpp"

namespace acid {

/// The parts of a run's record that a second execution must reproduce.
struct Recording {
  RunDetail run;
  RunSettings settings;                        // of `run`
  std::vector<CheckpointRow> cuts;             // oldest first
  std::vector<CutDigests> digests;             // of each cut
  std::vector<std::vector<std::byte>> events;  // by worker; empty when no log was kept
  std::vector<Series> series;
  std::vector<std::vector<Span>> spans;            // read_spans()
  std::vector<std::string> wrong_summaries;        // see store/queries.hpp
  std::vector<std::string> altered_words;          // see store/queries.hpp
  std::string state;                               // verified_state(), read before anything else
  std::vector<std::string> altered_files;          // "the file of checkpoint 3"
  std::vector<Segment> segments, buffer_segments;  // of the model
  std::map<std::string, LoadedTensor> final_mean;  // empty when its file is gone
  int event_version() const;                       // of the newest attempt
};

/// In an attempt's environment: whether it keeps an event log.
inline constexpr const char* kEventLogKey = "event_log";
/// Whether the attempt kept an event log. An attempt of an older acid does not say so: then
/// `events` of the run (read_events()) decide.
bool kept_events(const AttemptRow& attempt, const std::vector<std::vector<std::byte>>& events);

/// Version of the meaning of events, and of what virtual runs and replay make of them; absent in an
/// attempt's environment: 1. Since 2 a gradient begins at parameters that are mixed to its time;
/// since 3 an event of hearing a server has the rest of its number; since 4 means are taken by
/// differences (engine/worker/kernels.hpp); since 5 a consensus distance is added up in another
/// order (Metric::rounded_since). What a raise means for runs of before is said in verify.cpp,
/// kChanges. A new metric needs none.
inline constexpr const char* kEventVersionKey = "event_version";
inline constexpr int kEventVersion = 6;

/// In an attempt's environment: the names of the metrics that its acid had.
inline constexpr const char* kMetricsKey = "metrics";
/// Whether the acid of that attempt had the metric; metrics that a task names itself it had.
bool had_metric(const AttemptRow& attempt, std::string_view metric);
/// Whether a is before b on the axes on which a run repeats.
bool is_before(const Position& a, const Position& b);
/// The attempt that recorded what happened there. The recording has an attempt.
const AttemptRow& attempt_at(const Recording& recording, const Position& there);
/// The version of the events of that attempt.
int event_version(const AttemptRow& attempt);

/// Event `number` of a worker; it must exist. Throws DamagedEvent when its check fails.
Event event_of(const Recording& recording, int worker, std::int64_t number);
/// The number of a worker's recorded events.
std::int64_t event_count(const Recording& recording, int worker);
inline constexpr const char* kAlteredEvent = "altered in the event log: its check fails";

/// Reads all but the model's segments. A missing file takes nothing from the proof, since its
/// digest is in the store; altered files are named. Throws StoreError when the store cannot be read
/// or holds values that no run writes.
Recording read_recording(const Store& store, const std::string& run_id);

}  // namespace acid
