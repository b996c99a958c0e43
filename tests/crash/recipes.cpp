#include "tests/crash/recipes.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "tests/crash/bench.hpp"

namespace acid::test {
namespace {

constexpr int kWorkers = 6;
constexpr int kCheckpoints = 14;
constexpr const char* kQuadratic =
    R"({ kind = "quadratic", dimension = 512, noise = 0.1, heterogeneity = 1.0 })";
constexpr const char* kLogistic =
    R"({ kind = "logistic", dimension = 64, train = 500, test = 50 })";
constexpr const char* kMomentum = R"(kind = "sgd"
learning_rate = 0.02
momentum = 0.9)";

struct Parts {
  std::string algorithms;  // tables
  const char* dataset = kQuadratic;
  std::string optimizer = kMomentum;
  std::string rest = "";  // sections that only this recipe has
  int gradients = 20'000;
  int workers = kWorkers;
  int checkpoints = kCheckpoints;
  std::string batch = "";
};

std::string recipe(const Parts& parts) {
  const int gradients = kSanitized ? parts.gradients / 8 : parts.gradients;
  const double time = static_cast<double>(gradients) / parts.workers;
  return fmt::format(R"(name = "crash"
topology.kind = "ring"
workers.count = {}
budget.gradients = {}
evaluation = {{ every_time = {:.6f}, consensus_every_time = {:.6f} }}
checkpoint = {{ every_time = {:.6f}, keep = 2 }}
[task]
dataset = {}
{}
[optimizer]
{}
{}
{}
)",
                     parts.workers, gradients, time / 9.3, time / 41.7,
                     time / (parts.checkpoints + 0.5), parts.dataset, parts.batch, parts.optimizer,
                     parts.algorithms, parts.rest);
}

std::string algorithm(const std::string& kind, double rate = 0) {
  return fmt::format("[[algorithms]]\nkind = \"{}\"\n{}", kind,
                     rate > 0 ? fmt::format("communication_rate = {}\n", rate) : "");
}

// Has messages under way while a checkpoint is taken.
constexpr const char* kNetwork = R"([execution.virtual]
compute = { kind = "lognormal", sigma = 0.4 }
[execution.virtual.network]
latency_seconds = 0.004
bandwidth_bytes_per_second = 1e6
gradient_seconds = 0.05
workers_per_node = 2
inside = { latency_seconds = 0.001 }
)";

// Has workers that fall behind their exchanges, so that the throttle holds their gradients.
constexpr const char* kStragglers = R"([execution]
max_backlog = 1
[execution.virtual]
compute = { kind = "exponential" }
slow_workers = { 1 = 3.0 }
random_slowdown = { probability = 0.01, factor = 10.0 }
pauses = [{ worker = 0, at_seconds = 3.0, for_seconds = 9.0 },
          { worker = 3, at_seconds = 40.0, for_seconds = 20.0 }]
network = { latency_seconds = 0.005, gradient_seconds = 0.05 }
)";

// Has random changes of images, another order of examples for each worker, and wrong labels.
constexpr const char* kImages = R"(batch_size = 4
model = "linear"
augmentation = { crop_padding = 2, flip = true, resized_crop = 0.5 }
label_noise = 0.1
partition = { kind = "dirichlet", alpha = 0.3 })";
constexpr const char* kText = R"(batch_size = 2
model = { kind = "transformer-lm", width = 16, heads = 2, layers = 1 }
partition = "contiguous")";

constexpr const char* kHubs = "[[algorithms]]\nkind = \"halos\"\nhubs = 2\n";
constexpr const char* kLattice =
    "[[algorithms]]\nkind = \"ad-psgd\"\ncodec = { kind = \"lattice\", spacing = 0.01 }\n";
// Has a user's program, whose processes end with the run's, however the run ends.
constexpr const char* kPython =
    "batch_size = 4\nmodel = { kind = \"python\", file = \"" SOURCE_ROOT
    "/docs/examples/numpy_model.py\", interpreter = \"/usr/bin/python3\","
    " options = { features = 16, hidden = 8, classes = 4 } }";
constexpr const char* kVectors = "{ kind = \"gaussian-mixture\", dimension = 16, classes = 4 }";
constexpr const char* kSearch =
    "[search]\noptimizer.learning_rate = { log = [0.005, 0.04], count = 4 }\nhalving = 2\n"
    "seeds = [9]\n";

constexpr const char* kPoisson = "[execution.virtual]\ngradient_clock = \"poisson\"\n";
constexpr const char* kEvents = "[record]\nevents = true\n";
constexpr const char* kThreads = "[execution]\ndriver = \"threads\"\n";
// The test waits this long for a rank that is stopped while MPI starts.
constexpr const char* kMpi = "[execution]\ndriver = \"mpi\"\n[execution.mpi]\nstart_seconds = 30\n";

bool there_is_numpy() {
  static const bool there = std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0;
  return there;
}

}  // namespace

