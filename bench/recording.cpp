// What it costs to record a run, on one of the quickstart's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/programs.hpp"
#include "bench/scratch.hpp"
#include "engine/base/error.hpp"

namespace acid::bench {
namespace {

constexpr int kFew = 32;  // gradients of a run that is over as soon as it began

// On the virtual driver, a recipe need not keep the events.
const std::vector<std::string> kEverything{"record.events=true"};
// Whatever a recipe can leave out. The model is evaluated as often: that is no recording.
const std::vector<std::string> kNothing{"record.events=false", "record.metrics=[\"eval_loss\"]",
                                        "checkpoint.every_seconds=1e9",
                                        "evaluation.consensus_every_time=1e9"};

/// One side: the quickstart's run of A²CiD², in a store of its own.
class Recorded {
 public:
  Recorded(const std::vector<std::string>& settings, int gradients) : settings_(settings) {
    settings_.insert(settings_.end(),
                     {"seeds=[1]", "algorithms=[{kind=\"a2cid2\", communication_rate=1.0}]",
                      fmt::format("budget.gradients={}", gradients)});
  }
  /// CPU seconds of all its processes.
  Sample run() {
    const Scratch folder;
    std::vector<std::string> words{
        acid_program(), "run", ACID_BENCH_QUICKSTART, "--store", folder.path(), "--jobs", "1"};
    for (const std::string& setting : settings_) words.insert(words.end(), {"--set", setting});
    const Stopwatch watch(Stopwatch::Cpu::children);
    run_program(words);
    seconds_.push_back({watch.seconds(), {}});
    return {watch.cpu_seconds(), {}};
  }
  const std::vector<Sample>& seconds() const { return seconds_; }  // wall clock, by round

 private:
  std::vector<std::string> settings_;
  std::vector<Sample> seconds_;
};

// What a run took of a few gradients says what beginning and ending it takes.
std::vector<Sample> without(std::vector<Sample> samples, const std::vector<Sample>& of_few) {
  std::vector<double> values;
  for (const Sample& sample : of_few) values.push_back(sample.value);
  const double begin_and_end = spread_of(std::move(values)).median;
  for (Sample& sample : samples) {
    sample.value -= begin_and_end;
    if (sample.value <= 0)
      throw Error("a run took no longer than its beginning; give it more gradients (--gradients)");
  }
  return samples;
}

void measure_recording(Bench& bench, int gradients) {
  Recorded all(kEverything, gradients), none(kNothing, gradients);
  Recorded all_few(kEverything, kFew), none_few(kNothing, kFew);
  const std::string what = "quickstart's a2cid2, everything recorded";
  const auto samples =
      bench.interleave(what, {[&] { return all.run(); }, [&] { return none.run(); },
                              [&] { return all_few.run(); }, [&] { return none_few.run(); }});
  bench.note(
      fmt::format("the median of what runs of {} gradients take is taken off both sides of the CPU "
                  "seconds, not of the wall clock",
                  kFew));
  bench.add({what,
             "CPU s",
             without(samples[0], samples[2]),
             "nothing recorded",
             without(samples[1], samples[3]),
             ratio_at_most(1.02),
             {}});
  bench.add(
      {what + ", wall clock", "s", all.seconds(), "nothing recorded", none.seconds(), {}, {}});
}

}  // namespace

Measure prepare_recording(CLI::App& app) {
  const auto gradients = std::make_shared<int>(1600);
  app.add_option("--gradients", *gradients, "Of a run")
      ->capture_default_str()
      ->check(CLI::Range(4 * kFew, 1 << 30));
  return [gradients](Bench& bench) { measure_recording(bench, *gradients); };
}

}  // namespace acid::bench
