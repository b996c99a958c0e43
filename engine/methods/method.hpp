#pragma once

#include <algorithm>
#include <functional>
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
  std::string_view kind;  // as recipes call it
  Peers peers = Peers::partner;
  std::vector<Peers> turns = {};  // of exchanges, again and again: all, or `peers`
  double rate = 0;                // meetings: expected exchanges per worker and gradient
  Round round = {};               // rounds; of the fastest worker
  /// Methods with a server whose counts read `speed`: the round of a worker so fast, in (0, 1].
  std::function<Round(double speed)> round_at = {};
  struct Pace {
    double speed;  // of the fastest worker's
    Round round;
  };
  std::vector<Pace> paces = {};  // by worker, where rounds differ; filled in by set_pace()
  std::size_t fragments = 1;     // rounds: parts of vectors that are sent in turn
  bool uniform_weights = false;  // neighbours: the mixing matrix is uniform, not Metropolis
  /// Rounds with everybody: what is said is the gradient, and what is heard takes its place. So its
  /// all-reduce can begin before the gradient is whole.
  bool reduces_gradients = false;
  Rules rules = {};
  std::optional<Rules> server = {};  // what the server does, where there is one
  /// So many servers instead, at most one for each worker: the hubs, each with an even share of the
  /// workers in their order. Where one has heard `every` messages since it last heard the server
  /// above them it visits that, as a worker visits a server.
  struct Hubs {
    int count;
    std::int64_t every;
    Rules visit;  // what a hub says and hears there; keeps what `server` keeps
    Rules above;  // what the server above does, whose model is the run's
  };
  std::optional<Hubs> hubs = {};
  /// How many servers so many workers talk to, and which of them, from 0, one of the workers does.
  int servers(int workers) const { return hubs ? std::min(hubs->count, workers) : 1; }
  int server_of(int worker, int workers) const {
    return static_cast<int>(std::int64_t{worker} * servers(workers) / workers);
  }
  std::optional<Codec> codec = {};  // of the vectors of messages; part of the rules
  /// The method's own numbers: the value of each that its entry shows. They are recorded with the
  /// options, from which and from the graph they follow.
  std::vector<std::pair<std::string_view, double>> derived = {};

  bool has_meetings() const { return meets(peers); }
  bool has_server() const { return peers == Peers::server; }
  /// Whether workers go on at their own pace, so that what they learn depends on who is faster.
  bool is_asynchronous() const { return has_meetings() || has_server(); }
  Message message() const { return rules.floats->message(); }
  const Round& round_of(int worker) const {
    return paces.empty() ? round : paces[static_cast<std::size_t>(worker)].round;
  }
  /// `slow_factors`: how many times longer a gradient takes, as declared of each worker; empty: all
  /// alike. Throws UsageError where that leaves a worker without a round.
  void set_pace(std::span<const double> slow_factors);
  /// Of exchange `number`, from 0.
  Peers peers_in(std::int64_t number) const {
    if (turns.empty()) return peers;
    return turns[static_cast<std::size_t>(number) % turns.size()];
  }
  bool hears_all_in(std::int64_t number) const { return peers_in(number) == Peers::all; }
  /// Whether exchanges with all are among them.
  bool hears_all() const {
    return peers == Peers::all || std::find(turns.begin(), turns.end(), Peers::all) != turns.end();
  }
  /// Where all workers are heard, what they say cannot be summed on its way: everybody gets it all.
  bool gathers() const { return codec.has_value(); }
  /// Whether exchanges differ in what is sent, or to whom: all, or others.
  bool varies() const { return !turns.empty() || rules.floats->varies(); }
  /// Whether what does not fit the codec is sent once more.
  bool sends_again() const { return codec && codec->sends_again(); }
  /// To a worker with these numbers, beside messages: of those that did not fit their codec.
  std::int64_t bytes_sent_again(std::span<const double> scalars) const;
  /// As it travels.
  PackedMessage packed_message(std::size_t dimension, std::uint64_t seed = 0) const {
    return {rules.floats, dimension, codec, seed};
  }
  /// Of a message and of its answer: the partner's, or the server's, which no codec packs.
  std::size_t bytes_per_exchange(std::size_t dimension) const {
    const std::size_t said = packed_message(dimension).bytes();
    return said + (server ? sizeof(float) * server->floats->message().floats(dimension) : said);
  }
  /// Of a hub's message to the server above and of the reply, which no codec packs.
  std::size_t bytes_per_visit(std::size_t dimension) const {
    return sizeof(float) * (hubs->visit.floats->message().floats(dimension) +
                            hubs->above.floats->message().floats(dimension));
  }
};

