#pragma once

#include <string>

#include "engine/base/error.hpp"

namespace acid {

// Exports of a run with a model for PyTorch and other programs, on standard output. Both throw
// UsageError for a run whose task has no model, StoreError for a damaged model file, and Error when
// standard output takes no more.

/// The final mean as a TorchScript module, see ModelRuntime::torchscript(). Its acid.json says what
/// the module is and how its inputs are normalised. UsageError when the run has no final mean.
Exit print_torchscript(const std::string& store_folder, const std::string& run_id);

/// The examples of the test set in order, as a safetensors file: `targets` (I64, rows) and `inputs`
/// (F32, rows × channels × height × width), normalised as the model sees them. Needs no LibTorch.
/// UsageError when the data set's files are not those that the run had.
Exit print_test_set(const std::string& store_folder, const std::string& run_id);

}  // namespace acid
