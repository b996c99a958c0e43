#include "recipes/seeds.hpp"

#include <tuple>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

std::vector<std::string> ids_of(const Plan& plan) {
  std::vector<std::string> ids;
  for (const PlannedRun& run : plan.runs) ids.push_back(run.id);
  return ids;
}

using Seeds = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a range of seeds is the list of them, with the same runs") {
  CHECK(seeds_of("1-5") == Seeds{1, 2, 3, 4, 5});
  CHECK(seeds_of("7") == Seeds{7});
  CHECK(seeds_of(" 1 - 3 , 9,5-5") == Seeds{1, 2, 3, 9, 5});
  CHECK(seeds_of("9223372036854775806-9223372036854775807").size() == 2);
  CHECK(seeds_of("1-10000").size() == kMostSeeds);
  const std::vector<std::string> written = ids_of(compiled("seeds = [1, 2, 3, 4, 9]"));
  CHECK(written.size() == 5);
  for (const char* recipe :
       {"seeds = \"1-4, 9\"", "seeds = [\"1-4\", 9]", "seeds = [1, \"2-3\", \"4,9\"]"}) {
    INFO(recipe);
    CHECK(ids_of(compiled(recipe)) == written);
  }
  CHECK(ids_of(compiled("", {"seeds=1-4,9"})) == written);
  CHECK(ids_of(compiled("seeds = [5]", {"seeds=\"1-4,9\""})) == written);
}

TEST_CASE("what is no range of seeds is refused in its own words") {
  for (const char* text : {"", "a-b", "1-", "-1", "1--3", "1,,2", "1.5", "+1", "0x10", "1-b", ",",
                           "99999999999999999999", "1 2"}) {
    INFO(text);
    CHECK_THROWS_WITH(seeds_of(text), ContainsSubstring("is neither a seed"));
  }
  CHECK_THROWS_WITH(seeds_of("5-1"), ContainsSubstring("goes down; write 1-5"));
  CHECK_THROWS_WITH(seeds_of("1-10001"), ContainsSubstring("more than 10000 seeds"));
  CHECK_THROWS_WITH(seeds_of("1-6000,10001-16000"), ContainsSubstring("more than 10000 seeds"));
  CHECK_THROWS_WITH(seeds_of("0-9223372036854775807"), ContainsSubstring("more than 10000 seeds"));
}

TEST_CASE("a wrong range of seeds is underlined in the recipe") {
  for (const auto& [seeds, column, words] :
       {std::tuple("\"5-1\"", 9, "the range of seeds '5-1' goes down; write 1-5"),
        {"[1, \"a-b\"]", 13, "'a-b' is neither a seed"},
        {"\"1-100000\"", 9, "makes more than 10000 seeds"},
        {"[\"1-5\", \"5-6\"]", 17, "seed 5 is listed twice"}}) {
    const Diagnostic error = only_error_of("seeds = " + std::string(seeds), 1);
    CHECK(error.column == column);
    CHECK_THAT(error.message, ContainsSubstring(words));
    CHECK_THAT(error.remedy,
               ContainsSubstring(std::string_view(words).ends_with("twice") ? "list each seed once"
                                                                            : "seeds = \"1-30\""));
  }
}

TEST_CASE("a search takes ranges of seeds, and none of those of the runs") {
  const std::string search =
      "[task]\ndataset = { kind = \"glyphs\", train = 1000 }\nmodel = \"linear\"\n"
      "validation = 0.1\n[search]\noptimizer.learning_rate = [0.1, 0.2]\nseeds = ";
  const Plan plan = compiled("seeds = \"1-3\"\n" + search + "\"11-12\"\n");
  REQUIRE(plan.search);
  CHECK(plan.search->seeds == Seeds{11, 12});
  CHECK(plan.search->final_count() == 3);
  CHECK_THAT(first_error_of("seeds = \"1-3\"\n" + search + "\"3-5\"\n"),
             ContainsSubstring("seed 3 is one of the runs' seeds"));
  CHECK_THAT(first_error_of("seeds = \"1-3\"\n" + search + "[\"11-12\", 12]\n"),
             ContainsSubstring("seed 12 is listed twice"));
}

}  // namespace acid::test
