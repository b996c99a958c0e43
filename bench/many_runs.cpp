// What a run costs besides its gradients: of a sweep of small ones, and of a Python model.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/programs.hpp"
#include "engine/base/error.hpp"

namespace acid::bench {
namespace {

// CPU seconds of `acid run` and all that it started, with so many seeds.
double cost_of(const Scratch& folder, const std::string& recipe, int runs) {
  const Scratch store;
  const std::string path = folder.path("many.toml");
  std::ofstream(path) << fmt::format("seeds = \"1-{}\"\n", runs) << recipe;
  return run_program({acid_program(), "run", path, "--store", store.path("store")});
}

void measure_sweep(Bench& bench, int runs) {
  const std::string recipe =
      "[task]\ndataset = { kind = \"quadratic\", dimension = 20, noise = 0.1 }\n"
      "[workers]\ncount = 4\n[budget]\ngradients = 200\n[[algorithms]]\nkind = \"ad-psgd\"\n";
  const Scratch folder;
  bench.compare({.what = fmt::format("a run of {} of a quadratic, 200 gradients", runs),
                 .unit = "CPU ms",
                 .wanted = value_at_most(6)},
                [&] { return Sample{1000 * cost_of(folder, recipe, runs) / runs}; });
}

constexpr const char* kTorchModel =
    "import torch\n\n\n"
    "def model():\n    return torch.nn.Linear(4, 2)\n\n\n"
    "def dataset():\n"
    "    draw = torch.Generator().manual_seed(1)\n"
    "    both = torch.randn(64, 4, generator=draw), torch.arange(64) % 2\n"
    "    return both, both\n";

void measure_python(Bench& bench, const std::string& interpreter) {
  constexpr int kRuns = 20;
  try {
    run_program({interpreter, "-c", "import torch"});
  } catch (const Error&) {
    return bench.note(
        fmt::format("{} has no torch, so Python models were not measured.", interpreter));
  }
  const Scratch folder;
  std::ofstream(folder.path("model.py")) << kTorchModel;
  const std::string recipe = fmt::format(
      "[task]\nmodel = {{ kind = \"python\", file = \"model.py\", interpreter = \"{0}\" }}\n"
      "dataset = {{ kind = \"python\", file = \"model.py\", interpreter = \"{0}\" }}\n"
      "batch_size = 8\n[workers]\ncount = 2\n[budget]\ngradients = 8\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\n",
      interpreter);
  std::vector<Sample> one;
  const Bench::Side further = [&]() -> Sample {
    one.push_back({cost_of(folder, recipe, 1)});
    return {(cost_of(folder, recipe, kRuns) - one.back().value) / (kRuns - 1)};
  };
  const std::string what = "a further run of a PyTorch model, 8 gradients";
  const std::vector<Sample> measured = bench.interleave(what, {further}).front();
  const std::string peer = "the first, which imports torch";
  bench.add({what, "CPU s", peer, ratio_at_most(0.25), measured, one});
}

}  // namespace

Measure prepare_sweep(CLI::App& app) {
  const auto runs = add_option(app, "--runs", 2000, "Of the sweep", CLI::Range(2, 1'000'000));
  return [runs](Bench& bench) { measure_sweep(bench, *runs); };
}

Measure prepare_python(CLI::App& app) {
  const char* const system = "/usr/bin/python3";  // Debian's, which has python3-torch
  const auto interpreter =
      std::make_shared<std::string>(std::filesystem::exists(system) ? system : "python3");
  app.add_option("--interpreter", *interpreter, "A Python that has torch")->capture_default_str();
  return [interpreter](Bench& bench) { measure_python(bench, *interpreter); };
}

}  // namespace acid::bench
