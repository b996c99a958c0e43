// Measures the engine's cost beside gradients and SGD steps alone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "bench/commands.hpp"
#include "bench/engine_run.hpp"
#include "engine/environment/environment.hpp"

namespace acid::bench {
namespace {

struct Budgeted {
  std::string what;
  double bound;
};

// gradients/s of a run ÷ those of bare loops, one per core, with the same objective.
void against_bare_loops(Bench& bench, const EngineRun& settings, const Budgeted& row) {
  const auto run = compose_run(settings);
  const int threads = std::min(usable_cores(), settings.workers);
  const std::int64_t gradients = gradients_in(bench.seconds(2), *run->objective, threads);
  const auto samples = bench.interleave(
      row.what, {[&] { return engine_round(*run, gradients); },
                 [&] { return bare_round(*run->objective, threads, gradients); },
                 [&] { return bare_round(*run->objective, threads, gradients, Snapshots::kept); }});
  bench.add({row.what,
             "gradients/s",
             samples[0],
             "bare loops",
             samples[1],
             ratio_at_least(row.bound),
             {}});
  bench.add(
      {row.what, "gradients/s", samples[0], "bare loops that keep a snapshot", samples[2], {}, {}});
}

// gradients/s of a run ÷ those of the same run without exchanges.
void against_no_exchanges(Bench& bench, const EngineRun& settings, const Budgeted& row) {
  EngineRun silent = settings;
  silent.rate = 0;
  const auto exchanging = compose_run(settings), none = compose_run(silent);
  const std::int64_t gradients =
      gradients_in(bench.seconds(2), *none->objective, std::min(usable_cores(), settings.workers));
  bench.compare(
      {row.what, "gradients/s", {}, peer_at_rate_0(settings), {}, ratio_at_least(row.bound), {}},
      [&] { return engine_round(*exchanging, gradients); },
      [&] { return engine_round(*none, gradients); });
}

}  // namespace

Measure prepare_gradients(CLI::App& app) {
  const auto workers = std::make_shared<int>(as_many_as_cores());
  app.add_option("--workers", *workers, "By default one per core")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  return [workers](Bench& bench) {
    against_bare_loops(bench, larger_model(*workers, "ad-psgd", 0),
                       {"threads, rate 0, 0.67 M parameters", 0.97});
  };
}

Measure prepare_threads(CLI::App& app) {
  const auto numbers = add_workers_option(app);
  return [numbers](Bench& bench) {
    for (const char* algorithm : {"a2cid2", "ad-psgd"})
      for (const int workers : *numbers)
        against_no_exchanges(
            bench, larger_model(workers, algorithm, 1),
            {fmt::format("{}, n = {}, r = 1, 0.67 M parameters", algorithm, workers), 0.95});
    for (const char* algorithm : {"a2cid2", "ad-psgd"})
      against_no_exchanges(bench, small_model(8, algorithm, 4),
                           {fmt::format("{}, n = 8, r = 4, 0.1 M parameters", algorithm), 0.7});
  };
}

Measure prepare_virtual(CLI::App&) {
  return [](Bench& bench) {
    EngineRun run = larger_model(16, "a2cid2", 1);
    run.driver = "virtual";
    against_bare_loops(bench, run, {"virtual, a2cid2, n = 16, 0.67 M parameters", 0.9});
  };
}

}  // namespace acid::bench
