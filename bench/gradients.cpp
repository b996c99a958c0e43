// Measures the engine's cost beside gradients and SGD steps alone.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/commands.hpp"
#include "bench/engine_run.hpp"
#include "bench/options.hpp"
#include "engine/environment/environment.hpp"

namespace acid::bench {
namespace {

// gradients/s of a run ÷ those of bare loops, one per core, with the same objective.
void against_bare_loops(Bench& bench, const std::string& what, double bound,
                        const EngineRun& settings) {
  const auto run = compose_run(settings);
  const int threads = std::min(usable_cores(), settings.workers);
  const std::int64_t gradients = gradients_in(bench.seconds(2), *run->objective, threads);
  const auto samples = bench.interleave(
      what, {[&] { return engine_round(*run, gradients); },
             [&] { return bare_round(*run->objective, threads, gradients); },
             [&] { return bare_round(*run->objective, threads, gradients, Snapshots::kept); }});
  const std::string unit = "gradients/s", keeping = "bare loops that keep a snapshot";
  bench.add({what, unit, "bare loops", ratio_at_least(bound), samples[0], samples[1]});
  bench.add({what, unit, keeping, {}, samples[0], samples[2]});
}

// gradients/s of a run ÷ those of the same run without exchanges.
void against_no_exchanges(Bench& bench, const std::string& what, double bound,
                          const EngineRun& settings) {
  EngineRun silent = settings;
  silent.rate = 0;
  const auto exchanging = compose_run(settings), none = compose_run(silent);
  const std::int64_t gradients =
      gradients_in(bench.seconds(2), *none->objective, std::min(usable_cores(), settings.workers));
  bench.compare(
      {what, "gradients/s", peer_at_rate_0(settings.algorithm), ratio_at_least(bound)},
      [&] { return engine_round(*exchanging, gradients); },
      [&] { return engine_round(*none, gradients); });
}

}  // namespace

Measure prepare_gradients(CLI::App& app) {
  const auto workers = add_option(app, "--workers", as_many_as_cores(), "By default one per core",
                                  CLI::Range(2, 1024));
  return [workers](Bench& bench) {
    against_bare_loops(bench, "threads, rate 0, 0.67 M parameters", 0.97,
                       {.workers = *workers, .algorithm = "ad-psgd", .rate = 0});
  };
}

Measure prepare_threads(CLI::App& app) {
  const auto numbers = add_workers_option(app);
  return [numbers](Bench& bench) {
    for (const char* algorithm : {"a2cid2", "ad-psgd"})
      for (const int workers : *numbers)
        against_no_exchanges(
            bench, fmt::format("{}, n = {}, r = 1, 0.67 M parameters", algorithm, workers), 0.95,
            {.workers = workers, .algorithm = algorithm});
    // So small that a gradient takes a fraction of a millisecond.
    for (const char* algorithm : {"a2cid2", "ad-psgd"})
      against_no_exchanges(bench, fmt::format("{}, n = 8, r = 4, 0.1 M parameters", algorithm), 0.7,
                           {.model = R"({ kind = "mlp", hidden = [128] })",
                            .batch_size = 16,
                            .workers = 8,
                            .algorithm = algorithm,
                            .rate = 4});
  };
}

Measure prepare_virtual(CLI::App&) {
  return [](Bench& bench) {
    against_bare_loops(bench, "virtual, a2cid2, n = 16, 0.67 M parameters", 0.9,
                       {.workers = 16, .driver = "virtual"});
  };
}

}  // namespace acid::bench
