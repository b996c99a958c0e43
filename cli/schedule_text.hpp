#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace acid {

/// The numbers of a graph that changes (document_of() of engine/topology), in lines that begin with
/// two blanks.
std::string text_of_schedule(const nlohmann::json& schedule);

}  // namespace acid
