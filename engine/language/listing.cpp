#include "engine/language/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/names.hpp"
#include "engine/language/listing_check.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::array kListingKeys = {"name",    "label",      "summary",  "source",    "round",
                                     "rate",    "peers",      "keep",     "scalars",   "point",
                                     "model",   "step",       "say",      "send",      "hear",
                                     "between", "parameters", "codec",    "needs",     "fragments",
                                     "server",  "agreement",  "momentum", "recursion", "differs"};
const std::vector<std::string> kServerKeys = {"keep", "scalars", "hear", "send",
                                              "hubs", "visit",   "above"};
const std::vector<std::string> kVisitKeys = {"every", "say", "send", "hear"};
const std::vector<std::string> kAboveKeys = {"keep", "scalars", "hear", "send"};

class ListingReader {
 public:
  ListingReader(const json& table, std::vector<Finding>& findings)
      : table_(table), findings_(findings) {}

  std::optional<Listing> read(bool of_run) {
    if (!table_.is_object()) {
      report("", "a method is a table", "write [[methods]] and its keys below");
      return std::nullopt;
    }
    for (const auto& [key, value] : table_.items()) check_key(key);
    Listing listing;
    listing.name = text("name", "");
    listing.about = {text("label", listing.name), text("summary", ""), text("source", ""),
                     text("recursion", ""), text("differs", "")};
    read_calendar(listing);
    read_kept("keep", kMostVectors, listing.vectors);
    read_kept("scalars", kMostNumbers, listing.numbers);
    read_parameters(listing);
    for (ListedParameter& one : listing.parameters) one.of_run = of_run;
    read_between(listing);
    read_codec(listing);
    for (const Statement& need : list("needs", json::array(), &parse_message))
      listing.of_graph.needs.push_back(need.value);
    if (table_.contains("agreement")) listing.of_graph.agreement = expression("agreement", "");
    const json momentum = table_.value("momentum", json(false));
    if (!momentum.is_boolean()) report("momentum", "momentum is true or false");
    listing.takes_momentum = momentum == true;
    listing.point = expression("point", "x");
    listing.model = expression("model", table_.value("point", json("x")));
    const bool served = listing.peers == Peers::server;
    const bool has_step =
        !served || fmt::format(" {} ", listing.round).find(" step ") != std::string::npos;
    listing.step = statements("step", has_step ? json::array({"x = x - lr * u"}) : json::array());
    listing.say = statements("say", json::array());
    listing.send = messages();
    listing.hear = statements("hear", {listing.meets() ? "x = x - 0.5 * (mine(0) - theirs(0))"
                                       : served        ? "x = theirs(0)"
                                                       : "x = mean(0)"});
    read_server(listing);
    if (findings_.empty()) check_listing(listing, findings_);
    for (Finding& finding : findings_)
      if (finding.remedy.empty()) finding.remedy = "docs/METHODS.md has the language";
    if (!findings_.empty()) return std::nullopt;
    return listing;
  }

 private:
  void report(std::string path, std::string message, std::string remedy = {}, int column = 0) {
    findings_.push_back({std::move(path), column, std::move(message), std::move(remedy)});
  }

  void read_server(Listing& listing) {
    const bool served = listing.peers == Peers::server;
    if (served != table_.contains("server") || (served && !table_["server"].is_object()))
      return report("server", served ? "what the server does is a table" : "there is no server",
                    served ? "server = { hear = \"x = x - lr * theirs(0)\", send = \"x\" }"
                           : "peers = \"server\" has one");
    if (!served) return;
    if (listing.fragments) report("fragments", "what is sent to a server has no fragments");
    const json& table = table_["server"];
    const auto server = std::make_shared<Listing>();
    read_part("server", table, kServerKeys, listing, *server);
    if (table.contains("hubs") || table.contains("visit") || table.contains("above"))
      read_hubs(table, listing, *server);
    listing.served.server = server;
  }

