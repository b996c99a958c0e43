#include "engine/language/listing.hpp"

#include <nlohmann/json.hpp>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/language/life.hpp"

using namespace acid;
using acid::test::checked;
using nlohmann::json;

TEST_CASE("a listing's canonical form says it whole, and is its own") {
  for (const ListingText& shipped : listing_texts()) {
    INFO(shipped.name);
    const Listing listing = checked(json_of_toml(shipped.text));
    CHECK(listing.name == shipped.name);
    const json once = canonical(listing);
    json again = once;
    again["parameters"] = json::object();
    for (const ListedParameter& one : listing.parameters) again["parameters"][one.name] = 5;
    CHECK(canonical(checked(again)) == once);
  }
}

TEST_CASE("spelling and names change no canonical form, a sign does") {
  const json one = canonical(
      checked({{"name", "a"}, {"step", "x = x-(lr)*u"}, {"round", "gradient  step\tsay hear"}}));
  CHECK(one == canonical(checked({{"name", "b"}, {"label", "B"}, {"summary", "another"}})));
  CHECK(one != canonical(checked({{"step", "x = x + lr * u"}})));
  CHECK(one != canonical(checked({{"hear", "x = 0.5 * mine(0) + 0.5 * mean(0)"}})));
}

TEST_CASE("what a listing leaves out is adapt-then-combine, or with a rate averages of pairs") {
  const Listing rounds = checked(json::object());
  CHECK(rounds.round == "gradient step say hear");
  CHECK(print(rounds.step.at(0)) == "x = x - lr * u");
  CHECK(print(rounds.hear.at(0)) == "x = mean(0)");
  const Listing meetings = checked({{"rate", 1.5}});
  CHECK(meetings.meets());
  CHECK(print(meetings.hear.at(0)) == "x = x - 0.5 * (mine(0) - theirs(0))");
}

TEST_CASE("steps that a temporary keeps are not lost by assignments in between") {
  for (const json& hear : {json{"a = x", "x = theirs(0)", "x = x + a - mine(0)"},
                           json{"x = x - mine(0)", "x = x + theirs(0)"},
                           json{"x = x + theirs(0) - mine(0) if exchange > 1"}})
    CHECK(checked({{"rate", 1}, {"hear", hear}}).hear.size() == hear.size());
}