/// Expected exchanges per worker and gradient: between two gradients a run must come to an end of
/// them, or it hears nothing.
inline constexpr double kMostCommunicationRate = 1e6;

/// Which of a recipe's optimisers turn a method's gradients into steps.
enum class Optimizers {
  any,
  sgd,  // the method's step is its own, along what SGD with momentum makes of the gradient
  own,  // its step is its own: of the recipe it takes the learning rate and weight decay
  none  // its workers take no step: they send their gradients, and it takes the learning rate alone
};

/// A number of a method that plans, runs and reports have a column for.
struct Shown {
  std::string_view key;     // "eta", as in Method::derived; of one meaning in all methods
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
  /// Why an option does nothing beside the others, for options that can; nullptr: it does
  /// something. `gossips`: exchanges are drawn.
  const char* (*no_effect)(std::string_view option, const nlohmann::json& options,
                           bool gossips) = nullptr;
  /// Of methods of rounds, as published or as follows from the rule: what an exchange leaves of the
  /// workers' differences, in norm and in the long run, where gradients add none and nothing is
  /// compressed. A formula of MixingNumbers, "rho". Empty: not known.
  std::string_view agreement = {};
  const Listing* listing = nullptr;  // what the method is, where a listing says it
};

/// What is proven of a method whose exchanges are its rule's meetings and nothing more
/// (Rule::decay), on a graph with these numbers at the method's rate; nothing of all other methods.
std::optional<Decay> consensus_decay(const Method& method, double chi1, double chi2);
/// What an exchange leaves by AlgorithmEntry::agreement; nothing where that is not known of the
/// method, its codec or the graph.
std::optional<double> left_by_exchange(const AlgorithmEntry& entry, const Method& method,
                                       const MixingNumbers& numbers);
/// Exchanges per worker and gradient of a method of rounds.
double exchanges_per_gradient(const Method& method);

/// The entry's method, with the codec that the options name in "codec", if they do.
Method method_of(const AlgorithmEntry& entry, const nlohmann::json& options,
                 const Spectral* nominal);

/// What differences are taken to where nobody says otherwise.
inline constexpr std::string_view kBaseline = "ar-sgd";

std::span<const AlgorithmEntry> algorithm_catalog();
/// nullptr when unknown.
const AlgorithmEntry* find_algorithm(std::string_view name);
/// What recipes write for a rule of the literature that is no method of its own, "" for others:
/// "matcha" is a topology.
std::string_view written_for(std::string_view name);
/// Whether a method's numbers follow from the edges that a run's seed draws (spectral =
/// "realised"), so that each seed has its own.
bool numbers_are_of_seed(const nlohmann::json& options);
/// What these methods show, each key once, in the catalog's order; unknown names show nothing.
std::vector<Shown> shown_by(const std::set<std::string>& algorithms);
/// What any method shows.
std::vector<Shown> shown_by_any();

/// Throws UsageError where a method cannot do with a topology whose graph changes: where it meets,
/// has weights of its own, draws partners itself, or models that agree would part (Stochastic) and
/// it sends no number to divide them by.
void require_schedule_fits(const Method& method, const Topology& topology);
/// Throws UsageError where vectors have fewer elements than a method cuts them into parts.
void require_dimension_fits(const Method& method, std::size_t dimension);
/// Throws UsageError where there are more hubs than workers, of whom then each has one.
void require_workers_fit(const Method& method, int workers);
/// Whom the workers of a method of rounds hear, and what they give to it, where each hears others'
/// messages; null where an all-reduce sums them, and for meetings.
std::shared_ptr<const MixingSchedule> mixing_of(const Method& method, const Topology& topology);

/// Bytes that all workers of a synchronous method together send each time they say a message, for
/// vectors of `vector_bytes`; the mean of all exchanges where they differ, expected ones where the
/// number of messages is drawn. One of M bytes costs M · Σ degrees, or M · all_reduce_vectors; to a
/// server the replies count too.
double bytes_per_message(const Method& method, const Topology& topology, double vector_bytes,
                         AllReduceKind all_reduce = AllReduceKind::ring);

/// Bytes sent per gradient, summed over workers ÷ gradients. A meeting costs a message each way.
double bytes_per_gradient(const Method& method, const Topology& topology, double vector_bytes,
                          AllReduceKind all_reduce = AllReduceKind::ring);

}  // namespace acid
