// Examples that are held out of the training set.
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

}  // namespace acid::test
