// Parts of a task that do not fit together are refused while the recipe is compiled, and those that
// do are planned: examples that are held out, the workers' data, texts.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

const std::string kThousand =
    "[task]\ndataset = { kind = \"glyphs\", train = 1000, test = 300 }\nmodel = \"linear\"\n";

PlannedRun run_with(const std::string& validation, const std::string& more = {}) {
  return compiled(kThousand + validation + "\n" + more).runs.at(0);
}

std::string refusal(const std::string& validation) {
  return first_error_of(kThousand + validation);
}

const std::string kGlyphs = "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n";

// The licence, 639 sequences to train on and 70 for the test.
std::string on_text(const std::string& rest) {
  return "[task]\ndataset = { kind = \"text\", sequence = 16, file = \"" SOURCE_ROOT
         "/LICENSE\" }\n" +
         rest;
}

void require_refused(const std::string& recipe, int line, const std::string& message,
                     const std::string& remedy) {
  INFO(recipe);
  const Diagnostic error = only_error_of(recipe, line);
  CHECK_THAT(error.message, ContainsSubstring(message));
  CHECK_THAT(error.message + error.remedy, ContainsSubstring(remedy));
}

}  // namespace

TEST_CASE("validation is a number of examples or a share of them, and both are the same run") {
  const PlannedRun number = run_with("validation = 200"), share = run_with("validation = 0.2");
  CHECK(number.settings["task"]["validation"] == 200);
  CHECK(share.digest == number.digest);
  CHECK(number.examples->train == 800);
  CHECK(number.examples->validation == 200);
  CHECK(number.examples->test == 300);
  CHECK(run_with("validation = 201").digest != number.digest);
  const PlannedRun none = run_with("");
  CHECK(none.digest != number.digest);
  CHECK_FALSE(none.settings["task"].contains("validation"));
  CHECK(none.examples->validation == 0);
}

TEST_CASE("an epoch is one of the examples that are left") {
  const char* const epochs = "batch_size = 10\n[budget]\nepochs = 2\n";
  CHECK(run_with("", epochs).budget_gradients == 200);
  CHECK(run_with("validation = 200", epochs).budget_gradients == 160);
}

TEST_CASE("validation must leave something to train on, and there must be something to hold out") {
  CHECK_THAT(refusal("validation = 1000"),
             ContainsSubstring("1000 of 1000 training examples for validation"));
  CHECK_THAT(refusal("validation = 0.0001"), ContainsSubstring("0 of 1000"));
  CHECK_THAT(refusal("validation = 1.5"), ContainsSubstring("neither a number"));
  CHECK_THAT(refusal("validation = 0"), ContainsSubstring("above 0"));
  CHECK_THAT(refusal("validation = -3"), ContainsSubstring("above 0"));
  CHECK_THAT(refusal("validation = \"some\""), ContainsSubstring("must be a number"));
  CHECK(refusal("validation = 968").empty());
  check_only_error("[task]\ndataset = \"quadratic\"\nvalidation = 10\n", 3,
                   "task.validation has no meaning for the analytic task 'quadratic'");
}

TEST_CASE("a worker's share and a batch are of what is left") {
  const char* const workers = "partition = \"iid\"\n[workers]\ncount = 900\n";
  const auto errors = [&](int validation) {
    return errors_of(completed(
        fmt::format("{}batch_size = 1\nvalidation = {}\n{}", kThousand, validation, workers)));
  };
  CHECK(errors(100).empty());
  CHECK_FALSE(errors(101).empty());
}

TEST_CASE("a target on validation data needs some") {
  const char* const target =
      "[budget]\ngradients = 9\ntarget = { metric = \"validation_loss\", value = 0.5 }\n";
  CHECK(run_with("validation = 100", target).settings["budget"]["target"]["value"] == 0.5);
  CHECK_THROWS_WITH(run_with("", target), ContainsSubstring("needs examples for validation"));
}

