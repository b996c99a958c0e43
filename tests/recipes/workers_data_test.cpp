// What workers have of the data: what does not fit together is refused while the recipe is
// compiled.
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

void require_one_error(const std::string& recipe, int line, const std::string& message,
                       const std::string& remedy) {
  INFO(recipe);
  const std::vector<Diagnostic> errors = errors_of(completed(recipe));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].line == line);
  CHECK_THAT(errors[0].message, ContainsSubstring(message));
  CHECK_THAT(errors[0].remedy, ContainsSubstring(remedy));
}

const std::string kGlyphs = "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n";

}  // namespace

TEST_CASE("shifted features need workers with examples of their own") {
  require_one_error(kGlyphs + "feature_shift = 0.1\n", 4, "all workers share theirs",
                    "partition = \"iid\"");
  require_one_error(kGlyphs + "partition = \"iid\"\nfeature_shift = -0.1\n", 5,
                    "task.feature_shift must be at least 0", "");
  require_one_error("[task]\ndataset = \"quadratic\"\nfeature_shift = 0.1\n", 3,
                    "task.feature_shift has no meaning for the analytic task 'quadratic'",
                    "remove feature_shift");
  const std::string iid = kGlyphs + "partition = \"iid\"\n";
  const Plan plain = compiled(iid), shifted = compiled(iid + "feature_shift = 0.1\n");
  CHECK(shifted.runs[0].settings["task"]["feature_shift"] == 0.1);
  CHECK(shifted.runs[0].id != plain.runs[0].id);
  CHECK(compiled(iid + "feature_shift = 0\n").runs[0].id == plain.runs[0].id);
}

}  // namespace acid::test
