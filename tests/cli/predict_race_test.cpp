// `acid predict --over`: what is said of who is fastest where, from times at some values.
#include <fmt/format.h>

#include <cmath>

#include "cli/predict/formats.hpp"
#include "cli/predict/race.hpp"
#include "tests/catch.hpp"

using acid::Race;
using acid::Range;
using Words = std::vector<std::string>;

namespace {

Race race_of(const std::vector<std::string>& names,
             const std::vector<std::vector<std::pair<double, double>>>& times) {
  Race race{names, {}, false, false};
  for (std::size_t k = 0; k < times.size(); ++k) {
    Race::Point point{static_cast<double>(k), {}, true};
    for (const auto& [mean, half] : times[k])
      point.times.push_back(Range{mean, mean - half, mean + half});
    race.points.push_back(std::move(point));
  }
  return race;
}

std::string words(const Race& race) {
  return words_of(race, [](double value) { return fmt::format("{:.3g}", value); });
}

}  // namespace

TEST_CASE("values at which nothing runs are no part of a stretch") {
  const Range fast{1, 1, 1}, slow{2, 2, 2};
  const Race race{{"a", "b"}, {{4, {fast, slow}}, {6, {{}, {}}}, {8, {fast, slow}}}};
  CHECK(words_of(race, [](double value) { return fmt::format("{}", value); }) ==
        "a is fastest at 4; a is fastest at 8.");
}

TEST_CASE("what cannot be told is not told") {
  const auto sure = race_of({"a", "b"}, {{{1, 0}, {4, 0}}, {{2, 0}, {2.5, 0}}, {{4, 0}, {2, 0}}});
  REQUIRE(crossovers(sure).size() == 1);
  CHECK(words(sure) == "a is fastest below 1.24; b is fastest above 1.24.");
  const auto close = race_of({"a", "b", "c"}, {{{1, .1}, {4, .1}, {9, 0}},
                                               {{2, .5}, {2.5, .1}, {9, 0}},
                                               {{3, .6}, {2.4, .1}, {9, 0}},
                                               {{4, .1}, {2, .1}, {9, 0}}});
  CHECK(words(close) ==
        "a is fastest at 0; it cannot be told whether a or b is fastest from 0 to 3; b is "
        "fastest at 3.");
  REQUIRE(crossovers(close).size() == 1);
  CHECK(crossovers(close)[0].value > 1);
  CHECK(crossovers(close)[0].value < 2);
  CHECK(words(race_of({"a", "b"}, {{{1, 1}, {1.1, 1}}, {{1, 1}, {1.1, 1}}})) ==
        "It cannot be told whether a or b is fastest at both values, 0 and 1.");
  CHECK(words(race_of({"a", "b"}, {{{1, 0}, {2, 0}}, {{2, 0}, {2, 0}}})) ==
        "a is fastest at 0; a and b are equally fast above 0.");
  CHECK(words(race_of({"a", "b", "c"}, {{{1, 0}, {1, 0}, {1, 0}}, {{2, 0}, {1, 0}, {1, 0}}})) ==
        "a, b and c are equally fast below 1; b and c are equally fast at 1.");
  auto same = race_of({"a", "b", "c"}, {{{1, 0}, {1, 0}, {2, 0}}, {{3, 0}, {3, 0}, {2, 0}}});
  same.join_equal();
  CHECK(same.names == Words{"a = b", "c"});
  CHECK(words(same) == "a = b is fastest below 0.631; c is fastest above 0.631.");
  // One that cannot run at some values.
  auto gap = race_of({"a", "b"}, {{{1, 0}, {2, 0}}, {{1, 0}, {2, 0}}});
  gap.points[1].times[0].reset();
  CHECK(crossovers(gap).size() == 1);
  CHECK(values_to_add(sure, [](double value) { return value; }).size() == 7);
}

