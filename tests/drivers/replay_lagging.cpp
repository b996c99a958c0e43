#include "tests/drivers/replay_lagging.hpp"

#include <algorithm>
#include <cmath>

#include "engine/worker/direction.hpp"

namespace acid::test {
namespace {

ParallelFor one_after_the_other() {
  return [](int count, const auto& body) {
    for (int index = 0; index < count; ++index) body(0, index);
  };
}

}  // namespace

LaggingRun::LaggingRun(const Replayable& run, std::uint64_t seed, Recorder& recorder,
                       const Checkpointing& checkpointing)
    : spec_(run.spec),
      random_(Seeds(seed).derived(Purpose::compute_model, 0)),
      checkpointing_(checkpointing),
      objective_(quadratic(run.task, spec_.workers, spec_.seeds, 1)),
      ensemble_(spec_, *objective_),
      log_(spec_.workers, true, recorder),
      sampler_(spec_, *objective_, recorder, one_after_the_other()),
      schedule_(*spec_.topology, spec_.method.rate, spec_.seeds),
      own_(static_cast<std::size_t>(spec_.workers)),
      numbers_(static_cast<std::size_t>(spec_.budget.gradients) + 1) {}

bool LaggingRun::over() const {
  return sampler_.diverged() || commits_ >= spec_.budget.gradients ||
         (diverged_ && commits_after_divergence_ > spec_.workers);
}

Outcome LaggingRun::finish() {
  measure();
  while (!over()) act();
  drain();
  log_.flush();
  const double end = time_of(commits_);
  if (sampler_.diverged() || diverged_) return diverged(sampler_, collect_notes(), position(end));
  Outcome outcome = conclude(ensemble_, sampler_, end, totals(end), collect_notes());
  outcome.edges = edges_.list();
  outcome.exchanges_drawn = exchanges_;
  return outcome;
}

void LaggingRun::break_off_after(std::int64_t gradients) {
  measure();
  while (commits_ < gradients) act();
  log_.flush();
}

void LaggingRun::act() {
  const int w = any_worker();
  switch (random_.below(6)) {
    case 0:
      return hear(w);
    case 1:
      return own(w).computing ? commit(w) : begin(w);
    case 2:
    case 3:
      return offer(w);
    case 4:
      return apply(w);
    default:
      break;
  }
  const double now = time_of(commits_);
  if (sampler_.sample_times().next() <= now && random_.below(4) == 0) return measure();
  Checkpoints* const checkpoints = checkpointing_.checkpoints;
  if (checkpoints != nullptr && checkpoints->due(commits_, position(now))) save_cut(*checkpoints);
}

void LaggingRun::hear(int w) {
  std::int64_t& clock = own(w).clock;
  clock +=
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(commits_ - clock) + 1));
}

void LaggingRun::begin(int w) {
  const double t = time_of(own(w).clock);
  ensemble_.worker(w).begin_gradient(t);
  own(w).computing = true;
  log_.add(w, EventKind::begin_gradient, t, ensemble_.worker(w));
}

void LaggingRun::commit(int w) {
  if (over()) return;
  Own& self = own(w);
  Worker& worker = ensemble_.worker(w);
  GradientRecord note;
  note.worker = w;
  note.step = worker.gradients();
  note.loss = objective_->gradient(0, w, worker.gradients(), worker.snapshot(),
                                   worker.gradient_buffers(), ensemble_.gradient(w));
  ++commits_;
  if (random_.below(8) > 0) ++self.clock;  // or it stands still
  const std::int64_t number = self.clock;
  repeated_ += numbers_[static_cast<std::size_t>(number)]++ > 0;
  const double t = time_of(number);
  note.position = {.gradients = number, .normalised_time = t};
  if (self.notes.empty()) note.norm = euclidean_norm(ensemble_.gradient(w));
  self.computing = random_.below(3) > 0;
  worker.commit_gradient(t, ensemble_.gradient(w), spec_.learning_rate(note.position),
                         self.computing);
  note.staleness = worker.staleness();
  log_.add(w, self.computing ? EventKind::commit_and_begin : EventKind::commit_gradient, t, worker);
  self.notes.push_back(note);
  commits_after_divergence_ += diverged_;
  diverged_ = diverged_ || !std::isfinite(note.loss);
}

void LaggingRun::draw() {
  for (; schedule_.peek().due <= time_of(commits_); schedule_.pop())
    for (const int w : {schedule_.peek().i, schedule_.peek().j})
      own(w).edges.push_back(schedule_.peek());
}

