#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/queries.hpp"

namespace acid {

// What a run measured, moment by moment: the same values as read_series(), ordered by position
// instead of by series. StoreError when the store cannot be read. Thread: that of the Store.

/// A series without its values.
struct SeriesName {
  std::string metric;
  std::string unit;
  int worker = kWholeRun;
};
/// The series of a run that have values which are not superseded, by metric, then worker.
std::vector<SeriesName> series_names(const Store& store, const std::string& run_id);

/// Values that were measured at one position.
struct Measurement {
  Position position;
  std::vector<std::pair<std::size_t, double>> values;  // each with the index of its series
};
/// Visits, by position and without superseded values, every moment at which one of the wanted
/// series has a value. Holds one moment at a time in memory. `visit` must not use the store.
void for_each_measurement(const Store& store, const std::string& run_id,
                          const std::vector<SeriesName>& wanted,
                          const std::function<void(const Measurement&)>& visit);

}  // namespace acid