TEST_CASE("shifted features need workers with examples of their own") {
  check_only_error(kGlyphs + "feature_shift = 0.1\n", 4, "all workers share theirs",
                   "partition = \"iid\"");
  check_only_error(kGlyphs + "partition = \"iid\"\nfeature_shift = -0.1\n", 5,
                   "task.feature_shift must be at least 0", "");
  check_only_error("[task]\ndataset = \"quadratic\"\nfeature_shift = 0.1\n", 3,
                   "task.feature_shift has no meaning for the analytic task 'quadratic'",
                   "remove it: tasks that train a model have feature_shift");
  const std::string iid = kGlyphs + "partition = \"iid\"\n";
  const Plan plain = compiled(iid), shifted = compiled(iid + "feature_shift = 0.1\n");
  CHECK(shifted.runs[0].settings["task"]["feature_shift"] == 0.1);
  CHECK(shifted.runs[0].id != plain.runs[0].id);
  CHECK(compiled(iid + "feature_shift = 0\n").runs[0].id == plain.runs[0].id);
}

TEST_CASE("workers have no more classes than there are, and every class has a worker") {
  const auto with = [](int of_each, int workers) {
    return kGlyphs + fmt::format(
                         "partition = {{ kind = \"classes\", classes_per_worker = {} }}\n"
                         "[workers]\ncount = {}\n",
                         of_each, workers);
  };
  CHECK(compiled(with(10, 2)).runs.size() == 1);
  CHECK(compiled(with(1, 10)).runs.size() == 1);
  check_only_error(with(11, 2), 4, "11 classes for each worker, and the data set has 10",
                   "classes_per_worker to 10 at most");
  check_only_error(with(2, 4), 4, "4 workers with 2 of 10 classes each leave some without a worker",
                   "classes_per_worker to 3 at least");
  check_only_error(
      "[task]\ndataset = \"logistic\"\n"
      "partition = { kind = \"classes\", classes_per_worker = 3 }\n",
      3, "the data set has 2", "to 2 at most");
}

TEST_CASE("a language model on a text is planned, and its parts can be shared out") {
  for (const char* partition : {"shared", "iid", "contiguous"}) {
    const Plan plan = compiled(on_text("model = \"transformer-lm\"\npartition = \"" +
                                       std::string(partition) + "\"\nbatch_size = 159\n"));
    CHECK(plan.runs.at(0).examples->train == 639);
    CHECK(plan.runs.at(0).examples->test == 70);
    CHECK(plan.warnings.empty());
  }
}

TEST_CASE("what a text and its model do not go with is refused with its place and a remedy") {
  const std::string model = "model = \"transformer-lm\"\n";
  require_refused(
      "[task]\nmodel = \"transformer-lm\"\ndataset = { kind = \"text\", file = \"no/text\" }\n", 3,
      "'no/text' does not exist", "");
  const std::string long_name(300, 'a');
  require_refused("[task]\nmodel = \"transformer-lm\"\ndataset = { kind = \"text\", file = \"" +
                      long_name + "\" }\n",
                  3, "cannot be looked at", "permissions");
  require_refused(
      "[task]\nmodel = \"transformer-lm\"\ndataset = { kind = \"text\", sequence = "
      "20000, file = \"" SOURCE_ROOT "/LICENSE\" }\n",
      3, "take 40001", "smaller task.dataset.sequence");
  require_refused(on_text("model = \"mlp\"\n"), 3, "sequences of tokens", "'transformer-lm'");
  require_refused("[task]\ndataset = \"glyphs\"\nmodel = \"transformer-lm\"\n", 3,
                  "1 x 28 x 28 numbers", "'text'");
  require_refused(on_text("model = { kind = \"transformer-lm\", width = 30 }\n"), 3,
                  "a width of 30", "a multiple of heads");
  require_refused(on_text(model + "partition = \"sorted\"\n"), 4, "goes by the examples' classes",
                  "\"contiguous\"");
  require_refused(on_text(model + "partition = { kind = \"dirichlet\", alpha = 0.1 }\n"), 4,
                  "the sequences of 'text' have none", "\"contiguous\"");
  require_refused(on_text(model + "partition = \"contiguous\"\nfeature_shift = 0.1\n"), 5,
                  "tokens are not numbers", "remove feature_shift");
  require_refused(on_text(model + "partition = \"contiguous\"\nbatch_size = 160\n"), 5,
                  "more than a worker has: 159", "a smaller batch");
  require_refused(on_text(model + "partition = \"iid\"\nbatch_size = 1\n[workers]\ncount = 640\n"),
                  4, "640 workers cannot share 639", "fewer workers");
}

}  // namespace acid::test
