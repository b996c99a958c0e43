#include "engine/drivers/virtual/virtual_time.hpp"

#include <cmath>

#include "engine/base/rng.hpp"
#include "engine/drivers/virtual/meeting_calendar.hpp"
#include "engine/drivers/virtual/server_calendar.hpp"
#include "engine/drivers/virtual/virtual_sync.hpp"

namespace acid {

namespace {

template <class Made>
std::unique_ptr<Calendar> make(EventState& state) {
  return std::make_unique<Made>(state);
}

// No worker has this number.
constexpr std::uint32_t kOfTheRun = 0xffffffff;

VirtualOptions varied(VirtualOptions options, const Seeds& seeds) {
  const double factor = variation_factor(options, seeds);
  options.compute.gradient_seconds *= factor;
  options.cost.exchange_seconds *= factor;
  options.network.slow_down(factor);
  return options;
}

Outcome run_on(const Run& run, const VirtualOptions& options) {
  if (run.spec.method.has_meetings())
    return VirtualEvents(run, options, make<MeetingCalendar>).execute();
  if (!run.spec.method.has_server()) return VirtualSync(run, options).execute();
  VirtualOptions with_durations = options;
  with_durations.gradient_clock = GradientClock::duration;
  return VirtualEvents(run, with_durations, make<ServerCalendar>).execute();
}

}  // namespace

double variation_factor(const VirtualOptions& options, const Seeds& seeds) {
  if (options.variation == 0) return 1;
  Stream stream(seeds.derived(Purpose::compute_model, kOfTheRun), 0);
  return std::exp(options.variation * stream.normal() - options.variation * options.variation / 2);
}

Outcome run_virtual(const Run& run, const VirtualOptions& options) {
  return options.variation > 0 ? run_on(run, varied(options, run.spec.seeds))
                               : run_on(run, options);
}

std::string_view virtual_state_layout(const RunSpec& spec) {
  if (spec.method.has_server()) return "virtual-server/3";
  return spec.method.has_meetings() ? "virtual-async/7" : "virtual-sync/5";
}

}  // namespace acid
