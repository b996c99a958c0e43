#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/codecs/packed_message.hpp"
#include "engine/language/round.hpp"
#include "engine/methods/all_reduce.hpp"
#include "engine/topology/mixing_schedule.hpp"
#include "engine/topology/schedule_numbers.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

struct Listing;

/// A method with its parameters: when workers hear whom, and what they say, hear and do.
struct Method {
  std::string_view kind;  // its name in recipes
  Peers peers = Peers::partner;
  std::vector<Peers> turns = {};  // cycle of peers by exchange number; empty: always `peers`
  double rate = 0;                // meetings: expected exchanges per worker and gradient
  /// Meetings: as many as the network carries; then `rate` is what a plan expects of that.
  bool saturates = false;
  Round round = {};  // rounds: that of the fastest worker
  /// For methods with a server whose counts read `speed`: the round of a worker of this speed, in
  /// (0, 1].
  std::function<Round(double speed)> round_at = {};
  struct Pace {
    double speed;  // relative to the fastest worker
    Round round;
  };
  std::vector<Pace> paces = {};  // by worker, if rounds differ; set by set_pace()
  std::size_t fragments = 1;     // rounds: parts of vectors that are sent in turn
  bool uniform_weights = false;  // neighbours: the mixing matrix is uniform, not Metropolis
  /// Neighbours that form groups (groups_of): each averages by an all-reduce, not by messages.
  bool reduces_groups = false;
  bool pulls = false;  // hearing takes differences, pull(), whose sum over all workers is 0
  /// In rounds with all workers: the gradient is said, and the heard mean replaces it. So its
  /// all-reduce can begin before the gradient is complete.
  bool reduces_gradients = false;
  Rules rules = {};
  std::optional<Rules> server = {};  // the server's rules, if there is a server
  /// Several servers instead of one, at most one per worker: the hubs, each with an equal share of
  /// the workers in their order. A hub that has heard `every` messages since it last heard the
  /// server above visits that server, as a worker visits a server.
  struct Hubs {
    int count;
    std::int64_t every;
    Rules visit;  // what a hub says and hears there; its state is that of `server`
    Rules above;  // the rules of the server above, whose model is the run's
  };
  std::optional<Hubs> hubs = {};
  /// servers(): how many servers this many workers have. server_of(): the server of one worker,
  /// from 0.
  int servers(int workers) const { return hubs ? std::min(hubs->count, workers) : 1; }
  int server_of(int worker, int workers) const {
    return static_cast<int>(std::int64_t{worker} * servers(workers) / workers);
  }
  std::shared_ptr<const Codec> codec = {};  // of the vectors of messages; part of the rules
  /// The method's own numbers: the value of each that its entry shows. They are recorded with the
  /// options, from which and from the graph they follow.
  std::vector<std::pair<std::string_view, double>> derived = {};

  bool has_meetings() const { return meets(peers); }
  bool has_server() const { return peers == Peers::server; }
  /// Whether workers go on at their own pace, so that the result depends on which worker is faster.
  bool is_asynchronous() const { return has_meetings() || has_server(); }
  Message message() const { return rules.floats->message(); }
  const Round& round_of(int worker) const {
    return paces.empty() ? round : paces[static_cast<std::size_t>(worker)].round;
  }
  /// `slow_factors`: by worker, how many times longer a gradient takes, as declared; empty: all
  /// alike. Throws UsageError when a worker would have no round.
  void set_pace(std::span<const double> slow_factors);
  /// The peers of exchange `number`, counted from 0.
  Peers peers_in(std::int64_t number) const {
    if (turns.empty()) return peers;
    return turns[static_cast<std::size_t>(number) % turns.size()];
  }
  bool hears_all_in(std::int64_t number) const { return peers_in(number) == Peers::all; }
  /// Whether some exchanges are with all workers.
  bool hears_all() const {
    return peers == Peers::all || std::find(turns.begin(), turns.end(), Peers::all) != turns.end();
  }
  /// Whether messages to all workers are packed and so cannot be summed on the way: each worker
  /// then gets all of them.
  bool gathers() const { return codec != nullptr; }
  /// Whether exchanges differ in what is sent, or to whom.
  bool varies() const { return !turns.empty() || rules.floats->varies(); }
  /// The messages as they travel.
  PackedMessage packed_message(std::size_t dimension, std::uint64_t seed = 0) const {
    return {rules.floats, dimension, codec, seed};
  }
  /// Bytes of a message, and of its answer: the partner's, or the server's, which no codec packs.
  struct Bytes {
    std::size_t said, answered;
    std::size_t both() const { return said + answered; }
  };
  Bytes bytes_per_exchange(std::size_t dimension) const {
    const std::size_t said = packed_message(dimension).bytes();
    return {said, server ? bytes_unpacked(*server, dimension) : said};
  }
  /// Those of a hub's message to the server above and of the reply; no codec packs them.
  Bytes bytes_per_visit(std::size_t dimension) const {
    return {bytes_unpacked(hubs->visit, dimension), bytes_unpacked(hubs->above, dimension)};
  }
  static std::size_t bytes_unpacked(const Rules& rules, std::size_t dimension) {
    return sizeof(float) * rules.floats->message().floats(dimension);
  }
};

/// The largest number of expected exchanges per worker and gradient: a run must be able to finish
/// the exchanges between two gradients.
inline constexpr double kMostCommunicationRate = 1e6;

/// The optimisers of a recipe that can turn a method's gradients into steps.
enum class Optimizers {
  any,
  sgd,  // its own step, along the direction of SGD with momentum
  own,  // its own step: uses the recipe's learning rate and weight decay only
  none  // its workers take no step, they send gradients; uses the learning rate only
};

