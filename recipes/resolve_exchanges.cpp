// The checks of what a run exchanges: rates, loads, buckets.
#include <fmt/format.h>

#include <cmath>

#include "engine/base/names.hpp"
#include "engine/base/rng.hpp"
#include "engine/drivers/virtual/virtual_clock.hpp"
#include "engine/methods/listed.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "recipes/digest.hpp"
#include "recipes/resolver.hpp"
#include "settings/run_spec.hpp"

namespace acid {

using nlohmann::json;

namespace {

constexpr double kNoticeable = 0.1;  // gradients that an all-reduce takes
constexpr double kMuchCheaper = 1.5;
constexpr std::int64_t kComparedLegs = 8;
constexpr int kMostComparedGroup = 256;  // the cost of a plan grows with its square
constexpr double kMostDrawn = 3e8;       // edges, for spectral = "realised": some seconds

// Neighbours in groups may average in two ways. Says so where the other one makes iterations much
// shorter.
std::optional<Problem> exchange_doubt(const RunSettings& settings, const Topology& topology,
                                      std::size_t dimension, const PlannedRun::Graph& graph) {
  RunSpec spec = spec_from(settings, topology);
  if (graph.largest_group < 3 || graph.largest_group > kMostComparedGroup ||
      cannot_reduce_groups(spec.method) != nullptr)
    return std::nullopt;
  const std::int64_t legs = std::max<std::int64_t>(
      kComparedLegs, topology.schedule() ? topology.schedule()->period() : 0);
  spec.budget = {};
  spec.budget.gradients = legs * spec.workers;
  const auto seconds = [&](bool by_all_reduce) {
    spec.method.reduces_groups = by_all_reduce;
    return run_clock(spec, settings.execution.simulation, dimension).position.seconds / legs;
  };
  const bool reduces = graph.exchange == "all-reduce";
  const double now = seconds(reduces), other = seconds(!reduces);
  if (!(other * kMuchCheaper < now)) return std::nullopt;
  const char* const better = reduces ? "messages" : "all-reduce";
  return Problem{
      fmt::format("neighbours average by {}: an iteration takes {:.3g} s, and by {} it would take "
                  "{:.3g} s",
                  reduces ? "an all-reduce in each group" : "messages", now,
                  reduces ? "messages" : "an all-reduce in each group", other),
      fmt::format("write exchange = \"{}\"", better)};
}

// Workers that start apart and never hear of each other's models stay apart.
std::optional<Problem> apart_doubt(const RunSettings& settings, const AlgorithmEntry& entry) {
  const double spread = settings.task.dataset.value("initial_spread", 0.0);
  if (spread == 0 || settings.workers < 2 || !leaves_workers_apart(entry, settings.algorithm))
    return std::nullopt;
  return Problem{
      fmt::format(
          "workers start apart (initial_spread = {}), and {} exchanges gradients or changes "
          "of models, but no models: they stay as far apart as they start",
          spread, entry.name),
      "set initial_spread to 0, or choose a method that averages models"};
}

}  // namespace

// Decides how neighbours average, and writes it to the algorithm's options where it is not by
// messages. Two workers of a group send each other one message each, which no all-reduce does
// faster.
void Resolver::choose_exchange(const Method& method) {
  json& options = s_["algorithm"];
  PlannedRun::Graph& graph = plan_.graph;
  graph.largest_group = facts_.largest_group(workers_, s_["topology"]);
  const std::string key(kExchangeField.name);
  const std::string asked = options.value(key, "");
  options.erase(key);
  const char *obstacle = cannot_reduce_groups(method), *remedy = "remove exchange";
  if (obstacle == nullptr && graph.largest_group == 0) {
    remedy = "remove exchange, or use complete or alternating-exponential-ring";
    obstacle =
        "not all exchanges of this graph are among groups in which all hear each other, with equal "
        "weights";
  }
  if (asked == "all-reduce" && obstacle != nullptr)
    return error("algorithm." + key,
                 fmt::format("neighbours cannot average by an all-reduce: {}", obstacle), remedy);
  const bool reduces =
      obstacle == nullptr && (asked.empty() ? graph.largest_group > 2 : asked == "all-reduce");
  if (reduces) options[key] = "all-reduce";
  graph.exchange = reduces ? "all-reduce" : "messages";
}

void Resolver::look_at_topology() {
  if (!draft_.sound({"workers", "topology"})) return;
  const auto built = ask("topology", "change workers.count or the topology's options",
                         [&] { return &facts_.topology(workers_, s_["topology"]); });
  topology_ = built.value_or(nullptr);
  if (topology_ == nullptr || topology_->kind() != "edges") return;
  if (const std::int64_t repeated = topology_->repeated_edges(); repeated > 0)
    out_.warn(place("topology.edges"),
              {fmt::format("{} listed again, also as [j, i]: {} weights add up",
                           counted(static_cast<std::uint64_t>(repeated), "edge"),
                           repeated == 1 ? "its" : "their"),
               "list each edge once, with its weight as a third number"});
}

// Computes spectral numbers, bytes and load. All sections must be sound.
void Resolver::look_at_exchanges(const Method& method) {
  ask("algorithm", "use fewer fragments", [&] {
    require_dimension_fits(method, static_cast<std::size_t>(model_->parameters));
    return true;
  });
  ask("algorithm", "use fewer hubs", [&] {
    require_workers_fit(method, workers_);
    return true;
  });
  const double rate = method.rate;
  plan_.parameters = model_->parameters;
  const bool simulated = settings_.execution.entry().simulates;
  const VirtualOptions& model = settings_.execution.simulation;
  auto travelling = static_cast<std::size_t>(model_->parameters);
  if (const auto larger = model.network.stands_for(); larger && simulated) {
    travelling = *larger;
    if (!ask("execution.virtual.network.vector_bytes", "use fewer fragments, or larger vectors",
             [&] {
               require_dimension_fits(method, travelling);
               return true;
             }))
      return;
  }
  if (settings_.execution.predict && sends_own_vectors(settings_, model_->parameters))
    warn(
        "execution.virtual.network.vector_bytes",
        {fmt::format("vector_bytes makes messages of {} bytes in simulated time, and under {} they "
                     "are this model's: neither seconds nor bytes of these runs are predicted",
                     *model.network.vector_bytes, settings_.execution.entry().name),
         "remove it, or train the model that it stands for"});
  const double bytes = sizeof(float) * static_cast<double>(travelling);
  if (workers_ > 1 && rate > 0) {
    const Spectral& nominal =
        saturated_ ? *saturated_ : facts_.spectral(workers_, settings_.topology, rate);
    plan_.chi1 = nominal.chi1;
    plan_.chi2 = nominal.chi2;
  }
  plan_.bytes = bytes_sent(method, *topology_, worker_time_, bytes,
                           simulated ? model.network.all_reduce : AllReduceKind::ring);
  look_at_codec(method);
  look_at_agreement(method);
  if (const auto doubt = apart_doubt(settings_, *entry_)) warn("task.dataset", *doubt);
  if (method.reduces_gradients && simulated) look_at_buckets(bytes);
  if (simulated)
    if (const auto doubt = exchange_doubt(
            settings_, *topology_, static_cast<std::size_t>(model_->parameters), plan_.graph))
      warn("algorithm", *doubt);
  if (!meets(entry_->peers) || !simulated || method.saturates) return;
  const PackedMessage message = method.packed_message(travelling);
  const Load load = gossip_load(*topology_, rate, static_cast<double>(message.bytes()), model);
  plan_.load.largest = load.largest;
  plan_.load.worker = load.worker;
  const auto doubt = load_doubt(load, rate, settings_.execution.max_load, consensus_only_,
                                s_["algorithm"].contains(kCommunicationRateField.name));
  if (!doubt) return;
  if (doubt->refuses) return error("algorithm", doubt->problem.message, doubt->problem.remedy);
  warn("algorithm", doubt->problem);
}

void Resolver::look_at_agreement(const Method& method) {
  if (workers_ < 2 || method.has_meetings()) return;
  plan_.agreement.exchanges_per_gradient = exchanges_per_gradient(method);
  if (topology_->kind() == "edges" && !topology_->has_unit_weights())
    warn("topology.edges",
         {fmt::format("weights of edges have no effect: they say how often pairs of workers meet, "
                      "and {} exchanges in rounds",
                      entry_->name),
          "leave out the weights"});
  if (worker_time_ > 0 && plan_.bytes == 0)
    warn("algorithm",
         {fmt::format("workers never exchange: the first message of {} comes after the {:.0f} "
                      "gradients of each worker that the budget has",
                      entry_->name, std::ceil(worker_time_ / workers_)),
          "raise the budget, or let workers exchange more often"});
  if (method.peers == Peers::neighbours && topology_->schedule()) {
    plan_.graph.schedule = facts_.schedule(workers_, settings_.topology);
    if (const std::string sum = adds_up(*entry_); !sum.empty())
      out_.warn(
          place("algorithm"),
          {fmt::format("{} adds up in '{}' what it hears, and the graph changes from exchange "
                       "to exchange: of a sum over one graph that makes something else",
                       entry_->name, sum),
           "use a graph that stays, and give the method needs = \"lambda_min > -1\" if it "
           "means one"});
  }
  if (entry_->agreement.empty() || method.peers == Peers::one) return;
  const MixingNumbers numbers =
      method.peers == Peers::neighbours
          ? facts_.mixing(workers_, settings_.topology, method.uniform_weights)
          : MixingNumbers{};
  plan_.agreement.left = left_by_exchange(*entry_, method, numbers);
}

// Checks that the codec does not spoil what the method averages.
void Resolver::look_at_codec(const Method& method) {
  if (!method.codec) return;
  const bool fed_back = s_["algorithm"]["codec"]["error_feedback"].get<bool>();
  if (fed_back && corrects_codec(*entry_))
    error("algorithm.codec",
          fmt::format("{} says later what a codec leaves out: with error_feedback too the errors "
                      "grow without end",
                      entry_->name),
          "leave error_feedback out");
  if (method.codec->is_common() && method.is_asynchronous())
    error("algorithm.codec",
          fmt::format("workers of {} say different numbers of messages, so that those of one "
                      "exchange do not have the same elements",
                      entry_->name),
          "leave common out");
  const bool leaves_out = method.codec->leaves_out();
  const bool is_coarse = leaves_out || method.codec->has_gaps();
  const char* const rounded = "use codec = { kind = \"bf16\" }, or none";
  if (const std::string heard = root_of_heard(*entry_); !heard.empty() && is_coarse)
    warn("algorithm",
         {fmt::format("{} takes the square root of '{}', which workers exchange: where it is "
                      "smaller than what this codec changes, it becomes 0 or negative, and the run "
                      "diverges",
                      entry_->name, heard),
          rounded});
  if (leaves_out && !corrects_codec(*entry_) &&
      std::ranges::any_of(entry_->listing->of_graph.needs, &is_of_graph))
    warn("algorithm",
         {fmt::format(
              "{} needs a graph that stays, and this codec leaves elements out of an exchange, "
              "so that they have no edges in it: workers may diverge",
              entry_->name),
          rounded});
  if (!says_models(*entry_)) return;
  const bool takes_mean = takes_mean_as_model(*entry_);
  if (leaves_out && !(method.codec->is_common() && !takes_mean && !fed_back))
    warn("algorithm",
         {fmt::format("{} sends models, of which this codec leaves out a part: workers stay apart, "
                      "and with error feedback or in pairs they may diverge",
                      entry_->name),
          "use a method that sends differences, which fade (acid methods lists them), or codec = "
          "{ kind = \"bf16\", error_feedback = true }"});
  else if (!is_coarse && takes_mean && !fed_back)
    warn("algorithm",
         {fmt::format("{} replaces x by the mean of messages, its own included, and this codec "
                      "rounds them: steps that are small beside x may be lost",
                      entry_->name),
          "add error_feedback = true to the codec, or use a method that sends differences"});
}

// Warns of an all-reduce that cannot overlap the gradient although other methods' exchanges do.
void Resolver::look_at_buckets(double vector_bytes) {
  const VirtualOptions& model = settings_.execution.simulation;
  if (model.cost.buckets > 0 || vector_bytes > model.cost.first_bucket_bytes) return;
  const double load = all_reduce_load(workers_, vector_bytes, model);
  if (load <= kNoticeable) return;
  warn("execution.virtual.network",
       {fmt::format("an all-reduce takes {:.3g} gradients, none of it beside the backward pass: a "
                    "gradient's {:.0f} bytes are one bucket, as in PyTorch, whose first one has "
                    "{:.0f}",
                    load, vector_bytes, model.cost.first_bucket_bytes),
        "say execution.virtual.cost.buckets = 1 if that is meant, or more of them"});
}

std::optional<Spectral> Resolver::realised(std::uint64_t seed) {
  const Seeds seeds = settings_.streams.seeds(seed);
  const double rate = method_of(*entry_, settings_.algorithm, nullptr).rate;
  const double expected = rate * worker_time_ / 2;
  if (expected > kMostDrawn) {
    error("algorithm.spectral",
          fmt::format("planning with the realised rates would draw {:.1e} edges", expected),
          "use spectral = \"nominal\", from which so many differ by very little");
    return std::nullopt;
  }
  EdgeSchedule schedule(*topology_, rate, seeds);
  const double end = worker_time_ / workers_;
  std::map<std::pair<int, int>, double> rates;
  while (schedule.peek().due <= end) {
    const DueEdge edge = schedule.pop();
    rates[{edge.i, edge.j}] += 1 / end;
  }
  std::vector<Edge> edges;
  for (const auto& [pair, used] : rates) edges.push_back({pair.first, pair.second, used});
  const Spectral spectral = spectral_of_rates(workers_, edges);
  if (std::isfinite(spectral.chi1)) return spectral;
  error("algorithm.spectral",
        fmt::format("the edges that seed {} draws within the budget do not connect the workers",
                    seed),
        "lengthen the budget, raise communication_rate or use spectral = \"nominal\"");
  return std::nullopt;
}

}  // namespace acid
