#include "engine/run/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/recorder/metrics.hpp"
#include "engine/worker/direction.hpp"

namespace acid {

/// The values of one sample while it is put together.
struct Sampler::Values {
  std::vector<Value> list;
  void add(MetricName metric, double value, int worker = kWholeRun) {
    list.push_back({metric.name, worker, value});
  }
};

namespace {

Position later(const Position& a, const Position& b) {
  return {.gradients = std::max(a.gradients, b.gradients),
          .normalised_time = std::max(a.normalised_time, b.normalised_time),
          .seconds = std::max(a.seconds, b.seconds),
          .bytes = std::max(a.bytes, b.bytes)};
}

}  // namespace

GradientRecords::const_iterator first_diverged(const GradientRecords& notes) {
  return std::ranges::find_if(notes,
                              [](const GradientRecord& note) { return !can_be_loss(note.loss); });
}

void sort_by_commit(GradientRecords& notes) {
  std::stable_sort(notes.begin(), notes.end(),
                   [](const GradientRecord& a, const GradientRecord& b) {
                     return std::pair(a.position.gradients, a.worker) <
                            std::pair(b.position.gradients, b.worker);
                   });
}

Sampler::Sampler(const RunSpec& spec, Objective& objective, Recorder& recorder,
                 ParallelFor parallel_for)
    : spec_(spec),
      objective_(objective),
      recorder_(recorder),
      parallel_for_(std::move(parallel_for)),
      sample_times_(spec.cadence) {
  for (const std::string& name : objective.evaluated_names())
    named_.emplace_back("eval_" + name, "validation_" + name);
}

// The first cause stands.
void Sampler::diverge(std::string what) {
  if (diverged_) return;
  if (last_finite_loss_)
    what += fmt::format("; the last finite loss was {:.6g}", *last_finite_loss_);
  diverged_ = std::move(what);
}

void Sampler::gather(const GradientRecords& notes) {
  for (const GradientRecord& note : notes) {
    ++gathered_.count;
    gathered_.loss += note.loss;
    gathered_.staleness += static_cast<double>(note.staleness);
    count_staleness(note.staleness);
    if (note.norm >= 0) {
      gathered_.norm += note.norm;
      ++gathered_.norms;
    }
    if (can_be_loss(note.loss)) {
      last_finite_loss_ = note.loss;
    } else {
      diverge(fmt::format("the loss of worker {} is {} at its gradient {}", note.worker, note.loss,
                          note.step));
    }
  }
}

void Sampler::add_notes(Values& values, const GradientRecords& notes) {
  gather(notes);
  const NoteSums sums = std::exchange(gathered_, {});
  const auto count = static_cast<double>(sums.count);
  values.add("train_loss", sums.loss / count);
  values.add("staleness", sums.staleness / count);
  if (sums.norms > 0) values.add("gradient_norm", sums.norm / static_cast<double>(sums.norms));
}

void Sampler::count_staleness(std::int64_t staleness) {
  const auto place = static_cast<std::size_t>(std::clamp<std::int64_t>(staleness, 0, kStalest));
  if (place >= staleness_.size()) staleness_.resize(place + 1, 0);
  ++staleness_[place];
}

// A server's model is no mean.
void Sampler::look_for_blow_up(const MeanModel& mean) {
  if (spec_.method.has_server() || spec_.workers == 1) return;
  const double known = kKnownOfMean * std::sqrt(mean.consensus_distance);
  const double length = mean.length;
  if (!(known > length)) return;
  std::vector<float> x(objective_.dimension()), buffers(objective_.buffer_size());
  objective_.start(0, x, buffers);
  if (!(known > euclidean_norm(x))) return;
  diverge(
      fmt::format("the consensus distance is {:.3g}: workers are so far apart that their mean, of "
                  "length {:.3g}, is only rounding error",
                  mean.consensus_distance, length));
}

void Sampler::begin(Values& values, const MeanModel& mean, const Totals& totals,
                    const GradientRecords& notes) {
  values.add("consensus_distance", mean.consensus_distance);
  if (!notes.empty() || gathered_.count > 0) {
    add_notes(values, notes);
    values.add("learning_rate", totals.learning_rate);
  }
  if (mean.not_finite >= 0)
    diverge(fmt::format("the parameters of worker {} are not finite after its gradient {}",
                        mean.not_finite, mean.not_finite_gradients));
  look_for_blow_up(mean);
  values.add("exchanges", static_cast<double>(totals.exchanges));
  values.add("bytes_sent", static_cast<double>(totals.position.bytes));
  if (totals.position.seconds > 0)
    values.add("idle_share", totals.idle_seconds / (totals.position.seconds * spec_.workers));
}

std::string Sampler::take_diverged(GradientRecords notes, Position* position) {
  const auto bad = first_diverged(notes);
  ACID_ASSERT(bad != notes.end(), "all of {} losses are finite", notes.size());
  *position = last_ ? later(bad->position, last_->position) : bad->position;
  notes.erase(bad + 1, notes.end());
  Values values;
  add_notes(values, notes);
  recorder_.sample(*position, values.list);
  return *diverged_;
}

void Sampler::look_for_target(const Values& values) {
  const auto& target = spec_.budget.target;
  if (!target) return;
  const Metric* const metric = find_metric(target->metric);
  const bool upwards = metric != nullptr && metric->better > 0;
  for (const Value& value : values.list)
    if (value.metric == target->metric && value.worker == kWholeRun &&
        (upwards ? value.value >= target->value : value.value <= target->value))
      target_reached_ = fmt::format("target reached: {} {} {}", target->metric, upwards ? "≥" : "≤",
                                    target->value);
}

void Sampler::evaluate_mean(Values& values, const MeanModel& mean) {
  const auto evaluate_on = [&](EvaluationSet set, MetricName loss, std::string_view name) {
    Evaluation found = evaluate(objective_, set, mean, parallel_for_);
    values.add(loss, found.loss);
    if (!can_be_loss(found.loss)) diverge(fmt::format("the mean's {} is {}", name, found.loss));
    return found;
  };
  const Evaluation test = evaluate_on(EvaluationSet::test, "eval_loss", "loss on the test set");
  if (objective_.has_accuracy()) values.add("eval_accuracy", test.accuracy);
  for (std::size_t k = 0; k < named_.size(); ++k)
    values.list.push_back({named_[k].first, kWholeRun, test.named[k]});
  evaluate_on(EvaluationSet::training, "train_loss_at_mean", "training loss");
  if (!objective_.has_validation()) return;
  const Evaluation held_out =
      evaluate_on(EvaluationSet::validation, "validation_loss", "validation loss");
  if (objective_.has_accuracy()) values.add("validation_accuracy", held_out.accuracy);
  for (std::size_t k = 0; k < named_.size(); ++k)
    values.list.push_back({named_[k].second, kWholeRun, held_out.named[k]});
}

void Sampler::evaluate_workers(Values& values, const std::vector<Model>& models) {
  double loss = 0, accuracy = 0, lowest = 1, highest = 0;
  double worst = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto [worker, x, buffers] = models[i];
    const Evaluation own = evaluate(objective_, EvaluationSet::test, x, buffers, parallel_for_);
    values.add("worker_loss", own.loss, worker);
    if (!can_be_loss(own.loss))
      diverge(fmt::format("the loss of worker {}'s own model on the test set is {:.3g}", worker,
                          own.loss));
    loss += own.loss;
    if (!std::isnan(worst) && !(own.loss <= worst)) worst = own.loss;  // NaN is the worst of all
    if (!objective_.has_accuracy()) continue;
    values.add("worker_accuracy", own.accuracy, worker);
    accuracy += own.accuracy;
    lowest = std::min(lowest, own.accuracy);
    highest = std::max(highest, own.accuracy);
  }
  const auto count = static_cast<double>(models.size());
  values.add("worker_loss", loss / count);
  values.add("worker_loss_worst", worst);
  if (!objective_.has_accuracy()) return;
  values.add("worker_accuracy", accuracy / count);
  values.add("worker_accuracy_worst", lowest);
  values.add("worker_accuracy_spread", highest - lowest);
}

