// The optimiser's settings in a recipe.
#include <fmt/format.h>

#include "engine/methods/method.hpp"
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
    {"[optimizer]\nmomentum = 0.9\n[[algorithms]]\nkind = \"qg-dsgdm\"",
     "qg-dsgdm has a step of its own, which takes the learning rate and weight decay: momentum", 2},
    {"[optimizer]\nkind = \"adam\"\n[[algorithms]]\nkind = \"extra\"",
     "extra has a step of its own, which takes the learning rate, momentum and weight decay: adam",
     2},
    {"[optimizer]\nkind = \"adamw\"\n[[algorithms]]\nkind = \"exact-diffusion\"",
     "exact-diffusion comes to rest where the steps of all workers cancel, and those of adamw are",
     2},
    {"[optimizer]\nkind = \"muon\"\n[[algorithms]]\nkind = \"decent-adam\"",
     "decent-adam has a step of its own", 2},
    {"[optimizer]\nkind = \"adamw\"\nbeta1 = 0.8\n[[algorithms]]\nkind = \"decent-adam\"",
     "optimizer.beta1 is 0.8, and decent-adam has a beta1 of its own, which is 0.9", 3},
    {"[optimizer]\nkind = \"adam\"\n[[methods]]\nname = \"adam-without-epsilon\"\n"
     "keep = { m = 0, v = 1 }\nstep = [\"m = beta1 * m + g\", \"v = beta2 * v + g * g\", "
     "\"x = x - lr * m / v\"]\nparameters = { beta1 = 0.9, beta2 = 0.99 }\n"
     "[[algorithms]]\nkind = \"adam-without-epsilon\"",
     "adam-without-epsilon has a step of its own", 2},
    {"[optimizer]\nweight_decay = 0.1\n[[algorithms]]\nkind = \"a-psgd\"",
     "workers of a-psgd take no step, they send their gradients as they are: weight_decay", 2},
    {"[optimizer]\nkind = \"adamw\"\n[[algorithms]]\nkind = \"a-psgd\"",
     "workers of a-psgd take no step, they send their gradients as they are: adamw", 2},
    {"[optimizer]\nweight_decay = 0.1\n[[algorithms]]\nkind = \"d2\"\n[execution]\ndevice = "
     "\"cuda\"",
     "weight_decay in the gradients of d2, which has a step of its own, has no kernels", 2},
    {"[optimizer]\nweight_decay = 0.1\nno_decay = [\"nrom\"]",
     "no tensor of the task has 'nrom' in its name", 3},
    {"[optimizer]\nkind = \"muon\"\nsgd_tensors = [\"head\"]",
     "no tensor of the task has 'head' in its name", 3},
    {"[optimizer]\nno_decay = [1]", "must be a list of texts in quotes", 2},
    {"[optimizer]\nno_decay = \"bias\"", "must be a list of texts in quotes", 2},
    {"[optimizer]\nno_decay = [\"\"]", "a text in optimizer.no_decay is empty", 2},
    {"[optimizer]\nclip_norm = 0", "must be above 0", 2},
    {"[optimizer]\nclip_norm = 1\n[execution]\ndevice = \"cuda\"",
     "clip_norm has no kernels for a GPU", 2},
    {"[optimizer]\nkind = \"muon\"\n[execution]\ndevice = \"cuda\"",
     "muon has no kernels for a GPU", 2},
};

}  // namespace

TEST_CASE("what clipping, Muon and decay by name cannot do is refused at its line") {
  for (const Refused& refused : kRefused)
    test::check_only_error(refused.recipe, refused.line, refused.message);
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

TEST_CASE("methods take the optimisers that their recursions have a meaning with") {
  constexpr const char* kSgd = "weight_decay = 0.1\n";
  constexpr const char* kMomentum = "weight_decay = 0.1\nmomentum = 0.9\nnesterov = true\n";
  constexpr const char* kAdam = "kind = \"adam\"\nweight_decay = 0.1\n";
  constexpr const char* kAdamW = "kind = \"adamw\"\nbeta1 = 0.9\nweight_decay = 0.1\n";
  constexpr const char* kMuon = "kind = \"muon\"\nclip_norm = 1.0\nweight_decay = 0.1\n";
  const auto takes = [](std::string_view method, const char* optimizer) {
    INFO(method << ": " << optimizer);
    const std::string recipe = fmt::format(
        "[optimizer]\n{}[topology]\nkind = \"complete\"\n[[algorithms]]\nkind = \"{}\"\n",
        optimizer, method);
    const auto errors = test::errors_of(completed(recipe));
    for (const Diagnostic& error : errors) CHECK_FALSE(error.remedy.empty());
    return errors.empty();
  };
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    const bool any = entry.optimizers == Optimizers::any;
    const bool adam = entry.name == "decent-adam" || entry.name == "des-loc";
    const bool linear = entry.name == "gradient-tracking" || entry.name == "diging" ||
                        entry.name == "d2" || entry.name == "extra";
    CHECK(takes(entry.name, kSgd) == (entry.optimizers != Optimizers::none));
    CHECK(takes(entry.name, kMomentum) == (any || linear));
    const bool any_step = any && entry.name != "decentlam" && entry.name != "exact-diffusion";
    CHECK(takes(entry.name, kAdam) == (any_step || adam));
    CHECK(takes(entry.name, kAdamW) == (any_step || adam));
    CHECK(takes(entry.name, kMuon) == any_step);
  }
}

TEST_CASE("clipping is doubted where a method corrects the bias of the workers' gradients") {
  for (const auto& [kind, corrects] : {std::pair{"d2", true},
                                       {"extra", true},
                                       {"exact-diffusion", true},
                                       {"diging", true},
                                       {"gradient-tracking", true},
                                       {"choco-sgd-overlapped", false},
                                       {"d-psgd", false}}) {
    INFO(kind);
    const Plan plan = compiled(
        "[optimizer]\nclip_norm = 1\n[topology]\nkind = \"complete\"\n"
        "[[algorithms]]\nkind = \"" +
        std::string(kind) + "\"\n");
    CHECK(std::ranges::any_of(plan.warnings, [](const Diagnostic& warning) {
            return warning.message.find("cancel as they are clipped") != std::string::npos;
          }) == corrects);
  }
}

TEST_CASE("Decent-Adam takes Adam's betas where the recipe says the same for both") {
  const Plan plan = compiled(
      "[optimizer]\nkind = \"adamw\"\nbeta2 = 0.98\nweight_decay = 0.1\nno_decay = [\"bias\"]\n"
      "[[algorithms]]\nkind = \"decent-adam\"\nbeta2 = 0.98\n");
  const OptimizerSettings settings = settings_from(plan.runs.at(0).settings).optimizer;
  CHECK(settings.kind == OptimizerKind::adamw);
  CHECK(settings.weight_decay == 0.1);
  CHECK(settings.no_decay == std::vector<std::string>{"bias"});
}

TEST_CASE("Muon where nothing is a matrix is warned of") {
  const Diagnostic told = test::only_warning_of(
      "[task]\ndataset = { kind = \"quadratic\", noise = 0.1 }\n[optimizer]\nkind = \"muon\"\n");
  CHECK_THAT(told.message, ContainsSubstring("muon has no matrices"));
}
