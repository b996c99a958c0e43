#include "recipes/resolve.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "engine/algorithms/method.hpp"
#include "engine/base/rng.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "recipes/cadence.hpp"
#include "recipes/digest.hpp"
#include "recipes/execution_mpi.hpp"
#include "recipes/load.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr double kHighLoad = 0.3;
constexpr double kMostDrawn = 3e8;  // edges, for spectral = "realised": some seconds

// The rate at which a load that is proportional to it falls just below 1: rounded down to three
// digits, so that the number that is named works.
std::string feasible_rate(double rate, double load) {
  const double limit = rate / load;
  const double unit = std::pow(10, std::floor(std::log10(limit)) - 2);
  return fmt::format("{:.6g}", (std::ceil(limit / unit) - 1) * unit);
}

class Resolver {
 public:
  Resolver(const Node& tree, const Draft& draft, Facts& facts, Diagnostics& diagnostics)
      : tree_(tree), draft_(draft), s_(draft.settings), facts_(facts), out_(diagnostics) {}

  std::vector<PlannedRun> runs(const std::string& label, std::span<const std::uint64_t> seeds) {
    const int before = out_.reported();
    look_at_task();
    look_at_topology();
    look_at_workers();
    look_at_algorithm();
    look_at_gradients();
    look_at_cadence();
    look_at_record();
    if (!draft_.broken.empty() || out_.reported() > before) return {};
    plan_.label = label.empty() ? std::string(entry_->label) : label;
    plan_.algorithm = entry_->name;
    plan_.workers = workers_;
    plan_.settings = s_;
    look_at_exchanges();
    std::vector<PlannedRun> runs;
    for (const std::uint64_t seed : seeds) runs.push_back(run(seed));
    if (out_.reported() > before) return {};
    return runs;
  }

 private:
  Place place(std::string_view path) const { return place_of(tree_, path); }
  void error(std::string_view path, std::string message, std::string remedy) {
    out_.error(place(path), std::move(message), std::move(remedy));
  }
  // What a catalog entry has to say about its options becomes a diagnostic at their place.
  template <class Call>
  auto ask(std::string_view path, const char* remedy, Call call)
      -> std::optional<decltype(call())> {
    try {
      return call();
    } catch (const Error& problem) {
      error(path, problem.what(), remedy);
      return std::nullopt;
    }
  }

  void look_at_task();
  void look_at_topology();
  void look_at_workers();
  void look_at_algorithm();
  void look_at_gradients();
  void look_at_cadence();
  void look_at_target(bool has_accuracy);
  void look_at_record();
  void look_at_exchanges();
  PlannedRun run(std::uint64_t seed);
  std::optional<Spectral> realised(std::uint64_t seed);

  const Node& tree_;
  const Draft& draft_;
  json s_;  // the settings, on their way to being resolved
  Facts& facts_;
  Diagnostics& out_;

  int workers_ = 0;
  std::optional<std::int64_t> train_size_, parameters_;
  const Topology* topology_ = nullptr;
  const AlgorithmEntry* entry_ = nullptr;
  bool consensus_only_ = false;  // no gradients
  double worker_time_ = 0;       // normalised time of the budget, summed over the workers
  PlannedRun plan_;              // what the seeds share
};

void Resolver::look_at_task() {
  if (draft_.sound({"workers"})) workers_ = s_["workers"]["count"];
  if (!draft_.sound({"task"})) return;
  const json& task = s_["task"];
  const auto facts = ask("task.dataset", "correct the data set's files or options",
                         [&] { return facts_.dataset(task["dataset"]); });
  if (!facts) return;
  train_size_ = facts->train_size;
  parameters_ = facts->parameters;
  if (!task["model"].is_null())
    parameters_ = ask("task.model", "choose a model that fits the data set",
                      [&] { return facts_.parameters(task["model"], task["dataset"]); });
  const json& partition = task["partition"];
  if (partition.is_object() && partition["kind"] != "shared" && workers_ > *train_size_)
    error(
        "task.partition",
        fmt::format("{} workers cannot share {} examples without overlap", workers_, *train_size_),
        "use partition = \"shared\", fewer workers or more data");
}

void Resolver::look_at_topology() {
  if (!draft_.sound({"workers", "topology"})) return;
  const auto built = ask("topology", "change workers.count or the topology's options",
                         [&] { return &facts_.topology(workers_, s_["topology"]); });
  topology_ = built.value_or(nullptr);
}

