#include <nlohmann/json.hpp>
#include <set>

#include "engine/language/listing_facts.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/scratch.hpp"

using namespace acid;

namespace {

Method preset(std::string_view name, const nlohmann::json& given, const Spectral* nominal) {
  const AlgorithmEntry* entry = find_algorithm(name);
  REQUIRE(entry != nullptr);
  return entry->make(with_fallbacks(entry->fields, given), nominal);
}

double derived(const Method& method, std::string_view name) {
  for (const auto& [known, value] : method.derived)
    if (known == name) return value;
  FAIL("there is no " << name);
  return 0;
}

}  // namespace

TEST_CASE("every method says its recursion in one line, what differs, and is in METHODS.md") {
  const std::string page = test::content_of(SOURCE_ROOT "/docs/METHODS.md");
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    INFO(entry.name);
    const Listing* const listing = entry.listing;
    CHECK_THAT(listing->about.recursion, ContainsSubstring("x"));
    CHECK_FALSE(listing->about.differs.empty());
    CHECK(listing->about.recursion.find('\n') == std::string::npos);
    CHECK_THAT(page, ContainsSubstring("`" + std::string(entry.name) + "`"));
  }
}

TEST_CASE("every catalogued algorithm can be made and says what it is") {
  std::set<std::string_view> names;
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK_FALSE(entry.summary.empty());
    CHECK_FALSE(entry.source.empty());
    const Method method = preset(entry.name, nlohmann::json::object(), nullptr);
    CHECK(method.kind == entry.name);
    CHECK(method.peers == entry.peers);
    CHECK(method.has_meetings() == method.round.legs().empty());
  }
  CHECK(find_algorithm("ad-sgd") == nullptr);
}

TEST_CASE("a2cid2 takes its parameters from the theory unless they are given") {
  const Spectral ring = spectral(make_topology(16, {{"kind", "ring"}}), 1.0);
  const Method theory = preset("a2cid2", nlohmann::json::object(), &ring);
  CHECK(derived(theory, "eta") == Approx(1 / (2 * std::sqrt(ring.chi1 * ring.chi2))));
  CHECK(derived(theory, "alpha_tilde") == Approx(std::sqrt(ring.chi1 / ring.chi2) / 2));
  CHECK(derived(theory, "alpha") == 0.5);
  const Method given = preset("a2cid2", {{"eta", 0.2}, {"alpha_tilde", 3.0}}, &ring);
  CHECK(derived(given, "eta") == 0.2);
  CHECK(derived(given, "alpha_tilde") == 3.0);
}

TEST_CASE("what a method shows are its own numbers, and one key means the same in all methods") {
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    INFO(entry.name);
    const Method method = preset(entry.name, nlohmann::json::object(), nullptr);
    std::set<std::string_view> shown, derived;
    for (const Shown& each : entry.shown) {
      CHECK_FALSE(each.symbol.empty());
      CHECK_FALSE(each.help.empty());
      CHECK(shown.insert(each.key).second);
      for (const Shown& other : shown_by_any())
        if (other.key == each.key) CHECK(other.symbol == each.symbol);
    }
    for (const auto& [key, value] : method.derived) derived.insert(key);
    if (entry.by_name) CHECK(shown == derived);
  }
  CHECK(shown_by({"ar-sgd", "no method"}).empty());
  CHECK(shown_by({"ad-psgd", "a2cid2"}).size() == 3);
}

TEST_CASE("rules that are topologies say which") {
  for (const char* name : {"matcha", "epidemic"}) {
    CHECK(find_algorithm(name) == nullptr);
    CHECK(written_for(name).find("topology") != std::string_view::npos);
  }
  CHECK(written_for("d-psgd").empty());
}

TEST_CASE("ad-psgd keeps no momentum copy") {
  CHECK(preset("ad-psgd", nlohmann::json::object(), nullptr).rules.floats->slots().empty());
}

