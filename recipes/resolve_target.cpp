// The checks of budget.target.
#include <fmt/format.h>

#include <algorithm>

#include "engine/recorder/metrics.hpp"
#include "recipes/resolver.hpp"

namespace acid {

using nlohmann::json;

// Checks that samples will have the target's metric, and that comparisons will see it.
void Resolver::look_at_target() {
  const json& target = s_["budget"]["target"];
  if (!target.is_object() || !target.contains("metric")) return;
  const std::string metric = text(target, "metric");
  const Metric* const known = find_metric(metric);
  if (known == nullptr) return;
  if (known->of_accuracy && !plan_.has_accuracy())
    error("budget.target", "the task has no accuracy, so this target can never be reached",
          "aim at eval_loss or consensus_distance");
  else if (known->of_accuracy && target["value"].is_number() && target["value"] > 1)
    error("budget.target",
          fmt::format("an accuracy is at most 1, so {} = {} can never be reached", metric,
                      target["value"].dump()),
          "write value = 0.9 for 90 %");
  else if (metric == "consensus_distance" && target["value"].is_number() && target["value"] < 0)
    error("budget.target", "a mean of squares is never below 0, so this target cannot be reached",
          "aim at a positive consensus_distance");
  else if (known->of == MetricOf::held_out && !s_["task"].contains("validation"))
    error("budget.target", fmt::format("{} needs examples for validation", metric),
          "add validation = 0.1 to [task]");
  else if (known->of == MetricOf::workers && draft_.sound({"evaluation"}) &&
           s_["evaluation"]["workers"] != "always")
    error("budget.target",
          fmt::format("{} is looked at only where the workers' own models are evaluated", metric),
          "add workers = \"always\" to [evaluation]");
  else if (const json& kept = s_["record"]["metrics"];
           draft_.sound({"record"}) && kept.is_array() &&
           std::find(kept.begin(), kept.end(), metric) == kept.end())
    error("budget.target", fmt::format("record.metrics leaves out {}", metric),
          fmt::format("add \"{}\" to record.metrics", metric));
}

}  // namespace acid
