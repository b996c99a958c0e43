#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/language/listed_programs.hpp"
#include "engine/language/listing_check.hpp"

namespace acid {
namespace {

using Names = std::set<std::string, std::less<>>;

class UseCheck {
 public:
  UseCheck(Listing& listing, const RoundShape& shape, std::vector<Finding>& findings)
      : listing_(listing), shape_(shape), findings_(findings) {}

  // A message must not overwrite a change that a gradient made while the message was on its way.
  void check_lost_updates() {
    if (!listing_.meets() && !shape_.steps_while_heard && !listing_.is_visit()) return;
    Names stepped;
    for (const Statement& statement : listing_.step) stepped.insert(statement.target);
    if (listing_.is_visit())
      stepped.insert(listing_.served.hub_assigns->begin(), listing_.served.hub_assigns->end());
    std::map<std::string, Names> made_of;  // for each target, the names that its value depends on
    std::map<std::string, std::size_t> last;
    for (std::size_t i = 0; i < listing_.hear.size(); ++i) {
      const std::string& target = listing_.hear[i].target;
      Names names = origins(listing_.hear[i].value, made_of);
      if (listing_.hear[i].condition) {  // otherwise it keeps its value
        const Names stays = origins({.operation = Operation::name, .name = target}, made_of);
        std::erase_if(names, [&](const std::string& name) { return !stays.contains(name); });
      }
      made_of[target] = std::move(names);
      last[target] = i;
    }
    for (const auto& [target, i] : last)
      if (stepped.contains(target) && listing_.keeps(target) && !made_of[target].contains(target))
        report(fmt::format("hear.{}", i), listing_.hear[i].column,
               fmt::format("it loses the steps that '{}' took while the message was on its way",
                           target),
               say_how_it_changes(target));
  }

  // Checks counts that are numbers; counts of parameters are checked when a recipe has set these.
  void check_counts() {
    const auto check = [&](const std::string& path, const Expression& value, double least) {
      const auto is_name = [](const Expression& one) { return one.operation == Operation::name; };
      if (any_of(value, is_name) || is_count(formula_value(value, {}), least)) return;
      report(path, value.column, fmt::format("there are {:g} of them", formula_value(value, {})),
             fmt::format("a whole number from {} to {} is wanted", least, kMostCount));
    };
    if (listing_.fragments) check("fragments", *listing_.fragments, 1);
    for (std::size_t i = 0; i < listing_.turns.size(); ++i)
      check(fmt::format("peers.{}", i), listing_.turns[i].count, 0);
    if (const auto& hubs = listing_.served.hubs) {
      check("hubs", hubs->count, 1);
      check("visit.every", hubs->every, 1);
    }
  }

  void check_use() {
    const auto reads_direction = [](const Statement& one) { return reads(one, "u"); };
    if (listing_.takes_momentum && std::ranges::any_of(listing_.step, reads_direction))
      report("momentum", 0, "u has the recipe's momentum in it already",
             "remove momentum: it is for steps that read g alone");
    const auto of_between = [&](std::string_view name) {
      return listing_.between && (listing_.between->a == name || listing_.between->b == name);
    };
    for (std::size_t i = 0; i < listing_.hear.size(); ++i)
      check_conditions(fmt::format("hear.{}", i), listing_.hear[i]);
    const bool is_visit = listing_.is_visit();  // a visit's names are the hub's
    const auto is_used = [&](std::string_view name) {
      return is_visit || is_read(name) ||
             (listing_.served.hubs &&
              UseCheck(*listing_.served.hubs->visit, shape_, findings_).is_read(name));
    };
    for (const Kept& one : listing_.vectors)
      if (!one.is_rest && !one.is_rest_of_x && !is_used(one.name) && !of_between(one.name))
        report(fmt::format("keep.{}", one.name), 0, fmt::format("'{}' is never read", one.name),
               "remove it, or use it");
    for (const Kept& one : listing_.numbers)
      if (!is_used(one.name))
        report(fmt::format("scalars.{}", one.name), 0, fmt::format("'{}' is never read", one.name),
               "remove it, or use it");
    for (const ListedParameter& one : listing_.parameters)
      if (listing_.is_of_worker() && !one.of_run && !counts(one.name) &&
          !is_read_anywhere(one.name))
        report(fmt::format("parameters.{}", one.name), 0,
               fmt::format("'{}' is never read", one.name), "remove it, or use it");
    for (std::size_t i = 0; i < listing_.send.size() && listing_.peers != Peers::server; ++i)
      if (std::ranges::find(listing_.vectors, std::optional(i), &Kept::pulled_by) ==
              listing_.vectors.end() &&
          !occurs([&](const Expression& one) { return is_heard(one.operation) && one.index == i; }))
        report(fmt::format("send.{}", i), 0, fmt::format("message {} is never heard", i),
               fmt::format("read {}({}) in hear, or do not send it",
                           listing_.meets() ? "theirs" : "mean", i));
  }

 private:
  // The names on which a value depends; names in `made_of` are replaced by theirs.
  static Names origins(const Expression& value, const std::map<std::string, Names>& made_of) {
    Names names;
    any_of(value, [&](const Expression& one) {
      if (one.operation != Operation::name) return false;
      if (const auto made = made_of.find(one.name); made != made_of.end())
        names.insert(made->second.begin(), made->second.end());
      else
        names.insert(one.name);
      return false;
    });
    return names;
  }

