#include "tests/drivers/replay_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/base/digest.hpp"
#include "engine/methods/listed.hpp"
#include "engine/recorder/metrics.hpp"
#include "engine/topology/spectral.hpp"
#include "tests/catch.hpp"
#include "tests/waiting.hpp"

namespace acid::test {

Replayable::Replayable(const Settings& settings)
    : graph(make_topology(settings.workers, {{"kind", "ring"}})),
      task{{"dimension", settings.dimension}, {"noise", 0.5}} {
  spec.workers = settings.workers;
  spec.topology = &graph;
  spec.seeds = Seeds(settings.seed);
  const AlgorithmEntry* const entry =
      settings.entry != nullptr ? settings.entry : find_algorithm(settings.algorithm);
  nlohmann::json options_given = nlohmann::json::object();
  if (!settings.codec.is_null()) options_given["codec"] = settings.codec;
  std::optional<Spectral> nominal;
  if (meets(entry->peers)) {
    options_given["communication_rate"] = settings.rate;
    if (settings.workers > 1) nominal = spectral(graph, settings.rate);
  }
  spec.method = method_of(*entry, with_fallbacks(entry->fields, options_given),
                          nominal ? &*nominal : nullptr);
  spec.schedule.kind = ScheduleKind::cosine;  // so that the numbers of commits matter
  spec.optimizer.momentum = 0.9;
  spec.budget.gradients = settings.gradients;
  spec.cadence.consensus_every = 20;
  spec.cadence.evaluate_every = 100;
  spec.keep_events = true;
}

namespace {
const AlgorithmEntry& listed(const nlohmann::json& table) {
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings);
  INFO((findings.empty() ? "" : findings.front().path + ": " + findings.front().message));
  REQUIRE(listing.has_value());
  return listed_entry(*listing);
}
}  // namespace

const AlgorithmEntry& served_late() {
  return listed(
      {{"name", "served late"},
       {"peers", "server"},
       {"round", "gradient step say gradient step hear"},
       {"hear", "x = x + (theirs(0) - mine(0))"},
       {"server", {{"hear", "x = x + min(0.5, 10 * lr) / (1 + stale) * (theirs(0) - x)"}}}});
}

const AlgorithmEntry& served_by_hubs() {
  return listed({{"name", "served by hubs"},
                 {"peers", "server"},
                 {"round", "gradient say hear"},
                 {"send", "g"},
                 {"server",
                  {{"hubs", 2},
                   {"keep", {{"merged", "x"}}},
                   {"hear", "x = x - lr / (1 + stale) * theirs(0)"},
                   {"visit",
                    {{"every", 3},
                     {"send", "merged - x"},
                     {"hear", {"x = 0.5 * x + 0.5 * theirs(0)", "merged = x"}}}},
                   {"above", {{"hear", "x = x - 0.5 / (1 + stale) * theirs(0)"}}}}}});
}

Outcome Replayable::record(MemoryRecorder& recorder, const Checkpointing& checkpointing,
                           std::stop_token stop) {
  const auto objective =
      with(before_gradient, quadratic(task, spec.workers, spec.seeds, spec.workers + 1));
  return run_threads({spec, *objective, recorder, checkpointing, stop}, options);
}

Outcome Replayable::replay(const ReplayScript& script, MemoryRecorder& recorder, int threads,
                           const Checkpointing& checkpointing, bool complete,
                           std::stop_token stop) {
  const auto objective = quadratic(task, spec.workers, spec.seeds, threads);
  return run_replay({spec, *objective, recorder, checkpointing, stop}, script, complete, threads);
}

ReplayScript script_of(const MemoryRecorder& recorder, int workers) {
  ReplayScript script;
  for (int w = 0; w < workers; ++w) {
    script.workers.push_back(recorder.events_of(w));
    for (Event& event : script.workers.back()) {
      event.exchange &= kExchangeMask;
      event.fingerprint = 0;
    }
  }
  return script;
}

