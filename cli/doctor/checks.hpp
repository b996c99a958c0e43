#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal/session.hpp"

namespace acid {

/// One line of `acid doctor`.
struct Check {
  std::string name;
  bool ok = true;
  std::string found;
  std::string advice;  // what will be slow or missing, and the remedy; empty: all is well
};

/// Checks what runs with one process per worker need: the MPI library as acid-worker sees it (the
/// worker is started once, which takes half a second), the launchers, and shared memory.
void check_mpi(std::vector<Check>& checks);
/// Checks what runs with device = "cuda" need, from the "cuda" of `acid-worker --environment` (null
/// when the worker gave no answer): the GPUs and their driver, or why there is none, and NCCL.
void check_cuda(std::vector<Check>& checks, const nlohmann::json& cuda);
/// Checks what runs with a model need, from what `acid-worker --environment` printed: LibTorch, the
/// library that multiplies matrices for it, its speed, and environment variables that do harm.
void check_models(std::vector<Check>& checks, const nlohmann::json& surroundings);

/// `acid doctor --store`: inspects the store, with `repair` mends what can be mended, and prints
/// the findings. Returns ok when the store is sound in the end, else store.
Exit examine_store(const Session& session, bool repair, const Format& format);

}  // namespace acid