  // A hub is such a server; on a visit it is to the server above what a worker is to a server.
  void read_hubs(const json& table, const Listing& listing, Listing& hub) {
    for (const char* key : {"hubs", "visit", "above"})
      if (!table.contains(key) || (key != std::string_view("hubs") && !table[key].is_object()))
        return report(
            fmt::format("server.{}", key),
            "several servers need hubs, how many they are, and the tables visit and above",
            "hubs = 4, visit = { every = 8, send = \"x\", hear = … }, above = { … }");
    if (!table["visit"].contains("every"))
      return report("server.visit", "every is missing: the messages between two visits of a hub",
                    "visit = { every = 8, … }");
    const auto visit = std::make_shared<Listing>(), above = std::make_shared<Listing>();
    read_part("server.visit", table["visit"], kVisitKeys, listing, *visit);
    read_part("server.above", table["above"], kAboveKeys, listing, *above);
    visit->vectors = hub.vectors;
    visit->numbers = hub.numbers;
    visit->served.hub_assigns.emplace();
    for (const Statement& one : hub.hear) visit->served.hub_assigns->push_back(one.target);
    visit->served.server = above;
    hub.served.hubs = {parsed("server.hubs", table["hubs"], &parse_expression),
                       parsed("server.visit.every", table["visit"]["every"], &parse_expression),
                       visit};
  }

  // Reads a part whose keys are in a table of their own; parameters are the method's.
  void read_part(const std::string& path, const json& table, const std::vector<std::string>& known,
                 const Listing& listing, Listing& part) {
    std::vector<Finding> findings;
    ListingReader reader(table, findings);
    for (const auto& [key, value] : table.items()) reader.check_key(key, known);
    for (const ListedParameter& one : listing.parameters) reader.names_.insert(one.name);
    part.name = listing.name;
    part.peers = Peers::server;
    part.round = listing.round;
    reader.read_kept("keep", kMostVectors, part.vectors);
    reader.read_kept("scalars", kMostNumbers, part.numbers);
    part.parameters = listing.parameters;
    part.point = part.model = parse_expression("x");
    part.say = reader.statements("say", json::array());
    part.send = reader.messages();
    part.hear = reader.statements("hear", json::array());
    add_below(path, findings, findings_);
  }

  void check_key(const std::string& key, const std::vector<std::string>& known = {
                                             kListingKeys.begin(), kListingKeys.end()}) {
    if (std::ranges::find(known, key) != known.end()) return;
    report(key, fmt::format("a method has no key '{}'", key), did_you_mean(key, known));
  }

  std::string text(const char* key, const std::string& fallback) {
    if (!table_.contains(key)) return fallback;
    if (table_[key].is_string() && !table_[key].get<std::string>().empty())
      return table_[key].get<std::string>();
    report(key, fmt::format("{} must be text", key));
    return fallback;
  }

  // Parses one text and reports what is wrong with it at `path`.
  template <class Parse>
  auto parsed(const std::string& path, const json& value, const Parse& parse)
      -> decltype(parse(std::string())) {
    const bool number = value.is_number();
    if (!value.is_string() && !number) {
      report(path, fmt::format("{} must be text", path), "write it in quotes");
      return {};
    }
    try {
      return parse(number ? fmt::format("{}", value.get<double>()) : value.get<std::string>());
    } catch (const ListingError& error) {
      report(path, error.what(), error.remedy(), error.column());
    }
    return {};
  }

  Expression expression(const std::string& key, const json& fallback) {
    return parsed(key, table_.value(key, fallback), &parse_expression);
  }

  template <class Parse>
  std::vector<Statement> list(const std::string& key, const json& fallback, const Parse& parse) {
    const json given = table_.value(key, fallback);
    std::vector<Statement> statements;
    if (!given.is_array()) {
      statements.push_back(parsed(key, given, parse));
      return statements;
    }
    for (std::size_t i = 0; i < given.size(); ++i)
      statements.push_back(parsed(fmt::format("{}.{}", key, i), given[i], parse));
    return statements;
  }
  std::vector<Statement> statements(const std::string& key, const json& fallback) {
    return list(key, fallback, &parse_statement);
  }
  std::vector<Statement> messages() {
    std::vector<Statement> send = list("send", {"x"}, &parse_message);
    if (send.empty()) report("send", "send is empty", "leave it out: x is sent then");
    if (send.size() > kMostMessages)
      report("send", fmt::format("a worker sends at most {} messages at once", kMostMessages));
    return send;
  }

