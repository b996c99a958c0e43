#include "engine/language/listing_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"

namespace acid {
namespace {

bool has_reduction(const Expression& value) {
  return any_of(value, [](const Expression& one) { return is_reduction(one.operation); });
}

class ListingCheck {
 public:
  ListingCheck(Listing& listing, std::vector<Finding>& findings)
      : listing_(listing), findings_(findings) {}

  void run() {
    if (listing_.is_of_worker()) check_parameters();
    look_at_round();
    if (listing_.between) check_mix(*listing_.between);
    check_value("point", "point", listing_.point);
    check_value("model", "model", listing_.model);
    check_statements("step", listing_.step);
    check_statements("say", listing_.say);
    check_messages();
    check_statements("hear", listing_.hear);
    if (findings_.empty()) check_use(listing_, shape_, findings_);
  }

 private:
  void report(const std::string& path, int column, std::string message, std::string remedy = {}) {
    findings_.push_back({path, column, std::move(message), std::move(remedy)});
  }

  bool is_parameter(std::string_view name) const {
    return std::ranges::any_of(listing_.parameters,
                               [&](const ListedParameter& one) { return one.name == name; });
  }

  void check_parameters() {
    for (const ListedParameter& one : listing_.parameters) {
      if (!one.formula) continue;
      const bool of_graph = listing_.meets() && !(listing_.rate && reads(*listing_.rate, one.name));
      const auto known = [&](std::string_view name) {
        const auto other = std::ranges::find_if(
            listing_.parameters, [&](const ListedParameter& p) { return p.name == name; });
        return (is_graph_number(name) && of_graph) ||
               (other != listing_.parameters.end() && !other->formula);
      };
      check_formula(fmt::format("parameters.{}", one.name), *one.formula, known,
                    "a formula reads parameters that are numbers; where pairs meet, and rate does "
                    "not read its parameter, it may read chi1 and chi2");
    }
    if (listing_.rate) check_parametric("rate", *listing_.rate);
    if (listing_.fragments) check_parametric("fragments", *listing_.fragments);
    for (std::size_t i = 0; i < listing_.turns.size(); ++i)
      check_parametric(fmt::format("peers.{}", i), listing_.turns[i].count);
    for (std::size_t i = 0; i < listing_.of_graph.needs.size(); ++i)
      check_formula(
          fmt::format("needs.{}", i), listing_.of_graph.needs[i],
          [&](std::string_view name) {
            return is_of_graph(listing_.of_graph.needs[i]) ? name == "lambda_min"
                                                           : is_parameter(name);
          },
          "known here are parameters, or else the least eigenvalue of the mixing matrix, "
          "lambda_min");
    if (const Listing* const server = listing_.served.server.get(); server && server->served.hubs) {
      check_parametric("server.hubs", server->served.hubs->count);
      check_parametric("server.visit.every", server->served.hubs->every);
    }
    check_agreement();
  }

  void check_agreement() {
    if (!listing_.of_graph.agreement) return;
    check_formula(
        "agreement", *listing_.of_graph.agreement,
        [](std::string_view name) {
          return name == "rho" || name == "lambda2" || name == "lambda_min";
        },
        "rho, lambda2 and lambda_min of the mixing matrix are known here");
  }

  void check_parametric(const std::string& path, const Expression& value) {
    check_formula(
        path, value, [&](std::string_view name) { return is_parameter(name); },
        "only parameters are known here");
  }

  template <class Known>
  void check_formula(const std::string& path, const Expression& value, const Known& known,
                     const char* remedy) {
    if (value.operation == Operation::name && !known(value.name))
      report(path, value.column, fmt::format("'{}' cannot be read here", value.name), remedy);
    if (is_heard(value.operation) || is_reduction(value.operation) ||
        value.operation == Operation::mix)
      report(path, value.column,
             fmt::format("{}() cannot be read here", function_name(value.operation)), remedy);
    for (const Expression& argument : value.arguments) check_formula(path, argument, known, remedy);
  }

