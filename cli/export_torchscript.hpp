#pragma once

#include "cli/export.hpp"

namespace acid {

// Formats of `acid export` that need the engine: acid-worker makes the file (worker/export.hpp) and
// prints its own errors.

/// The final model of one run as a TorchScript module.
void export_torchscript(const ExportRequest& request);
/// The examples that one run was evaluated on, as a safetensors file.
void export_test_set(const ExportRequest& request);

}  // namespace acid
