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

/// Something that is wrong with a listing, and where.
struct Finding {
  std::string path;  // of the key, with an item's number: "step.0", "keep.y"; empty: the listing
  int column = 0;    // in the text there, from 1; 0: all of it
  std::string message;
  std::string remedy;
};

/// A number that a recipe may set, as a key of its algorithm.
struct ListedParameter {
  std::string name;
  double value = 0;
  /// Of other parameters, chi1, chi2 and n, where the recipe does not set it; takes the place of
  /// `value`.
  std::optional<Expression> formula = {};
  std::string help = {};
  std::optional<double> minimum = {}, maximum = {};
  bool is_whole = false;  // no fraction
};

/// A vector or a number that a worker keeps.
struct Kept {
  std::string name;
  double start = 0;
  bool starts_at_x = false;  // vectors only
  /// The vector is the sum of all pulls of that message so far, which hearing adds to and nothing
  /// else assigns; what it is rounded by is in a vector beside it, rest_of().
  std::optional<std::size_t> pulled_by = {};
  bool is_rest = false;
  /// What x was rounded by: what is assigned to x has it added, and leaves what is rounded then.
  bool is_rest_of_x = false;
  /// Assigned by what the worker does alone.
  bool is_own_affair() const { return pulled_by.has_value() || is_rest || is_rest_of_x; }
};
/// The name, which no listing can write.
inline std::string rest_of(const std::string& name) { return name + ".rest"; }

/// What a method listing says, as docs/METHODS.md specifies it: texts are parsed, defaults are
/// filled in, names are checked.
struct Listing {
  std::string name;
  struct About {
    std::string label, summary, source;
    std::string recursion, differs;  // in one line; what is not as in the source
  } about;                           // for people
  Peers peers = Peers::neighbours;
  /// So many exchanges with these peers, a formula of parameters: all, or `peers`.
  struct Turn {
    Expression count;
    Peers peers;
  };
  std::vector<Turn> turns;              // where the peers differ from exchange to exchange
  std::optional<Expression> fragments;  // of parameters: parts of vectors that are sent in turn
  std::string round;                    // of methods of rounds; empty: meetings, at `rate`
  std::optional<Expression> rate;       // of parameters
  std::vector<Kept> vectors, numbers;
  std::vector<ListedParameter> parameters;  // by name
  Expression point, model;
  std::vector<Statement> step, say, hear;
  bool takes_momentum = false;     // g of a step that reads no u may have the recipe's momentum
  std::vector<Statement> send;     // without targets
  std::vector<bool> sends_vector;  // or a number, by message
  struct Mix {
    std::string a, b;
    Expression rate;  // of parameters
  };
  std::optional<Mix> between;
  struct OfGraph {
    std::vector<Expression> needs;        // of lambda_min, or of parameters; none may be 0
    std::optional<Expression> agreement;  // what an exchange leaves; of rho, lambda2, lambda_min
  } of_graph;
  nlohmann::json codec;  // {kind, …} with all its keys; null: none. A recipe may say another
  struct Served {        // peers = "server"
    std::shared_ptr<Listing> server = {};  // what that keeps, hears and sends; null: this is it
    std::vector<bool> theirs_vector = {};  // by message, what the other of the two sends
    struct Hubs {
      Expression count, every;         // of parameters
      std::shared_ptr<Listing> visit;  // what each of them says to the one above, and hears of it
    };
    std::optional<Hubs> hubs = {};  // of a server of which there are several, with one above them
    /// Of such a visit: what the hub, whose vectors and numbers these are, assigns meanwhile.
    std::optional<std::vector<std::string>> hub_assigns = {};
  };
  Served served = {};

  bool meets() const { return round.empty(); }
  /// Whether that is x, or a vector or number that a worker keeps.
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

/// Reads a listing as a table of a recipe gives it, in JSON. Nothing where something is wrong: then
/// `findings` says all of it.
std::optional<Listing> read_listing(const nlohmann::json& table, std::vector<Finding>& findings);

/// The listing without what changes nothing: names, comments and spelling. read_listing() of it
/// gives an equal one. Values of parameters are not in it.
nlohmann::json canonical(const Listing& listing);

/// Whether there may be so many, and at least so many: of fragments, turns, hubs, their messages.
inline constexpr double kMostCount = 10'000;
inline bool is_count(double value, double least) {
  return value >= least && value <= kMostCount && value == std::round(value);
}

/// Whether one of Listing::OfGraph::needs is of lambda_min, and not of parameters.
bool is_of_graph(const Expression& need);

/// Names of a part of a listing and whether each is a vector.
using ListedNames = std::map<std::string, bool, std::less<>>;
/// x, what workers keep, parameters, and the numbers that every part may read.
ListedNames listed_names(const Listing& listing);
/// Whether a value is a vector. For checked listings, `names` with the part's temporaries.
bool is_vector(const Expression& value, const ListedNames& names, const Listing& listing);

/// The parts that are lists of statements.
struct ListedPart {
  const char* name;
  const std::vector<Statement>* statements;
};
std::array<ListedPart, 3> listed_parts(const Listing& listing);

/// Numbers that expressions read without anybody keeping them. Of events: the learning rate of the
/// last committed gradient, the worker's gradients and exchanges, from 1, and the staleness of the
/// last gradient. Of the run: how many workers there are, the worker's neighbours, its number.
inline constexpr std::array<std::string_view, 7> kEventNumbers = {
    "lr", "k", "exchange", "stale", "n", "degree", "worker"};

inline constexpr std::size_t kMostVectors = 16, kMostNumbers = 64, kMostMessages = 8;
inline constexpr std::size_t kMostStatements = 64, kMostReductions = 8;  // of a part

}  // namespace acid