/// A number of a method that plans, runs and reports have a column for.
struct Shown {
  std::string_view key;     // "eta", as in Method::derived; one meaning for all methods
  std::string_view symbol;  // "η"
  std::string_view help;    // "the rate at which …"
};

struct AlgorithmEntry {
  std::string_view name;   // "a2cid2"
  std::string_view label;  // "A²CiD²"
  std::string_view summary;
  std::string_view source;  // arXiv id or project
  Peers peers;
  Optimizers optimizers = Optimizers::any;
  std::span<const Field> fields;  // besides kind, label and set
  /// `options` holds every field. `nominal` is null for n = 1 or methods without a rate.
  std::function<Method(const nlohmann::json& options, const Spectral* nominal)> make;
  std::span<const Shown> shown = {};
  /// Why an option has no effect beside the others, for options that can have none; nullptr: it has
  /// an effect. `gossips`: exchanges are drawn.
  const char* (*no_effect)(std::string_view option, const nlohmann::json& options,
                           bool gossips) = nullptr;
  /// Methods of rounds: the share of the workers' differences, in norm and in the long run, that is
  /// left after an exchange, without gradients and compression. As published, or derived from the
  /// rule; a formula of MixingNumbers, "rho". Empty: unknown.
  std::string_view agreement = {};
  const Listing* listing = nullptr;
  bool by_name = false;  // a run's settings have the name and not the listing (named.hpp)
};

/// What is proven of meetings, where they happen at once and nothing else changes the
/// workers: the consensus distance C = (1/n) Σ ‖xᵢ − x̄‖² is in expectation at most
/// factor · C(0) e^(−rate · t), in normalised time t.
struct Decay {
  double factor = 1, rate = 0;
  std::string_view exponent;  // rate · t as a formula, "ηt"
  std::string_view symbol;    // of the number in it, "η"
  double value = 0;           // that number
};

/// What is proven of a method on a graph with these numbers at the method's rate: of AD-PSGD and
/// A²CiD² with the steps that the theorems are about, and nothing of all other methods.
std::optional<Decay> consensus_decay(const Method& method, double chi1, double chi2);
/// What an exchange leaves by AlgorithmEntry::agreement; nothing where that is not known of the
/// method, its codec or the graph.
std::optional<double> left_by_exchange(const AlgorithmEntry& entry, const Method& method,
                                       const MixingNumbers& numbers);
/// Exchanges per worker and gradient of a method of rounds, in the long run.
double exchanges_per_gradient(const Method& method);
/// Messages that a worker says in so many gradients of its own, in the mean of the workers; the
/// expected number if exchanges are drawn.
double exchanges_in(const Method& method, double gradients);
/// After how many exchanges of a method of rounds messages have the same sizes and receivers again,
/// if these are not drawn.
std::int64_t exchange_period(const Method& method, const Topology& topology, std::size_t dimension);

/// The entry's method, with the options' codec if they have a "codec".
Method method_of(const AlgorithmEntry& entry, const nlohmann::json& options,
                 const Spectral* nominal);

/// The default baseline of differences.
inline constexpr std::string_view kBaseline = "ar-sgd";

std::span<const AlgorithmEntry> algorithm_catalog();
/// nullptr when unknown.
const AlgorithmEntry* find_algorithm(std::string_view name);
/// How recipes express a rule of the literature that is not a method here: "matcha" is a topology.
/// "" for other names.
std::string_view written_for(std::string_view name);
/// Whether a method's numbers depend on the edges that a run's seed draws (spectral = "realised"),
/// so that each seed has its own numbers.
bool numbers_are_of_seed(const nlohmann::json& options);
/// The numbers that these methods show, each key once, in the catalog's order; unknown names show
/// nothing.
std::vector<Shown> shown_by(const std::set<std::string>& algorithms);
/// The numbers that any method shows.
std::vector<Shown> shown_by_any();

/// Throws UsageError when a method cannot use a topology whose graph changes: when it has meetings,
/// has weights of its own, draws partners itself, or when equal models would differ after an
/// exchange (Stochastic) and the method sends no number to divide them by.
void require_schedule_fits(const Method& method, const Topology& topology);
/// Throws UsageError when vectors have fewer elements than the method cuts them into parts.
void require_dimension_fits(const Method& method, std::size_t dimension);
/// Throws UsageError when there are more hubs than workers.
void require_workers_fit(const Method& method, int workers);
/// Why neighbours cannot average by an all-reduce in groups; nullptr: they can, if they form some.
const char* cannot_reduce_groups(const Method& method);
/// Whom the workers of a method of rounds hear, and with which weights; null when an all-reduce
/// sums the messages, and for meetings.
std::shared_ptr<const MixingSchedule> mixing_of(const Method& method, const Topology& topology);

/// The groups that average by an all-reduce in an exchange with these weights; empty: none does.
WorkerGroups reduced_groups(const Method& method, const MixingMatrix& weights);
/// Vectors that all workers together send in it: what these groups' all-reduces take or, without
/// groups, a message to each worker that hears it.
std::int64_t vectors_sent(const MixingMatrix& weights, const WorkerGroups& groups,
                          AllReduceKind all_reduce);

/// Bytes that all workers together send in a run of so many gradients, with vectors of
/// `vector_bytes`: the expected number if exchanges are drawn. A meeting costs a message each way,
/// a message of M bytes to neighbours M · Σ degrees, one to all M · all_reduce_vectors; with a
/// server the replies count, too.
double bytes_sent(const Method& method, const Topology& topology, double gradients,
                  double vector_bytes, AllReduceKind all_reduce = AllReduceKind::ring);

}  // namespace acid