  void look_at_round() {
    if (listing_.meets() || !listing_.is_of_worker()) return;
    try {
      // The numbers of exchanges and gradients follow from the parameters; their order mostly does
      // not.
      const auto count = [&](std::string_view name) {
        if (name == "speed" && listing_.peers == Peers::server) return 1.0;
        for (const ListedParameter& one : listing_.parameters)
          if (one.name == name) return one.formula ? 1.0 : one.value;
        throw UsageError(fmt::format(
            "the round \"{}\": {}", listing_.round,
            name == "speed"
                ? "speed is for rounds with a server: elsewhere all workers walk through "
                  "one round together"
                : fmt::format("there is no parameter '{}'", name)));
      };
      const Round round(listing_.round, count, listing_.peers == Peers::server);
      shape_ = shape_of(round);
    } catch (const UsageError& error) {
      report("round", 0, error.what());
    }
  }

  void check_mix(const Listing::Mix& mix) {
    const ListedNames names = listed_names(listing_);
    for (const std::string& name : {mix.a, mix.b})
      if (const auto found = names.find(name); found == names.end() || !found->second)
        report("between", 0, fmt::format("'{}' is no vector that a worker keeps", name),
               "mix(x, y, rate) needs keep = { y = \"x\" }");
    if (mix.a == mix.b) report("between", 0, "mix() is of two different vectors");
    check_parametric("between", mix.rate);
  }

  // The scope of one part: what its statements may read and assign.
  struct Scope {
    std::string part;
    std::set<std::string, std::less<>> dead = {};  // temporaries before a reduction
    ListedNames names = {};                        // of the listing, and temporaries
    int reductions = 0;
  };

  Scope scope_of(const std::string& part) const {
    Scope scope{.part = part, .names = listed_names(listing_)};
    const bool steps = part == "step", hears = part == "hear";
    if (steps) scope.names["u"] = scope.names["at"] = true;
    if (steps || ((part == "say" || hears) && speaks_of_gradients())) scope.names["g"] = true;
    if (hears && listing_.is_of_worker()) scope.names["late"] = false;
    if (!listing_.is_of_worker())
      for (const char* of_workers : {"k", "degree", "worker"}) scope.names.erase(of_workers);
    return scope;
  }
  bool speaks_of_gradients() const {
    return !listing_.meets() && listing_.is_of_worker() && shape_.speaks_of_gradients;
  }

  /// Returns whether the value is a vector; absent when it has a fault, which is reported.
  std::optional<bool> type_of(const Expression& value, const std::string& path, Scope& scope) {
    if (value.operation == Operation::name) return type_of_name(value, path, scope);
    if (is_heard(value.operation)) return type_of_heard(value, path, scope);
    bool vector = false, good = value.operation != Operation::mix;
    if (!good) report(path, value.column, "mix() belongs to between");
    for (const Expression& argument : value.arguments) {
      const auto type = type_of(argument, path, scope);
      good = good && type.has_value();
      vector = vector || type.value_or(false);
    }
    if (!good) return std::nullopt;
    const char* const name = function_name(value.operation);
    if (is_of_scalars_only(value.operation) && vector) {
      report(path, value.column, fmt::format("{}() is of scalars only", name),
             "libraries differ in its last bit: vectors have + - * /, sqrt, abs, sign, min, max "
             "and where");
      return std::nullopt;
    }
    if (!is_reduction(value.operation)) return vector;
    if (++scope.reductions > static_cast<int>(kMostReductions))
      report(path, value.column, fmt::format("a part has at most {} reductions", kMostReductions));
    if (!vector) report(path, value.column, fmt::format("{}() is of vectors", name));
    for (const Expression& argument : value.arguments)
      if (has_reduction(argument)) refuse_reduction(path, argument);
    return false;
  }

  std::optional<bool> type_of_name(const Expression& value, const std::string& path,
                                   const Scope& scope) {
    if (scope.dead.contains(value.name)) {
      report(path, value.column,
             fmt::format("temporary '{}' does not outlive a reduction", value.name),
             "keep it or compute it again");
      return std::nullopt;
    }
    const auto found = scope.names.find(value.name);
    if (found != scope.names.end()) return found->second;
    if (is_reserved(value.name)) {
      report(path, value.column, fmt::format("'{}' cannot be read in {}", value.name, scope.part),
             value.name == "g"
                 ? "say and hear know g where all of them stand between gradient and step"
                 : "");
      return std::nullopt;
    }
    std::vector<std::string> known;
    for (const auto& [name, vector] : scope.names) known.push_back(name);
    std::string remedy = did_you_mean(value.name, known);
    for (const ListedPart& part : listed_parts(listing_))
      if (std::ranges::find(*part.statements, value.name, &Statement::target) !=
          part.statements->end())
        remedy = fmt::format("it is a temporary of {}: keep it, or compute it again", part.name);
    report(path, value.column, fmt::format("unknown name '{}'", value.name), std::move(remedy));
    return std::nullopt;
  }