TEST_CASE("bytes per gradient follow each pattern's cost") {
  const Topology ring = make_topology(8, {{"kind", "ring"}});
  const auto bytes = [&](std::string_view name, const nlohmann::json& options) {
    return bytes_sent(preset(name, options, nullptr), ring, 8, 1000) / 8;
  };
  CHECK(bytes("ar-sgd", nlohmann::json::object()) == Approx(2 * 7.0 / 8 * 1000));
  CHECK(bytes("d-psgd", nlohmann::json::object()) == Approx(2000));
  CHECK(bytes("ad-psgd", {{"communication_rate", 1.5}}) == Approx(1500));
}

TEST_CASE(
    "an exchange is measured on several graphs, and those where it moves the mean are named") {
  const auto measured = [](nlohmann::json table) {
    table["name"] = "measured";
    std::vector<Finding> findings;
    const auto listing = read_listing(table, findings);
    REQUIRE(listing.has_value());
    const AlgorithmEntry& entry = listed_entry(*listing);
    return measure_exchange(
        *listing,
        entry.make(with_fallbacks(entry.fields, nlohmann::json::object()), nullptr).rules);
  };
  const auto facts = [&](const nlohmann::json& table, std::size_t graphs,
                         const std::vector<std::string>& moves_mean_on) {
    INFO(table.dump());
    const ExchangeFacts found = measured(table);
    CHECK(found.is_finite);
    CHECK(found.is_linear);
    CHECK(found.graphs == graphs);
    CHECK(found.moves_mean_on == moves_mean_on);
  };
  facts(nlohmann::json::object(), 4, {});
  facts({{"needs", "lambda_min > -1"}}, 3, {});
  facts({{"hear", "x = x + degree * (mean(0) - mine(0)) / 3"}}, 4, {"a star"});
  facts({{"hear", "x = 2 * mean(0)"}}, 4,
        {"a complete graph", "a ring", "a star", "a one-way ring"});
  facts({{"rate", 1}}, 2, {});
  facts({{"rate", 1}, {"hear", "x = x - 0.5 / degree * (mine(0) - theirs(0))"}}, 2, {"a star"});
  facts({{"peers", "one"}}, 2, {});
  facts({{"peers", "all"}}, 1, {});
  facts({{"hear", "x = x + 0.5 * pull(0)"}, {"keep", {{"r", "rest"}}}}, 4, {});
  // Some exchanges do what most do not.
  facts({{"peers", "all"}, {"hear", {"x = mean(0)", "x = 2 * x if mod(exchange, 5) == 4"}}}, 1,
        {"a complete graph"});
  CHECK_FALSE(measured({{"peers", "all"},
                        {"hear", {"x = mean(0)", "x = x * abs(x) if mod(exchange, 4) == 3"}}})
                  .is_linear);
}

TEST_CASE("sums of differences to neighbours sum to 0, as they do in runs") {
  for (const char* name : {"choco-sgd", "choco-sgd-overlapped"}) {
    const AlgorithmEntry& entry = *find_algorithm(name);
    const Method method =
        entry.make(with_fallbacks(entry.fields, nlohmann::json::object()), nullptr);
    CHECK(measure_exchange(*entry.listing, method.rules).moves_mean_on.empty());
  }
}

TEST_CASE("methods that send a number divide by it, so that workers that agree stay so") {
  std::set<std::string_view> divide;
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    const Method method =
        entry.make(with_fallbacks(entry.fields, nlohmann::json::object()), nullptr);
    if (method.peers == Peers::neighbours && !method.has_meetings() && !method.has_server() &&
        divides_by_what_it_sends(entry, method))
      divide.insert(entry.name);
  }
  CHECK(divide == std::set<std::string_view>{"osgp", "sgp"});
}

TEST_CASE("methods that exchange gradients, or what changed, leave workers apart that start so") {
  std::set<std::string_view> apart;
  for (const AlgorithmEntry& entry : algorithm_catalog())
    if (leaves_workers_apart(entry, with_fallbacks(entry.fields, nlohmann::json::object())))
      apart.insert(entry.name);
  CHECK(apart == std::set<std::string_view>{"ar-sgd", "diloco", "sparseloco", "streaming-diloco"});
}
