#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare.hpp"

namespace acid {

/// Outcomes where all runs of a point have come equally far: on each axis at the smallest of their
/// ends. Ends with a relative difference up to kSameEnd are equal, and the last values are used. A
/// run that ends up to kNearEnd later is read there however far apart its samples are.
inline constexpr double kSameEnd = 1e-9, kNearEnd = 0.01;
inline constexpr std::array kEqualAxes{PositionAxis::gradients, PositionAxis::seconds,
                                       PositionAxis::bytes};

/// "eval_loss_at_equal_seconds".
std::string metric_at_equal(std::string_view outcome, PositionAxis axis);
/// These places of finished runs at the comparison's points, from how far each has come.
std::vector<EqualPlace> find_equal_places(const Comparison& comparison);
/// The name under which a metric is read, and where in the runs; no words: at their ends.
struct MetricRead {
  std::string name, words;
};
/// How a metric is read at a point, where its runs have come equally far if an axis is given.
/// Nothing if it is not read there.
std::optional<MetricRead> metric_read_at(const Comparison& comparison, const std::string& metric,
                                         std::optional<PositionAxis> equal, std::size_t point);
/// The outcomes that are read there.
std::vector<std::string_view> outcomes_at_equal();
/// Finds the places and reads the outcomes of finished runs there, into metrics of the groups' runs
/// such as "eval_accuracy_at_equal_seconds": a run at several points is read at each one's place.
/// Does nothing if metrics are not read at the end. The store must outlive it.
FillEqualPlaces reads_equal_places(const Store& store, const CompareOptions& options);
/// Keeps only the places of the primary outcome. Called after it is chosen.
void keep_primary_places(Comparison& comparison);
/// " of AR-SGD at 4 kB: …; …": why a place shows nothing, and what would.
std::string doubt_of(const Comparison& comparison, const EqualPlace& place);
/// The axis in words: "time", "gradients", "bytes".
std::string_view equal_words(PositionAxis axis);
/// The metrics of the equal places, each once.
std::vector<std::string> equal_metrics(const Comparison& comparison);
/// Whether it is the primary outcome, at the end or at an equal place: one family of differences.
bool is_claim(const Comparison& comparison, std::string_view metric);

}  // namespace acid
