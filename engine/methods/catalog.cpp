#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/codecs/coded_rule.hpp"
#include "engine/language/listed_rule.hpp"
#include "engine/methods/listed.hpp"
#include "engine/methods/named.hpp"

namespace acid {

namespace {

Listing shipped_listing(const ListingText& shipped) {
  std::vector<Finding> findings;
  auto listing = read_listing(json_of_toml(shipped.text), findings);
  ACID_ASSERT(listing.has_value(), "the listing of {}: {} {}", shipped.name, findings.front().path,
              findings.front().message);
  return *std::move(listing);
}

std::vector<AlgorithmEntry> all_entries() {
  std::vector<AlgorithmEntry> entries;
  for (const NamedMethod& named : named_methods())
    entries.push_back(listed_entry(
        shipped_listing(*std::ranges::find(listing_texts(), named.name, &ListingText::name))));
  for (const ListingText& shipped : listing_texts())
    if (std::ranges::find(entries, shipped.name, &AlgorithmEntry::name) == entries.end())
      entries.push_back(listed_entry(shipped_listing(shipped)));
  return entries;
}

}  // namespace

std::span<const AlgorithmEntry> algorithm_catalog() {
  static const std::vector<AlgorithmEntry> entries = all_entries();
  return entries;
}

const AlgorithmEntry* find_algorithm(std::string_view name) {
  return find_named(algorithm_catalog(), name);
}

std::string_view written_for(std::string_view name) {
  if (name == "matcha") return "kind = \"d-psgd\" with topology = { kind = \"matchings\" }";
  if (name == "epidemic" || name == "epidemic-learning")
    return "kind = \"d-psgd\" with topology = { kind = \"epidemic\" }";
  return "";
}

bool numbers_are_of_seed(const nlohmann::json& options) {
  const auto found = options.find("spectral");  // of a method's own, it may be a number
  return found != options.end() && *found == "realised";
}

std::vector<Shown> shown_by(const std::set<std::string>& algorithms) {
  std::vector<Shown> all;
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    if (!algorithms.contains(std::string(entry.name))) continue;
    for (const Shown& shown : entry.shown)
      if (std::ranges::find(all, shown.key, &Shown::key) == all.end()) all.push_back(shown);
  }
  return all;
}

std::vector<Shown> shown_by_any() {
  std::set<std::string> names;
  for (const AlgorithmEntry& entry : algorithm_catalog()) names.emplace(entry.name);
  return shown_by(names);
}

namespace {

bool is_about(double given, double value) {  // to six digits
  return std::abs(given - value) <= 1e-6 * std::abs(value);
}

// Exchanges looked at, at most, before their messages are taken to repeat.
constexpr std::int64_t kLookedAt = 1 << 14;

// The shortest period of the sequence; its length when it has none.
std::size_t period_of(const std::vector<double>& sequence) {
  for (std::size_t period = 1; period <= sequence.size() / 2; ++period)
    if (std::equal(sequence.begin() + static_cast<std::ptrdiff_t>(period), sequence.end(),
                   sequence.begin()))
      return period;
  return sequence.size();
}

}  // namespace

// With a codec, gradients are packed and so are not reduced as they come.
Method method_of(const AlgorithmEntry& entry, const nlohmann::json& options,
                 const Spectral* nominal) {
  const auto found = options.find("codec");
  Method method = entry.make(options, nominal);
  if (found == options.end()) return method;
  method.reduces_gradients = false;
  method.codec = codec_of(*found, entry.peers != Peers::server);
  method.rules = coded(method.rules, method.codec, found->at("error_feedback").get<bool>());
  return method;
}

void Method::set_pace(std::span<const double> slow_factors) {
  paces.clear();
  if (!round_at || slow_factors.empty()) return;
  const double fastest = *std::ranges::min_element(slow_factors);
  for (const double factor : slow_factors)
    paces.push_back({fastest / factor, round_at(fastest / factor)});
}

