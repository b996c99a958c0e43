#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/topology/schedule_numbers.hpp"

namespace acid {

/// The numbers of a graph that changes, for programs and, in lines that begin with two blanks, for
/// people.
nlohmann::json document_of(const ScheduleNumbers& schedule);
std::string text_of(const ScheduleNumbers& schedule);

}  // namespace acid