  // A statement that reads a message that is not always sent must have the message's condition.
  void check_conditions(const std::string& path, const Statement& statement) {
    const auto check = [&](const Expression& one) {
      // Messages between a server and its workers are always sent.
      if (!is_heard(one.operation) || listing_.peers == Peers::server) return false;
      if (!listing_.send[one.index].condition) return false;
      const std::string wanted = print(*listing_.send[one.index].condition);
      if (!statement.condition || print(*statement.condition) != wanted)
        report(path, one.column, fmt::format("message {} is not always sent", one.index),
               fmt::format("hear it under its condition: {} = … if {}", statement.target, wanted));
      return false;
    };
    any_of(statement, check);
  }

  std::string say_how_it_changes(const std::string& name) const {
    if (listing_.meets())
      return fmt::format("say how {0} changes, as in {0} = {0} - 0.5 * (mine(0) - theirs(0))",
                         name);
    return fmt::format("say how {0} changes, as in {0} = {0} + ({1}(0) - mine(0))", name,
                       listing_.peers == Peers::server ? "theirs" : "mean");
  }
  void report(const std::string& path, int column, std::string message, std::string remedy = {}) {
    findings_.push_back({path, column, std::move(message), std::move(remedy)});
  }

  template <class Is>
  bool occurs(const Is& is) const {
    const auto in = [&](const Statement& one) { return any_of(one, is); };
    for (const auto* part : {&listing_.step, &listing_.say, &listing_.send, &listing_.hear})
      if (std::ranges::any_of(*part, in)) return true;
    if (any_of(listing_.point, is) || any_of(listing_.model, is) || any_of(listing_.rate, is) ||
        any_of(listing_.fragments, is))
      return true;
    for (const Listing::Turn& turn : listing_.turns)
      if (any_of(turn.count, is)) return true;
    if (const auto& hubs = listing_.served.hubs)
      if (any_of(hubs->count, is) || any_of(hubs->every, is)) return true;
    return listing_.between && any_of(listing_.between->rate, is);
  }
  bool is_read(std::string_view name) const {
    return occurs([&](const Expression& one) {
      return one.operation == Operation::name && one.name == name;
    });
  }

  // Also looks at the parts of servers.
  bool is_read_anywhere(std::string_view name) const {
    const auto by = [&](const std::shared_ptr<Listing>& other) {
      return other != nullptr && UseCheck(*other, shape_, findings_).is_read_anywhere(name);
    };
    return is_read(name) || by(listing_.served.server) ||
           (listing_.served.hubs && by(listing_.served.hubs->visit));
  }

  // Whether a parameter is a count in the round, or is in another parameter's formula.
  bool counts(std::string_view name) const {
    const auto of_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    const std::string& round = listing_.round;
    for (std::size_t at = round.find(name); at != std::string::npos;
         at = round.find(name, at + 1)) {
      const std::size_t after = at + name.size();
      if ((at == 0 || !of_word(round[at - 1])) && (after == round.size() || !of_word(round[after])))
        return true;
    }
    return std::ranges::any_of(listing_.parameters, [&](const ListedParameter& other) {
      return reads(other.formula, name);
    });
  }

  Listing& listing_;
  const RoundShape& shape_;
  std::vector<Finding>& findings_;
};

void check_heard(const std::string& path, const std::vector<Statement>& send,
                 const std::vector<Statement>& hear, const char* whom,
                 std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < send.size(); ++i) {
    const auto hears_it = [&](const Expression& one) {
      return one.operation == Operation::theirs && one.index == i;
    };
    if (std::ranges::none_of(hear, [&](const Statement& one) { return any_of(one, hears_it); }))
      findings.push_back(
          {fmt::format("{}.{}", path, i), 0, fmt::format("message {} is never heard", i),
           fmt::format("read theirs({}) in hear of {}, or do not send it", i, whom)});
  }
}

}  // namespace

RoundShape shape_of(const Round& round) {
  RoundShape shape;
  bool computed = false, said = false;
  for (const Leg& leg : round.legs())
    for (const Phase phase : leg) {
      if (phase == Phase::gradient || phase == Phase::step) computed = phase == Phase::gradient;
      if (phase == Phase::step && said) shape.steps_while_heard = true;
      if (phase != Phase::say && phase != Phase::hear) continue;
      said = phase == Phase::say;
      if (!computed) shape.speaks_of_gradients = false;
    }
  return shape;
}

void check_pulled(const Listing& listing, std::vector<Finding>& findings) {
  for (const Kept& one : listing.vectors) {
    if (!one.pulled_by) continue;
    const auto report = [&](std::string message, std::string remedy = {}) {
      findings.push_back(
          {fmt::format("keep.{}", one.name), 0, std::move(message), std::move(remedy)});
    };
    if (listing.meets() || listing.peers == Peers::server)
      report("pulled() is for rounds with neighbours");
    else if (*one.pulled_by >= listing.send.size())
      report(fmt::format("there is no message {}", *one.pulled_by),
             fmt::format("send has {}, counted from 0", listing.send.size()));
    else if (!listing.sends_vector[*one.pulled_by])
      report(fmt::format("message {} is a scalar", *one.pulled_by), "pulled() is of vectors");
  }
}

void check_messages_of_server(const Listing& listing, std::vector<Finding>& findings) {
  const bool is_visit = listing.is_visit();
  const auto path = [&](const char* of_worker, const char* of_visit) {
    return is_visit ? of_visit : of_worker;
  };
  check_heard(path("send", "server.visit.send"), listing.send, listing.served.server->hear,
              is_visit ? "the one above" : "the server", findings);
  check_heard(path("server.send", "server.above.send"), listing.served.server->send, listing.hear,
              is_visit ? "the visit" : "the workers", findings);
}

void check_use(Listing& listing, const RoundShape& shape, std::vector<Finding>& findings) {
  UseCheck check(listing, shape, findings);
  check.check_lost_updates();
  check.check_counts();
  check.check_use();
}

}  // namespace acid