std::string difference(const MemoryRecorder& a, const MemoryRecorder& b, int workers) {
  for (int w = 0; w < workers; ++w) {
    const std::vector<Event>& ea = a.events_of(w);
    const std::vector<Event>& eb = b.events_of(w);
    if (ea.size() != eb.size())
      return fmt::format("worker {}: {} and {} events", w, ea.size(), eb.size());
    for (std::size_t k = 0; k < ea.size(); ++k)
      if (ea[k].kind != eb[k].kind || ea[k].time != eb[k].time ||
          ea[k].exchange != eb[k].exchange || ea[k].fingerprint != eb[k].fingerprint)
        return fmt::format("worker {}, event {}: {} {} at {} with {:x}, and {} {} at {} with {:x}",
                           w, k, event_name(ea[k].kind), ea[k].exchange, ea[k].time,
                           ea[k].fingerprint, event_name(eb[k].kind), eb[k].exchange, eb[k].time,
                           eb[k].fingerprint);
  }
  return "";
}

bool same_points(Series::const_iterator a, Series::const_iterator a_end, Series::const_iterator b,
                 Series::const_iterator b_end) {
  return std::equal(
      a, a_end, b, b_end, [](const MemoryRecorder::Point& p, const MemoryRecorder::Point& q) {
        const bool nan = std::isnan(p.value) && std::isnan(q.value);
        return (p.value == q.value || nan) && p.position.gradients == q.position.gradients &&
               p.position.normalised_time == q.position.normalised_time &&
               p.position.bytes == q.position.bytes;
      });
}

std::string other_series(const MemoryRecorder& a, const MemoryRecorder& b) {
  for (const Metric& known : kMetrics) {
    if (known.of_the_clock) continue;
    const std::string metric(known.name);
    if (a.has(metric) != b.has(metric)) return metric;
    if (a.has(metric) && !same_points(a.series(metric).begin(), a.series(metric).end(),
                                      b.series(metric).begin(), b.series(metric).end()))
      return metric;
  }
  return "";
}

void check_same_end(const Outcome& replayed, const Outcome& recorded) {
  CHECK(replayed.ending == recorded.ending);
  CHECK(replayed.message == recorded.message);
  CHECK(replayed.worker_digests == recorded.worker_digests);
  CHECK(replayed.mean_digest == recorded.mean_digest);
  CHECK(replayed.worker_gradients == recorded.worker_gradients);
  CHECK(replayed.position.gradients == recorded.position.gradients);
  CHECK(replayed.position.bytes == recorded.position.bytes);
  CHECK(replayed.exchanges_done == recorded.exchanges_done);
  CHECK(replayed.exchanges_drawn == recorded.exchanges_drawn);
  REQUIRE(replayed.edges.size() == recorded.edges.size());
  CHECK(std::ranges::equal(replayed.edges, recorded.edges, [](const EdgeUse& e, const EdgeUse& f) {
    return e.i == f.i && e.j == f.j && e.count == f.count;
  }));
}

bool CheckpointFolder::due(std::int64_t, const Position& position) {
  return position.normalised_time >= next_time();
}

void CheckpointFolder::save(const Cut& cut) {
  Saved& saved = saved_.emplace_back();
  saved.path = folder_.path(fmt::format("{}.safetensors", saved_.size()));
  saved.step = cut.step;
  saved.position = cut.position;
  for (const auto& x : cut.vectors.front().values) saved.digests.push_back(sha256_hex(x));
  write_checkpoint(saved.path, {.metadata = {{kLayoutKey, std::string(cut.layout)}},
                                .vectors = cut.vectors,
                                .state = cut.state});
  last_ = cut.position.normalised_time;
  ++count_;
}

BeforeGradient waiting_for(const CheckpointFolder& folder, std::int64_t gradients,
                           int checkpoints) {
  auto begun = std::make_shared<std::atomic<std::int64_t>>(0);
  return [&folder, gradients, checkpoints, begun](int, std::int64_t) {
    const std::int64_t wanted = std::min<std::int64_t>(++*begun / gradients, checkpoints);
    if (folder.count() < wanted) comes_true([&] { return folder.count() >= wanted; });
  };
}

}  // namespace acid::test
