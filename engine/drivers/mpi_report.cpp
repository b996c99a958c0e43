#include "engine/drivers/mpi_report.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr int kMostMarks = 4;  // of each worker, that rank 0 has not looked at

std::vector<std::span<float>> filled_vectors(Worker& worker) {
  std::vector<std::span<float>> list;
  worker.for_each_vector([&](std::string_view, std::span<float> vector) {
    if (!vector.empty()) list.push_back(vector);
  });
  return list;
}

std::vector<std::vector<float>> whole_state(Worker& worker) {
  std::vector<std::vector<float>> copies;
  for (const std::span<float> vector : filled_vectors(worker)) {
    std::vector<float>& copy = copies.emplace_back(vector.size());
    worker.backend().kernels<float>().copy(vector.data(), copy.data(), copy.size());
  }
  return copies;
}

std::vector<std::vector<float>> measured_state(double time, const Worker& worker) {
  std::vector<std::vector<float>> copies(2);
  copies[0].resize(worker.x().size());
  worker.read_at(time, 0, copies[0]);
  copies[1].assign(worker.buffers().begin(), worker.buffers().end());
  return copies;
}

// A header has a limit.
void send_notes(const std::function<void(std::vector<std::byte>)>& send, MailKind kind,
                GradientNotes& notes) {
  constexpr std::size_t kPortion = 4096;
  for (std::size_t first = 0; first < notes.size(); first += kPortion) {
    const auto begin = notes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto size = static_cast<std::ptrdiff_t>(std::min(kPortion, notes.size() - first));
    send(mail_header(kind, GradientNotes(begin, begin + size)));
  }
  notes.clear();
}

// Adds a portion to those that came before it.
void read_notes(MailReader& reader, GradientNotes& notes) {
  GradientNotes portion;
  reader(portion);
  notes.insert(notes.end(), portion.begin(), portion.end());
}

}  // namespace

RunSpec on_host(RunSpec spec) {
  spec.backend = &cpu_backend();
  return spec;
}

Reporter::Reporter(const RunSpec& spec, Post& post)
    : rank_(post.rank()),
      post_(post),
      forward_(post),
      log_(spec.workers, spec.keep_events, forward_) {}

void Reporter::Forward::events(int, std::int64_t first, std::span<const Event> events) {
  post_.submit(
      0, mail_header(MailKind::events, first, std::vector<Event>(events.begin(), events.end())));
}

void Reporter::mark(MarkKind kind, double time, Worker& worker, WorkerReport report) {
  if (kind != MarkKind::end)
    log_.mark(rank_, kind == MarkKind::measured ? EventKind::measured : EventKind::checkpoint, time,
              worker);
  if (kind != MarkKind::measured) log_.flush();
  report.events = log_.handed_over(rank_);
  std::vector<std::vector<float>> vectors =
      kind == MarkKind::measured ? measured_state(time, worker) : whole_state(worker);
  ArchiveWriter numbers;
  numbers(worker);
  send_notes([this](std::vector<std::byte> header) { post_.submit(0, std::move(header)); },
             MailKind::notes, report.notes);
  post_.submit(0, mail_header(MailKind::mark, kind, time, worker.gradients(), report,
                              numbers.take(), vectors.size()));
  for (std::uint64_t k = 0; k < vectors.size(); ++k)
    post_.submit(0, mail_header(MailKind::state_vector, k), std::move(vectors[k]));
}

std::int64_t Gathered::exchanges() const {
  std::int64_t halves = 0;
  for (const WorkerReport& report : reports) halves += report.exchanges;
  return halves / 2;
}

double Gathered::idle_seconds() const {
  double sum = 0;
  for (const WorkerReport& report : reports) sum += report.idle_seconds;
  return sum;
}

GradientNotes Gathered::take_notes() {
  GradientNotes notes;
  for (WorkerReport& report : reports) {
    notes.insert(notes.end(), report.notes.begin(), report.notes.end());
    report.notes.clear();
  }
  sort_by_commit(notes);
  return notes;
}

MeanModel Gathered::mean(const RunSpec& spec, bool with_workers) const {
  std::vector<std::span<const float>> x, buffers;
  std::vector<std::int64_t> committed;
  for (std::size_t w = 0; w < vectors.size(); ++w) {
    x.emplace_back(vectors[w][0]);
    buffers.emplace_back(vectors[w][1]);
    committed.push_back(worker_gradients[w]);
  }
  return mean_of(x, buffers, committed, spec.average_buffers, with_workers);
}

void Gathered::restore(Ensemble& ensemble) const {
  for (int w = 0; w < ensemble.size(); ++w) {
    const auto index = static_cast<std::size_t>(w);
    Worker& worker = ensemble.worker(w);
    ArchiveReader reader(numbers[index]);
    reader(worker);
    const auto own = filled_vectors(worker);
    ACID_ASSERT(own.size() == vectors[index].size(), "{} vectors of a worker that has {}",
                vectors[index].size(), own.size());
    for (std::size_t k = 0; k < own.size(); ++k)
      std::copy(vectors[index][k].begin(), vectors[index][k].end(), own[k].begin());
  }
}

