// What a recipe may ask of the optimiser.
#include "settings/run_settings.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

using namespace acid;
using test::compiled;
using test::completed;
using test::digest;

namespace {

struct Refused {
  const char* recipe;
  const char* message;
  int line;
};
constexpr Refused kRefused[] = {
    {"[optimizer]\nclip_norm = 1\n[[algorithms]]\nkind = \"a-psgd\"",
     "a-psgd does not leave gradients to the worker's step", 2},
    {"[optimizer]\nkind = \"muon\"\n[[algorithms]]\nkind = \"decentlam\"",
     "decentlam does not leave gradients to the worker's step", 2},
    {"[optimizer]\nkind = \"muon\"\n[[algorithms]]\nkind = \"d-psgd\"",
     "defined for sgd, not for muon", 2},
    {"[optimizer]\nweight_decay = 0.1\nno_decay = [\"nrom\"]",
     "no tensor of the task has 'nrom' in its name", 3},
    {"[optimizer]\nkind = \"muon\"\nsgd_tensors = [\"head\"]",
     "no tensor of the task has 'head' in its name", 3},
    {"[optimizer]\nno_decay = [1]", "must be a list of texts in quotes", 2},
    {"[optimizer]\nno_decay = \"bias\"", "must be a list of texts in quotes", 2},
    {"[optimizer]\nno_decay = [\"\"]", "must be a list of texts in quotes", 2},
    {"[optimizer]\nclip_norm = 0", "must be above 0", 2},
    {"[optimizer]\nclip_norm = 1\n[execution]\ndevice = \"cuda\"",
     "clip_norm has no kernels for a GPU", 2},
    {"[optimizer]\nkind = \"muon\"\n[execution]\ndevice = \"cuda\"",
     "muon has no kernels for a GPU", 2},
};

}  // namespace

TEST_CASE("what clipping, Muon and decay by name cannot do is refused at its line") {
  for (const Refused& refused : kRefused) {
    INFO(refused.recipe);
    const auto errors = test::errors_of(completed(refused.recipe));
    REQUIRE(errors.size() == 1);
    CHECK_THAT(errors[0].message, ContainsSubstring(refused.message));
    CHECK(errors[0].line == refused.line);
    CHECK_FALSE(errors[0].remedy.empty());
  }
}

TEST_CASE("a recipe without clipping and decay by name has the digest it always had") {
  CHECK(digest("[optimizer]\nno_decay = []\n") == digest(""));
  CHECK(digest("[optimizer]\nclip_norm = 1\n") != digest(""));
  const std::string decayed = "[optimizer]\nweight_decay = 0.1\n";
  CHECK(digest(decayed + "no_decay = [\"bias\"]\n") != digest(decayed));
  CHECK_FALSE(compiled("").runs[0].settings["optimizer"].contains("clip_norm"));
  const std::string task = "[task]\ndataset = \"glyphs\"\nmodel = { kind = \"resnet20\"";
  CHECK(digest(task + ", norm = \"batch\" }\n") == digest(task + " }\n"));
  CHECK(digest(task + ", norm = \"group\" }\n") != digest(task + " }\n"));
  CHECK_FALSE(compiled(task + " }\n").runs[0].settings["task"]["model"].contains("norm"));
}

TEST_CASE("methods that step by gradients, and all-reduce, take clipping and Muon") {
  for (const char* kind : {"ar-sgd", "ad-psgd", "a2cid2", "local-sgd", "diloco", "sgp"})
    for (const char* optimizer : {"clip_norm = 1", "kind = \"muon\""}) {
      INFO(kind << " " << optimizer);
      const Plan plan =
          compiled(std::string("[optimizer]\n") + optimizer +
                   "\n[topology]\nkind = \"ring\"\n[[algorithms]]\nkind = \"" + kind + "\"\n");
      CHECK(plan.runs.size() == 1);
    }
  const Plan plan = compiled(
      "[optimizer]\nkind = \"muon\"\nsgd_tensors = [\"fc\"]\nsgd_scale = 2\nclip_norm = 3");
  const OptimizerSettings settings = settings_from(plan.runs[0].settings).optimizer;
  CHECK(settings.kind == OptimizerKind::muon);
  CHECK(settings.momentum == 0.95);
  CHECK(settings.nesterov);
  CHECK(settings.sgd_tensors == std::vector<std::string>{"fc"});
  CHECK(settings.sgd_scale == 2);
  CHECK(settings.clip_norm == 3);
}

TEST_CASE("Muon where nothing is a matrix is warned of") {
  const Plan plan = compiled(
      "[task]\ndataset = { kind = \"quadratic\", noise = 0.1 }\n[optimizer]\nkind = \"muon\"\n");
  REQUIRE(plan.warnings.size() == 1);
  CHECK_THAT(plan.warnings[0].message, ContainsSubstring("muon has no matrices"));
}
