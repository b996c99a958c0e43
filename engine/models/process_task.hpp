#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/data/dataset.hpp"
#include "engine/python/shared_memory.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

/// A task whose gradients are computed by processes of a user's program, one process for each lane.
struct ProcessTask {
  std::unique_ptr<Objective> objective;
  /// Versions of the libraries that compute, {"python", "torch", …}; "start_sha256", of the start
  /// point; "examples_sha256", of some examples, where dataset() gives them; "repeatable", whether
  /// the same gradient, asked for twice, was equal.
  nlohmann::json environment;
  std::vector<FileDigest> files;  // the user's own, and those of a data set of acid's
  std::string warning;            // about gradients that are not repeatable; else empty
};

struct ProcessTaskOptions {
  nlohmann::json model, dataset, partition;  // resolved, with "kind"
  std::int64_t validation = 0;               // training examples held out
  int batch_size = 1, workers = 1, threads_per_worker = 1, lanes = 1;
  Seeds seeds;
};

/// Starts the processes and asks the first for a gradient, twice, and for an evaluation. Vectors
/// that were allocated from `memory`, which must outlive the task, reach them without a copy. The
/// gradient of a worker's step has a seed of its own, from Purpose::dropout. Evaluations are in
/// chunks of a batch, 250 examples at most. Throws Error for a fault that a process reports, and
/// UsageError for more workers than examples.
ProcessTask make_process_task(const SharedMemory& memory, const ProcessTaskOptions& options);

}  // namespace acid