Collector::Collector(const RunSpec& spec, Recorder& recorder, Post& post)
    : recorder_(recorder),
      post_(post),
      workers_(spec.workers),
      queues_(static_cast<std::size_t>(spec.workers)),
      notes_(static_cast<std::size_t>(spec.workers)),
      open_(static_cast<std::size_t>(spec.workers)) {}

void Collector::deliver(const Mail& mail) {
  MailReader reader(mail);
  const auto w = static_cast<std::size_t>(mail.from);
  MutexLock lock(mutex_);
  switch (reader.kind()) {
    case MailKind::events: {
      Events events;
      reader(events.first, events.list);
      queues_[w].push_back({std::move(events), nullptr});
      break;
    }
    case MailKind::notes:
      return read_notes(reader, notes_[w]);
    case MailKind::mark: {
      auto mark = std::make_shared<Mark>();
      reader(mark->kind, mark->time, mark->gradients, mark->report, mark->numbers, mark->expected);
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
  MailReader reader(mail);
  std::uint64_t k = 0;
  reader(k);
  const std::shared_ptr<Mark> mark = open_[w].front();
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

bool Collector::all_at_mark() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) {
    return !queue.empty() && queue.front().mark != nullptr &&
           queue.front().mark->arrived == queue.front().mark->expected;
  });
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
  for (std::size_t w = 0; w < queues_.size(); ++w) {
    Mark& mark = *queues_[w].front().mark;
    ACID_ASSERT(mark.kind == gathered.kind && mark.time == gathered.time,
                "worker {} is at a mark at {}, worker 0 at one at {}", w, mark.time, gathered.time);
    gathered.gradients += mark.gradients;
    gathered.worker_gradients.push_back(mark.gradients);
    gathered.reports.push_back(std::move(mark.report));
    gathered.numbers.push_back(std::move(mark.numbers));
    gathered.vectors.push_back(std::move(mark.vectors));
    queues_[w].pop_front();
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
  const bool was_crowded = marks_ > kMostMarks * workers_;
  marks_ -= workers_;
  if (was_crowded) post_.wake();
  return gathered;
}

bool Collector::crowded() {
  MutexLock lock(mutex_);
  return marks_ > kMostMarks * workers_;
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

void send_start(Post& post, Ensemble* ensemble, const std::vector<WorkerReport>& reports,
                const std::vector<std::byte>& more) {
  for (int w = 0; w < post.size(); ++w) {
    Start start;
    start.more = more;
    if (ensemble == nullptr) {
      post.send(w, mail_header(MailKind::start, start));
      continue;
    }
    Worker& worker = ensemble->worker(w);
    ArchiveWriter numbers;
    numbers(worker);
    start.resumed = true;
    start.numbers = numbers.take();
    start.report = reports[static_cast<std::size_t>(w)];
    std::vector<std::vector<float>> vectors = whole_state(worker);
    start.vectors = static_cast<int>(vectors.size());
    send_notes([&](const std::vector<std::byte>& header) { post.send(w, header); },
               MailKind::start_notes, start.report.notes);
    post.send(w, mail_header(MailKind::start, start));
    for (std::uint64_t k = 0; k < vectors.size(); ++k)
      post.send(w, mail_header(MailKind::start_vector, k), std::move(vectors[k]));
  }
}

StartReceiver::StartReceiver(Post& post, Worker& worker, std::function<void(Start&)> complete)
    : post_(post), worker_(worker), complete_(std::move(complete)) {}

void StartReceiver::deliver(const Mail& mail) {
  MailReader reader(mail);
  if (reader.kind() == MailKind::start_notes) return read_notes(reader, notes_);
  if (reader.kind() == MailKind::start_vector) {
    std::uint64_t index = 0;
    reader(index);
    return fetch(mail, index);
  }
  reader(start_);
  start_.report.notes = std::move(notes_);
  missing_vectors_ = start_.vectors;
  if (missing_vectors_ == 0) finish();
}

void StartReceiver::fetch(const Mail& mail, std::uint64_t index) {
  const auto vectors = filled_vectors(worker_);
  ACID_ASSERT(index < vectors.size() && vectors[index].size() == mail.body_size,
              "vector {} of {} elements does not fit the worker", index, mail.body_size);
  const Backend& backend = worker_.backend();
  const std::span<float> own = vectors[index];
  if (backend.is_host_memory()) return post_.fetch(mail, own, [this] { arrived(); });
  const auto sent = std::make_shared<Arena<float>>(own.size(), backend.messages());
  post_.fetch(mail, sent->span(), [this, &backend, own, sent] {
    backend.kernels<float>().copy(sent->data(), own.data(), own.size());
    arrived();
  });
}

void StartReceiver::arrived() {
  if (--missing_vectors_ == 0) finish();
}

void StartReceiver::finish() {
  if (start_.resumed) {
    ArchiveReader numbers(start_.numbers);
    numbers(worker_);
    worker_.restart_gradient();
  }
  complete_(start_);
}

}  // namespace acid
