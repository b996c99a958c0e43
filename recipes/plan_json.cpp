#include <set>

#include "engine/methods/method.hpp"
#include "recipes/plan.hpp"

namespace acid {
namespace {

nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json agreement_json(const PlannedRun& run) {
  if (!run.agreement.left) return nullptr;
  return {{"left", *run.agreement.left},
          {"exchanges_per_gradient", run.agreement.exchanges_per_gradient}};
}

nlohmann::json exchange_json(const PlannedRun& run) {
  if (run.graph.exchange.empty()) return nullptr;
  return {{"by", run.graph.exchange}, {"largest_group", run.graph.largest_group}};
}

nlohmann::json samples_json(const PlannedRun& run) {
  if (!run.samples) return nullptr;
  return {{"evaluations", run.samples->evaluations},
          {"consensus", run.samples->consensus},
          {"share_of_gradients", or_null(run.samples->share)},
          {"may_end_early", run.samples->may_end_early}};
}

nlohmann::json examples_json(const PlannedRun& run) {
  if (!run.examples) return nullptr;
  return {{"train", run.examples->train},
          {"validation", run.examples->validation},
          {"test", run.examples->test}};
}

nlohmann::json search_json(const Plan& plan) {
  if (!plan.search) return nullptr;
  const PlannedSearch& search = *plan.search;
  nlohmann::json rungs = nlohmann::json::array();
  for (std::size_t k = 0; k < search.rungs.size(); ++k)
    rungs.push_back({{"share", search.rungs[k].share},
                     {"values", search.rungs[k].values},
                     {"runs", search.rung_runs(k)},
                     {"gradients", search.rungs[k].gradients}});
  return {{"keys", search.keys},
          {"metric", search.metric},
          {"seeds", search.seeds},
          {"draw_seed", search.draw_seed ? nlohmann::json(*search.draw_seed) : nlohmann::json()},
          {"values", search.values},
          {"runs", plan.search_count()},
          {"final_runs", search.final_count()},
          {"rungs", rungs},
          {"gradients", search.gradients()},
          {"grid_gradients", search.grid_gradients},
          {"cells", search.cells}};
}

}  // namespace

nlohmann::json to_json(const PlannedRun& run) {
  nlohmann::json document;
  for (const Shown& shown : shown_by_any()) document[std::string(shown.key)] = nullptr;
  for (const auto& [key, value] : run.numbers) document[key] = value;
  document.update({{"id", run.id},
                   {"algorithm", run.algorithm},
                   {"label", run.label},
                   {"seed", run.seed},
                   {"digest", run.digest},
                   {"group", run.group},
                   {"settings", run.settings},
                   {"files", run.read.files},
                   {"graphs", run.graph.swept.size()},
                   {"workers", run.workers},
                   {"parameters", run.parameters},
                   {"examples", examples_json(run)},
                   {"splits", run.read.splits},
                   {"samples", samples_json(run)},
                   {"budget_gradients", run.budget_gradients},
                   {"gradients_per_epoch", or_null(run.gradients_per_epoch)},
                   {"chi1", or_null(run.chi1)},
                   {"chi2", or_null(run.chi2)},
                   {"schedule", run.graph.schedule ? document_of(*run.graph.schedule) : nullptr},
                   {"agreement", agreement_json(run)},
                   {"exchange", exchange_json(run)},
                   {"bytes", run.bytes},
                   {"load", run.load.largest},
                   {"load_worker", run.load.worker},
                   {"warnings", run.warnings}});
  return document;
}

nlohmann::json to_json(const Plan& plan) {
  nlohmann::json runs = nlohmann::json::array();
  for (const PlannedRun& run : plan.runs) runs.push_back(to_json(run));
  return {{"schema_version", 1},
          {"name", plan.name},
          {"recipe_digest", plan.recipe_digest},
          {"runs", runs},
          {"search", search_json(plan)},
          {"comparison", plan.comparison},
          {"left_out", to_json(plan.left_out)}};
}

nlohmann::json to_json(const std::vector<LeftOut>& cells) {
  nlohmann::json list = nlohmann::json::array();
  for (const LeftOut& cell : cells)
    list.push_back({{"algorithm", cell.algorithm},
                    {"label", cell.label},
                    {"settings", cell.settings},
                    {"reason", cell.reason}});
  return list;
}

std::size_t PlannedSearch::final_count() const {
  // Cells on different graphs that try the same runs also share the final runs.
  const std::set<std::vector<std::string>> different(cells.begin(), cells.end());
  std::set<std::uint64_t> final_seeds;
  for (const PlannedRun& run : finals) final_seeds.insert(run.seed);
  return different.size() * final_seeds.size();
}

std::size_t PlannedSearch::rung_runs(std::size_t rung) const {
  const std::set<std::vector<std::string>> different(cells.begin(), cells.end());
  return different.size() * rungs[rung].values * seeds.size();
}

std::int64_t PlannedSearch::gradients() const {
  std::int64_t sum = 0;
  for (const Rung& rung : rungs) sum += rung.gradients;
  return sum;
}

std::size_t Plan::search_count() const {
  if (!search) return 0;
  std::size_t count = runs.size();
  for (std::size_t k = 1; k < search->rungs.size(); ++k) count += search->rung_runs(k);
  return count;
}

}  // namespace acid
