// Measures what a run loses when it is killed, and how soon it goes on.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "bench/commands.hpp"
#include "bench/interruption.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "cli/processes/child.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"
#include "store/queries.hpp"

namespace acid::bench {
namespace {

constexpr double kMostResumeSeconds = 3, kMostIntervals = 1;
constexpr double kPatienceSeconds = 120;
constexpr int kMillisecondsBetweenWrites = 250;  // as in store/write_queue.hpp

// A run of A²CiD² without end.
constexpr const char* kRecipe = R"(
name = "resume"
seeds = [1]
[task]
{}
[optimizer]
learning_rate = 0.05
momentum = 0.9
[workers]
count = 16
[topology]
kind = "ring"
[budget]
gradients = 1000000000
[[algorithms]]
kind = "a2cid2"
communication_rate = 1.0
[evaluation]
every_gradients = 100000000
[checkpoint]
every_gradients = {}
)";
constexpr const char* kModel = R"(dataset = "glyphs"
model = "cnn"
batch_size = 16)";
constexpr const char* kNoModel = R"(dataset = { kind = "quadratic", dimension = 20000 })";

/// A run in a store of its own.
class KilledRun {
 public:
  KilledRun(const char* task, int interval) : interval_(interval) {
    std::ofstream(scratch_.path("recipe.toml")) << fmt::format(kRecipe, task, interval);
  }
  ~KilledRun() { kill_everything(); }
  KilledRun(const KilledRun&) = delete;
  KilledRun& operator=(const KilledRun&) = delete;

  /// Begins the run; returns the seconds until the store has a gradient.
  double begin() { return start({"run", scratch_.path("recipe.toml")}, 0); }
  /// Kills the run when it has two checkpoints and has gone on by this share of an interval.
  /// Returns the number of gradients after the newest checkpoint, in intervals.
  double kill_after(double share) {
    until("second checkpoint", [&] { return checkpoints() >= 2; });
    const std::int64_t goal = gradients() + static_cast<std::int64_t>(share * interval_);
    until("further gradient", [&] { return gradients() >= goal; });
    kill_everything();
    // The processes need some time to die.
    until("end",
          [&] { return run_summaries(*store_, {run_}).front().state == RunState::interrupted; });
    return static_cast<double>(gradients() - saved()) / interval_;
  }
  /// Resumes the run; returns the seconds until the store has a new gradient.
  double resume() { return start({"resume"}, saved()); }

 private:
  double start(std::vector<std::string> words, std::int64_t gradients_before) {
    words.insert(words.begin(), acid_program());
    words.insert(words.end(), {"--store", scratch_.path("store")});
    const int attempts_before = attempts();
    const Stopwatch watch;
    acid_.emplace(words);
    until("gradient",
          [&] { return attempts() > attempts_before && gradients() > gradients_before; });
    return watch.seconds();
  }
  // acid is stopped first, so that it neither asks its worker to save nor starts another one.
  void kill_everything() {
    if (!acid_) return;
    acid_->signal(SIGSTOP);
    for (const pid_t child : children_of(acid_->pid())) ::kill(child, SIGKILL);
    acid_.reset();  // kills it
  }

  // Opens the store once it has the run; acid makes it at an unknown moment.
  bool open() {
    if (store_) return true;
    if (!std::filesystem::exists(scratch_.path("store/store.db"))) return false;
    try {
      Store store(scratch_.path("store"), Store::Access::read);
      const auto runs = list_runs(store);
      if (runs.empty()) return false;
      run_ = runs.front().id;
      store_.emplace(std::move(store));
    } catch (const StoreError&) {
      return false;  // the store is being made
    }
    return true;
  }
  std::int64_t gradients() {
    return open() ? run_summaries(*store_, {run_}).front().progress.gradients : 0;
  }
  int attempts() {
    const auto pace = open() ? newest_pace(*store_, run_) : std::nullopt;
    return pace ? pace->attempt : 0;
  }
  std::size_t checkpoints() { return open() ? checkpoints_of(*store_, run_).size() : 0; }
  std::int64_t saved() { return checkpoints_of(*store_, run_).back().position.gradients; }

  template <class Question>
  void until(const char* what, const Question& question) {
    const Stopwatch watch;
    while (!question()) {
      throw_if_interrupted();
      if (acid_) acid_->read_output();
      if ((acid_ && acid_->status()) || watch.seconds() > kPatienceSeconds)
        throw Error(fmt::format("a run to be resumed made no {}: {}", what,
                                acid_ ? acid_->output() : "it was killed and goes on"));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const Scratch scratch_;
  const int interval_;
  std::optional<Store> store_;
  std::string run_;
  std::optional<Child> acid_;
};

void measure_resume(Bench& bench, int interval) {
  const bool model = std::filesystem::exists(program_folder() + "/acid-torch.so");
  if (!model)
    bench.note("there is no acid-torch.so, so the run has no model and is quicker to begin");
  const char* const task = model ? kModel : kNoModel;
  std::vector<Sample> lost, begun;
  const auto round = [&] {
    KilledRun run(task, interval);
    begun.push_back({run.begin()});
    // Each round kills the run at another place between two checkpoints.
    lost.push_back({run.kill_after(0.2 * static_cast<double>(lost.size() % 5))});
    return Sample{run.resume()};
  };
  const std::vector<Sample> resumed = bench.interleave("resuming", {round}).front();
  bench.add({"acid resume after SIGKILL to the first new gradient", "s",
             "acid run to its first gradient", value_at_most(kMostResumeSeconds), resumed, begun});
  bench.note(fmt::format(
      "work lost is what the store knows of: what was computed in the last {} ms at most, since "
      "what was recorded was last written, is lost too and not counted",
      kMillisecondsBetweenWrites));
  const Wanted wanted = value_at_most(kMostIntervals);
  bench.add({"work lost by SIGKILL", "checkpoint intervals", {}, wanted, lost});
}

}  // namespace

Measure prepare_resume(CLI::App& app) {
  const auto interval =
      add_option(app, "--interval", 320, "Gradients from one checkpoint to the next");
  return [interval](Bench& bench) { measure_resume(bench, *interval); };
}

}  // namespace acid::bench
