// The text that sets the order of phases in a synchronous method.
#include "engine/language/round.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The legs, a letter for each part.
std::string legs_of(std::string_view text, const Round::Parameters& parameters = {}) {
  std::string list;
  const Round round(text, parameters);
  for (const Leg& leg : round.legs()) {
    if (!list.empty()) list += ' ';
    for (const Phase phase : leg) list += "gush"[static_cast<int>(phase)];
  }
  return list;
}

double steps_and_delay(std::string_view name) {
  if (name == "steps") return 4;
  if (name == "delay") return 1;
  throw UsageError("there is no " + std::string(name));
}

}  // namespace

TEST_CASE("a round is cut before its gradients, or before what is said while they are computed") {
  CHECK(legs_of("gradient say hear step") == "gshu");
  CHECK(legs_of("say gradient hear step") == "sghu");
  CHECK(legs_of("gradient step say hear") == "gush");
  CHECK(legs_of(" gradient\tstep 3*(say hear) ") == "gushshsh");
  CHECK(legs_of("say hear gradient step") == "shgu");
  CHECK(legs_of("steps * (gradient step) say hear", steps_and_delay) == "gu gu gu gush");
  CHECK(legs_of("(steps - delay) * (gradient step) say delay * (gradient step) hear",
                steps_and_delay) == "gu gu gu sguh");
  CHECK(legs_of("(max(1, 0.25 * steps * delay) + (delay == 1)) * (gradient step)",
                steps_and_delay) == "gu gu");
  CHECK(legs_of("2 * (2 * (gradient step) say hear)") == "gu gush gu gush");
  CHECK(legs_of("0 * (say hear) (1 + 1) * (gradient step)") == "gu gu");
}

TEST_CASE("messages are counted by the gradients before them") {
  const Round round("steps * (gradient step) 2 * (say hear)", steps_and_delay);
  CHECK(round.said_before(0) == 0);
  CHECK(round.said_before(3) == 0);
  CHECK(round.said_before(4) == 2);
  CHECK(round.said_before(4'000'000'003) == 2'000'000'000);
  CHECK(Round("say gradient hear step").said_before(7) == 7);
  CHECK(&round.leg(5) == &round.legs()[1]);
}

TEST_CASE("a message may be on its way for several gradients") {
  const Round open("say 2 * (gradient step) hear");
  CHECK_FALSE(open.is_open(0));
  CHECK(open.is_open(1));
  CHECK_FALSE(open.is_open(2));
  CHECK(open.said_before(1) == 1);
  CHECK(open.heard_before(1) == 0);
}

TEST_CASE("what is said to a server may need no step: then one ends every leg") {
  const Round without("2 * (gradient say hear)", {}, true),
      with("gradient say hear step", {}, true);
  REQUIRE(without.legs().size() == 2);
  for (const Leg& leg : without.legs()) CHECK(leg == with.leg(0));
  CHECK(Round("gradient step say hear", {}, true).legs() == Round("gradient step say hear").legs());
}

TEST_CASE("a round that is none is refused where it goes wrong") {
  const auto refused = [](const char* text, const char* why) {
    INFO(text);
    CHECK_THROWS_WITH(Round(text, steps_and_delay), ContainsSubstring(why));
  };
  refused("gradient stop", "column 10: expected gradient, step, say, hear or 'count * (...)'");
  refused("gradient step)", "column 14");
  refused("2 * gradient step", "column 1");
  refused("2 * (gradient step", "column 19: expected ')'");
  refused("(steps - ) * (gradient step)", "column 10: expected a value");
  refused("(norm(steps)) * (gradient step)", "column 2: a count is of numbers");
  refused("(steps * (gradient step)", "column 2");
  refused("(max(steps, rounds)) * (gradient step)", "there is no rounds");
  refused("rounds * (gradient step)", "there is no rounds");
  refused("(delay - steps) * (gradient step)", "repeats -3 times");
  refused("99999999999999999999 * (gradient step)", "is no number");
  refused("1000 * (1000 * (gradient step))", "more than 100000 parts");
  refused("", "it has no gradient");
  refused("say hear", "it has no gradient");
  refused("gradient gradient step step", "gradients and steps take turns");
  refused("step gradient", "gradients and steps take turns");
  refused("gradient step hear say", "say and hear take turns");
  refused("gradient", "its last gradient has no step");
  refused("gradient step say", "its last say has no hear");
}
