// The workers' data: values that do not fit together are refused while the recipe is compiled.
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

const std::string kGlyphs = "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n";

}  // namespace

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

}  // namespace acid::test
