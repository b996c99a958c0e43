#pragma once

#include <string>
#include <vector>

#include "exports/text.hpp"
#include "store/queries.hpp"

namespace acid {

// Every recorded value, without superseded ones. Runs come in the order of the ids; the next run is
// read when the one before has been written. All functions throw StoreError when the store cannot
// be read.

/// Long: a row per value, `run,metric,worker,gradients,normalised_time,seconds,bytes,value`,
/// by metric, worker, position.
void write_long_csv(const Store& store, const AskedRuns& asked, const Write& write,
                    const RunsDone& done);
/// Wide: a row per moment at which a value of the whole run was measured, by position:
/// `run,algorithm,label,seed,tags` (its own and those of experiments that ask for it, with spaces
/// between), a column per setting that differs between the runs, by dotted key,
/// empty if a run has none, `gradients,normalised_time,seconds,bytes` and a column per metric, by
/// name, empty if it was not measured then. Series of single workers are left out; returns their
/// number.
std::size_t write_wide_csv(const Store& store, const AskedRuns& asked, const Write& write,
                           const RunsDone& done);

/// As above, as lines of JSON objects. Long: `worker` is null for the whole run. Wide: metrics that
/// were not measured then are absent, and a setting that a run lacks is null. A value that is not
/// finite is the text "nan", "inf" or "-inf".
void write_long_jsonl(const Store& store, const AskedRuns& asked, const Write& write,
                      const RunsDone& done);
std::size_t write_wide_jsonl(const Store& store, const AskedRuns& asked, const Write& write,
                             const RunsDone& done);

/// {"schema_version", "runs": [run]}: each run as `run_json` gives it, and "series": [{"metric",
/// "unit", "worker", "gradients": [], "normalised_time": [], "seconds": [], "bytes": [], "value":
/// []}].
void write_json(const Store& store, const AskedRuns& asked, int schema_version,
                const RunJson& run_json, const Write& write, const RunsDone& done);

}  // namespace acid
