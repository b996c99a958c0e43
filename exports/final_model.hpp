#pragma once

#include "store/queries.hpp"

namespace acid {

/// Throws UsageError for a run of an analytic task, which has no model and no data set for one.
void require_model(const RunDetail& run);

/// The file of the final mean, as the run's newest attempt recorded it. UsageError when there is
/// none.
AttemptResult::Artifact final_mean_of(const RunDetail& run);

}  // namespace acid
