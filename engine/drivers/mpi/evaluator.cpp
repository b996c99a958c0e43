#include "engine/drivers/mpi/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/drivers/mpi/meetings.hpp"
#include "engine/drivers/mpi/process.hpp"

namespace acid {
namespace {

// While a checkpoint is due at a normalised time, or samples are by the clock.
constexpr double kLookSoonSeconds = 0.01;

}  // namespace

Evaluator::Evaluator(const Run& run, Post& post, Coordinator& coordinator, Collector& collector)
    : run_(run),
      spec_(run.spec),
      post_(post),
      coordinator_(coordinator),
      collector_(collector),
      ensemble_(on_host(run.spec), run.objective),
      sampler_(run.spec, run.objective, run.recorder, sequential_for(kEvaluationLane)) {
  if (spec_.method.has_server()) server_.emplace(run, post, ensemble_.servers());
}

template <class Archive>
void Evaluator::persist(Archive& archive) {
  archive(ensemble_, kept_, sampler_);
  if (server_) archive(*server_);
}

void Evaluator::load() {
  if (run_.checkpointing.resume == nullptr) return;
  load_state(*run_.checkpointing.resume, layout(spec_.method), *this);
  ensemble_.restore(*run_.checkpointing.resume);
  if (server_) server_->messages().restore(*run_.checkpointing.resume);
}

void Evaluator::begin() {
  started_seconds_ = run_.clock.seconds();
  cut_requested_ = sampler_.sample_times().next_seconds() == 0;  // all know where the first one is
  Ensemble* resumed = nullptr;
  std::vector<Life> lives(static_cast<std::size_t>(spec_.workers));
  if (run_.checkpointing.resume != nullptr) {
    started_seconds_ -= kept_.seconds;
    resumed = &ensemble_;
    for (std::size_t w = 0; w < lives.size(); ++w) {
      const WorkerReport& report = kept_.reports[w];
      lives[w] = {ensemble_.worker(static_cast<int>(w)).gradients(), report.exchanges,
                  report.extra_bytes};
    }
  }
  coordinator_.begin(lives, resumed == nullptr ? -1 : kept_.count, started_seconds_, ensemble_);
  collector_.begin(lives, kept_.reports, static_cast<double>(kept_.count) / spec_.workers);
  std::vector<std::int64_t> granted;
  for (int w = 0; w < spec_.workers; ++w) granted.push_back(coordinator_.first_grant(w));
  ArchiveWriter more;
  more(kept_.gradients, kept_.count, granted, kept_.seconds, sampler_);
  send_start(post_, resumed, kept_.reports, more.take());
  if (server_ && resumed != nullptr) server_->send_last();
}

Outcome Evaluator::run_to_end(const std::function<bool()>& failed) {
  while (!failed()) {
    const Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
    const bool soon = by_clock() || (checkpoints != nullptr && checkpoints->next_time() != kNever);
    auto gathered = collector_.wait(soon ? kLookSoonSeconds : kLookSeconds);
    if (!gathered) {
      check_limits();
      continue;
    }
    bytes_of_visits_ = ensemble_.bytes_of_visits();
    switch (gathered->kind) {
      case MarkKind::measured:
        take_sample(*gathered);
        if (by_clock()) cut_requested_ = false;
        break;
      case MarkKind::checkpoint:
        save(*gathered);
        cut_requested_ = false;
        break;
      case MarkKind::last_checkpoint:
      case MarkKind::end:
        return end(*gathered);
    }
    check_limits();
  }
  return {};
}

void Evaluator::check_limits() {
  if (coordinator_.ending()) return;
  const Position here = coordinator_.position();
  if (spec_.budget.spent(here) || sampler_.diverged() || sampler_.target_reached())
    return coordinator_.request_end(false);
  if (cut_requested_) return;
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  const bool sample = by_clock() && sampler_.sample_times().due(here);
  if (!sample && (checkpoints == nullptr || coordinator_.lost() > 0 ||
                  !checkpoints->due(here.gradients, here)))
    return;
  cut_requested_ = true;
  coordinator_.request_cut(sample);
}

bool Evaluator::by_clock() const { return spec_.cadence.every_seconds < kNever; }

Position Evaluator::position(const Gathered& gathered) const {
  // Of gradients that a lost worker's log has not, only the clocks tell.
  const std::int64_t end =
      gathered.kind == MarkKind::end ? std::llround(gathered.time * spec_.workers) : 0;
  return {.gradients = std::max(gathered.gradients, end),
          .normalised_time = gathered.time,
          .seconds = run_.clock.seconds() - started_seconds_,
          .bytes = spec_.bytes_per_exchange(ensemble_.dimension()) * gathered.exchanges() +
                   gathered.extra_bytes() + bytes_of_visits_};
}

Totals Evaluator::totals(const Gathered& gathered) const {
  const Position here = position(gathered);
  return {.position = here,
          .exchanges = gathered.exchanges(),
          .learning_rate = spec_.learning_rate(here),
          .idle_seconds = gathered.idle_seconds()};
}

void Evaluator::take_sample(Gathered& gathered) {
  MeanModel mean = gathered.mean(spec_, sampler_.sample_times().evaluates_workers());
  if (server_) {
    MpiServer::AtMark mark = server_->take_mark();
    mean.x = std::move(mark.model);
    bytes_of_visits_ = mark.bytes_of_visits;
  }
  if (sampler_.diverged()) return;  // a run that has diverged takes no other
  sampler_.take(mean, totals(gathered), gathered.take_notes());
}

void Evaluator::save(Gathered& gathered) {
  // Without the state of all there is nothing that a run of all could go on from.
  if (run_.checkpointing.checkpoints != nullptr && gathered.complete()) {
    gathered.restore(ensemble_);
    const Position here = position(gathered);
    kept_ = {.gradients = gathered.gradients,
             .count = std::llround(gathered.time * spec_.workers),
             .seconds = here.seconds,
             .reports = gathered.reports};
    std::vector<StateVectors> vectors = ensemble_.vectors();
    if (server_) server_->messages().add_to(vectors);
    run_.checkpointing.save(here.gradients, here, std::move(vectors), layout(spec_.method), *this);
  }
  if (server_) server_->go_on();
  collector_.go_on();
}

Outcome Evaluator::end(Gathered& gathered) {
  const Position here = position(gathered);
  if (gathered.kind == MarkKind::last_checkpoint) save(gathered);
  // What the last sample found may have come too late to stop the stopping.
  if (coordinator_.was_stopped() && !sampler_.diverged() && !sampler_.target_reached())
    return ended_early(Ending::stopped, "", here);
  gathered.restore(ensemble_);
  const GradientRecords notes = gathered.take_notes();
  if (sampler_.diverged() || any_diverged(notes)) return diverged(sampler_, notes, here);
  if (coordinator_.diverged())
    return ended_early(Ending::diverged, "a worker diverged and was lost before it said how", here);
  Outcome outcome =
      conclude(ensemble_, sampler_, gathered.time, totals(gathered), notes, gathered.absent);
  outcome.worker_gradients = gathered.worker_gradients;
  count_edges(gathered, outcome);
  if (server_) outcome.exchanges_drawn = outcome.exchanges_done;
  outcome.exchanges_waiting = coordinator_.waiting();
  for (const WorkerReport& report : gathered.reports) outcome.holds += report.holds;
  gathered.tell_times(outcome);
  return outcome;
}

// Of the drawn list all that were due, but for those with a lost worker that a survivor has not
// applied, or that were of lost workers alone.
void Evaluator::count_edges(const Gathered& gathered, Outcome& outcome) const {
  std::map<std::pair<int, int>, std::int64_t> left_out;
  for (const WorkerReport& report : gathered.reports)
    for (const EdgeUse& edge : report.left_out) left_out[{edge.i, edge.j}] += edge.count;
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

Outcome run_mpi_async(const Run& run, const MpiOptions& options) {
  Post post(*options.transport);
  if (options.goes_on) post.outlive_losses();
  std::optional<Coordinator> coordinator;
  std::optional<Collector> collector;
  std::optional<Evaluator> evaluator;
  if (post.rank() == 0) {
    collector.emplace(run.spec, run.recorder, post);
    coordinator.emplace(run, post, [&] { return collector->overloaded(); });
    post.stay_in_touch([&] {
      evaluator.emplace(run, post, *coordinator, *collector);
      evaluator->load();
    });
    evaluator->begin();
  }
  Coordinator* const coordinating = coordinator ? &*coordinator : nullptr;
  Collector* const collecting = collector ? &*collector : nullptr;
  MpiAsync process(run, options, post, coordinating, collecting,
                   evaluator ? evaluator->server() : nullptr);
  return run_process(process, evaluator ? &*evaluator : nullptr, collecting, post);
}

}  // namespace acid
