#pragma once

#include <cstddef>
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
  /// "20000-20100": where this process listens for the others; empty: any free port.
  std::string ports;
  /// Network interface whose addresses the others are told; empty: all of them.
  std::string interface;
};

/// MPI in this process, once started. One per process; the thread that starts it must make the
/// calls below, and none while a transport is in use by another thread.
class MpiRuntime {
 public:
  virtual ~MpiRuntime() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The first contact with all others, before any other call but these two and abort(); all of
  /// them make it. It takes as long as they take to start, for on a host with much else to do they
  /// get little of it. In rank 0 `waiting` is called with how many have come, itself included, at
  /// first and with each that comes. Throws Error when for `patience_seconds` none has.
  virtual void assemble(double patience_seconds, const std::function<void(int)>& waiting) = 0;
  /// {"library": "Open MPI v4.1.4", "standard": "3.1", "thread_level": "serialized",
  /// "fault_tolerance": false, "outlives_losses": false, "processes": 4, "chosen": {"btl":
  /// "tcp,self"}}: what is worth recording; fault_tolerance: it was built with it; outlives_losses:
  /// and started with it; `chosen` only where Open MPI's layers were chosen in the environment.
  virtual nlohmann::json environment() const = 0;
  /// `text` of rank 0, in every process. All of them call it.
  virtual std::string broadcast(const std::string& text) = 0;
  /// Element `k` of what every rank gave, in every process. All of them call it.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// Opens the connections to all the others. All processes call it together.
  virtual std::unique_ptr<Transport> connect(const MpiTransportOptions& options) = 0;
  /// Sum over all processes by the MPI library, in whatever order it likes: not reproducible.
  /// All of them call it, from the communication thread; blocks.
  virtual void library_sum(std::span<float> values) = 0;
  /// Ends MPI in this process, with the others: `all`, or those that are left. No call is allowed
  /// any more.
  virtual void finish(bool all) = 0;
  /// Ends every process of the job, this one included, as soon as possible.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// acid-mpi.so, unless ACID_MPI_MODULE names another one.
const Module& mpi_module();
/// Loads it and starts MPI. Throws Error saying what is missing and how to install it, or that the
/// library cannot serve one thread at a time.
MpiRuntime& start_mpi();

}  // namespace acid
