#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/base/module.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

struct MpiTransportOptions {
  /// Ports on which this process may listen, "20000-20100"; empty: any free port.
  std::string ports;
  /// Network interface whose addresses the others get; empty: all interfaces.
  std::string interface;
};

/// MPI in this process, once started. One per process. Only the thread that started it makes the
/// calls below, and none while another thread uses a transport.
class MpiRuntime {
 public:
  virtual ~MpiRuntime() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Waits until all processes have started; all make this call, before any other but rank(),
  /// size() and abort(). Rank 0 calls `waiting` with the number of processes that have come, itself
  /// included, at first and with each new one. Throws Error if none comes for `patience_seconds`.
  virtual void assemble(double patience_seconds, const std::function<void(int)>& waiting) = 0;
  /// {"library": "Open MPI v4.1.4", "standard": "3.1", "thread_level": "serialized",
  /// "fault_tolerance": false, "outlives_losses": false, "processes": 4, "chosen": {"btl":
  /// "tcp,self"}}, for the record. fault_tolerance: MPI is built with it; outlives_losses: and was
  /// started with it; `chosen`: Open MPI's layers, if chosen in the environment.
  virtual nlohmann::json environment() const = 0;
  /// Returns rank 0's `text` in every process. All processes call it together.
  virtual std::string broadcast(const std::string& text) = 0;
  /// Returns every rank's `text`, by rank, in every process. All processes call it together.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// Opens the connections to all others. All processes call it together.
  virtual std::unique_ptr<Transport> connect(const MpiTransportOptions& options) = 0;
  /// values ← their sum over all processes, by the MPI library, in its own order: not reproducible.
  /// All processes call it, from the communication thread; blocks.
  virtual void library_sum(std::span<float> values) = 0;
  /// Ends MPI in this process, together with all others or, unless `all`, with those left. The last
  /// call.
  virtual void finish(bool all) = 0;
  /// Ends every process of the job, this one included, as soon as possible.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// acid-mpi.so, or the module that ACID_MPI_MODULE names.
const Module& mpi_module();
/// Loads it and starts MPI. Throws Error with what is missing and how to install it, or if the
/// library does not support calls from several threads, one at a time.
MpiRuntime& start_mpi();

}  // namespace acid
