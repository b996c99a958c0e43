// Measures the cost of recording a run of bench/recording.toml.
#include <fmt/format.h>
#include <sched.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "engine/base/error.hpp"

namespace acid::bench {
namespace {

// Under the virtual driver events are kept only if the recipe says so. The run, which shares a core
// and takes some 20 s, makes one checkpoint; the default is one in 30 s.
const std::vector<std::string> kRecordsEverything{"record.events=true",
                                                  "checkpoint.every_seconds=12"};
// Leaves out all recording that a recipe can leave out. The model is evaluated as often, since an
// evaluation is not recording.
const std::vector<std::string> kRecordsNothing{
    "record.events=false", "record.metrics=[\"eval_loss\"]", "checkpoint.every_seconds=1e9",
    "evaluation.consensus_every_time=1e9"};

/// CPU seconds of all processes of a run of A²CiD² by that recipe, in a store of its own, on one
/// core alone. Call it on a thread that does nothing else.
double run_on(int core, std::vector<std::string> settings, int gradients) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw Error(fmt::format("cannot keep to core {}", core));
  const Scratch folder;
  std::vector<std::string> words{
      acid_program(), "run", ACID_BENCH_RECORDING, "--store", folder.path(), "--jobs", "1"};
  settings.insert(settings.end(),
                  {"seeds=[1]", "algorithms=[{kind=\"a2cid2\", communication_rate=1.0}]",
                   fmt::format("budget.gradients={}", gradients)});
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return run_program(words);
}

// Both sides of a round run at once and share a core, which gives them turns of milliseconds: a
// slow phase of the machine slows both.
struct Round {
  double everything, nothing;  // CPU seconds
};
Round share_core(int core, int gradients, bool nothing_first) {
  const auto begin = [&](const std::vector<std::string>& settings) {
    return std::async(std::launch::async, run_on, core, settings, gradients);
  };
  auto first = begin(nothing_first ? kRecordsNothing : kRecordsEverything);
  auto second = begin(nothing_first ? kRecordsEverything : kRecordsNothing);
  if (nothing_first) std::swap(first, second);
  return {first.get(), second.get()};
}

void measure_recording(Bench& bench, int gradients) {
  const std::string what = "a2cid2 with a small CNN, everything recorded";
  const int core = sched_getcpu();
  std::vector<Sample> nothing;
  const Bench::Side side = [&]() -> Sample {
    const Round round = share_core(core, gradients, nothing.size() % 2 == 0);
    nothing.push_back({round.nothing});
    return {round.everything};
  };
  const std::vector<Sample> everything = bench.interleave(what, {side}).front();
  bench.add({what, "CPU s", "nothing recorded", ratio_at_most(1.02), everything, nothing});
}

}  // namespace

Measure prepare_recording(CLI::App& app) {
  const auto gradients = add_gradients_option(app);
  return [gradients](Bench& bench) { measure_recording(bench, *gradients); };
}

}  // namespace acid::bench
