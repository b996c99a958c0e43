#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/language/round.hpp"
#include "engine/language/syntax.hpp"

namespace acid {

/// A fault of a listing, and its place.
struct Finding {
  std::string path;  // of the key, with the item's number: "step.0", "keep.y"; empty: the listing
  int column = 0;    // in the text there, from 1; 0: all of it
  std::string message;
  std::string remedy;
};

/// A number that a recipe may set, as a key of its algorithm.
struct ListedParameter {
  std::string name;
  double value = 0;
  /// A formula of other parameters and, of pairs, chi1 and chi2; used instead of `value` when the
  /// recipe does not set the parameter.
  std::optional<Expression> formula = {};
  std::string help = {};
  std::optional<double> minimum = {}, maximum = {};
  bool is_whole = false;  // no fraction
  bool of_run = false;    // a run's number: formulas of it are gone, so that it may be unread

  /// The demand that this value does not meet: "at most 1", "a whole number"; empty: it meets all.
  std::string unmet(double given) const;
};

/// A vector or a number that a worker keeps.
struct Kept {
  std::string name;
  double start = 0;
  bool starts_at_x = false;  // vectors only
  /// The vector is the sum of all pulls of this message so far. A hear adds to it and no statement
  /// assigns it; its rounding error is in a vector beside it, rest_of().
  std::optional<std::size_t> pulled_by = {};
  bool is_rest = false;
  /// The rounding error of x: it is added to each value assigned to x, and then holds the new
  /// error.
  bool is_rest_of_x = false;
  /// Whether the worker alone assigns it, without a statement of the listing.
  bool is_own_affair() const { return pulled_by.has_value() || is_rest || is_rest_of_x; }
};
/// The name of the vector of rounding errors; a listing cannot write such a name.
inline std::string rest_of(const std::string& name) { return name + ".rest"; }

/// A method listing (docs/METHODS.md): texts are parsed, defaults are filled in, names are checked.
struct Listing {
  std::string name;
  struct About {
    std::string label, summary, source;
    std::string recursion, differs;  // one line; deviations from the source
  } about;                           // for people
  Peers peers = Peers::neighbours;
  /// `count` exchanges (a formula of parameters) with these peers: all, or Listing::peers.
  struct Turn {
    Expression count;
    Peers peers;
  };
  std::vector<Turn> turns;              // empty: the peers are always the same
  std::optional<Expression> fragments;  // of parameters: how many parts of vectors are sent in turn
  std::string round;                    // for methods of rounds; empty: meetings, at `rate`
  std::optional<Expression> rate;       // of parameters
  std::vector<Kept> vectors, numbers;
  std::vector<ListedParameter> parameters;  // by name
  Expression point, model;
  std::vector<Statement> step, say, hear;
  bool takes_momentum = false;     // a step that reads g and not u may use the recipe's momentum
  std::vector<Statement> send;     // without targets
  std::vector<bool> sends_vector;  // by message; false: a number
  struct Mix {
    std::string a, b;
    Expression rate;  // of parameters
  };
  std::optional<Mix> between;
  struct OfGraph {
    std::vector<Expression> needs;        // of lambda_min or of parameters; must not be 0
    std::optional<Expression> agreement;  // the rest after an exchange; of rho, lambda2, lambda_min
  } of_graph;
  nlohmann::json codec;  // {kind, …} with all its keys; null: none. Recipes can override it
  struct Served {        // peers = "server"
    std::shared_ptr<Listing> server = {};  // keeps, hears, sends; null: this is the server
    std::vector<bool> theirs_vector = {};  // by message, of the other side
    struct Hubs {
      Expression count, every;         // of parameters
      std::shared_ptr<Listing> visit;  // what a hub says to the server above and hears from it
    };
    std::optional<Hubs> hubs = {};  // for several servers with one above them
    /// For a visit: the names that the hub itself assigns between its message and the reply; a
    /// visit must not overwrite them.
    std::optional<std::vector<std::string>> hub_assigns = {};
  };
  Served served = {};

  bool meets() const { return round.empty(); }
  /// Whether the name is x, or a vector or number that a worker keeps.
  bool keeps(std::string_view name) const;
  /// Whether an exchange is an all-reduce.
  bool sums() const { return peers == Peers::all || !turns.empty(); }

  bool is_server() const { return peers == Peers::server && served.server == nullptr; }
  bool is_visit() const { return served.hub_assigns.has_value(); }
  bool is_of_worker() const { return !is_server() && !is_visit(); }
  /// By message, whether what `operation` hears is a vector.
  const std::vector<bool>& heard_by(Operation operation) const {
    const bool of_other = operation == Operation::theirs && peers == Peers::server;
    return of_other ? served.theirs_vector : sends_vector;
  }
};

/// Reads a listing from a recipe's table in JSON. Absent when the listing has faults: then
/// `findings` has all of them. `of_run`: of all its parameters.
std::optional<Listing> read_listing(const nlohmann::json& table, std::vector<Finding>& findings,
                                    bool of_run = false);

/// The listing without what has no effect: names, comments and spelling. read_listing() of it gives
/// an equal one. It does not contain values of parameters.
nlohmann::json canonical(const Listing& listing);

/// The largest allowed count of fragments, turns, hubs and messages between visits.
inline constexpr double kMostCount = 10'000;
inline bool is_count(double value, double least) {
  return value >= least && value <= kMostCount && value == std::round(value);
}

/// Whether one of Listing::OfGraph::needs reads lambda_min, not parameters.
bool is_of_graph(const Expression& need);

/// The names of a part of a listing, and whether each is a vector.
using ListedNames = std::map<std::string, bool, std::less<>>;
/// x, the names that workers keep, parameters, and the numbers that every part may read.
ListedNames listed_names(const Listing& listing);
/// Whether a value is a vector. For checked listings; `names` must include the part's temporaries.
bool is_vector(const Expression& value, const ListedNames& names, const Listing& listing);

/// A part that is a list of statements.
struct ListedPart {
  const char* name;
  const std::vector<Statement>* statements;
};
std::array<ListedPart, 3> listed_parts(const Listing& listing);

/// Numbers that expressions may read and that no listing keeps. Of an event: the learning rate of
/// the last committed gradient, the worker's gradients and exchanges, counted from 1, and the
/// staleness of the last gradient. Of the run: the number of workers, of the worker's neighbours,
/// of the worker.
inline constexpr std::array<std::string_view, 7> kEventNumbers = {
    "lr", "k", "exchange", "stale", "n", "degree", "worker"};

inline constexpr std::size_t kMostVectors = 16, kMostNumbers = 64, kMostMessages = 8;
inline constexpr std::size_t kMostStatements = 64, kMostReductions = 8;  // in a part

}  // namespace acid