std::vector<Variant> virtual_variants() {
  const std::string several = "seeds = [1, 2]\n";
  std::vector<Variant> variants{
      {"ar-sgd with momentum", recipe({.algorithms = algorithm("ar-sgd"), .rest = kNetwork})},
      {"a2cid2 with momentum and messages under way",
       recipe({.algorithms = algorithm("a2cid2", 1), .rest = kNetwork})},
      {"a2cid2 as often as the network carries",
       recipe(
           {.algorithms = "[[algorithms]]\nkind = \"a2cid2\"\ncommunication_rate = \"saturate\"\n",
            .rest = kNetwork,
            .gradients = 9'000})},
      {"ad-psgd with pauses and a throttle",
       recipe({.algorithms = algorithm("ad-psgd", 1), .rest = kStragglers})},
      {"d-psgd on logistic with an event log", recipe({.algorithms = algorithm("d-psgd"),
                                                       .dataset = kLogistic,
                                                       .rest = kEvents,
                                                       .gradients = 60'000,
                                                       .batch = "batch_size = 8"})},
      {"a2cid2 under the Poisson clock with an event log",
       recipe({.algorithms = algorithm("a2cid2", 2), .rest = std::string(kPoisson) + kEvents})},
      {"a2cid2 with Adam on logistic",
       recipe({.algorithms = algorithm("a2cid2", 1),
               .dataset = kLogistic,
               .optimizer = "kind = \"adam\"\nlearning_rate = 0.001",
               .rest = kNetwork,
               .gradients = 40'000,
               .batch = "batch_size = 8"})},
      {"four runs of two algorithms",
       several + recipe({.algorithms = algorithm("ad-psgd", 1) + algorithm("a2cid2", 1),
                         .rest = kNetwork,
                         .gradients = 8'000})},
      {"ten short runs in one process", many_recipe()},
  };
  for (const char* algorithms : {kHubs, kLattice})
    variants.push_back({algorithms, recipe({.algorithms = algorithms,
                                            .optimizer = "learning_rate = 0.01",
                                            .rest = kNetwork})});
  variants.push_back(
      {"a search in two rungs", recipe({.algorithms = algorithm("ad-psgd", 1),
                                        .dataset = kLogistic,
                                        .rest = kSearch,
                                        .gradients = 15'000,
                                        .batch = "batch_size = 8\nvalidation = 0.25"}),
       kCheckpoints / 4});  // runs of the first rung have a quarter of the budget
  if (there_is_numpy())
    variants.push_back(
        {"a program in Python", several + recipe({.algorithms = algorithm("a2cid2", 1),
                                                  .dataset = kVectors,
                                                  .gradients = 1'000,
                                                  .batch = kPython})});
  if (!there_is_torch()) return variants;
  variants.push_back({"a2cid2 on images that are changed at random",
                      recipe({.algorithms = algorithm("a2cid2", 1),
                              .dataset = "{ kind = \"glyphs\", train = 300, test = 30 }",
                              .rest = kNetwork,
                              .gradients = 4'000,
                              .batch = kImages})});
  variants.push_back(
      {"ad-psgd with a language model",
       recipe({.algorithms = algorithm("ad-psgd", 1),
               .dataset = "{ kind = \"text\", file = \"" SOURCE_ROOT "/LICENSE\", sequence = 8 }",
               .optimizer = "kind = \"adam\"\nlearning_rate = 0.001",
               .gradients = 900,
               .batch = kText})});
  return variants;
}

std::vector<Variant> threads_variants() {
  std::vector<Variant> variants{
      {"a2cid2", recipe({.algorithms = algorithm("a2cid2", 1), .rest = kThreads})},
      {"a server", recipe({.algorithms = algorithm("a-psgd"),
                           .optimizer = "learning_rate = 0.01",
                           .rest = kThreads})},
      {"hubs",
       recipe({.algorithms = kHubs, .optimizer = "learning_rate = 0.01", .rest = kThreads})},
      {"a lattice",
       recipe({.algorithms = kLattice, .optimizer = "learning_rate = 0.01", .rest = kThreads})},
      {"ad-psgd", recipe({.algorithms = algorithm("ad-psgd", 2), .rest = kThreads})},
      {"ar-sgd", recipe({.algorithms = algorithm("ar-sgd"), .rest = kThreads})},
      {"d-psgd on logistic", recipe({.algorithms = algorithm("d-psgd"),
                                     .dataset = kLogistic,
                                     .rest = kThreads,
                                     .gradients = 60'000,
                                     .batch = "batch_size = 8"})},
  };
  if (there_is_numpy())
    variants.push_back({"a program in Python", recipe({.algorithms = algorithm("a2cid2", 1),
                                                       .dataset = kVectors,
                                                       .rest = kThreads,
                                                       .gradients = 2'000,
                                                       .batch = kPython})});
  return variants;
}

std::vector<Variant> mpi_variants() {
  const auto variant = [](const std::string& kind, double rate, const char* optimizer = kMomentum) {
    return Variant{kind,
                   recipe({.algorithms = algorithm(kind, rate),
                           .optimizer = optimizer,
                           .rest = kMpi,
                           .gradients = 9'000,
                           .workers = 3}),
                   2};
  };
  return {variant("a2cid2", 1), variant("ar-sgd", 0), variant("ad-psgd", 2), variant("d-psgd", 0),
          variant("a-psgd", 0, "learning_rate = 0.01")};
}

std::string many_recipe() {
  return "seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n" +
         recipe({.algorithms = algorithm("ad-psgd", 1), .rest = kNetwork, .gradients = 1'600});
}

std::string plain_recipe() {
  return recipe({.algorithms = algorithm("a2cid2", 1), .rest = kNetwork});
}

std::string short_recipe() {
  return recipe({.algorithms = algorithm("a2cid2", 1),
                 .rest = std::string(kNetwork) + kEvents,
                 .gradients = 400,
                 .checkpoints = 3});
}

std::string large_recipe() {
  return recipe({.algorithms = algorithm("a2cid2", 1),
                 .dataset = R"({ kind = "quadratic", dimension = 300000, heterogeneity = 1.0 })",
                 .gradients = 60,
                 .checkpoints = 3});
}

}  // namespace acid::test
