#include "engine/drivers/mpi/async_evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {
namespace {

// While a checkpoint is due at a normalised time, or samples are by the clock.
constexpr double kLookSoonSeconds = 0.01;

}  // namespace

AsyncEvaluator::AsyncEvaluator(const Run& run, Post& post, Collector& collector)
    : Evaluator(run, post, collector),
      coordinator_(run, post, shell_.ensemble, [&collector] { return collector.overloaded(); }) {
  if (spec_.method.has_server()) server_.emplace(run, post, shell_.ensemble.servers());
  shell_.resume(mpi_state_layout(spec_), *this);
}

template <class Archive>
void AsyncEvaluator::persist(Archive& archive) {
  archive(shell_.ensemble, kept_, shell_.sampler);
  if (server_) archive(*server_);
}

void AsyncEvaluator::begin() {
  started_seconds_ = run_.clock.seconds();
  cut_requested_ =
      shell_.sampler.sample_times().next_seconds() == 0;  // all know where the first one is
  Ensemble* resumed = nullptr;
  std::vector<WorkerProgress> all_progress(static_cast<std::size_t>(spec_.workers));
  if (run_.checkpointing.resume != nullptr) {
    started_seconds_ -= kept_.seconds;
    resumed = &shell_.ensemble;
    for (std::size_t w = 0; w < all_progress.size(); ++w) {
      const WorkerReport& report = kept_.reports[w];
      all_progress[w] = {shell_.ensemble.worker(static_cast<int>(w)).gradients(), report.exchanges,
                         report.extra_bytes};
    }
  }
  coordinator_.begin(all_progress, resumed == nullptr ? -1 : kept_.count, started_seconds_);
  collector_.begin(all_progress, kept_.reports, static_cast<double>(kept_.count) / spec_.workers);
  std::vector<std::int64_t> granted;
  for (int w = 0; w < spec_.workers; ++w) granted.push_back(coordinator_.first_grant(w));
  ArchiveWriter more;
  SampleTimes times = shell_.sampler.sample_times();
  more(kept_.gradients, kept_.count, granted, kept_.seconds, times);
  send_start(post_, resumed, kept_.reports, more.take());
  if (server_ && resumed != nullptr) server_->send_last();
}

double AsyncEvaluator::look() {
  const bool soon = spec_.cadence.by_clock() || shell_.next_cut() != kNever;
  const double patience = soon ? kLookSoonSeconds : kLookSeconds;
  if (coordinator_.ending()) return patience;
  const Position here = coordinator_.position();
  if (spec_.budget.spent(here) || shell_.enough()) {
    coordinator_.request_end(false);
    return patience;
  }
  const bool sample = spec_.cadence.by_clock() && shell_.sampler.sample_times().due(here);
  if (!cut_requested_ &&
      (sample || (coordinator_.lost() == 0 && shell_.cut_is_due(here.gradients, here)))) {
    cut_requested_ = true;
    coordinator_.request_cut(sample);
  }
  return patience;
}

Position AsyncEvaluator::position(const Gathered& gathered) const {
  // Only the clocks count gradients that are missing in a lost worker's log.
  const std::int64_t end =
      gathered.kind == MarkKind::end ? std::llround(gathered.time * spec_.workers) : 0;
  return {.gradients = std::max(gathered.gradients, end),
          .normalised_time = gathered.time,
          .seconds = gathered.seconds - started_seconds_,
          .bytes = spec_.bytes_per_exchange(shell_.ensemble.dimension()) * gathered.exchanges() +
                   gathered.sum(&WorkerReport::extra_bytes) +
                   (gathered.kind == MarkKind::measured ? gathered.bytes_of_visits
                                                        : shell_.ensemble.bytes_of_visits())};
}

MeanModel AsyncEvaluator::mean(Gathered& gathered, const Look& look) {
  MeanModel mean = Evaluator::mean(gathered, look);
  if (!server_) return mean;
  MpiServer::AtMark mark = server_->take_mark();
  if (look.mean) mean.x = std::move(mark.model);
  gathered.bytes_of_visits = mark.bytes_of_visits;
  return mean;
}

void AsyncEvaluator::sampled() {
  if (spec_.cadence.by_clock()) cut_requested_ = false;
}

void AsyncEvaluator::save(const Gathered& gathered, const Position& here) {
  kept_ = {.gradients = gathered.gradients,
           .count = std::llround(gathered.time * spec_.workers),
           .seconds = here.seconds,
           .reports = {}};
  for (const WorkerMark& worker : gathered.workers) kept_.reports.push_back(worker.report);
  shell_.save(here.gradients, here, mpi_state_layout(spec_), *this);
}

void AsyncEvaluator::saved() {
  cut_requested_ = false;
  if (server_) server_->go_on();
}

void AsyncEvaluator::tell(const Gathered& gathered, Outcome& outcome) {
  count_edges(gathered, outcome);
  if (server_) outcome.exchanges_drawn = outcome.exchanges_done;
  outcome.exchanges_waiting = coordinator_.waiting();
  outcome.holds = gathered.sum(&WorkerReport::holds);
}

// Counts all edges of the drawn list that were due, except those with a lost worker that no
// survivor has applied.
void AsyncEvaluator::count_edges(const Gathered& gathered, Outcome& outcome) const {
  std::map<std::pair<int, int>, std::int64_t> left_out;
  for (const WorkerMark& worker : gathered.workers)
    for (const EdgeUse& edge : worker.report.left_out) left_out[{edge.i, edge.j}] += edge.count;
  EdgeCounter edges;
  EdgeSchedule schedule(*spec_.topology, spec_.method.rate, spec_.seeds);
  for (; schedule.peek().due <= gathered.time; ++outcome.exchanges_drawn) {
    const DueEdge edge = schedule.pop();
    const auto i = static_cast<std::size_t>(edge.i), j = static_cast<std::size_t>(edge.j);
    if (gathered.absent[i] && gathered.absent[j]) continue;
    const auto missing = left_out.find({edge.i, edge.j});
    if (missing != left_out.end() && missing->second > 0)
      --missing->second;
    else
      edges.add(edge.i, edge.j);
  }
  outcome.edges = edges.list();
}

}  // namespace acid
