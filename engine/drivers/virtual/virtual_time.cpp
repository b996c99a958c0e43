#include "engine/drivers/virtual/virtual_time.hpp"

#include "engine/drivers/virtual/meetings.hpp"
#include "engine/drivers/virtual/rounds.hpp"
#include "engine/drivers/virtual/server.hpp"

namespace acid {

Outcome run_virtual(const Run& run, const VirtualOptions& options) {
  if (run.spec.method.has_meetings()) return VirtualAsync(run, options).execute();
  if (run.spec.method.has_server()) return VirtualServer(run, options).execute();
  return VirtualSync(run, options).execute();
}

std::string_view virtual_state_layout(const RunSpec& spec) {
  if (spec.method.has_server()) return VirtualServer::kLayout;
  return spec.method.has_meetings() ? VirtualAsync::kLayout : VirtualSync::kLayout;
}

}  // namespace acid
