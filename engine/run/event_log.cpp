#include "engine/run/event_log.hpp"

#include "engine/worker/host_view.hpp"

namespace acid {

EventLog::EventLog(int workers, bool kept, Recorder& recorder)
    : kept_(kept), recorder_(recorder), workers_(kept ? static_cast<std::size_t>(workers) : 0) {}

namespace {

std::uint32_t fingerprint(const Worker& worker, std::uint64_t salt) {
  const std::span<const float> x = worker.x();
  if (worker.backend().is_host_memory()) return sampled_fingerprint(x, salt);
  return sampled_fingerprint(x.size(), salt,
                             [&](std::span<const std::size_t> positions, float* out) {
                               worker.backend().gather(x.data(), positions, out);
                             });
}

}  // namespace

// The salt is the event's number, so over time every element is covered.
void EventLog::append(int index, EventKind kind, double time, const Worker& worker,
                      std::uint64_t exchange) {
  Own& own = workers_[static_cast<std::size_t>(index)];
  const auto salt = static_cast<std::uint64_t>(own.handed_over) + own.pending.size();
  own.pending.push_back({kind, time, exchange, fingerprint(worker, salt)});
  if (own.pending.size() >= kPortion) hand_over(index);
}

void EventLog::mark(EventKind kind, double time, const Ensemble& ensemble) {
  for (int w = 0; w < ensemble.size(); ++w) mark(w, kind, time, ensemble.worker(w));
}

MeanModel EventLog::measure(double time, const Ensemble& ensemble, Look look,
                            std::span<const ExchangeInFlight> in_flight) {
  look.fingerprints = kept_;
  const std::vector<bool>& absent = look.absent;
  MeanModel mean = ensemble.mean_at(time, in_flight, look);
  std::size_t member = 0;
  for (std::size_t w = 0; w < workers_.size(); ++w)
    if (absent.empty() || !absent[w])
      workers_[w].pending.push_back({EventKind::measured, time, 0, mean.fingerprints[member++]});
  return mean;
}

void EventLog::end(int index, double time, std::uint64_t missed) {
  if (kept_)
    workers_[static_cast<std::size_t>(index)].pending.push_back({EventKind::lost, time, missed, 0});
}

void EventLog::mark(int index, EventKind kind, double time, const Worker& worker) {
  if (kept_)
    mark(index, kind, time, full_fingerprint(HostView(worker.backend(), worker.x()).values()));
}

void EventLog::mark(int index, EventKind kind, double time, std::uint32_t fingerprint_of_x) {
  if (kept_)
    workers_[static_cast<std::size_t>(index)].pending.push_back({kind, time, 0, fingerprint_of_x});
}

void EventLog::flush() {
  for (std::size_t w = 0; w < workers_.size(); ++w) hand_over(static_cast<int>(w));
}

void EventLog::hand_over(int worker) {
  Own& own = workers_[static_cast<std::size_t>(worker)];
  if (own.pending.empty() || own.nameless >= 0) return;
  recorder_.events(worker, own.handed_over, own.pending);
  own.handed_over += static_cast<std::int64_t>(own.pending.size());
  own.pending.clear();
}

}  // namespace acid
