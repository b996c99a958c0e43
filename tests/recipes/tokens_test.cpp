// Tasks on a text: values that do not fit together are refused while the recipe is compiled.
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

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
