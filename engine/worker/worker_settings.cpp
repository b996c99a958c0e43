#include "engine/worker/worker_settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr std::array<std::string_view, 6> kWorkersOwn{"x",       "snapshot", "moment1",
                                                      "moment2", "buffers",  "offer"};

}  // namespace

void WorkerSettings::follow(const Rules& of_method) {
  rules = of_method;
  const auto list = rules.floats->slots();
  slots.assign(list.begin(), list.end());
  const auto is_shared = [](const Slot& slot) { return slot.shared; };
  ACID_ASSERT(std::ranges::is_partitioned(slots, is_shared), "a shared slot after one that is not");
  shared_slots = static_cast<std::size_t>(std::ranges::count_if(slots, is_shared));
  for (const Slot& slot : slots)
    ACID_ASSERT(std::ranges::find(kWorkersOwn, slot.name) == kWorkersOwn.end(),
                "every worker of any method has a vector called {}", slot.name);
  scalars = rules.floats->scalars().size();
  own_step = !rules.floats->steps_by_optimizer();
}

}  // namespace acid
