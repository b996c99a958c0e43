// A transformer on a text, from the recipe to proof, on every driver.
#include <sched.h>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace {

struct Text : acid::test::Folder {
  Text() {
    write("lm.toml", R"(
seeds = [1]
task.dataset = { kind = "text", file = ")" SOURCE_ROOT R"(/LICENSE", sequence = 16 }
task.model = { kind = "transformer-lm", width = 16, heads = 2 }
task.batch_size = 8
task.partition = "contiguous"
optimizer = { kind = "adam", learning_rate = 0.01 }
workers.count = 3
budget.gradients = 150
evaluation.every_gradients = 50
algorithms = ["ad-psgd"]
)");
  }
};

/// While it lives, this process and those that it starts have only one core.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace

TEST_CASE("a language model learns, with the same bits on one core, and is verified") {
  const Text text;
  text.done({"run", "lm.toml"});
  const nlohmann::json run = text.shown();
  CHECK(run["metrics"]["eval_loss"].get<double>() < 3.6);  // ln(256) = 5.5
  CHECK(run["metrics"]["eval_accuracy"].get<double>() > 0.15);
  {
    const OneCore alone;
    text.done({"run", "lm.toml", "--store", "alone"});
  }
  CHECK(text.told({"show", "@latest", "--store", "alone"})["digests"] == run["digests"]);
  text.done({"verify", "@latest"});
}

TEST_CASE("a language model's runs on threads and processes are verified") {
  for (const std::string driver : {"threads", "mpi"}) {
    if (driver == "mpi" && !acid::test::there_is_mpi()) continue;
    INFO(driver);
    const Text text;
    text.done({"run", "lm.toml", "--driver", driver});
    CHECK(text.shown()["metrics"]["eval_loss"].get<double>() < 4);
    text.done({"verify", "@latest"});
  }
}
