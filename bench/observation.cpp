// What observing a run costs: whole commands with the recipe's defaults beside commands that sample
// only the start and the end.
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "engine/base/error.hpp"
#include "store/queries.hpp"

namespace acid::bench {
namespace {

const std::vector<std::string> kEndsOnly{"evaluation.every_time=1e9"};
const std::vector<std::string> kEveryUnit{"evaluation.every_time=1e9",
                                          "evaluation.consensus_every_time=1"};

struct Case {
  const char* driver;
  int workers;
  std::vector<std::string> settings;
};

// Gradients in a second of the run; where seconds are simulated, of processor time of all threads.
double speed_of(const Case& one, int gradients) {
  const Scratch folder;
  std::ofstream(folder.path("observation.toml")) << fmt::format(
      "[task]\n"
      "dataset = {{ kind = \"glyphs\", train = 60000, test = 10000 }}\n"
      "model = {{ kind = \"mlp\", hidden = [512, 512] }}\n"
      "batch_size = 128\n"
      "[workers]\ncount = {}\n"
      "[budget]\ngradients = {}\n"
      "[execution]\ndriver = \"{}\"\n"
      "[[algorithms]]\nkind = \"a2cid2\"\n",
      one.workers, gradients, one.driver);
  std::vector<std::string> words{acid_program(), "run", folder.path("observation.toml"), "--store",
                                 folder.path("store")};
  for (const std::string& setting : one.settings) words.insert(words.end(), {"--set", setting});
  const double cpu_seconds = run_program(words);
  const Store store(folder.path("store"), Store::Access::read);
  const RunSummary run = list_runs(store).at(0);
  const bool simulated = one.driver == std::string_view("virtual");
  return gradients / (simulated ? cpu_seconds : run.progress.seconds);
}

void compare(Bench& bench, const std::string& what, const Case& measured, double bound,
             int gradients) {
  Case ends = measured;
  ends.settings = kEndsOnly;
  const auto side = [gradients](const Case& one) {
    return [one, gradients] { return Sample{speed_of(one, gradients)}; };
  };
  bench.compare(
      {.what = fmt::format("{}, a2cid2, n = {}, {}", measured.driver, measured.workers, what),
       .unit = "gradients/s",
       .peer = "samples at the end only",
       .wanted = ratio_at_least(bound)},
      side(measured), side(ends));
}

void measure_observation(Bench& bench, int gradients) {
  compare(bench, "the recipe's defaults", {"threads", 2, {}}, 0.95, gradients);
  compare(bench, "a sample a unit of time", {"threads", 2, kEveryUnit}, 0.99, gradients);
  compare(bench, "the recipe's defaults", {"virtual", 16, {}}, 0.95, gradients);
  try {
    compare(bench, "the recipe's defaults", {"mpi", 2, {}}, 0.95, gradients);
    compare(bench, "a sample a unit of time", {"mpi", 2, kEveryUnit}, 0.97, gradients);
  } catch (const Error& error) {
    bench.note(fmt::format("The mpi driver was not measured: {}.", error.what()));
  }
}

}  // namespace

Measure prepare_observation(CLI::App& app) {
  const auto gradients = add_gradients_option(app);
  return [gradients](Bench& bench) { measure_observation(bench, *gradients); };
}

}  // namespace acid::bench
