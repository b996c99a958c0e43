// Models of acid's own: real MNIST, from scripts/fetch-mnist to a verified run, and processes that
// execute several runs.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/cli/scripted_worker.hpp"

namespace {

int fetch(const std::string& folder) {
  const int status = std::system(
      ("'" SOURCE_ROOT "/scripts/fetch-mnist' '" + folder + "' >/dev/null 2>&1").c_str());
  return WEXITSTATUS(status);
}

constexpr const char* kRecipe = R"(
name = "digits"
seeds = [1]
task.dataset = { kind = "mnist", root = "." }
task.model = "mlp"
task.batch_size = 32
task.partition = { kind = "dirichlet", alpha = 0.5 }
optimizer.learning_rate = 0.1
workers.count = 8
budget.gradients = 1600
evaluation.every_gradients = 800
algorithms = ["ar-sgd", "a2cid2"]
)";

}  // namespace

TEST_CASE("MNIST as fetched trains to nine digits in ten, and the runs are verified") {
  // Fetched once for all test runs of a build folder.
  const std::string mnist = BINARY_ROOT "/../mnist";
  const int fetched = fetch(mnist);
  if (fetched == 77) {
    std::fputs("MNIST cannot be fetched here: not tried\n", stderr);
    return;
  }
  REQUIRE(fetched == 0);
  const acid::test::Folder folder;
  folder.write("digits.toml", kRecipe);
  folder.done({"run", "digits.toml", "--set", "task.dataset.root=\"" + mnist + "\""});
  const auto compared = folder.told({"compare", "digits"});
  REQUIRE(compared["groups"].size() == 2);
  for (const auto& group : compared["groups"]) {
    INFO(group["metrics"]["eval_accuracy"].dump());
    CHECK(group["metrics"]["eval_accuracy"]["mean"] > 0.9);
  }
  folder.done({"verify", "digits"});
}

TEST_CASE("models that share a process have the bits of models with a process of their own") {
  using Bench = acid::test::ScriptedWorker;
  const Bench shared("exec $REAL \"$@\"\n"), alone("exec $REAL $ALONE\n");
  std::string digests[2];
  for (const Bench* bench : {&shared, &alone}) {
    bench->write("models.toml", R"(
name = "models"
seeds = [1]
task.dataset = { kind = "glyphs", train = 200, test = 40 }
task.model.kind = "mlp"
task.batch_size = 6
workers.count = 2
budget.gradients = 6
optimizer = { learning_rate = 0.05, momentum = 0.9 }
algorithms = ["a2cid2"]
sweep.task.model.kind = ["mlp", "cnn", "linear"]
sweep.execution.threads_per_worker = [2, 1]
)");
    bench->done({"run", "models.toml"});
    for (const auto& run : bench->runs())
      digests[bench == &alone] +=
          run["id"].get<std::string>() + " " + bench->shown(run["id"])["digests"].dump() + "\n";
  }
  CHECK(shared.starts().size() == 1);
  CHECK(alone.starts().size() == 6);
  CHECK(digests[0] == digests[1]);
  // What has begun once may need the LibTorch that it had.
  shared.done({"run", "models.toml", "--force", "--set", "sweep.task.model.kind=[\"linear\"]"});
  CHECK(shared.starts().size() == 3);
}
