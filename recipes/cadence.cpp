#include "recipes/cadence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/data/dataset.hpp"

namespace acid {
namespace {

using nlohmann::json;

// By default, after the start:
constexpr std::int64_t kLeastEvaluations = 4, kMostEvaluations = 20;
constexpr double kEvaluationShare = 0.05;        // of the gradients' cost
constexpr std::int64_t kConsensusSamples = 200;  // as many as a curve can show
constexpr double kLargestBudget = 1e15;
constexpr double kMostSamples = 1e9;  // of one cadence: more than a disk has room for

std::optional<double> take(json& section, const char* key) {
  const auto found = section.find(key);
  if (found == section.end()) return std::nullopt;
  const double value = found->get<double>();
  section.erase(found);
  return value;
}

bool epochs_mean_something(const Pace& pace, std::string_view path, const Report& report) {
  if (pace.train_size > 0) return true;
  report(path, {fmt::format("{} has no meaning: the task has no finite data set", path),
                "count in gradients or normalised time instead"});
  return false;
}

// A quotient that should be whole must not be rounded up because of its last bit.
double rounded_up(double value) { return std::ceil(value * (1 - 1e-12)); }

// Converts epochs and gradients to shares of a budget; `counts` is one of them or a list.
json shares_of(const json& counts, double per_unit, double end, bool whole) {
  const auto share = [&](double count) {
    const double gradients = count * per_unit;
    return (whole ? rounded_up(gradients) : gradients) / end;
  };
  if (!counts.is_array()) return share(counts.get<double>());
  json shares = json::array();
  for (const json& count : counts) shares.push_back(share(count.get<double>()));
  return shares;
}

void check_fineness(double every, double end, const std::string& path, const char* unit,
                    const Report& report, const char* what = "samples") {
  if (end / every <= kMostSamples) return;
  report(path,
         {fmt::format("{} = {:.3g} asks for {:.2g} {} of a run of {:.3g} {}", path, every,
                      end / every, what, end, unit),
          fmt::format("ask for at most {:.0e}: {:.3g} or more", kMostSamples, end / kMostSamples)});
}

// The cadence in normalised time; reports one that is far too fine.
std::optional<double> every_time(json& section, const std::string& name, const Pace& pace,
                                 double end, const Report& report, const char* what = "samples") {
  const auto checked = [&](const char* key, double time) {
    check_fineness(time, end, fmt::format("{}.{}", name, key), "units of normalised time", report,
                   what);
    return time;
  };
  if (const auto time = take(section, "every_time")) return checked("every_time", *time);
  if (const auto gradients = take(section, "every_gradients"))
    return checked("every_gradients", *gradients / pace.workers);
  if (const auto epochs = take(section, "every_epochs"))
    if (epochs_mean_something(pace, name + ".every_epochs", report))
      return checked("every_epochs", pace.gradients(*epochs) / pace.workers);
  return std::nullopt;
}

// The default number of evaluations after the start.
std::int64_t evaluations_of(const EvaluationCost& cost, std::string_view workers,
                            double gradients) {
  std::int64_t more = kMostEvaluations;
  while (more > kLeastEvaluations && cost.of_run(more, workers) > kEvaluationShare * gradients)
    --more;
  return more;
}

// Whether a run ends where its gradients stand for. Simulated workers that go on at paces of their
// own are amid gradients then, and end these a little later.
bool ends_on_time(const RunSettings& settings, const Method& method) {
  if (!method.is_asynchronous() || !settings.execution.entry().simulates ||
      settings.budget.normalised_time < kNever)
    return true;
  const VirtualOptions& model = settings.execution.simulation;
  const bool in_step = model.gradient_clock == GradientClock::duration && model.compute.is_even() &&
                       model.cost.exchange_seconds == 0 &&
                       (method.has_meetings() || model.network.is_instant());
  return in_step && settings.budget.gradients % settings.workers == 0;
}

}  // namespace

bool resolve_budget(json& budget, const Pace& pace, const Report& report) {
  double gradients = 0;
  std::string key = "gradients";
  json time;
  if (const auto epochs = take(budget, "epochs")) {
    key = "epochs";
    if (!epochs_mean_something(pace, "budget.epochs", report)) return false;
    gradients = rounded_up(pace.gradients(*epochs));
  } else if (const auto normalised = take(budget, "normalised_time")) {
    key = "normalised_time";
    time = *normalised;
    gradients = rounded_up(*normalised * pace.workers);
  } else {
    gradients = budget.at("gradients").get<double>();
  }
  if (gradients > kLargestBudget) {
    report("budget." + key, {fmt::format("the budget is {:.3g} gradients", gradients),
                             fmt::format("ask for at most {:.0e}", kLargestBudget)});
    return false;
  }
  budget["gradients"] = static_cast<std::int64_t>(gradients);
  budget["normalised_time"] = time;
  return true;
}

void resolve_schedule(json& schedule, const Pace& pace, const json& budget, const Report& report) {
  const json& time = budget.at("normalised_time");
  const double end =
      time.is_null() ? budget.at("gradients").get<double>() : time.get<double>() * pace.workers;
  for (const char* key : {"warmup", "milestones"}) {
    const auto found = schedule.find(key);
    if (found == schedule.end() || !found->is_object()) continue;
    const std::string unit = found->begin().key();
    const std::string path = fmt::format("optimizer.schedule.{}", key);
    const bool epochs = unit == "epochs", is_list = found->front().is_array();
    if (epochs && !epochs_mean_something(pace, path + ".epochs", report)) continue;
    const double per_unit = epochs ? pace.gradients(1) : 1;
    const json counts = found->front();
    *found = shares_of(counts, per_unit, end, is_list);
    const json last = is_list ? counts.empty() ? json(0) : counts.back() : counts;
    const json& share = is_list && !counts.empty() ? found->back() : *found;
    if (share.is_number() && share.get<double>() >= 1)
      report(path + "." + unit,
             {fmt::format("{}: {:.12g} {} are not within the budget, which ends after {:.9g}", path,
                          last.get<double>(), unit, end / per_unit),
              is_list ? "remove what lies beyond the end of the run, or make the run longer"
                      : "let the learning rate rise in less than the whole run"});
  }
}

// An evaluation of the mean reads the examples that Sampler measures.
EvaluationCost evaluation_cost(const PlannedRun::Examples& examples, std::int64_t labels,
                               const Pace& pace, int models) {
  if (pace.batch_size == 0) return {};
  const auto& [train, validation, test, has_accuracy] = examples;
  const double gradients = 1.0 / (3.0 * static_cast<double>(pace.batch_size));
  const std::int64_t read = test + validation + training_sample_size(train, test, labels);
  return {.mean = gradients * static_cast<double>(read * models),
          .workers = gradients * static_cast<double>(test * pace.workers)};
}

void resolve_evaluation(json& evaluation, const Pace& pace, const EvaluationCost& cost, double end,
                        double seconds, const Report& report) {
  if (const auto every = take(evaluation, "every_seconds")) {
    check_fineness(*every, seconds, "evaluation.every_seconds", "seconds", report);
    evaluation["every_seconds"] = *every;
    evaluation["every_time"] = evaluation["consensus_every_time"] = nullptr;
    return;
  }
  const bool by_time = evaluation.contains("every_time");
  const auto given = every_time(evaluation, "evaluation", pace, end, report);
  const double every =
      given.value_or(end / static_cast<double>(evaluations_of(cost, text(evaluation, "workers"),
                                                              end * pace.workers)));
  evaluation["every_time"] = every;
  json& consensus = evaluation["consensus_every_time"];
  if (evaluation.contains("consensus_samples")) return;
  if (!consensus.is_null())
    return check_fineness(consensus.get<double>(), end, "evaluation.consensus_every_time",
                          "units of normalised time", report);
  if (by_time)
    consensus = every;
  else if (end <= static_cast<double>(kConsensusSamples))
    consensus = 1.0;
  else
    evaluation["consensus_samples"] = kConsensusSamples;
}

void shorten(json& budget, json& evaluation, double share, const Pace& pace) {
  const auto scale = [share](json& section, const char* key) {
    const auto found = section.find(key);
    if (found != section.end() && found->is_number()) *found = found->get<double>() * share;
  };
  for (const char* key : {"normalised_time", "seconds"}) scale(budget, key);
  // Rounded down, so that rungs take no more than their shares; not below because of a last bit.
  const auto whole = [share](const json& count) {
    return static_cast<std::int64_t>(count.get<double>() * share * (1 + 1e-12));
  };
  const json& time = budget.at("normalised_time");
  json& gradients = budget["gradients"];
  gradients = time.is_number()
                  ? static_cast<std::int64_t>(rounded_up(time.get<double>() * pace.workers))
                  : whole(gradients);
  if (json& bytes = budget["bytes"]; bytes.is_number()) bytes = whole(bytes);
  for (const char* key : {"every_time", "every_seconds", "consensus_every_time"})
    scale(evaluation, key);
}

std::optional<PlannedRun::Samples> planned_samples(const json& evaluation,
                                                   const RunSettings& settings,
                                                   const Method& method, const EvaluationCost& cost,
                                                   double end) {
  if (!evaluation.at("every_time").is_number()) return std::nullopt;
  // Rounds are looked at between two legs only, each a unit of time.
  const double most = method.is_asynchronous() ? kMostSamples : std::ceil(end - 1e-9);
  const auto within = [end, most](const json& every) {
    return static_cast<std::int64_t>(std::min(most, end / every.get<double>() + 1e-9));
  };
  PlannedRun::Samples samples;
  samples.is_exact = ends_on_time(settings, method);
  const Budget& budget = settings.budget;
  samples.may_end_early = budget.seconds < kNever || budget.bytes < kNever || budget.target;
  // The last one is at the end, whether it is due there or not; a later end is beside one that is.
  const json& evaluations = evaluation.at("every_time");
  const double apart = evaluations.get<double>();
  if (!method.is_asynchronous())  // one that is due within the last round is that of the end
    samples.evaluations = static_cast<std::int64_t>(std::min(most, (most - 1) / apart + 1 + 1e-9));
  else if (samples.is_exact)
    samples.evaluations = static_cast<std::int64_t>(std::ceil(std::min(most, end / apart) - 1e-9));
  else
    samples.evaluations = within(evaluations) + 1;
  const json& every = evaluation.at("consensus_every_time");
  samples.consensus = every.is_null()
                          ? std::min(static_cast<std::int64_t>(most),
                                     evaluation.at("consensus_samples").get<std::int64_t>())
                          : within(every);
  if (cost.mean > 0)
    samples.share =
        cost.of_run(samples.evaluations, text(evaluation, "workers")) / (end * settings.workers);
  return samples;
}

void resolve_checkpoint(json& checkpoint, const Pace& pace, double end, const Report& report) {
  const auto seconds = take(checkpoint, "every_seconds");
  const auto time = every_time(checkpoint, "checkpoint", pace, end, report, "checkpoints");
  checkpoint["every_seconds"] = seconds ? json(*seconds) : json();
  checkpoint["every_time"] = time ? json(*time) : json();
}

}  // namespace acid
