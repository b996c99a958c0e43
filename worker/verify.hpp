#pragma once

#include <stop_token>
#include <string>

#include "engine/base/error.hpp"

namespace acid {

struct VerifyOptions {
  std::string store_folder;
  std::string run_id;
  std::string command_line;
  int from = 0;   // number of the checkpoint to start from; 0: the beginning
  int until = 0;  // number of the checkpoint to stop at, after `from`; 0: the end
  bool json = false;
};

/// Executes a recorded run again (virtual driver, synchronous methods) or replays it from its event
/// log, compares everything bit for bit, prints the verdict on standard output and records it in
/// the store, except that a part of the run up to `until` is equal. Returns ok or mismatch;
/// interrupted when it was stopped before the verdict. Throws UsageError when there is nothing to
/// compare with, or when the run contains sums that the MPI library made.
Exit verify_run(const VerifyOptions& options, std::stop_token stop);

}  // namespace acid
