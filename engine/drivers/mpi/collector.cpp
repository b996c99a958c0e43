#include "engine/drivers/mpi/collector.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr int kMostMarks = 4;  // of each worker, that rank 0 has not handled

}  // namespace

void Measured::swap(Measured& other) noexcept {
  std::swap(copies_, other.copies_);  // spans stay with their memory
  std::swap(form_, other.form_);
  std::swap(window_, other.window_);
  std::swap(place_, other.place_);
  std::swap(x_, other.x_);
  std::swap(buffers_, other.buffers_);
}

void Gathered::tell_workers(Outcome& outcome) const {
  outcome.worker_gradients.clear();
  for (const WorkerMark& worker : workers) {
    outcome.worker_gradients.push_back(worker.gradients);
    outcome.worker_idle_seconds.push_back(worker.report.idle_seconds);
    if (outcome.worker_spans.size() < Timeline::kMostWorkers)
      outcome.worker_spans.push_back(worker.report.spans);
  }
}

GradientRecords Gathered::take_notes() {
  GradientRecords notes;
  for (WorkerMark& worker : workers) {
    const GradientRecords own = std::exchange(worker.report.notes, {});
    notes.insert(notes.end(), own.begin(), own.end());
  }
  sort_by_commit(notes);
  return notes;
}

MeanModel Gathered::mean(const RunSpec& spec, const Look& look) const {
  std::vector<std::span<const float>> x, buffers;
  std::vector<std::int64_t> committed;
  std::vector<int> members;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    if (absent[w]) continue;
    members.push_back(static_cast<int>(w));
    x.push_back(workers[w].measured.x());
    buffers.push_back(workers[w].measured.buffers());
    committed.push_back(workers[w].gradients);
  }
  MeanModel mean = mean_of(x, buffers, committed, spec.average_buffers, look);
  if (!complete()) mean.name_members(members);
  return mean;
}

void Gathered::restore(Ensemble& ensemble) const {
  for (int w = 0; w < ensemble.size(); ++w) {
    const auto index = static_cast<std::size_t>(w);
    if (absent[index]) continue;
    const std::vector<std::vector<float>>& vectors = workers[index].vectors;
    Worker& worker = ensemble.worker(w);
    ArchiveReader reader(workers[index].numbers);
    reader(worker);
    const auto own = filled_vectors(worker);
    ACID_ASSERT(own.size() == vectors.size(), "{} vectors of a worker that has {}", vectors.size(),
                own.size());
    for (std::size_t k = 0; k < own.size(); ++k) std::ranges::copy(vectors[k], own[k].begin());
  }
}

Collector::Collector(const Run& run, Post& post)
    : recorder_(run.recorder),
      post_(post),
      objective_(run.objective),
      window_(run.spec, worker_settings(run.spec, run.objective)),
      keeps_events_(run.spec.keep_events),
      seen_(static_cast<std::size_t>(run.spec.workers)),
      queues_(seen_.size()),
      notes_(seen_.size()),
      open_(seen_.size()) {}

void Collector::deliver(const Mail& mail) {
  MailReader reader(mail);
  const auto w = static_cast<std::size_t>(mail.from);
  MutexLock lock(mutex_);
  switch (reader.kind()) {
    case MailKind::events: {
      Events events;
      reader(events.first, seen_[w].progress.extra_bytes, events.list);
      take_events(std::move(events), w);
      break;
    }
    case MailKind::notes:
      return read_notes(reader, notes_[w]);
    case MailKind::mark: {
      auto mark = std::make_shared<WorkerMark>();
      int place = 0;
      reader(mark->kind, mark->time, mark->gradients, mark->report, mark->numbers, mark->expected,
             place);
      mark->at_start = place == kAtStart;
      if (place >= 0)
        mark->measured = Measured(window_, post_.window(mail.from, window_.size()), place);
      mark->report.notes = std::move(notes_[w]);
      notes_[w].clear();
      ++marks_;
      mark->vectors.resize(mark->expected);
      queues_[w].push_back({std::nullopt, mark});
      if (mark->expected > 0) open_[w].push_back(mark);
      break;
    }
    case MailKind::state_vector:
      take_vector(mail, w);
      break;
    default:
      ACID_ASSERT(false, "rank 0 collects no message of kind {}", static_cast<int>(reader.kind()));
  }
  merge();
}

void Collector::take_vector(const Mail& mail, std::size_t w) {
  const auto [k] = MailReader(mail).values<std::uint64_t>();
  const std::shared_ptr<WorkerMark> mark = open_[w].front();
  if (k + 1 == mark->expected) open_[w].pop_front();  // the last one of its mark
  mark->vectors[k].resize(mail.body_size);
  const auto arrived = [this, mark] {
    MutexLock relock(mutex_);
    ++mark->arrived;
    merge();
  };
  if (mail.body_size == 0)
    ++mark->arrived;
  else
    post_.fetch(mail, mark->vectors[k], arrived);
}

void Collector::take_events(Events events, std::size_t w) {
  Seen& seen = seen_[w];
  for (const Event& event : events.list) {
    seen.progress.gradients += is_commit(event.kind) ? 1 : 0;
    seen.progress.exchanges +=
        event.kind == EventKind::exchange || event.kind == EventKind::apply ? 1 : 0;
    seen.marks_logged += is_mark(event.kind) ? 1 : 0;
    seen.time = event.time;
  }
  seen.events = events.first + static_cast<std::int64_t>(events.list.size());
  queues_[w].push_back({std::move(events), nullptr});
}

