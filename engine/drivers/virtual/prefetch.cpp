// Fetches what the next events of an asynchronous virtual run need into the caches. The next
// workers are known, and waiting for their memory would cost more than everything else.
#include "engine/base/fetch.hpp"
#include "engine/drivers/virtual/meeting_calendar.hpp"

namespace acid {
namespace {

// A worker's numbers are fetched kFar events before its own; what they point to, kNear before.
constexpr std::size_t kFar = 8, kNear = 4;
static_assert(kFar <= EdgeSchedule::kAhead && kFar <= GradientRings::kAhead);

void fetch_vector(std::span<const float> values) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (std::size_t k = 0; k < values.size(); k += kLine) fetch(values.data() + k);
}

void fetch_exchanged(const Worker& worker) {
  fetch_vector(worker.x());
  for (std::size_t k = 0; k < worker.slots(); ++k) fetch_vector(worker.slot(k));
}

}  // namespace

void VirtualExchanges::fetch_ahead() const {
  const Ensemble& ensemble = player_.ensemble();
  const DueEdge& far = schedule_.ahead(kFar);
  fetch(&ensemble.worker(far.i));
  fetch(&ensemble.worker(far.j));
  edges_.fetch(far.i, far.j);
  const DueEdge& near = schedule_.ahead(kNear);
  fetch_exchanged(ensemble.worker(near.i));
  fetch_exchanged(ensemble.worker(near.j));
}

void MeetingCalendar::fetch_gradients() {
  Ensemble& ensemble = state_.shell.ensemble;
  const int far = rings_->ahead(kFar).worker;
  fetch(&ensemble.worker(far));
  fetch(&state_.workers.state(far));
  fetch(&state_.workers.state(far).loss);
  const int near = rings_->ahead(kNear).worker;
  const Worker& worker = ensemble.worker(near);
  fetch_exchanged(worker);
  fetch_vector(worker.snapshot());
  fetch_vector(ensemble.gradient(near));
}

}  // namespace acid
