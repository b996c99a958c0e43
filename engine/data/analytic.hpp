#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/fields.hpp"
#include "engine/base/rng.hpp"
#include "engine/data/dataset.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

/// A task with closed-form gradients: no model and, unless `uses_batches`, no batch size. Needs no
/// LibTorch.
struct AnalyticEntry {
  std::string_view name;  // "quadratic", "logistic"
  std::string_view summary;
  std::span<const Field> fields;
  bool uses_batches;  // batch_size and partition apply (logistic)
  /// The dimension and, for uses_batches, the sizes: without them epochs have no meaning. Reads no
  /// data, except for a LIBSVM file, which does not state its dimension.
  DataInfo (*inspect)(const nlohmann::json& options);
  /// The objective of a run, pure in options and seeds; results do not depend on the lane.
  /// `batch_size` and `partition` (an object with "kind") are ignored unless uses_batches; then
  /// step k of a worker reads positions kB to kB + B - 1 of its DataOrder, and `validation`
  /// training examples are held out (hold_out(), validation_key()). Throws Error for a malformed
  /// file and UsageError for more workers than examples.
  std::unique_ptr<Objective> (*make)(const nlohmann::json& options, int workers, int batch_size,
                                     const nlohmann::json& partition, std::int64_t validation,
                                     const Seeds& seeds, int lanes);
  /// Why an option does nothing beside the others; nullptr: it does something. Absent: all do.
  const char* (*no_effect)(std::string_view option, const nlohmann::json& options) = nullptr;
  /// Where every gradient is normal noise of mean 0, independent in each parameter, worker and
  /// step: its standard deviation, 0 where gradients are 0. nullptr, and nothing: gradients are
  /// more.
  std::optional<double> (*noise_alone)(const nlohmann::json& options) = nullptr;
};
std::span<const AnalyticEntry> analytic_catalog();
const AnalyticEntry* find_analytic(std::string_view name);

}  // namespace acid
