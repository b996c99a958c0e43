#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// Adds to ComparedGroup::readings and bends of the metric what its runs were read with.
void add_readings(ComparedGroup& group, const std::string& metric,
                  const std::vector<Reading>& of_runs);
/// Of all runs and metrics.
void gather_readings(Comparison& comparison, const std::vector<ComparedRun>& runs);
/// UsageError, which names the run and the remedy, where no run has a value at options.at.
void refuse_if_nothing_is_read(const std::vector<ComparedRun>& runs, const CompareOptions& options);
/// How well the metric is known between samples, by label: "known to within 0.0041 (AR-SGD, between
/// samples 12 s apart), 0.002 (AD-PSGD, 8 s)". Empty where every value is a sample's.
std::string reading_words(const Comparison& comparison, const std::vector<std::size_t>& groups,
                          const std::string& metric);
/// "samples around there are up to 380 s apart (run 1a2b, seed 1), more than a fifth of the way
/// there".
std::string stale_words(PositionAxis axis, double apart, const std::string& run,
                        std::uint64_t seed);

}  // namespace acid
