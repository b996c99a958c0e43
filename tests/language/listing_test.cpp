#include "engine/language/listing.hpp"

#include <nlohmann/json.hpp>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"

using namespace acid;
using nlohmann::json;

namespace {

Listing read(const json& table) {
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings);
  for (const Finding& one : findings) UNSCOPED_INFO(one.path << ": " << one.message);
  REQUIRE(listing.has_value());
  return *listing;
}

}  // namespace

TEST_CASE("a listing's canonical form says it whole, and is its own") {
  for (const ListingText& shipped : listing_texts()) {
    INFO(shipped.name);
    const Listing listing = read(json_of_toml(shipped.text));
    CHECK(listing.name == shipped.name);
    const json once = canonical(listing);
    json again = once;
    again["parameters"] = json::object();
    for (const ListedParameter& one : listing.parameters) again["parameters"][one.name] = 5;
    CHECK(canonical(read(again)) == once);
  }
}

TEST_CASE("spelling and names change no canonical form, a sign does") {
  const json one = canonical(
      read({{"name", "a"}, {"step", "x = x-(lr)*u"}, {"round", "gradient  step\tsay hear"}}));
  CHECK(one == canonical(read({{"name", "b"}, {"label", "B"}, {"summary", "another"}})));
  CHECK(one != canonical(read({{"step", "x = x + lr * u"}})));
  CHECK(one != canonical(read({{"hear", "x = 0.5 * mine(0) + 0.5 * mean(0)"}})));
}

TEST_CASE("what a listing leaves out is adapt-then-combine, or with a rate averages of pairs") {
  const Listing rounds = read(json::object());
  CHECK(rounds.round == "gradient step say hear");
  CHECK(print(rounds.step.at(0)) == "x = x - lr * u");
  CHECK(print(rounds.hear.at(0)) == "x = mean(0)");
  const Listing meetings = read({{"rate", 1.5}});
  CHECK(meetings.meets());
  CHECK(print(meetings.hear.at(0)) == "x = x - 0.5 * (mine(0) - theirs(0))");
}

TEST_CASE("steps that a temporary keeps are not lost by assignments in between") {
  for (const json& hear : {json{"a = x", "x = theirs(0)", "x = x + a - mine(0)"},
                           json{"x = x - mine(0)", "x = x + theirs(0)"},
                           json{"x = x + theirs(0) - mine(0) if exchange > 1"}})
    CHECK(read({{"rate", 1}, {"hear", hear}}).hear.size() == hear.size());
}