// The next exchange of a worker, if it is the partner's next too and due by the later clock.
void LaggingRun::offer(int w) {
  draw();
  if (own(w).edges.empty()) return;
  const DueEdge edge = own(w).edges.front();
  Own& i = own(edge.i);
  Own& j = own(edge.j);
  const std::int64_t number = std::max(i.clock, j.clock);
  if (i.hand || j.hand || edge.due > time_of(number) || i.edges.front().number != edge.number ||
      j.edges.front().number != edge.number)
    return;
  const auto hand = std::make_shared<Hand>(ensemble_.dimension());
  hand->edge = edge;
  hand->time = time_of(number);
  for (Own* const each : {&i, &j}) {
    overtaken_ += each->last && each->last->to_apply > 0;
    each->clock = number;
    each->hand = hand;
    each->edges.pop_front();
  }
  ensemble_.worker(edge.i).offer(hand->time, hand->of_i.span());
  ensemble_.worker(edge.j).offer(hand->time, hand->of_j.span());
  for (const int each : {edge.i, edge.j})
    log_.add(each, EventKind::offer, hand->time, ensemble_.worker(each), edge.number);
  edges_.add(edge.i, edge.j);
  ++exchanges_;
}

void LaggingRun::apply(int w) {
  Own& self = own(w);
  if (!self.hand) return;
  Hand& hand = *self.hand;
  const double t = time_of(self.clock);
  const bool lower = w == hand.edge.i;
  ensemble_.worker(w).apply(t, hand.time, (lower ? hand.of_i : hand.of_j).span(),
                            (lower ? hand.of_j : hand.of_i).span());
  log_.add(w, EventKind::apply, t, ensemble_.worker(w), hand.edge.number);
  --hand.to_apply;
  self.last = std::move(self.hand);
}

// No exchange is in flight, and all clocks show one time.
void LaggingRun::settle(double at_least) {
  while (std::any_of(own_.begin(), own_.end(), [](const Own& o) { return o.hand != nullptr; }))
    apply(any_worker());
  auto common = static_cast<std::int64_t>(std::ceil(at_least * spec_.workers - 1e-9));
  for (const Own& each : own_) common = std::max(common, each.clock);
  for (Own& each : own_) each.clock = common;
}

void LaggingRun::measure() {
  settle(sampler_.sample_times().next());
  const double t = time_of(own(0).clock);
  for (int w = 0; w < spec_.workers; ++w) log_.mark(w, EventKind::measured, t, ensemble_.worker(w));
  sampler_.take(mean(), totals(t), collect_notes());
}

void LaggingRun::save_cut(Checkpoints& checkpoints) {
  settle(0);
  const double t = time_of(own(0).clock);
  log_.mark(EventKind::checkpoint, t, ensemble_);
  log_.flush();
  Checkpointing{&checkpoints}.save(commits_, position(t), ensemble_.vectors(), "lagging/1",
                                   ensemble_);
}

// At the end every worker learns of every gradient, and all due edges are executed.
void LaggingRun::drain() {
  for (Own& each : own_) each.clock = commits_;
  draw();
  while (std::any_of(own_.begin(), own_.end(),
                     [](const Own& o) { return o.hand || !o.edges.empty(); })) {
    offer(any_worker());
    apply(any_worker());
  }
}

GradientRecords LaggingRun::collect_notes() {
  GradientRecords notes;
  for (Own& each : own_) {
    notes.insert(notes.end(), each.notes.begin(), each.notes.end());
    each.notes.clear();
  }
  sort_by_commit(notes);
  return notes;
}

// As in a process that was sent every worker's x.
MeanModel LaggingRun::mean() {
  std::vector<std::vector<float>> copies;
  std::vector<std::span<const float>> x, buffers;
  std::vector<std::int64_t> gradients;
  for (int w = 0; w < spec_.workers; ++w) {
    const Worker& worker = ensemble_.worker(w);
    worker.read_at(time_of(own(w).clock), 0, copies.emplace_back(ensemble_.dimension()));
    buffers.push_back(worker.buffers());
    gradients.push_back(worker.gradients());
  }
  for (const auto& copy : copies) x.emplace_back(copy);
  return mean_of(x, buffers, gradients, spec_.average_buffers,
                 {.workers = sampler_.sample_times().evaluates_workers(time_of(own(0).clock))});
}

Position LaggingRun::position(double time) const {
  return {.gradients = commits_,
          .normalised_time = time,
          .bytes = static_cast<std::int64_t>(2 * ensemble_.vector_bytes()) * exchanges_};
}

Totals LaggingRun::totals(double time) const {
  return {.position = position(time),
          .exchanges = exchanges_,
          .learning_rate = spec_.learning_rate(position(time))};
}

}  // namespace acid::test
