// What it costs to record a run, on the quickstart's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/programs.hpp"
#include "bench/scratch.hpp"

namespace acid::bench {
namespace {

// Whatever a recipe can leave out. The model is evaluated as often: that is no recording.
const std::vector<std::string> kOff{"record.events=false", "record.metrics=[\"eval_loss\"]",
                                    "checkpoint.every_seconds=1e9",
                                    "evaluation.consensus_every_time=1e9"};

/// One side: the quickstart's three algorithms with one seed, in a store of their own.
struct Recorded {
  std::vector<std::string> settings;
  std::vector<Sample> seconds;  // wall clock, by round

  Sample run() {
    const Scratch folder;
    std::vector<std::string> words{
        acid_program(), "run", ACID_BENCH_QUICKSTART, "--store", folder.path(), "--jobs", "1"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const Stopwatch watch(Stopwatch::Cpu::children);
    run_program(words);
    seconds.push_back({watch.seconds(), {}});
    return {watch.cpu_seconds(), {}};
  }
};

}  // namespace

Measure prepare_recording(CLI::App& app) {
  const auto gradients = std::make_shared<int>(4000);
  app.add_option("--gradients", *gradients, "Of each of the three runs of a side (4000)")
      ->check(CLI::Range(400, 1 << 30));
  return [gradients](Bench& bench) {
    Recorded all{{"seeds=[1]", fmt::format("budget.gradients={}", *gradients)}, {}};
    Recorded off = all;
    off.settings.insert(off.settings.end(), kOff.begin(), kOff.end());
    const std::string what = "quickstart, everything recorded";
    auto samples = bench.interleave(what, {[&] { return all.run(); }, [&] { return off.run(); }});
    bench.add({what,
               "CPU s",
               std::move(samples[0]),
               "nothing recorded",
               std::move(samples[1]),
               ratio_at_most(1.02),
               {}});
    bench.add({what, "s", all.seconds, "nothing recorded", off.seconds, {}, {}});
  };
}

}  // namespace acid::bench
