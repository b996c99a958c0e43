// How an asynchronous virtual run is saved between two steps, and goes on from there.
#include <algorithm>

#include "engine/drivers/virtual/meetings.hpp"

namespace acid {
namespace {

constexpr const char* kOffers = "offer";

}  // namespace

template <class Archive>
void VirtualAsync::persist(Archive& archive) {
  std::vector<Occurrence> occurrences;
  if constexpr (!Archive::kReads)
    for (auto left = occurrences_; !left.empty(); left.pop()) occurrences.push_back(left.top());
  archive(ensemble_, log_, occurrences, sequence_, steps_, time_, seconds_, totals_, clock_,
          schedule_, matchmaker_, notes_, edges_, holds_, sampler_, sampler_.gathered());
  if (rings_) archive(*rings_);
  for (WorkerState& s : states_) archive(s);
  if constexpr (Archive::kReads)
    for (const Occurrence& occurrence : occurrences) occurrences_.push(occurrence);
}

void VirtualAsync::resume(const CheckpointFile& file) {
  load_state(file, kLayout, *this);
  ensemble_.restore(file);
  if (!instant_) {
    std::vector<std::span<float>> offers;
    for (int w = 0; w < spec_.workers; ++w) offers.push_back(offer(w));
    file.read(kOffers, vectors().front().segments, offers);
  }
  while (matchmaker_.take()) {  // those in flight
  }
  for (int w = 0; w < spec_.workers; ++w)
    if (options_.gradient_clock == GradientClock::duration && !state(w).held) submit_compute(w);
}

void VirtualAsync::save_cut() {
  pool_.wait_light();
  if (not_finite_.load(std::memory_order_relaxed)) return;
  log_.mark(EventKind::checkpoint, std::max(time_, ensemble_.latest_event()), ensemble_);
  log_.flush();
  run_.checkpointing.save(steps_, totals_.position, vectors(), kLayout, *this);
}

std::vector<StateVectors> VirtualAsync::vectors() const {
  std::vector<StateVectors> list = ensemble_.vectors();
  if (instant_) return list;
  StateVectors& offers = list.emplace_back();
  offers.name = kOffers;
  offers.segments = list.front().segments;
  offers.compared = false;  // they are past
  for (int w = 0; w < spec_.workers; ++w) offers.values.push_back(offer(w));
  return list;
}

}  // namespace acid
