#include "worker/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "engine/data/dataset.hpp"
#include "engine/environment/environment.hpp"
#include "store/existing_store.hpp"
#include "worker/claims.hpp"
#include "worker/execute_run.hpp"
#include "worker/reexecution.hpp"
#include "worker/resume.hpp"

namespace acid {
namespace {

using nlohmann::json;

void refuse_what_cannot_be_verified(const Recording& recording, int from) {
  const RunSummary& run = recording.run.summary;
  if (run.state == RunState::running)
    throw UsageError(
        fmt::format("run {} is still being executed; verify it when it has ended", run.id));
  if (is_over(run.state)) return;
  if (!recording.cuts.empty() && recording.cuts.back().number == from)
    throw UsageError(
        fmt::format("run {} is {} and has nothing after checkpoint {} to compare; "
                    "leave --from out, or 'acid resume {}' first",
                    run.id, state_name(run.state), from, run.id));
  if (!recording.cuts.empty()) return;
  throw UsageError(
      fmt::format("run {} is {} and has no checkpoint: there is nothing to compare "
                  "with; 'acid resume {}' finishes it",
                  run.id, state_name(run.state), run.id));
}

// The MPI library chooses the order in which it adds.
void refuse_library_sums(const ComposedRun& run, const std::string& run_id) {
  const auto& mpi = run.settings.execution.mpi;
  if (!mpi || !mpi->library_sum || !run.spec.method.hears_all()) return;
  throw UsageError(fmt::format(
      "run {} cannot be executed again bit for bit: its all-reduce was left to the MPI library "
      "(execution.mpi.all_reduce = \"library\"), which adds in an order that depends on the "
      "processes; with \"ordered\", the default, runs can be verified",
      run_id));
}

// A user's program may draw random numbers that no seed determines.
void refuse_unrepeatable(const Recording& recording, const ComposedRun& run) {
  const auto unrepeatable = [](const json& runtime) {
    return runtime.is_object() && !runtime.value("repeatable", true);
  };
  const json& environment = recording.run.attempts.back().environment;
  if (!unrepeatable(run.model_runtime) && !unrepeatable(environment.value("model_runtime", json())))
    return;
  throw UsageError(fmt::format(
      "run {} cannot be executed again bit for bit: the gradients of {} are not repeatable, the "
      "same one, asked for twice, came out different; let it draw random numbers from torch, NumPy "
      "or random, which are seeded before each gradient, and keep no state between gradients",
      recording.run.summary.id, text(run.settings.task.model, "file")));
}

/// Whether inputs that are no bytes have a mean subtracted, or are divided by a deviation.
bool normalises_numbers(const ComposedRun& run) {
  const json& options = run.settings.task.dataset;
  const auto given = [&](const char* key) { return !options.value(key, json()).is_null(); };
  if (!given("mean") && !given("deviation")) return false;
  const DatasetEntry* const entry = find_dataset(text(options, "kind"));
  return entry != nullptr && !entry->inspect(options).are_bytes;
}

/// Whether an all-reduce may cross links between nodes that are faster than their cards.
bool outruns_cards(const ComposedRun& run) {
  const NetworkModel& network = run.settings.execution.simulation.network;
  return run.settings.execution.entry().simulates && network.nodes() > 0 &&
         !(network.between_nodes.empty() && network.edges.empty()) &&
         !run.spec.method.is_asynchronous();
}

/// What the events of a version, and those after it, mean otherwise than those before it.
struct Change {
  int since;
  /// Whether an execution from checkpoint `from` (0: from the beginning) comes out otherwise.
  bool (*concerns)(const ComposedRun& run, int from);
  const char* what;  // the recorded run had
};
// A raise of kEventVersion that changes the results of runs has a line here.
constexpr Change kChanges[] = {
    {2, [](const ComposedRun& run, int) { return run.settings.execution.entry().simulates; },
     "whose simulated seconds were others (normalised time, costs of messages, the end)"},
    // Without a momentum copy there is nothing to mix, and only the time of a worker's last event,
    // which a checkpoint records, is another.
    {2,
     [](const ComposedRun& run, int from) {
       return run.spec.method.is_asynchronous() &&
              (from != 0 || run.spec.method.rules.floats->drifts());
     },
     "in which a gradient may begin at other parameters"},
    {3,
     [](const ComposedRun& run, int) {
       const bool simulated = run.settings.execution.entry().simulates;
       return run.spec.method.is_asynchronous() && run.spec.method.has_server() &&
              (!simulated || run.spec.method.hubs.has_value());
     },
     "in which messages to a server are numbered otherwise"},
    {4,
     [](const ComposedRun& run, int) {
       return !run.spec.method.is_asynchronous() && run.spec.workers > 1;
     },
     "whose means were rounded otherwise: weights were rounded one by one, and every exchange "
     "moved the mean of all workers a little"},
    {6, [](const ComposedRun& run, int) { return normalises_numbers(run); },
     "whose inputs were rounded otherwise when their mean was subtracted"},
    {6, [](const ComposedRun& run, int) { return outruns_cards(run); },
     "in which messages of an all-reduce could be faster than the card of their node"}};

const char* other_meaning(int version, const ComposedRun& run, int from) {
  if (version > kEventVersion) return "which this acid does not know";
  const auto* const change = std::ranges::find_if(
      kChanges, [&](const Change& one) { return version < one.since && one.concerns(run, from); });
  return change == std::end(kChanges) ? nullptr : change->what;
}

void refuse_other_events(const Recording& recording, const ComposedRun& run, int from) {
  const int version = recording.event_version();
  const char* const what = other_meaning(version, run, from);
  if (what == nullptr) return;
  throw UsageError(fmt::format(
      "run {} was recorded by acid {} with events of version {}, {}; this acid executes those of "
      "version {}, so it cannot be repeated here; verify it {}with the acid that recorded it, or "
      "run its recipe again with --force",
      recording.run.summary.id,
      recording.run.attempts.back().environment.value("acid_version", "of an unknown version"),
      version, what, kEventVersion,
      from != 0 && other_meaning(version, run, 0) == nullptr ? "without --from, or " : ""));
}

std::string describe(const Departure& departure) {
  std::string where;
  if (departure.event)
    where = fmt::format("event {} of worker {}: ", *departure.event, departure.worker);
  else if (departure.worker != kWholeRun)
    where = fmt::format("worker {}: ", departure.worker);
  std::string text =
      fmt::format("{}{} (normalised time {})", where, departure.what, departure.time);
  if (!departure.tensor.empty())
    text += fmt::format("; the first tensor seen to differ is {}", departure.tensor);
  return text;
}

/// The outcome of a verification.
struct Verdict {
  std::vector<std::string> untrue;  // false_claims()
  std::optional<Departure> departure;
  std::string compared;
  bool equal() const { return untrue.empty() && !departure; }
  std::string message() const {
    if (equal()) return compared + ": equal bit for bit";
    std::vector<std::string> all = untrue;
    if (departure) all.push_back("first difference: " + describe(*departure));
    return fmt::format("{}", fmt::join(all, "; "));
  }
};

json to_json(const VerifyOptions& options, const Verdict& verdict, const json& changed) {
  const auto& departure = verdict.departure;
  json document = {{"schema_version", 1},
                   {"run", options.run_id},
                   {"equal", verdict.equal()},
                   {"message", verdict.message()},
                   {"compared", verdict.compared},
                   {"from", options.from == 0 ? json() : json(options.from)},
                   {"until", options.until == 0 ? json() : json(options.until)},
                   {"changed", changed},
                   {"untrue", verdict.untrue},
                   {"first_difference", nullptr}};
  if (departure)
    document["first_difference"] = {
        {"what", departure->what},
        {"worker", departure->worker == kWholeRun ? json() : json(departure->worker)},
        {"event", departure->event ? json(*departure->event) : json()},
        {"normalised_time", departure->time},
        {"tensor", departure->tensor.empty() ? json() : json(departure->tensor)}};
  return document;
}

// A verdict is useful also when it cannot be recorded.
void record(const VerifyOptions& options, const Recording& recording, const Verdict& verdict,
            const json& surroundings) {
  Verification verification{.equal = verdict.equal(),
                            .message = verdict.message(),
                            .from = {},
                            .environment = surroundings,
                            .proof = recording.state};
  const int from = index_of_cut(recording, options.from);
  if (from >= 0) verification.from = recording.cuts[static_cast<std::size_t>(from)].id;
  try {
    open_existing_store(options.store_folder).add_verification(options.run_id, verification);
  } catch (const StoreError& error) {
    std::cerr << "the verdict is not recorded: " << error.what() << "\n";
  }
}

void print(const VerifyOptions& options, const Verdict& verdict, const json& changed) {
  std::cout << fmt::format("run {} {}\n  {}\n", options.run_id,
                           verdict.equal() ? "verified" : "could NOT be reproduced",
                           verdict.message());
  if (!changed.empty())
    std::cout << "what changed since it was recorded:\n" << describe_differences(changed) << "\n";
  else if (!verdict.equal())
    std::cout << "program, libraries and data are the same as when it was recorded\n";
}

}  // namespace

Exit verify_run(const VerifyOptions& options, std::stop_token stop) {
  Recording recording;
  {
    const Store store(options.store_folder, Store::Access::read);
    recording = read_recording(store, options.run_id);
  }
  refuse_what_cannot_be_verified(recording, options.from);
  keep_blas_core(recording.run);
  const auto run = compose_stored(recording.run, recording.settings, usable_cores());
  refuse_library_sums(*run, options.run_id);
  refuse_unrepeatable(recording, *run);
  refuse_other_events(recording, *run, options.from);
  recording.segments = run->objective->segments();
  recording.buffer_segments = run->objective->buffer_segments();
  const json surroundings = environment_of(*run, recording.run.settings, options.command_line);
  AttemptRow newest = recording.run.attempts.back();
  // Replay needs no MPI.
  if (json& programs = newest.environment["programs"]; programs.is_object())
    programs.erase("acid-mpi.so");
  if (recording.event_version() < 2)  // then a file of edges was not among the data files
    std::erase_if(run->file_digests, [&](const auto& file) {
      const json& topology = run->settings.topology;
      return topology.is_object() && topology.value("edges", json()) == file.first;
    });
  const json changed = differences(newest, surroundings, run->file_digests);

  Verdict verdict;
  verdict.untrue = false_claims(recording, *run, changed);
  Reexecution verification(options, recording, *run, stop);
  // A run with altered settings might never end.
  const bool executable = changed.contains("data") || settings_have_their_digest(recording.run);
  if (executable) verification.execute();
  if (stop.stop_requested()) return Exit::interrupted;

  const RecordingComparison& comparison = verification.comparison();
  if (executable) verdict.departure = comparison.first_departure();
  verdict.compared = executable ? comparison.compared() : "nothing, for the settings were altered";
  if (verdict.equal() && !comparison.compared_anything())
    throw UsageError(fmt::format("run {} left nothing that could be compared", options.run_id));
  // The store's verifications say what holds to a run's end.
  if (options.until == 0 || !verdict.equal()) record(options, recording, verdict, surroundings);
  if (options.json)
    std::cout << to_json(options, verdict, changed).dump(2) << "\n";
  else
    print(options, verdict, changed);
  return verdict.equal() ? Exit::ok : Exit::mismatch;
}

}  // namespace acid