  void read_calendar(Listing& listing) {
    const bool meets = table_.contains("rate");
    if (meets && table_.contains("round"))
      report("rate", "round and rate exclude each other",
             "keep rate for meetings of two, round for methods in step");
    if (meets && table_.contains("fragments"))
      report("fragments", "fragments belong to methods of rounds",
             "remove it: two that meet have no number of their exchange in common");
    if (meets) {
      listing.rate = parsed("rate", table_["rate"], &parse_expression);
      listing.peers = Peers::partner;
      if (table_.contains("peers"))
        report("peers", "peers belongs to methods of rounds", "remove it: rate draws the pairs");
      return;
    }
    listing.round = spaced(text("round", "gradient step say hear"));
    if (listing.round.empty())
      report("round", "round is empty", "leave it out: \"gradient step say hear\"");
    read_peers(listing);
    if (table_.contains("fragments"))
      listing.fragments = parsed("fragments", table_["fragments"], &parse_expression);
  }

  void read_peers(Listing& listing) {
    const json given = table_.value("peers", json("neighbours"));
    if (!given.is_array() || given.size() == 1) {
      const std::string path = given.is_array() ? "peers.0" : "peers";
      listing.peers = turn(path, given.is_array() ? given[0] : given).peers;
      return;
    }
    listing.peers = Peers::all;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string path = fmt::format("peers.{}", i);
      const Peers peers = listing.turns.emplace_back(turn(path, given[i])).peers;
      if (peers == Peers::server ||
          (peers != Peers::all && listing.peers != Peers::all && peers != listing.peers))
        report(path, "all workers take turns with neighbours, or with one, not with both");
      if (peers != Peers::all) listing.peers = peers;
    }
    if (listing.turns.empty()) report("peers", "peers is empty", "leave it out: neighbours");
    // With `all` as base there are no turns.
    if (listing.peers == Peers::all) listing.turns.clear();
  }

  /// Reads "(period - 1) neighbours"; a missing count is 1.
  Listing::Turn turn(const std::string& path, const json& given) {
    Listing::Turn turn{{.number = 1}, Peers::neighbours};
    std::string text = given.is_string() ? given.get<std::string>() : "";
    text.erase(text.find_last_not_of(" \t") + 1);
    const std::size_t at = text.find_last_of(" \t)") + 1;
    const auto found = std::ranges::find(kPeersOfRounds, text.substr(at), &NamedPeers::name);
    if (found == kPeersOfRounds.end()) {
      report(path, fmt::format("there are no peers '{}'", text.substr(at)),
             fmt::format("known: {}; in a list also a number of them: \"15 neighbours\"",
                         one_of(names_of(kPeersOfRounds))));
      return turn;
    }
    turn.peers = found->peers;
    if (at > 0) turn.count = parsed(path, text.substr(0, at), &parse_expression);
    return turn;
  }

  void read_kept(const char* key, std::size_t most, std::vector<Kept>& kept) {
    if (!table_.contains(key)) return;
    const json& table = table_[key];
    const bool of_vectors = std::string_view(key) == "keep";
    if (!table.is_object()) return report(key, fmt::format("{} must be a table", key));
    if (table.size() > most) report(key, fmt::format("a worker keeps at most {} of them", most));
    for (const auto& [name, start] : table.items()) {
      const std::string path = fmt::format("{}.{}", key, name);
      Kept one{.name = name};
      check_new_name(path, name);
      if (start.is_number())
        one.start = start.get<double>();
      else if (start == "x" && of_vectors)
        one.starts_at_x = true;
      else if (start == "rest" && of_vectors)
        one.is_rest_of_x = true;
      else if (const auto message = pulled(start); message && of_vectors)
        one.pulled_by = message;
      else
        report(path, fmt::format("{} must start as a number{}", name,
                                 of_vectors ? " or \"x\", or be \"pulled(0)\" or \"rest\"" : ""));
      kept.push_back(std::move(one));
      if (kept.back().pulled_by) kept.push_back({.name = rest_of(name), .is_rest = true});
    }
  }

  /// The message i of a start "pulled(i)": the worker keeps the sum of all its pulls.
  static std::optional<std::size_t> pulled(const json& start) {
    std::string text = start.is_string() ? start.get<std::string>() : "";
    std::erase(text, ' ');
    for (std::size_t message = 0; message < kMostMessages; ++message)
      if (text == fmt::format("pulled({})", message)) return message;
    return std::nullopt;
  }

  void check_new_name(const std::string& path, const std::string& name) {
    if (!is_name(name))
      report(path, fmt::format("'{}' is no name", name),
             fmt::format("use letters, digits and _, a letter first, at most {} characters",
                         kLongestName));
    else if (is_reserved(name))
      report(path, fmt::format("'{}' has a meaning of its own", name), "choose another name");
    if (!names_.insert(name).second)
      report(path, fmt::format("'{}' is there twice", name), "choose another name");
  }

  void read_parameters(Listing& listing) {
    if (!table_.contains("parameters")) return;
    const json& table = table_["parameters"];
    if (table.is_array()) {  // the canonical form: only names
      for (const json& name : table)
        if (name.is_string()) listing.parameters.push_back({.name = name, .value = 1});
      return;
    }
    if (!table.is_object()) return report("parameters", "parameters must be a table");
    for (const auto& [name, value] : table.items()) {
      const std::string path = fmt::format("parameters.{}", name);
      check_new_name(path, name);
      ListedParameter parameter{.name = name};
      const bool described = value.is_object();
      const json& given = described && value.contains("value") ? value["value"] : value;
      if (described) describe(path, value, parameter);
      if (given.is_number())
        check_default(path, parameter, given.get<double>());
      else if (given.is_string())
        parameter.formula = parsed(path, given, &parse_expression);
      else
        report(path, fmt::format("{} is a number, a formula, or a table with such a value", path),
               "write 0.5, a formula in quotes, or { value = 0.5, minimum = 0 }");
      listing.parameters.push_back(std::move(parameter));
    }
  }

  void check_default(const std::string& path, ListedParameter& parameter, double given) {
    parameter.value = given;
    if (const std::string unmet = parameter.unmet(given); !unmet.empty())
      report(path + ".value",
             fmt::format("{} is {} by default, and must be {}", parameter.name, given, unmet),
             "change the default, or what is demanded of it");
  }

  void describe(const std::string& path, const json& table, ListedParameter& parameter) {
    for (const auto& [key, value] : table.items()) {
      if (key == "help" && value.is_string())
        parameter.help = value;
      else if (key == "minimum" && value.is_number())
        parameter.minimum = value;
      else if (key == "maximum" && value.is_number())
        parameter.maximum = value;
      else if (key == "whole" && value.is_boolean())
        parameter.is_whole = value;
      else if (key != "value")
        report(fmt::format("{}.{}", path, key), fmt::format("a parameter has no such {}", key),
               "known: value, help, minimum, maximum or whole");
    }
  }

  void read_codec(Listing& listing) {
    if (table_.contains("codec")) listing.codec = listed_codec(table_["codec"], findings_);
  }

  void read_between(Listing& listing) {
    if (!table_.contains("between")) return;
    const Expression drift = expression("between", "");
    const auto is_plain = [](const Expression& one) { return one.operation == Operation::name; };
    if (!findings_.empty()) return;
    if (drift.operation != Operation::mix || !is_plain(drift.arguments[0]) ||
        !is_plain(drift.arguments[1]))
      return report("between", "between is mix(a, b, rate) of two vectors that a worker keeps");
    if (!listing.meets())
      report("between", "between belongs to methods with a rate",
             "in rounds nothing happens between events");
    listing.between =
        Listing::Mix{drift.arguments[0].name, drift.arguments[1].name, drift.arguments[2]};
  }

  const json& table_;
  std::vector<Finding>& findings_;
  std::set<std::string> names_;
};

}  // namespace

std::string ListedParameter::unmet(double given) const {
  if (minimum && given < *minimum) return fmt::format("at least {}", *minimum);
  if (maximum && given > *maximum) return fmt::format("at most {}", *maximum);
  return is_whole && given != std::floor(given) ? "a whole number" : "";
}

std::optional<Listing> read_listing(const json& table, std::vector<Finding>& findings,
                                    bool of_run) {
  return ListingReader(table, findings).read(of_run);
}

}  // namespace acid
