#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/listed.hpp"
#include "engine/methods/method.hpp"
#include "recipes/cadence.hpp"
#include "recipes/facts.hpp"
#include "recipes/gossip_load.hpp"
#include "recipes/heavy_tails.hpp"
#include "recipes/saturation.hpp"
#include "recipes/sections.hpp"
#include "recipes/unused.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// Turns one draft into runs: checks the sections together, one subject after the other, and
/// reports all mistakes. Used by compile.cpp only.
class Resolver {
 public:
  /// `tree`: for the places of problems.
  Resolver(const Node& tree, const Draft& draft, Facts& facts, UnusedKeys& unused,
           Diagnostics& diagnostics)
      : tree_(tree),
        draft_(draft),
        s_(draft.settings),
        facts_(facts),
        unused_(unused),
        out_(diagnostics) {}

  /// One run per seed, with ids and digests, which are also shown to `unused`; none where there are
  /// mistakes. Broken sections are skipped.
  std::vector<PlannedRun> runs(const std::string& label, std::span<const std::uint64_t> seeds) {
    const int before = out_.reported();
    look_at_task();
    look_at_topology();
    look_at_workers();
    look_at_algorithm();
    look_at_gradients();
    look_at_optimizer();
    look_at_cadence();
    look_at_record();
    if (!draft_.broken.empty() || out_.reported() > before) return {};
    plan_.label = label.empty() ? std::string(entry_->label) : label;
    plan_.algorithm = entry_->name;
    plan_.workers = workers_;
    plan_.settings = s_;
    settings_ = settings_from(s_);
    if (auto& options = s_["algorithm"]; options.value(kSaturates, false)) {
      const Expected expected = expected_saturation(settings_, *topology_, model_->parameters);
      const std::string rate(kCommunicationRateField.name);
      if (expected.problem) {
        error("algorithm." + rate, expected.problem->message, expected.problem->remedy);
        return {};
      }
      saturated_ = expected.spectral;
      options[rate] = expected.rate;
      plan_.settings = s_;
      settings_ = settings_from(s_);
    }
    Method method = method_of(*entry_, settings_.algorithm, nullptr);
    ask("algorithm", "correct the method's parameters, or make no worker that slow", [&] {
      method.set_pace(settings_.execution.slow_factors);
      return true;
    });
    if (method.has_meetings() && method.rate == 0 && workers_ > 1 && label.empty())
      out_.warn(place("algorithm"), {"workers never exchange: the communication rate is 0",
                                     "set communication_rate, or a label that says that they train "
                                     "alone"});
    plan_.samples = planned_samples(s_["evaluation"], settings_, method, evaluation_cost_,
                                    worker_time_ / workers_);
    look_at_exchanges(method);
    plan_.graph.swept = {s_["topology"].dump()};
    // Without a graph it is the same run on all of them.
    if (!reads_graph(*entry_, method)) plan_.settings["topology"] = nullptr;
    plan_.graph.kind = graph_name(plan_.settings["topology"]);
    if (const auto doubt = tail_doubt(settings_.execution, worker_time_))
      warn("execution.virtual.compute", *doubt);
    if (const auto doubt = seconds_doubt(settings_, !method.is_asynchronous()))
      warn("budget.seconds", *doubt);
    unused_.look_at(tree_, {.settings = settings_,
                            .entry = *entry_,
                            .method = method,
                            .topology = *topology_,
                            .has_buffers = model_->buffers > 0});
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
  // Warns in the plan of the run as well.
  void warn(std::string_view path, const Problem& doubt) {
    plan_.warnings.push_back(doubt.message);
    out_.warn(place(path), doubt);
  }
  // Reports what a catalog entry throws about its options at their place.
  template <class Call>
  auto ask(std::string_view path, const char* remedy, Call call)
      -> std::optional<decltype(call())> {
    try {
      return call();
    } catch (const Error& problem) {
      if (problem.code() == Exit::lost)
        throw Error(
            fmt::format("{}; this is no mistake in the recipe: try again, with more memory if the "
                        "system ended the process for lack of it",
                        problem.what()));
      error(path, problem.what(), remedy);
      return std::nullopt;
    }
  }

  void look_at_task();
  void look_at_validation();
  void look_at_augmentation(const Facts::Task& facts);
  void look_at_partition(const Facts::Task& facts);
  bool look_at_process(const nlohmann::json& task);
  void look_at_topology();
  void look_at_workers();
  void look_at_algorithm();
  void look_at_steps();
  void look_at_gradients();
  void look_at_optimizer();
  void look_at_schedule(const Pace& pace, const Report& report);
  void look_at_tensors(std::string_view path);
  void look_at_cadence();
  void look_at_target();
  void look_at_record();
  void look_at_exchanges(const Method& method);
  void choose_exchange(const Method& method);
  void look_at_buckets(double vector_bytes);
  void look_at_codec(const Method& method);
  void look_at_agreement(const Method& method);
  PlannedRun run(std::uint64_t seed);
  std::optional<Spectral> realised(std::uint64_t seed);

  const Node& tree_;
  const Draft& draft_;
  nlohmann::json s_;      // the settings while they are being resolved
  RunSettings settings_;  // the resolved ones, without what differs by seed
  Facts& facts_;
  UnusedKeys& unused_;
  Diagnostics& out_;

  int workers_ = 0;
  std::optional<std::int64_t> train_size_;
  std::int64_t labels_ = 1;  // of an example
  std::optional<Facts::Model> model_;
  const Topology* topology_ = nullptr;
  const AlgorithmEntry* entry_ = nullptr;
  bool consensus_only_ = false;  // no gradients
  double worker_time_ = 0;       // normalised time of the budget, summed over the workers
  EvaluationCost evaluation_cost_;
  PlannedRun plan_;                           // the part that all seeds share
  std::optional<Spectral> saturated_;         // of exchanges that saturate the network
  std::optional<Method> method_;              // of the last seed, if any
  nlohmann::json canonical_;                  // of the last seed, if any
  std::map<std::string, std::string> files_;  // in canonical_: path and SHA-256
  std::string group_;
};

}  // namespace acid