// Workers that are named somewhere must exist.
void Resolver::look_at_workers() {
  if (!draft_.sound({"workers", "execution"})) return;
  const std::string known = fmt::format("workers are numbered 0 to {}", workers_ - 1);
  const auto check = [&](int worker, const std::string& path) {
    if (worker < workers_) return true;
    error(path, fmt::format("{} names worker {} of {}", path, worker, workers_), known);
    return false;
  };
  for (const char* driver : {"virtual", "threads", "mpi"}) {
    if (!s_["execution"].contains(driver)) continue;
    const std::string path = fmt::format("execution.{}.slow_workers", driver);
    for (const auto& [worker, factor] : s_["execution"][driver]["slow_workers"].items())
      check(std::stoi(worker), fmt::format("{}.{}", path, worker));
  }
  if (s_["execution"].contains("mpi"))
    check_room_on_hosts(out_, tree_, s_["execution"]["mpi"], workers_);
  const json& model = s_["execution"]["virtual"];
  for (std::size_t i = 0; i < model["pauses"].size(); ++i)
    if (model["pauses"][i]["worker"].get<std::int64_t>() >= workers_)
      error(fmt::format("execution.virtual.pauses.{}.worker", i),
            fmt::format("execution.virtual.pauses[{}] names worker {} of {}", i,
                        model["pauses"][i]["worker"].get<std::int64_t>(), workers_),
            known);
  const json& links = model["network"]["edges"];
  for (std::size_t k = 0; k < links.size(); ++k) {
    const std::string path = fmt::format("execution.virtual.network.edges.{}.edge", k);
    const auto i = links[k]["edge"][0].get<std::int64_t>();
    const auto j = links[k]["edge"][1].get<std::int64_t>();
    if (i >= workers_ || j >= workers_)
      error(path, fmt::format("the link [{}, {}] names a worker of {}", i, j, workers_), known);
    else if (topology_ != nullptr && !topology_->adjacent(static_cast<int>(i), static_cast<int>(j)))
      error(path, fmt::format("[{}, {}] is not an edge of the topology", i, j),
            fmt::format("name an edge of '{}'", text(s_["topology"], "kind")));
  }
}

void Resolver::look_at_algorithm() {
  if (!draft_.sound({"algorithm"})) return;
  entry_ = find_algorithm(text(s_["algorithm"], "kind"));
  if (draft_.sound({"optimizer"}) && entry_->pattern == Pattern::neighbours &&
      s_["optimizer"]["kind"] != "sgd")
    error("optimizer.kind",
          fmt::format("{} averages models every step and is defined for sgd, not for {}",
                      entry_->name, text(s_["optimizer"], "kind")),
          "use kind = \"sgd\", or give the other algorithms their own optimizer with set");
  if (topology_ == nullptr || workers_ < 2) return;
  if (s_["algorithm"].value("weights", "") == "uniform")
    for (int i = 1; i < workers_; ++i)
      if (topology_->neighbour_count(i) != topology_->neighbour_count(0)) {
        error("algorithm.weights",
              fmt::format("uniform weights need a regular graph: worker 0 has {} neighbours, "
                          "worker {} has {}",
                          topology_->neighbour_count(0), i, topology_->neighbour_count(i)),
              "use weights = \"metropolis\"");
        break;
      }
}

// gradient_clock = "none": exchanges alone.
void Resolver::look_at_gradients() {
  if (!draft_.sound({"execution"})) return;
  const std::string path = "execution.virtual.gradient_clock";
  if (s_["execution"]["virtual"]["gradient_clock"] != "none") return;
  if (s_["execution"]["driver"] != "virtual")
    error(path,
          fmt::format("gradient_clock = \"none\" is for the virtual driver, not for {}",
                      text(s_["execution"], "driver")),
          "use driver = \"virtual\", or remove gradient_clock");
  consensus_only_ = true;
  if (entry_ != nullptr && entry_->pattern != Pattern::pairwise)
    error(
        path,
        fmt::format("{} has a gradient in every round: without them nothing happens", entry_->name),
        "use gradient_clock = \"duration\", or an algorithm with pairwise exchanges");
  if (draft_.sound({"budget"}) && !s_["budget"].contains("normalised_time"))
    error("budget", "a run without gradients cannot be counted in epochs or gradients",
          "say how long it is: [budget] with normalised_time");
}

// Whether samples will have the target's metric.
void Resolver::look_at_target(bool has_accuracy) {
  const json& target = s_["budget"]["target"];
  if (!target.is_object() || !target.contains("metric")) return;
  const std::string metric = text(target, "metric");
  if (metric.find("accuracy") != std::string::npos && !has_accuracy)
    error("budget.target", "the task has no accuracy, so this target can never be reached",
          "aim at eval_loss or consensus_distance");
  else if (metric.starts_with("worker_") && draft_.sound({"evaluation"}) &&
           s_["evaluation"]["workers"] != "always")
    error("budget.target",
          fmt::format("{} is looked at only where the workers' own models are evaluated", metric),
          "add workers = \"always\" to [evaluation]");
}

