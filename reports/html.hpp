#pragma once

#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// One self-contained HTML page comparing the runs: opens from disk, fetches nothing, needs no
/// script, and has the same bytes for the same store and acid version.
std::string render_report(const Store& store, const std::vector<std::string>& run_ids);

}  // namespace acid