TEST_CASE("values are added wherever the verdict changes, until they are near") {
  const auto added = [](const Race& race) {
    return values_to_add(race, [](double value) { return value; }).size();
  };
  const std::pair<double, double> sure{1, 0}, slow{2, 0}, unsure{1.1, 1};
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {slow, sure}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, unsure}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, unsure}, {sure, slow}, {sure, slow}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, sure}, {sure, slow}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, sure}, {sure, unsure}})) == 7);
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, unsure}, {slow, sure}})) == 14);
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, slow}})) == 0);
  // One of which nothing is said but that it is not told.
  CHECK(added(race_of({"a", "b"}, {{sure, slow}, {sure, unsure}, {sure, slow}})) == 0);
  // Equal steps come as near to 0 as 1/10,000 of the range, of which no 1 % is left.
  auto zero = race_of({"a", "b"}, {{sure, sure}, {sure, slow}, {sure, slow}});
  zero.points[1].value = 1e-4;
  zero.points[2].value = 1;
  CHECK(added(zero) == 0);
  zero.points[1].value = 1.1e-4;
  CHECK(added(zero) == 7);
}

TEST_CASE("ends that would take long to find are told") {
  acid::PredictedRecipe answer;
  answer.axis = acid::over_axis("network.bandwidth=1..2", false);
  answer.races.emplace_back(nlohmann::json::object(),
                            race_of({"a", "b"}, {{{1, 0}, {4, 0}}, {{4, 0}, {2, 0}}}));
  constexpr const char* kNote = "To look closer at all places where this changes would take long";
  CHECK_THAT(to_text(answer), !ContainsSubstring(kNote));
  answer.races.front().second.coarse = true;
  CHECK_THAT(to_text(answer), ContainsSubstring(kNote));
}

TEST_CASE("between whole numbers there is no crossover, only the last and the first") {
  const auto whole = [](const std::vector<std::vector<std::pair<double, double>>>& times) {
    Race race = race_of({"a", "b"}, times);
    race.step = 1;
    return race;
  };
  const auto crossing = whole({{{1, 0}, {4, 0}}, {{2, 0}, {2.5, 0}}, {{4, 0}, {2, 0}}});
  CHECK(words(crossing) == "a is fastest up to 1; b is fastest at 2.");
  CHECK(crossovers(crossing).at(0).value == 1);
  const auto tie = whole({{{1, 0}, {4, 0}}, {{2, 0}, {2, 0}}, {{4, 0}, {2, 0}}});
  CHECK(words(tie) == "a is fastest at 0; a and b are equally fast at 1; b is fastest at 2.");
  const auto rounded = [](double value) { return std::round(value); };
  CHECK(values_to_add(tie, rounded).empty());
  CHECK(words(whole({{{1, 0}, {2, 0}}, {{2, 0}, {2, 0}}, {{2, 0}, {2, 0}}})) ==
        "a is fastest at 0; a and b are equally fast from 1.");
  auto many = tie;  // not all values were looked at beside the one at which the means cross
  for (std::size_t k = 0; k < 3; ++k) many.points[k].value = 996 + 4 * static_cast<double>(k);
  CHECK(words_of(many, [](double value) { return fmt::format("{}", value); }) ==
        "a is fastest at 996; b is fastest at 1004.");
  auto apart = whole({{{1, 0}, {4, 0}}, {{2, 0}, {2, 0}}, {{4, 0}, {2, 0}}});
  apart.points[2].value = 5;
  CHECK(values_to_add(apart, rounded) == std::vector<double>{2, 3, 4});
}

TEST_CASE("draws with the same durations are compared with each other") {
  const auto of = [](const std::vector<double>& draws) { return acid::range_of(draws); };
  const Range slow = of({1, 2, 3, 4}), fast = of({0.9, 1.9, 2.9, 3.88});
  CHECK(slow.low < fast.high);  // the intervals overlap
  CHECK_FALSE(overlap(slow, fast));
  CHECK_FALSE(overlap(fast, slow));
  CHECK(overlap(slow, of({0.9, 2.1, 2.9, 4.1})));
  CHECK(overlap(slow, slow));
  CHECK(overlap(slow, of({1 + 1e-15, 2 + 1e-15, 3 + 1e-15, 4 + 1e-15})));
  CHECK_FALSE(overlap(Range{1, 1, 1}, Range{2, 2, 2}));
}
