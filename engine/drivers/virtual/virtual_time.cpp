#include "engine/drivers/virtual/virtual_time.hpp"

#include "engine/drivers/virtual/meeting_calendar.hpp"
#include "engine/drivers/virtual/server_calendar.hpp"
#include "engine/drivers/virtual/virtual_sync.hpp"

namespace acid {

namespace {

template <class Made>
std::unique_ptr<Calendar> make(EventState& state) {
  return std::make_unique<Made>(state);
}

}  // namespace

Outcome run_virtual(const Run& run, const VirtualOptions& options) {
  if (run.spec.method.has_meetings())
    return VirtualEvents(run, options, make<MeetingCalendar>).execute();
  if (!run.spec.method.has_server()) return VirtualSync(run, options).execute();
  VirtualOptions with_durations = options;
  with_durations.gradient_clock = GradientClock::duration;
  return VirtualEvents(run, with_durations, make<ServerCalendar>).execute();
}

std::string_view virtual_state_layout(const RunSpec& spec) {
  if (spec.method.has_server()) return ServerCalendar::kLayout;
  return spec.method.has_meetings() ? MeetingCalendar::kLayout : VirtualSync::kLayout;
}

}  // namespace acid