  std::optional<bool> type_of_heard(const Expression& value, const std::string& path,
                                    const Scope& scope) {
    const char* const name = function_name(value.operation);
    const auto refuse = [&](std::string message, std::string remedy) {
      report(path, value.column, std::move(message), std::move(remedy));
      return std::nullopt;
    };
    if (scope.part != "hear")
      return refuse(fmt::format("{}() can only be heard, in 'hear'", name), "");
    const bool served = listing_.peers == Peers::server;
    const bool of_rounds = value.operation == Operation::mean || value.operation == Operation::pull;
    if (of_rounds && (listing_.meets() || served))
      return refuse(fmt::format("{}() is for rounds", name),
                    fmt::format("{} theirs()", listing_.is_server() ? "a server has"
                                               : served ? "a server's workers have mine() and"
                                                        : "meetings have mine() and"));
    if (value.operation == Operation::theirs && !listing_.meets() && !served)
      return refuse("theirs() is for meetings of two", "rounds have mean() and mine()");
    if (value.operation == Operation::mine && listing_.is_server())
      return refuse("a server hears no message of its own", "use theirs()");
    const std::vector<bool>& types = listing_.heard_by(value.operation);
    const std::size_t known =
        &types == &listing_.sends_vector ? listing_.send.size() : types.size();
    if (value.index >= known)
      return refuse(fmt::format("there is no message {}", value.index),
                    fmt::format("send has {}, counted from 0", known));
    if (value.index >= types.size()) return std::nullopt;  // reported where it is declared
    if (value.operation == Operation::pull && !types[value.index])
      return refuse(fmt::format("pull() is of vectors, message {} is a scalar", value.index),
                    fmt::format("write mean({0}) - mine({0})", value.index));
    return types[value.index];
  }

  void check_value(const std::string& part, const std::string& path, const Expression& value) {
    Scope scope = scope_of(part);
    const auto type = type_of(value, path, scope);
    if (type && !*type) report(path, value.column, fmt::format("{} is a vector", part));
    if (has_reduction(value)) refuse_reduction(path, value);
  }

  void refuse_reduction(const std::string& path, const Expression& value) {
    int column = value.column;
    any_of(value, [&](const Expression& one) {
      return is_reduction(one.operation) && (column = one.column) > 0;
    });
    report(path, column, "a reduction stands in the value of a scalar statement only, in no other",
           "it is a number: write size = norm(g) in a statement before, and read size");
  }

  void check_statements(const std::string& part, const std::vector<Statement>& statements) {
    Scope scope = scope_of(part);
    if (statements.size() > kMostStatements)
      report(part, 0, fmt::format("{} has more than {} statements", part, kMostStatements));
    for (std::size_t i = 0; i < statements.size(); ++i)
      check_statement(statements[i], fmt::format("{}.{}", part, i), scope);
    if (part == "say") said_ = std::move(scope);
  }

  void check_statement(const Statement& statement, const std::string& path, Scope& scope) {
    const auto type = type_of(statement.value, path, scope);
    if (statement.condition) check_condition(*statement.condition, path, scope);
    if (!type) return;
    if (has_reduction(statement.value)) {
      if (*type) return refuse_reduction(path, statement.value);
      if (listing_.meets() && scope.part == "hear")
        return report(path, statement.value.column, "hear of two workers has no reductions",
                      "reduce in say or step, and keep the number");
      for (const auto& [name, vector] : scope.names)
        if (vector && (name == "u" || is_temporary(name))) scope.dead.insert(name);
    }
    check_target(statement, *type, path, scope);
  }

  void check_condition(const Expression& condition, const std::string& path, Scope& scope) {
    const auto type = type_of(condition, path, scope);
    if (type && *type)
      report(path, condition.column, "a condition is a scalar",
             "choose element by element with where(c, a, b)");
    if (has_reduction(condition)) refuse_reduction(path, condition);
  }

