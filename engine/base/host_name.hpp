#pragma once

#include <string>

namespace acid {

/// This host's name; "localhost" if it has none.
std::string host_name();

}  // namespace acid
