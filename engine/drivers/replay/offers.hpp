#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "engine/drivers/replay/order.hpp"
#include "engine/worker/arena.hpp"

namespace acid {

/// The offers of both partners of an exchange, from the offers until both have applied it.
struct Offers {
  Offers(std::size_t size, const Backend& memory) : i(size, memory), j(size, memory) {}
  Arena<float> i, j;
  int lower = 0;                 // the worker whose offer is i
  double time = 0;               // normalised
  std::atomic<int> to_apply{0};  // workers that have yet to apply it; 0: free
};

/// The offers of exchanges that are offered alone (ReplayStep::alone). The script's thread.
class OffersAlone {
 public:
  /// For the offer of `step`, the first or second of its exchange.
  std::shared_ptr<Offers> of(const ReplayStep& step, std::size_t size, const Backend& memory) {
    std::erase_if(offers_, [](const auto& each) { return each.second->to_apply.load() == 0; });
    std::shared_ptr<Offers>& offers = offers_[step.exchange];
    if (offers != nullptr) return offers;
    offers = std::make_shared<Offers>(size, memory);
    offers->lower = std::min(step.worker, step.partner);
    offers->time = step.time;
    offers->to_apply.store(2);
    return offers;
  }
  /// For the apply of `step`.
  std::shared_ptr<Offers> at(const ReplayStep& step) const { return offers_.at(step.exchange); }

 private:
  std::map<std::uint64_t, std::shared_ptr<Offers>> offers_;  // by the edge's number
};

}  // namespace acid
