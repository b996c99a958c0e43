#pragma once

#include "reports/html/report_data.hpp"

namespace acid {

/// A group's network from its runs' details: counts summed over the finished runs. If no edges were
/// recorded (synchronous methods), the topology is built again from the settings; edges stay empty
/// if that is not possible.
GroupNetwork network_of(const ComparedGroup& group, const std::vector<const RunDetail*>& runs);

}  // namespace acid
