#pragma once

#include "cli/predict/answer.hpp"
#include "reports/html/page_figure.hpp"

namespace acid {

/// The seconds per iteration of each algorithm over the axis, with their intervals; and the same
/// numbers as CSV. Throws UsageError unless the axis is the only thing that varies.
PageFigure crossover_figure(const PredictedRecipe& answer);

}  // namespace acid
