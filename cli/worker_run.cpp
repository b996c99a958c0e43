#include "cli/worker_run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "cli/worker_compose.hpp"
#include "cli/worker_environment.hpp"
#include "engine/base/clock.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/topology/spectral.hpp"
#include "store/queries.hpp"
#include "store/writer.hpp"

namespace acid {
namespace {

constexpr std::int64_t kMostEdges = 100'000;  // recorded with their rates, used or not
constexpr int kMostWorkersRealised = 4'096;   // for whom χ̂₁, χ̂₂ are worked out

/// Passes on the metrics that the recipe asks for (record.metrics).
class ChosenMetrics final : public Recorder {
 public:
  ChosenMetrics(Recorder& to, const nlohmann::json& chosen) : to_(to) {
    if (chosen.is_array()) chosen_ = chosen.get<std::set<std::string, std::less<>>>();
  }
  void sample(const Position& position, std::span<const Value> values) override {
    if (!chosen_) return to_.sample(position, values);
    std::vector<Value> kept;
    for (const Value& value : values)
      if (chosen_->contains(value.metric)) kept.push_back(value);
    to_.sample(position, kept);
  }
  void progress(const Position& position) override { to_.progress(position); }
  void note(Severity severity, std::string_view text) override { to_.note(severity, text); }

 private:
  Recorder& to_;
  std::optional<std::set<std::string, std::less<>>> chosen_;  // absent: all of them
};

Outcome drive(ComposedRun& run, Recorder& recorder, std::stop_token stop) {
  if (run.driver == DriverKind::threads)
    return run_threads(run.spec, run.threads_options, *run.objective, recorder, SteadyClock(),
                       stop);
  return run_virtual(run.spec, run.virtual_options, *run.objective, recorder, stop);
}

void add_edges(AttemptResult& result, const Outcome& outcome, const RunSpec& spec) {
  std::map<std::pair<int, int>, std::int64_t> counts;
  for (const EdgeUse& edge : outcome.edges) counts[{edge.i, edge.j}] = edge.count;
  const auto add = [&](int i, int j) {
    const auto used = counts.find({i, j});
    result.edges.push_back({i, j, spec.topology->edge_rate(i, j, spec.method.rate),
                            used == counts.end() ? 0 : used->second});
  };
  if (spec.workers > 1 && spec.topology->edge_count() <= kMostEdges)
    spec.topology->for_each_edge([&](const Edge& edge) { add(edge.i, edge.j); });
  else
    for (const EdgeUse& edge : outcome.edges) add(edge.i, edge.j);
}

void add_realised(AttemptResult& result, const Outcome& outcome, const RunSpec& spec) {
  if (spec.method.pattern != Pattern::pairwise || outcome.position.gradients == 0) return;
  result.realised_rate = 2.0 * static_cast<double>(outcome.exchanges_done) /
                         static_cast<double>(outcome.position.gradients);
  if (spec.workers < 2 || spec.workers > kMostWorkersRealised || outcome.edges.empty()) return;
  std::vector<Edge> rates;
  for (const EdgeUse& edge : outcome.edges)
    rates.push_back(
        {edge.i, edge.j, static_cast<double>(edge.count) / outcome.position.normalised_time});
  const Spectral spectral = spectral_of_rates(spec.workers, rates);
  if (!std::isfinite(spectral.chi1)) return;
  result.realised_chi1 = spectral.chi1;
  result.realised_chi2 = spectral.chi2;
}

AttemptResult result_of(const Outcome& outcome, const RunSpec& spec) {
  AttemptResult result;
  result.state = outcome.ending == Ending::finished  ? RunState::finished
                 : outcome.ending == Ending::stopped ? RunState::interrupted
                                                     : RunState::diverged;
  result.message = outcome.ending == Ending::stopped ? "stopped by a signal" : outcome.message;
  result.position = outcome.position;
  result.worker_digests = outcome.worker_digests;
  result.mean_digest = outcome.mean_digest;
  result.worker_gradients = outcome.worker_gradients;
  result.worker_idle_seconds = outcome.worker_idle_seconds;
  result.exchanges_drawn = outcome.exchanges_drawn;
  result.exchanges_done = outcome.exchanges_done;
  result.exchanges_waiting = outcome.exchanges_waiting;
  if (outcome.ending == Ending::finished) {
    add_edges(result, outcome, spec);
    add_realised(result, outcome, spec);
  }
  return result;
}

// Threads of one process get cores as the system likes; with tiny gradients that can be very
// uneven, and then the run says little about the method.
void note_uneven_pace(Recorder& recorder, const ComposedRun& run, const Outcome& outcome) {
  if (run.driver != DriverKind::threads || outcome.worker_gradients.size() < 2 ||
      !run.threads_options.slow_factors.empty())
    return;
  const auto [least, most] =
      std::minmax_element(outcome.worker_gradients.begin(), outcome.worker_gradients.end());
  if (*most <= 2 * *least) return;
  recorder.note(Severity::warning,
                fmt::format("workers committed between {} and {} gradients: {} threads shared {} "
                            "cores unevenly; use fewer workers, larger gradients or the virtual "
                            "driver",
                            *least, *most, run.spec.workers, usable_cores()));
}

AttemptResult::Artifact save_mean(const std::string& store_folder, const std::string& run_id,
                                  const Outcome& outcome, const Objective& objective) {
  const std::string relative = "checkpoints/" + run_id + "/final-mean.safetensors";
  const std::filesystem::path path = std::filesystem::path(store_folder) / relative;
  std::filesystem::create_directories(path.parent_path());
  const AtomicFile::Written written = write_safetensors(
      path.string(),
      {{objective.segments(), outcome.mean}, {objective.buffer_segments(), outcome.mean_buffers}},
      {{"acid_run", run_id}, {"mean_digest", outcome.mean_digest}});
  return {"final-mean", relative, written.sha256, written.bytes};
}

}  // namespace

Exit execute_run(const std::string& store_folder, const std::string& run_id,
                 const std::string& command_line, std::stop_token stop) {
  Store store(store_folder, Store::Access::write);
  const nlohmann::json settings = run_detail(store, run_id).settings;
  nlohmann::json surroundings = environment(command_line);
  const auto run = compose(settings, usable_cores());
  surroundings["model_runtime"] = run->model_runtime;
  const std::int64_t attempt =
      store.begin_attempt(run_id, Lease::of_this_process(), surroundings,
                          derived_seeds(run->spec.seeds, run->spec.workers), run->file_digests);
  AttemptResult result;
  try {
    RunWriter writer(store_folder, run_id, attempt);
    ChosenMetrics recorder(writer, settings.at("record").at("metrics"));
    const Outcome outcome = drive(*run, recorder, stop);
    if (outcome.holds > 0)
      writer.note(Severity::info,
                  fmt::format("the throttle held {} of {} gradients until their worker had caught "
                              "up with its exchanges",
                              outcome.holds, outcome.position.gradients));
    note_uneven_pace(writer, *run, outcome);
    writer.flush();
    result = result_of(outcome, run->spec);
    if (outcome.ending == Ending::finished)
      result.artifacts.push_back(save_mean(store_folder, run_id, outcome, *run->objective));
  } catch (const std::exception& error) {
    result = {};
    result.state = RunState::failed;
    result.message = error.what();
    store.end_attempt(attempt, result);
    throw;
  }
  store.end_attempt(attempt, result);
  switch (result.state) {
    case RunState::finished:
      return Exit::ok;
    case RunState::interrupted:
      return Exit::interrupted;
    default:
      return Exit::run_failed;
  }
}

}  // namespace acid