void require_schedule_fits(const Method& method, const Topology& topology) {
  if (!topology.schedule() || method.peers == Peers::all || method.has_server()) return;
  const auto refuse = [&](std::string_view why, std::string_view remedy) {
    throw UsageError(
        fmt::format("the graph of topology '{}' changes from exchange to exchange: {}; {}",
                    topology.kind(), why, remedy));
  };
  if (method.has_meetings())
    refuse(fmt::format("{} draws pairs instead", method.kind), "use a graph that stays");
  if (method.peers == Peers::one)
    refuse(fmt::format("{} draws pairs of neighbours itself", method.kind),
           "name the graph whose neighbours they are");
  if (method.uniform_weights)
    refuse("it says the weights as well", "leave out weights = \"uniform\"");
  if (topology.schedule()->stochastic() == Stochastic::columns && method.message().scalars == 0)
    refuse(fmt::format("the weights of what a worker hears do not sum to 1, and {} sends no number "
                       "to divide by",
                       method.kind),
           "use a method with push-sum, such as sgp, or another form of the topology");
}

void require_dimension_fits(const Method& method, std::size_t dimension) {
  if (method.fragments > dimension)
    throw UsageError(fmt::format("{} cuts vectors into {} fragments, and the model has {} elements",
                                 method.kind, method.fragments, dimension));
}

void require_workers_fit(const Method& method, int workers) {
  if (method.hubs && method.hubs->count > workers)
    throw UsageError(fmt::format("{} has {} hubs for {}: each hub needs one", method.kind,
                                 method.hubs->count,
                                 counted(static_cast<std::uint64_t>(workers), "worker")));
}

std::shared_ptr<const MixingSchedule> mixing_of(const Method& method, const Topology& topology) {
  require_schedule_fits(method, topology);
  switch (method.peers) {
    case Peers::partner:
    case Peers::server:
      return nullptr;
    case Peers::all:
      if (!method.gathers()) return nullptr;
      return cycle_of({metropolis_weights(Topology::complete(topology.workers()))});
    case Peers::one:
      return random_matching(topology);
    case Peers::neighbours:
      break;
  }
  const auto mixing = topology.schedule()
                          ? topology.schedule()
                          : cycle_of({method.uniform_weights ? uniform_weights(topology)
                                                             : metropolis_weights(topology)});
  if (method.reduces_groups)
    if (const char* const why = cannot_reduce_groups(method);
        why != nullptr || (topology.workers() > 1 && largest_group(*mixing) == 0))
      throw UsageError(fmt::format(
          "{} cannot average by an all-reduce: {}", method.kind,
          why != nullptr ? why : "not all exchanges are among groups that hear each other"));
  return mixing;
}

const char* cannot_reduce_groups(const Method& method) {
  if (method.peers != Peers::neighbours) return "workers do not average with all their neighbours";
  if (method.codec) return "an all-reduce cannot add up what a codec has packed";
  if (method.message().scalars > 0) return "the method sends numbers beside vectors";
  if (method.pulls) return "the method needs differences to neighbours that sum to 0 exactly";
  return nullptr;
}

WorkerGroups reduced_groups(const Method& method, const MixingMatrix& weights) {
  return method.reduces_groups ? groups_of(weights) : WorkerGroups();
}

std::int64_t vectors_sent(const MixingMatrix& weights, const WorkerGroups& groups,
                          AllReduceKind all_reduce) {
  if (groups.empty()) return messages_of(weights);
  double vectors = 0;
  for (const auto& group : groups)
    vectors += all_reduce_vectors(all_reduce, static_cast<int>(group.size()));
  return std::llround(vectors);
}