void Collector::begin(std::vector<WorkerProgress> all_progress,
                      const std::vector<WorkerReport>& reports, double time) {
  MutexLock lock(mutex_);
  for (std::size_t w = 0; w < seen_.size(); ++w) {
    seen_[w].progress = all_progress[w];
    seen_[w].time = time;
    if (w < reports.size()) seen_[w].events = reports[w].events;
  }
}

std::optional<WorkerProgress> Collector::lose(int worker, WorkerProgress known) {
  const auto w = static_cast<std::size_t>(worker);
  MutexLock lock(mutex_);
  Seen& seen = seen_[w];
  if (over_) return std::nullopt;
  seen.lost = true;
  seen.progress.gradients = std::max(seen.progress.gradients, known.gradients);
  if (!keeps_events_) {
    seen.progress.exchanges = known.exchanges;
    seen.progress.extra_bytes = known.extra_bytes;
  }
  open_[w].clear();
  const std::int64_t whole = seen.marks_taken + drop_broken_marks(queues_[w]);
  const auto missed = static_cast<std::uint64_t>(seen.marks_logged - whole);
  const Event last{.kind = EventKind::lost, .time = seen.time, .exchange = missed};
  if (keeps_events_) queues_[w].push_back({Events{seen.events, {last}}, nullptr});
  merge();
  return seen.progress;
}

// Drops the marks of a lost worker that are incomplete, and its end, because its last exchange may
// be in doubt. Returns how many marks are left.
std::int64_t Collector::drop_broken_marks(Queue& queue) {
  std::int64_t whole = 0, all = 0;
  bool broken = false;
  std::erase_if(queue, [&](const Item& item) {
    if (item.mark == nullptr) return false;
    broken = broken || item.mark->arrived < item.mark->expected || item.mark->kind == MarkKind::end;
    ++all;
    if (!broken) ++whole;
    return broken;
  });
  marks_ -= static_cast<int>(all - whole);
  return whole;
}

// A lost worker counts for the marks it has reached.
bool Collector::all_at_mark() const {
  for (std::size_t w = 0; w < queues_.size(); ++w) {
    const Queue& queue = queues_[w];
    if (queue.empty() && seen_[w].lost) continue;
    if (queue.empty() || queue.front().mark == nullptr ||
        queue.front().mark->arrived < queue.front().mark->expected)
      return false;
  }
  return true;
}

void Collector::merge() {
  while (!held_) {
    for (std::size_t w = 0; w < queues_.size(); ++w)
      while (!queues_[w].empty() && queues_[w].front().events) {
        const Events& events = *queues_[w].front().events;
        recorder_.events(static_cast<int>(w), events.first, events.list);
        queues_[w].pop_front();
      }
    if (!all_at_mark()) return;
    gathered_.push_back(take_mark());
    held_ = gathered_.back().kind != MarkKind::measured;
    changed_.notify_all();
  }
}

Gathered Collector::take_mark() {
  Gathered gathered;
  gathered.kind = queues_[0].front().mark->kind;
  gathered.time = queues_[0].front().mark->time;
  over_ = gathered.kind == MarkKind::end;
  for (std::size_t w = 0; w < queues_.size(); ++w) {
    WorkerMark& mark = gathered.workers.emplace_back();
    gathered.absent.push_back(queues_[w].empty());
    if (gathered.absent.back()) {
      const WorkerProgress& progress = seen_[w].progress;
      mark.gradients = progress.gradients;
      mark.report.exchanges = progress.exchanges;
      mark.report.extra_bytes = progress.extra_bytes;
    } else {
      mark = std::move(*queues_[w].front().mark);
      queues_[w].pop_front();
      ++seen_[w].marks_taken;
      ACID_ASSERT(mark.kind == gathered.kind && mark.time == gathered.time,
                  "worker {} is at a mark at {}, worker 0 at one at {}", w, mark.time,
                  gathered.time);
    }
    if (mark.at_start) {
      mark.vectors = {std::vector<float>(objective_.dimension()),
                      std::vector<float>(objective_.buffer_size())};
      objective_.start(static_cast<int>(w), mark.vectors[0], mark.vectors[1]);
    }
    if (mark.kind == MarkKind::measured && !mark.vectors.empty())
      mark.measured = Measured(std::move(mark.vectors));
    gathered.gradients += mark.gradients;
  }
  return gathered;
}

std::optional<Gathered> Collector::wait(double seconds) {
  MutexLock lock(mutex_);
  if (gathered_.empty() && !woken_) changed_.wait_for(mutex_, seconds);
  woken_ = false;
  if (gathered_.empty()) return std::nullopt;
  Gathered gathered = std::move(gathered_.front());
  gathered_.pop_front();
  const bool was_crowded = marks_ > kMostMarks * static_cast<int>(queues_.size());
  marks_ -= static_cast<int>(std::ranges::count(gathered.absent, false));
  if (was_crowded) post_.wake();
  return gathered;
}

bool Collector::overloaded() {
  MutexLock lock(mutex_);
  return marks_ > kMostMarks * static_cast<int>(queues_.size());
}

void Collector::go_on() {
  MutexLock lock(mutex_);
  held_ = false;
  merge();
}

void Collector::wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

}  // namespace acid