void Sampler::take(const MeanModel& mean, const Totals& totals, const GradientRecords& notes) {
  Values values;
  begin(values, mean, totals, notes);
  const double time = totals.position.normalised_time;
  if (sample_times_.evaluates(time)) evaluate_mean(values, mean);
  if (sample_times_.evaluates_workers(time)) {
    std::vector<Model> models;
    for (std::size_t k = 0; k < mean.workers.size(); ++k)
      models.push_back({mean.members.empty() ? static_cast<int>(k) : mean.members[k],
                        mean.workers[k].x, mean.workers[k].buffers});
    evaluate_workers(values, models);
  }
  look_for_target(values);
  recorder_.sample(totals.position, values.list);
  pass(totals.position, totals.exchanges);
}

void Sampler::pass(const Position& here, std::int64_t exchanges) {
  last_ = {here, exchanges, sample_times_.evaluates(here.normalised_time)};
  skipped_ += sample_times_.pass(here, spec_.workers);
}

void Sampler::take_final(const MeanModel& mean, const Ensemble& ensemble, const Totals& totals,
                         const GradientRecords& notes) {
  const bool sampled = last_ && last_->position.gradients == totals.position.gradients &&
                       last_->position.normalised_time == totals.position.normalised_time &&
                       last_->exchanges == totals.exchanges;
  skipped_ += sample_times_.end(totals.position, spec_.workers);
  Values values;
  if (!sampled) begin(values, mean, totals, notes);
  const bool evaluated = sampled && last_->evaluated;
  if (!evaluated) evaluate_mean(values, mean);
  const WorkerEvaluation workers = spec_.cadence.workers;
  if (workers == WorkerEvaluation::at_end || (workers == WorkerEvaluation::always && !evaluated)) {
    std::vector<Model> models;
    std::vector<std::vector<float>> read(static_cast<std::size_t>(ensemble.size()));
    for (int i = 0; i < ensemble.size(); ++i) {
      if (!mean.members.empty() && std::ranges::find(mean.members, i) == mean.members.end())
        continue;
      const Worker& worker = ensemble.worker(i);
      std::vector<float>& model = read[static_cast<std::size_t>(i)];
      model.resize(ensemble.dimension());
      worker.read_at(worker.last_event(), 0, model);
      models.push_back({i, model, worker.buffers()});
    }
    evaluate_workers(values, models);
  }
  look_for_target(values);
  recorder_.sample(totals.position, values.list);
}

}  // namespace acid