namespace {

// The vectors that all workers together send in each exchange of a graph that changes, until it
// repeats; the mean of some if exchanges are drawn.
std::vector<double> vectors_by_exchange(const Method& method, const MixingSchedule& schedule,
                                        AllReduceKind all_reduce) {
  const auto workers = static_cast<int>(schedule.matrix(0, 0).self.size());
  std::vector<double> vectors(static_cast<std::size_t>(telling_exchanges(schedule, workers)));
  for (std::size_t e = 0; e < vectors.size(); ++e) {
    const MixingMatrix weights = schedule.matrix(static_cast<std::int64_t>(e), 0);
    vectors[e] =
        static_cast<double>(vectors_sent(weights, reduced_groups(method, weights), all_reduce));
  }
  if (schedule.period() > 0) return vectors;
  return {std::accumulate(vectors.begin(), vectors.end(), 0.0) /
          static_cast<double>(vectors.size())};
}

// The sum of the first `count` elements of a sequence that repeats `period`.
double sum_of_first(std::int64_t count, const std::vector<double>& period) {
  const auto size = static_cast<std::int64_t>(period.size());
  const double whole = std::accumulate(period.begin(), period.end(), 0.0);
  return std::accumulate(period.begin(), period.begin() + count % size,
                         static_cast<double>(count / size) * whole);
}

// Bytes of `exchanges` messages of each worker to its server, and of the replies; the visits of
// hubs to the server above included.
double bytes_to_servers(const Method& method, int workers, double exchanges,
                        std::size_t dimension) {
  double bytes =
      workers * exchanges * static_cast<double>(method.bytes_per_exchange(dimension).both());
  if (!method.hubs) return bytes;
  std::vector<double> heard(static_cast<std::size_t>(method.servers(workers)));
  for (int w = 0; w < workers; ++w)
    heard[static_cast<std::size_t>(method.server_of(w, workers))] += exchanges;
  for (const double messages : heard)
    bytes += std::floor(messages / static_cast<double>(method.hubs->every)) *
             static_cast<double>(method.bytes_per_visit(dimension).both());
  return bytes;
}

}  // namespace

std::int64_t exchange_period(const Method& method, const Topology& topology,
                             std::size_t dimension) {
  auto period = static_cast<std::int64_t>(
      std::lcm(std::max<std::size_t>(1, method.turns.size()), method.fragments));
  if (method.hubs) period = std::lcm(period, method.hubs->every);
  if (method.peers == Peers::neighbours && topology.schedule())
    period = std::lcm(period, std::max<std::int64_t>(1, topology.schedule()->period()));
  if (!method.rules.floats->varies()) return period;
  const PackedMessage form = method.packed_message(dimension);
  std::vector<double> bytes;
  for (std::int64_t e = 0; e < kLookedAt; ++e) bytes.push_back(static_cast<double>(form.bytes(e)));
  return std::lcm(period, static_cast<std::int64_t>(period_of(bytes)));
}

double exchanges_in(const Method& method, double gradients) {
  const auto said = [](const Round& round, double legs) {
    return static_cast<double>(round.said_before(static_cast<std::int64_t>(legs)));
  };
  if (method.has_meetings()) return gradients * method.rate;
  if (method.paces.empty()) return said(method.round, gradients);
  double speeds = 0, exchanges = 0;
  for (const Method::Pace& one : method.paces) speeds += one.speed;
  const auto workers = static_cast<double>(method.paces.size());
  for (const auto& [speed, round] : method.paces)
    exchanges += said(round, gradients * workers * speed / speeds);
  return exchanges / workers;
}

