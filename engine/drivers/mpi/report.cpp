#include "engine/drivers/mpi/report.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

std::vector<std::vector<float>> whole_state(Worker& worker) {
  std::vector<std::vector<float>> copies;
  for (const std::span<float> vector : filled_vectors(worker)) {
    std::vector<float>& copy = copies.emplace_back(vector.size());
    worker.backend().kernels<float>().copy(vector.data(), copy.data(), copy.size());
  }
  return copies;
}

// The size of a header is limited.
void send_notes(const std::function<void(std::vector<std::byte>)>& send, MailKind kind,
                GradientRecords& notes) {
  constexpr std::size_t kPortion = 4096;
  for (std::size_t first = 0; first < notes.size(); first += kPortion) {
    const auto begin = notes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto size = static_cast<std::ptrdiff_t>(std::min(kPortion, notes.size() - first));
    send(mail_header(kind, GradientRecords(begin, begin + size)));
  }
  notes.clear();
}

}  // namespace

std::vector<std::span<float>> filled_vectors(Worker& worker) {
  std::vector<std::span<float>> list;
  worker.for_each_vector([&](std::string_view, std::span<float> vector) {
    if (!vector.empty()) list.push_back(vector);
  });
  return list;
}

void read_notes(MailReader& reader, GradientRecords& notes) {
  GradientRecords portion;
  reader(portion);
  notes.insert(notes.end(), portion.begin(), portion.end());
}

Reporter::Reporter(const Run& run, Post& post, const Worker& worker, const Window& window,
                   std::span<float> memory)
    : run_(run),
      rank_(post.rank()),
      post_(post),
      window_(window),
      memory_(memory),
      forward_(post, worker),
      log_(run.spec.workers, run.spec.keep_events, forward_) {}

void Reporter::Forward::events(int, std::int64_t first, std::span<const Event> events) {
  post_.submit(0, mail_header(MailKind::events, first, worker_.extra_bytes(),
                              std::vector<Event>(events.begin(), events.end())));
}

// The fingerprint of x and the copy are made in one pass.
void Reporter::leave_copy(double time, const Worker& worker, std::span<float> x,
                          std::span<float> buffers) {
  constexpr std::size_t kBlock = std::size_t{1} << 12;
  const std::span<const float> own = worker.x();
  const bool in_blocks = worker.backend().is_host_memory() && run_.spec.keep_events;
  FullFingerprint fingerprint(own.size());
  if (in_blocks)
    for (std::size_t first = 0; first < own.size(); first += kBlock) {
      const std::size_t size = std::min(kBlock, own.size() - first);
      fingerprint.add(own.subspan(first, size));
      worker.read_at(time, first, x.subspan(first, size));
    }
  else
    worker.read_at(time, 0, x);
  std::ranges::copy(worker.buffers(), buffers.begin());
  if (in_blocks)
    log_.mark(rank_, EventKind::measured, time, fingerprint.value());
  else
    log_.mark(rank_, EventKind::measured, time, worker);
}

// To send it over a slow link could take as long as many gradients.
bool Reporter::is_start(std::span<const float> x, std::span<const float> buffers) const {
  std::vector<float> first_x(x.size()), first_buffers(buffers.size());
  run_.objective.start(rank_, first_x, first_buffers);
  return std::ranges::equal(std::as_bytes(x), std::as_bytes(std::span<const float>(first_x))) &&
         std::ranges::equal(std::as_bytes(buffers),
                            std::as_bytes(std::span<const float>(first_buffers)));
}

void Reporter::mark(MarkKind kind, double time, Worker& worker, WorkerReport report) {
  if (kind != MarkKind::measured && run_.checkpointing.look_first) run_.checkpointing.look_first();
  std::vector<std::vector<float>> vectors;
  std::optional<int> place = kind == MarkKind::measured ? window_.take(memory_) : std::nullopt;
  if (place) {
    leave_copy(time, worker, window_.x(memory_, *place), window_.buffers(memory_, *place));
  } else if (kind == MarkKind::measured) {
    vectors = {std::vector<float>(worker.x().size()), std::vector<float>(worker.buffers().size())};
    leave_copy(time, worker, vectors[0], vectors[1]);
    if (worker.gradients() == 0 && is_start(vectors[0], vectors[1])) {
      vectors.clear();
      place = kAtStart;
    }
  } else {
    vectors = whole_state(worker);
    if (kind != MarkKind::end) log_.mark(rank_, EventKind::checkpoint, time, worker);
  }
  log_.flush();  // so that the log of a lost worker has all its marks
  report.events = log_.handed_over(rank_);
  report.extra_bytes = worker.extra_bytes();
  ArchiveWriter numbers;
  numbers(worker);
  send_notes([this](std::vector<std::byte> header) { post_.submit(0, std::move(header)); },
             MailKind::notes, report.notes);
  post_.submit(0, mail_header(MailKind::mark, kind, time, worker.gradients(), report,
                              numbers.take(), vectors.size(), place.value_or(kNoPlace)));
  for (std::uint64_t k = 0; k < vectors.size(); ++k)
    post_.submit(0, mail_header(MailKind::state_vector, k), std::move(vectors[k]));
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
  if (reader.kind() == MailKind::start_vector)
    return fetch(mail, std::get<0>(reader.values<std::uint64_t>()));
  reader(start_);
  start_.report.notes = std::move(notes_);
  missing_ = start_.vectors + 1;
  arrived();
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
  if (--missing_ > 0) return;
  if (start_.resumed) {
    ArchiveReader numbers(start_.numbers);
    numbers(worker_);
    worker_.restart_gradient();
  }
  complete_(start_);
}

}  // namespace acid