void Resolver::look_at_cadence() {
  const auto report = [&](std::string_view path, Problem problem) {
    out_.error(place(path), std::move(problem));
  };
  if (!draft_.sound({"task", "workers", "budget"}) || !train_size_) return;
  const json& batch_size = s_["task"]["batch_size"];
  const Pace pace{.workers = workers_,
                  .train_size = *train_size_,
                  .batch_size = batch_size.is_null() ? 0 : batch_size.get<std::int64_t>()};
  look_at_target(pace.train_size > 0);
  if (!resolve_budget(s_["budget"], pace, report)) return;
  worker_time_ = s_["budget"]["gradients"].get<double>();
  if (consensus_only_) s_["budget"]["gradients"] = 0;
  plan_.budget_gradients = s_["budget"]["gradients"];
  if (pace.train_size > 0 && pace.batch_size > 0) plan_.gradients_per_epoch = pace.gradients(1);
  if (draft_.sound({"evaluation"}))
    resolve_evaluation(s_["evaluation"], pace, worker_time_ / workers_, report);
  if (draft_.sound({"checkpoint"})) resolve_checkpoint(s_["checkpoint"], pace, report);
}

// Whether the event log is kept. A run against the wall clock happens once: its log proves it.
void Resolver::look_at_record() {
  if (!draft_.sound({"execution", "record"})) return;
  json& events = s_["record"]["events"];
  const bool happens_once = s_["execution"]["driver"] != "virtual";
  if (happens_once && events == false)
    error("record.events",
          "record.events = false: runs on threads and under MPI are proven from their events",
          "remove the key, or use driver = \"virtual\", which is proven without them");
  if (events.is_null()) events = happens_once;
}

// Spectral numbers, bytes and load: needs every section sound.
void Resolver::look_at_exchanges() {
  const json& options = s_["algorithm"];
  const double rate = options.value("communication_rate", 0.0);
  const double bytes = 4.0 * static_cast<double>(*parameters_);
  plan_.parameters = *parameters_;
  if (workers_ > 1 && rate > 0) {
    const Spectral& nominal = facts_.spectral(workers_, s_["topology"], rate);
    plan_.chi1 = nominal.chi1;
    plan_.chi2 = nominal.chi2;
  }
  const Method bare = entry_->make(options, nullptr);
  plan_.bytes = bytes_per_gradient(bare, *topology_, bytes) * worker_time_;
  if (entry_->pattern != Pattern::pairwise || s_["execution"]["driver"] != "virtual") return;
  const Load load = gossip_load(*topology_, rate, bytes, s_["execution"]["virtual"]);
  plan_.largest_load = load.largest;
  plan_.largest_load_worker = load.worker;
  if (load.largest >= 1) {
    error("algorithm",
          fmt::format("worker {} cannot keep up: its exchanges take {:.3g} times the time it has "
                      "(load {:.3g} at communication_rate {})",
                      load.worker, load.largest, load.largest, rate),
          fmt::format("the largest feasible communication_rate is {} here; or use a topology "
                      "without hubs, or a faster network",
                      feasible_rate(rate, load.largest)));
  } else if (load.largest > kHighLoad) {
    plan_.warnings.push_back(
        fmt::format("worker {} spends {:.0f} % of its time in exchanges (load {:.3g}, high above "
                    "{}): gradients will wait",
                    load.worker, 100 * load.largest, load.largest, kHighLoad));
    out_.warn(place("algorithm"),
              {plan_.warnings.back(), "lower communication_rate or use a faster network"});
  }
}

std::optional<Spectral> Resolver::realised(std::uint64_t seed) {
  Seeds seeds(seed);
  seeds.gossip = s_["streams"].value("gossip", seed);
  const double rate = number(s_["algorithm"], "communication_rate");
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

PlannedRun Resolver::run(std::uint64_t seed) {
  PlannedRun planned = plan_;
  planned.seed = seed;
  json& options = planned.settings["algorithm"];
  const bool gossips = workers_ > 1 && plan_.chi1.has_value();
  std::optional<Spectral> spectral;
  if (gossips)
    spectral =
        options.value("spectral", "") == "realised"
            ? realised(seed)
            : facts_.spectral(workers_, s_["topology"], number(options, "communication_rate"));
  if (entry_->pattern == Pattern::pairwise) {
    const Method method = entry_->make(options, spectral ? &*spectral : nullptr);
    planned.alpha = options["alpha"] = method.mixing.alpha;
    planned.eta = options["eta"] = method.mixing.eta;
    planned.alpha_tilde = options["alpha_tilde"] = method.mixing.alpha_tilde;
  }
  const auto digests = ask("task.dataset", "make the data files readable", [&] {
    json canonical = without_paths(planned.settings, facts_);
    json group = canonical;
    // Realised numbers differ from seed to seed; the group has what the recipe said.
    if (options.value("spectral", "") == "realised") group["algorithm"] = s_["algorithm"];
    canonical["seed"] = seed;
    return std::pair(canonical_digest(canonical), canonical_digest(group));
  });
  planned.settings["seed"] = seed;
  if (!digests) return planned;
  std::tie(planned.digest, planned.group) = *digests;
  planned.id = planned.digest.substr(0, 12);
  return planned;
}

}  // namespace

std::vector<PlannedRun> resolve(const Node& tree, const Draft& draft, const std::string& label,
                                std::span<const std::uint64_t> seeds, Facts& facts,
                                Diagnostics& diagnostics) {
  return Resolver(tree, draft, facts, diagnostics).runs(label, seeds);
}

}  // namespace acid
