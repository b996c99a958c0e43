// Real MNIST, from scripts/fetch-mnist to a verified run.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

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
