#include "recipes/refused_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace acid {
namespace {

constexpr const char* kSkip = "skip_inapplicable";

std::string reason_of(const Diagnostics::Findings& findings) {
  std::vector<std::string> reasons;
  for (const Diagnostics::Finding& finding : findings.errors)
    if (std::ranges::find(reasons, finding.problem.message) == reasons.end())
      reasons.push_back(finding.problem.message);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace

nlohmann::json settings_of(const SweepPoint& point) {
  nlohmann::json settings = nlohmann::json::object();
  for (const Assignment& assignment : point) settings[assignment.key] = json_of(assignment.value);
  return settings;
}

bool take_skip_inapplicable(Node& sweep, Diagnostics& diagnostics) {
  const Node* const given = sweep.find(kSkip);
  if (given == nullptr) return false;
  const bool is_boolean = given->type == Node::Type::boolean;
  if (!is_boolean)
    diagnostics.error(
        given->place,
        fmt::format("sweep.{} must be true or false, not {}", kSkip, describe(*given)),
        fmt::format("write {} = true to leave out cells that cannot run", kSkip));
  const bool skip = is_boolean && given->scalar.get<bool>();
  sweep.erase(kSkip);
  return skip;
}

void RefusedCells::add(const SweepPoint& point, const Place& algorithm_place, std::string algorithm,
                       std::string label, Diagnostics::Findings findings) {
  std::string reason = reason_of(findings);
  reasons_.insert(reason);
  cells_.push_back({algorithm_place,
                    {std::move(algorithm), std::move(label), settings_of(point), std::move(reason)},
                    std::move(findings)});
}

void RefusedCells::leave_out(Plan& plan, Diagnostics& diagnostics) const {
  for (const Cell& cell : cells_) {
    plan.left_out.push_back(cell.left_out);
    const std::string& label = cell.left_out.label;
    if (std::ranges::find(plan.runs, label, &PlannedRun::label) == plan.runs.end())
      diagnostics.warn(cell.place, {fmt::format("{} has no run: every setting refuses it", label),
                                    "remove it, or sweep over settings that it is for"});
  }
}

void RefusedCells::settle(const Node* sweep, bool skip, Plan& plan,
                          Diagnostics& diagnostics) const {
  const bool others_run = !plan.runs.empty();
  if (skip && (others_run || diagnostics.has_errors())) return leave_out(plan, diagnostics);
  const bool could_skip = sweep != nullptr && others_run;
  for (const Cell& cell : cells_) {
    for (Diagnostics::Finding finding : cell.findings.errors) {
      std::string& remedy = finding.problem.remedy;
      if (could_skip)
        remedy += fmt::format("{}set sweep.{} = true to leave out such cells",
                              remedy.empty() ? "" : "; or ", kSkip);
      diagnostics.error(finding.place, std::move(finding.problem));
    }
    for (const Diagnostics::Finding& finding : cell.findings.warnings)
      diagnostics.warn(finding.place, finding.problem);
  }
  if (skip && sweep != nullptr && !cells_.empty())
    diagnostics.error(sweep->key_place,
                      fmt::format("sweep.{} leaves nothing: no cell can run", kSkip),
                      "correct what is refused, or sweep over other values");
}

}  // namespace acid
