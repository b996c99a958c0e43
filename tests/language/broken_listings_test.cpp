// Listings with one mistake each: the expected place, column and words.
#include <nlohmann/json.hpp>

#include "engine/language/listing.hpp"
#include "tests/catch.hpp"

using namespace acid;
using nlohmann::json;

namespace {

struct Broken {
  const char* table;
  const char* path;
  int column;
  const char* words;  // in the message or the remedy
};

const Broken kBroken[] = {
    {R"j({"rate": 1, "hear": "x = 0.5 * (mine(0) + theirs(0))"})j", "hear.0", 1, "loses the steps"},
    {R"j({"round": "say gradient step hear"})j", "hear.0", 1, "loses the steps"},
    {R"j({"round": "say gradient step hear", "hear": ["a = mean(0)", "x = a"]})j", "hear.1", 1,
     "x = x + (mean(0) - mine(0))"},
    {R"j({"rate": 1, "hear": ["x = x + 0.5 * (theirs(0) - mine(0))", "x = theirs(0)"]})j", "hear.1",
     1, "loses the steps"},
    {R"j({"round": "say gradient step hear",
         "hear": ["x = x - mine(0) + mean(0)", "x = mean(0) if exchange > 9"]})j",
     "hear.1", 1, "loses the steps"},
    {R"j({"rate": 1, "hear": ["a = x", "a = theirs(0)", "x = a"]})j", "hear.2", 1,
     "loses the steps"},
    {R"j({"step": "x = x - lr * q"})j", "step.0", 14, "unknown name 'q'"},
    {R"j({"step": ["lr = 3"]})j", "step.0", 1, "'lr' cannot be assigned in step"},
    {R"j({"hear": "x = mean(0) + g"})j", "hear.0", 15, "'g' cannot be read in hear"},
    {R"j({"step": "x = x - mean(0)"})j", "step.0", 9, "can only be heard"},
    {R"j({"hear": "x = mean(1)"})j", "hear.0", 5, "there is no message 1"},
    {R"j({"hear": "x = theirs(0)"})j", "hear.0", 5, "rounds have mean()"},
    {R"j({"rate": 1, "hear": "x = x + mean(0)"})j", "hear.0", 9, "meetings have mine()"},
    {R"j({"scalars": {"w": 1}, "hear": ["x = mean(0)", "w = x", "x = w * x"]})j", "hear.1", 1,
     "'w' is a scalar, the value is a vector"},
    {R"j({"step": ["a = 1 + norm(g - norm(x))", "x = x - lr * g"]})j", "step.0", 18,
     "scalar statement only, in no other"},
    {R"j({"step": "x = exp(x)"})j", "step.0", 5, "exp() is of scalars only"},
    {R"j({"step": "x = pow(x, 2)"})j", "step.0", 5, "pow() is of scalars only"},
    {R"j({"step": ["t = x", "n2 = norm(t)", "x = x - n2 * t"]})j", "step.2", 14,
     "does not outlive a reduction"},
    {R"j({"step": ["n2 = norm(u)", "x = x - n2 * u"]})j", "step.1", 14,
     "does not outlive a reduction"},
    {R"j({"step": "x = norm(x) * x"})j", "step.0", 5, "value of a scalar statement only"},
    {R"j({"step": "x = x - lr * u if norm(g)"})j", "step.0", 19,
     "value of a scalar statement only"},
    {R"j({"step": ["s = norm(lr)", "x = x - s * u"]})j", "step.0", 5, "norm() is of vectors"},
    {R"j({"step": "x = (x + 1"})j", "step", 11, "expected ')'"},
    {R"j({"step": ["x = x", "x = (x + 1"]})j", "step.1", 11, "expected ')'"},
    {R"j({"round": " "})j", "round", 0, "round is empty"},
    {R"j({"round": "gradient stop"})j", "round", 0, "expected gradient, step, say, hear"},
    {R"j({"round": "gradient gradient step step say hear"})j", "round", 0, "take turns"},
    {R"j({"round": "gradient step say say hear hear"})j", "round", 0, "take turns"},
    {R"j({"round": "gradient step say"})j", "round", 0, "has no hear"},
    {R"j({"round": "say hear"})j", "round", 0, "no gradient"},
    {R"j({"round": "steps * (gradient step) say hear"})j", "round", 0, "no parameter 'steps'"},
    {R"j({"round": "(4 * speed) * (gradient step) say hear"})j", "round", 0,
     "speed is for rounds with a server"},
    {R"j({"parameters": {"a": 1}, "rate": "a", "needs": "a < lambda_min"})j", "needs.0", 1,
     "'a' cannot be read here"},
    {R"j({"needs": "rho < 1"})j", "needs.0", 1, "'rho' cannot be read here"},
    {R"j({"parameters": {"speed": 1}, "round": "speed * (gradient step) say hear"})j",
     "parameters.speed", 0, "meaning of its own"},
    {R"j({"round": 3})j", "round", 0, "round must be text"},
    {R"j({"round": "gradient step say hear", "rate": 1})j", "rate", 0, "exclude each other"},
    {R"j({"rate": "x"})j", "rate", 1, "only parameters are known"},
    {R"j({"rate": "1 +"})j", "rate", 4, "expected a value"},
    {R"j({"rate": 1, "peers": "all"})j", "peers", 0, "methods of rounds"},
    {R"j({"peers": "everybody"})j", "peers", 0, "known: neighbours"},
    {R"j({"hears": "x = mean(0)"})j", "hears", 0, "did you mean 'hear'?"},
    {R"j({"colour": "red"})j", "colour", 0, "known: "},
    {R"j({"keep": {"y": 0}})j", "keep.y", 0, "'y' is never read"},
    {R"j({"scalars": {"w": 0}})j", "scalars.w", 0, "'w' is never read"},
    {R"j({"parameters": {"beta": 0}})j", "parameters.beta", 0, "'beta' is never read"},
    {R"j({"send": ["x", "u"]})j", "send.1", 1, "'u' cannot be read in say"},
    {R"j({"send": ["x", "2 * x"]})j", "send.1", 0, "message 1 is never heard"},
    {R"j({"send": []})j", "send", 0, "leave it out"},
    {R"j({"send": "x if exchange > 3"})j", "hear.0", 5, "hear it under its condition"},
    {R"j({"send": "x if exchange > 3", "hear": "x = mean(0) if exchange > 4"})j", "hear.0", 5,
     "x = … if exchange > 3"},
    {R"j({"scalars": {"w": 0}, "send": ["x", "w if mod(exchange, 2)"],
         "hear": ["x = mean(0) if mean(1) > w", "w = mean(1) if mod(exchange, 2)"]})j",
     "hear.0", 16, "message 1 is not always sent"},
    {R"j({"send": "x if k > 3", "hear": "x = mean(0) if k > 3"})j", "send.0", 6,
     "parameters and the exchange"},
    {R"j({"send": "x if norm(x) > 3", "hear": "x = mean(0) if exchange > 3"})j", "send.0", 6,
     "norm() cannot be read here"},
    {R"j({"rate": 1, "send": "x if exchange > 3"})j", "send.0", 6, "messages of two workers"},
    {R"j({"fragments": "x"})j", "fragments", 1, "only parameters are known"},
    {R"j({"fragments": "2 *"})j", "fragments", 4, "expected a value"},
    {R"j({"fragments": true})j", "fragments", 0, "must be text"},
    {R"j({"rate": 1, "fragments": 2})j", "fragments", 0, "methods of rounds"},
    {R"j({"peers": []})j", "peers", 0, "leave it out"},
    {R"j({"peers": ["4 everybody", "all"]})j", "peers.0", 0, "no peers 'everybody'"},
    {R"j({"peers": ["neighbours", 3]})j", "peers.1", 0, "known: neighbours"},
    {R"j({"peers": ["(period - 1) neighbours", "all"]})j", "peers.0", 2, "only parameters"},
    {R"j({"peers": ["2 + neighbours", "all"]})j", "peers.0", 5, "expected a value"},
    {R"j({"peers": ["neighbours", "one", "all"]})j", "peers.1", 0, "not with both"},
    {R"j({"peers": ["neighbours", "all"], "scalars": {"w": 1}, "send": ["x", "w"],
         "hear": ["x = mean(0)", "w = mean(1)"]})j",
     "send.1", 1, "an all-reduce carries vectors"},
    {R"j({"peers": "all", "scalars": {"w": 1}, "send": "w", "hear": "w = mean(0)"})j", "send.0", 1,
     "an all-reduce carries vectors"},
    {R"j({"keep": {"x": 0}})j", "keep.x", 0, "meaning of its own"},
    {R"j({"keep": {"lr": 0}})j", "keep.lr", 0, "meaning of its own"},
    {R"j({"keep": {"snapshot": 0}})j", "keep.snapshot", 0, "meaning of its own"},
    {R"j({"keep": {"1a": 0}})j", "keep.1a", 0, "is no name"},
    {R"j({"keep": {"a": "y"}})j", "keep.a", 0, "must start as a number or \"x\""},
    {R"j({"keep": {"a": 0}, "scalars": {"a": 0}, "step": "x = a"})j", "scalars.a", 0,
     "there twice"},
    {R"j({"scalars": {"w": "x"}, "step": "x = w * x"})j", "scalars.w", 0, "must start as a number"},
    {R"j({"keep": 3})j", "keep", 0, "must be a table"},
    {R"j({"parameters": {"eta": "chi3"}, "step": "x = eta * x"})j", "parameters.eta", 1,
     "cannot be read here"},
    {R"j({"parameters": {"a": "b", "b": "a"}, "step": "x = a * b * x"})j", "parameters.a", 1,
     "parameters that are numbers"},
    {R"j({"parameters": {"a": {"value": 1, "unit": "s"}}, "step": "x = a * x"})j",
     "parameters.a.unit", 0, "a parameter has no such unit"},
    {R"j({"parameters": {"a": true}, "step": "x = a * x"})j", "parameters.a", 0, "must be text"},
    {R"j({"rate": 1, "between": "x + y"})j", "between", 0, "mix(a, b, rate)"},
    {R"j({"rate": 1, "between": "mix(x, y, 1)"})j", "between", 0, "no vector that a worker keeps"},
    {R"j({"keep": {"y": "x"}, "between": "mix(x, y, 1)"})j", "between", 0, "methods with a rate"},
    {R"j({"rate": 1, "between": "mix(x, x, 1)"})j", "between", 0, "two different vectors"},
    {R"j({"point": "lr"})j", "point", 1, "point is a vector"},
    {R"j({"point": "x - g"})j", "point", 5, "'g' cannot be read in point"},
    {R"j({"model": "mean(0)"})j", "model", 1, "can only be heard"},
    {R"j({"step": "x = mix(x, u, 1)"})j", "step.0", 5, "mix() belongs to between"},
    {R"j({"step": ["t = x if k > 1", "x = x - lr * u + t"]})j", "step.0", 1,
     "has no value where the condition does not hold"},
    {R"j({"step": "x = x - lr * u if u"})j", "step.0", 19, "a condition is a scalar"},
    {R"j({"step": 3})j", "step", 1, "expected a name"},
    {R"j({"step": true})j", "step", 0, "must be text"},
    {R"j({"rate": 1, "hear": ["s = norm(mine(0))", "x = x - s * (mine(0) - theirs(0))"]})j",
     "hear.0", 5, "has no reductions"},
    {R"j({"parameters": {"beta": 0.9}, "step": ["beta = 1", "x = beta * x"]})j", "step.0", 1,
     "'beta' cannot be assigned in step"},
    {R"j([])j", "", 0, "a method is a table"},
    {R"j({"peers": "server"})j", "server", 0, "what the server does"},
    {R"j({"server": {"hear": "x = theirs(0)"}})j", "server", 0, "there is no server"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "stop": "x"}})j", "server.stop", 0,
     "no key 'stop'"},
    {R"j({"peers": "server", "hear": "x = mean(0)", "server": {"hear": "x = theirs(0)"}})j",
     "hear.0", 5, "workers have mine() and theirs()"},
    {R"j({"peers": "server", "server": {"hear": "x = mine(0)"}})j", "server.hear.0", 5,
     "no message of its own"},
    {R"j({"peers": "server", "server": {"hear": "x = x - k * theirs(0)"}})j", "server.hear.0", 9,
     "'k' cannot be read"},
    {R"j({"peers": "server", "server": {"hear": "x = 2 * x"}})j", "send.0", 0, "of the server"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "send": ["x", "2"]}})j",
     "server.send.1", 0, "of the workers"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2}})j", "server.visit", 0,
     "hubs = 4"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {}}})j",
     "server.above", 0, "hubs = 4"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {},
          "above": {"hear": "x = theirs(0)"}}})j",
     "server.visit", 0, "every = 8"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": "q", "visit": {"every": 2,
          "hear": "x = x + theirs(0)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.hubs", 1, "only parameters"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 0, "visit": {"every": 2,
          "hear": "x = x + theirs(0)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.hubs", 1, "from 1 to 10000"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": "20 / 8", "visit":
          {"every": 2, "hear": "x = x + theirs(0)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.hubs", 1, "there are 2.5 of them"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {"every": -1,
          "hear": "x = x + theirs(0)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.visit.every", 1, "from 1 to 10000"},
    {R"j({"fragments": 2.5})j", "fragments", 1, "there are 2.5 of them"},
    {R"j({"peers": ["-1 neighbours", "all"]})j", "peers.0", 1, "from 0 to 10000"},
    {R"j({"peers": "server", "server": {"hear": "x = x - theirs(0)", "hubs": 2,
          "visit": {"every": 2,
          "hear": "x = theirs(0)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.visit.hear.0", 1, "say how x changes"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {"every": 2,
          "hear": "x = x + theirs(1)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.visit.hear.0", 9, "send has 1"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {"every": 2,
          "hear": "x = x + theirs(0)"}, "above": {"hear": "x = 2 * x"}}})j",
     "server.visit.send.0", 0, "of the one above"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {"every": 2,
          "say": "x = x * k", "hear": "x = x + theirs(0)"}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.visit.say.0", 9, "docs/METHODS.md"},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "hubs": 2, "visit": {"every": 2,
          "hear": "x = x + theirs(0)", "keep": {"m": 0}}, "above": {"hear": "x = theirs(0)"}}})j",
     "server.visit.keep", 0, ""},
    {R"j({"peers": "server", "server": {"hear": "x = theirs(0)", "keep": {"m": 0}}})j",
     "server.keep.m", 0, "never read"},
    {R"j({"peers": "server", "round": "gradient say hear", "hear": ["g = theirs(0)", "x = g"],
          "server": {"hear": "x = theirs(0)"}})j",
     "hear.0", 1, "'g' cannot be assigned"},
    {R"j({"peers": "server", "round": "say gradient step hear",
          "server": {"hear": "x = theirs(0)"}})j",
     "hear.0", 1, "x = x + (theirs(0) - mine(0))"},
};

}  // namespace

TEST_CASE("broken listings are refused at their place, with what to do") {
  int count = 0;
  for (const Broken& one : kBroken) {
    INFO(one.table);
    std::vector<Finding> findings;
    CHECK_FALSE(read_listing(json::parse(one.table), findings).has_value());
    REQUIRE_FALSE(findings.empty());
    bool found = false;
    for (const Finding& finding : findings) {
      UNSCOPED_INFO(finding.path << ":" << finding.column << ": " << finding.message << " / "
                                 << finding.remedy);
      found =
          found || (finding.path == one.path && finding.column == one.column &&
                    (finding.message + " " + finding.remedy).find(one.words) != std::string::npos);
    }
    CHECK(found);
    ++count;
  }
  CHECK(count >= 60);
}