double bytes_sent(const Method& method, const Topology& topology, double gradients,
                  double vector_bytes, AllReduceKind all_reduce) {
  const int n = topology.workers();
  const auto dimension = static_cast<std::size_t>(vector_bytes / sizeof(float));
  const PackedMessage form = method.packed_message(dimension);
  if (n < 2 && !method.has_server()) return 0;
  if (method.has_meetings())
    return exchanges_in(method, gradients) * static_cast<double>(form.bytes());
  const double each = gradients / n;
  if (method.has_server())
    return bytes_to_servers(method, n, exchanges_in(method, each), dimension);
  std::vector<double> copies{2 * static_cast<double>(topology.edge_count())};
  if (method.peers == Peers::one || (method.peers == Peers::neighbours && topology.schedule()))
    copies = vectors_by_exchange(method, *mixing_of(method, topology), all_reduce);
  else if (method.reduces_groups)  // all are one group
    copies = {all_reduce_vectors(all_reduce, n)};
  const double to_all =
      method.gathers() ? static_cast<double>(n) * (n - 1) : all_reduce_vectors(all_reduce, n);
  const auto exchanges = static_cast<std::int64_t>(exchanges_in(method, std::ceil(each)));
  const std::int64_t period =
      std::min({std::max<std::int64_t>(1, exchanges), exchange_period(method, topology, dimension),
                std::max(kLookedAt, static_cast<std::int64_t>(copies.size()))});
  std::vector<double> bytes;
  for (std::int64_t e = 0; e < period; ++e)
    bytes.push_back(
        (method.hears_all_in(e) ? to_all : copies[static_cast<std::size_t>(e) % copies.size()]) *
        static_cast<double>(form.bytes(e)));
  return sum_of_first(exchanges, bytes);
}

double exchanges_per_gradient(const Method& method) {
  const auto said = [](const Round& round) {
    const auto legs = static_cast<std::int64_t>(round.legs().size());
    return static_cast<double>(round.said_before(legs)) / static_cast<double>(legs);
  };
  if (method.paces.empty()) return said(method.round);
  double exchanges = 0, gradients = 0;  // per unit of time
  for (const auto& [speed, round] : method.paces) {
    exchanges += speed * said(round);
    gradients += speed;
  }
  return exchanges / gradients;
}

// Without a momentum copy an exchange of i and j lowers n·C by ½‖xᵢ − xⱼ‖². With one
// V = ‖πx‖² + ‖πx̃‖²_{Λ⁺}/χ₁ contracts at rate η (2306.08289), n·C ≤ V, and V ≤ 2n·C at the start,
// where x̃ = x.
std::optional<Decay> consensus_decay(const Method& method, double chi1, double chi2) {
  const bool plain_meetings = method.peers == Peers::partner && method.rate > 0 &&
                              !method.saturates && method.turns.empty() && method.fragments == 1 &&
                              !method.codec && !method.server && !method.hubs;
  const auto named = std::ranges::find(named_methods(), method.kind, &NamedMethod::name);
  if (!plain_meetings || !(chi1 > 0) || !(chi2 > 0) || named == named_methods().end())
    return std::nullopt;
  const auto number = [&](std::string_view key) {
    return std::ranges::find(method.derived, key, [](const auto& one) { return one.first; })
        ->second;
  };
  const double eta = number("eta");
  if (!is_about(number("alpha"), 0.5)) return std::nullopt;
  if (!(eta > 0)) return Decay{1, 1 / (2 * chi1), "t/(2χ₁)", "χ₁", chi1};
  if (!is_about(eta, 1 / (2 * std::sqrt(chi1 * chi2))) ||
      !is_about(number("alpha_tilde"), 0.5 * std::sqrt(chi1 / chi2)))
    return std::nullopt;
  return Decay{2, eta, "ηt", "η", eta};
}

std::optional<double> left_by_exchange(const AlgorithmEntry& entry, const Method& method,
                                       const MixingNumbers& numbers) {
  if (entry.agreement.empty() || method.codec || method.varies() || method.has_server())
    return std::nullopt;
  const double left = formula_value(
      parse_expression(entry.agreement),
      {{"rho", numbers.rho}, {"lambda2", numbers.lambda2}, {"lambda_min", numbers.lambda_min}});
  return std::isfinite(left) ? std::optional(left) : std::nullopt;
}

}  // namespace acid
