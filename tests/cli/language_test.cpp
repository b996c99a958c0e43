// A transformer on a text, from the recipe to proof, on every driver.
#include <sched.h>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace {

struct Text : acid::test::Folder {
  Text() {
    write("lm.toml", R"(
seeds = [1]
[task]
dataset = { kind = "text", file = ")" SOURCE_ROOT R"(/LICENSE", sequence = 16 }
model = { kind = "transformer-lm", width = 16, heads = 2 }
batch_size = 8
partition = "contiguous"
[optimizer]
kind = "adam"
learning_rate = 0.01
[workers]
count = 3
[topology]
kind = "ring"
[budget]
gradients = 150
[evaluation]
every_gradients = 50
[[algorithms]]
kind = "ad-psgd"
communication_rate = 1.0
)");
  }
  nlohmann::json shown(const std::string& store = "acid-store") const {
    return acid::test::acid(*this, {"show", "@latest", "--json", "--store", store}).json();
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
  const auto ran = acid::test::acid(text, {"run", "lm.toml"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const nlohmann::json run = text.shown();
  CHECK(run["metrics"]["eval_loss"].get<double>() < 3.6);  // ln(256) = 5.5
  CHECK(run["metrics"]["eval_accuracy"].get<double>() > 0.15);
  {
    const OneCore alone;
    REQUIRE(acid::test::acid(text, {"run", "lm.toml", "--store", "alone"}).code == 0);
  }
  CHECK(text.shown("alone")["digests"] == run["digests"]);
  CHECK(acid::test::acid(text, {"verify", "@latest"}).code == 0);
}

TEST_CASE("a language model's runs on threads and processes are verified") {
  for (const std::string driver : {"threads", "mpi"}) {
    if (driver == "mpi" && !acid::test::there_is_mpi()) continue;
    INFO(driver);
    const Text text;
    const auto ran = acid::test::acid(text, {"run", "lm.toml", "--driver", driver});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK(text.shown()["metrics"]["eval_loss"].get<double>() < 4);
    CHECK(acid::test::acid(text, {"verify", "@latest"}).code == 0);
  }
}