  bool is_temporary(std::string_view name) const {
    return !is_reserved(name) && !listed_names(listing_).contains(name);
  }

  void check_target(const Statement& statement, bool vector, const std::string& path,
                    Scope& scope) {
    const std::string& name = statement.target;
    const bool assigns_gradient = name == "g" && scope.names.contains("g") && scope.part != "say" &&
                                  listing_.peers != Peers::server;
    if ((is_reserved(name) && name != "x" && !assigns_gradient) || is_parameter(name))
      return report(path, statement.column,
                    fmt::format("'{}' cannot be assigned in {}", name, scope.part));
    const auto kept = std::ranges::find(listing_.vectors, name, &Kept::name);
    if (kept != listing_.vectors.end() && kept->is_own_affair())
      return report(path, statement.column,
                    fmt::format("'{}' is {}", name,
                                kept->is_rest_of_x ? "the rounding error of x"
                                                   : "the sum of the worker's pulls"),
                    "acid assigns it: assign another vector");
    const auto known = scope.names.find(name);
    if (known != scope.names.end() && !known->second && vector)
      return report(path, statement.column,
                    fmt::format("'{}' is a scalar, the value is a vector", name));
    if (name.size() > kLongestName)
      return report(path, statement.column,
                    fmt::format("a name has at most {} characters", kLongestName));
    const bool is_new = known == scope.names.end() || scope.dead.contains(name);
    if (is_new && statement.condition)
      return report(
          path, statement.column,
          fmt::format("temporary '{}' has no value where the condition does not hold", name),
          "assign it without a condition first");
    scope.dead.erase(name);
    if (is_new) scope.names[name] = vector;
  }

  void check_messages() {
    for (std::size_t i = 0; i < listing_.send.size(); ++i) {
      const Statement& message = listing_.send[i];
      const std::string path = fmt::format("send.{}", i);
      const auto type = type_of(message.value, path, said_);
      if (message.condition && (listing_.meets() || listing_.peers == Peers::server))
        report(path, message.condition->column, "messages of two workers have no condition",
               "messages of rounds may have one");
      else if (message.condition)
        check_formula(
            path, *message.condition,
            [&](std::string_view name) { return name == "exchange" || is_parameter(name); },
            "whether a message is sent follows from parameters and the exchange, for all workers");
      if (has_reduction(message.value)) refuse_reduction(path, message.value);
      if (type && !*type && listing_.sums())
        report(path, message.value.column, "an all-reduce carries vectors, this is a scalar");
      listing_.sends_vector.push_back(type.value_or(true));
    }
    check_pulled(listing_, findings_);
  }

  Listing& listing_;
  std::vector<Finding>& findings_;
  RoundShape shape_;
  Scope said_;  // the scope after say, for `send`
};

void check_served(Listing& listing, const std::string& path, std::vector<Finding>& findings) {
  if (!listing.served.server) return;
  Listing& server = *listing.served.server;
  std::vector<Finding> found;
  server.served.theirs_vector = listing.sends_vector;
  ListingCheck(server, found).run();
  if (found.empty() && findings.empty()) check_messages_of_server(listing, findings);
  add_below(path, found, findings);
}

// Notes, by message, whether the server sends a vector, before its texts are checked.
void note_types(Listing& listing) {
  if (!listing.served.server) return;
  const Listing& server = *listing.served.server;
  const auto is_vector = [&](const Expression& one) {
    const auto is_it = [&](const Kept& kept) { return kept.name == one.name; };
    return one.operation == Operation::name &&
           (one.name == "x" || std::ranges::any_of(server.vectors, is_it));
  };
  for (const Statement& message : server.send)
    listing.served.theirs_vector.push_back(any_of(message.value, is_vector));
}

}  // namespace

void check_listing(Listing& listing, std::vector<Finding>& findings) {
  note_types(listing);
  ListingCheck(listing, findings).run();
  check_served(listing, "server", findings);
  if (!listing.served.server || !listing.served.server->served.hubs) return;
  Listing& visit = *listing.served.server->served.hubs->visit;
  std::vector<Finding> found;
  note_types(visit);
  ListingCheck(visit, found).run();
  add_below("server.visit", found, findings);
  check_served(visit, "server.above", findings);
}

}  // namespace acid
