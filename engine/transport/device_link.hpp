#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/transport/mpi_runtime.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// Moves vectors between the GPUs of a run's processes, without the hosts' memory.
///
/// Threads: the communication thread only. Only abort() blocks.
class DeviceLink {
 public:
  virtual ~DeviceLink() = default;
  /// Begins to send `own` to process `peer` and to receive as many elements from it into `partner`;
  /// both lie in the device's memory and must not change until done(). The swap begins once the
  /// peer does the same. One swap at a time: processes that agree on one order of all pairs cannot
  /// deadlock.
  virtual void swap(int peer, std::span<const float> own, std::span<float> partner) = 0;
  /// Whether the swap is over. It and swap() throw LostProcess when the peer is gone, Error for a
  /// failure here; after either the memory is in use until abort().
  virtual bool done() = 0;
  /// Gives up the current swap, and the link with it. When this returns, the memory is free.
  virtual void abort() noexcept = 0;
};

/// NCCL in this process; obtained with load_nccl_runtime().
class NcclRuntime {
 public:
  virtual ~NcclRuntime() = default;
  /// The library's version, "2.28.9".
  virtual std::string version() const = 0;
  /// An id for connect(), made by one process for all; any bytes.
  virtual std::string new_id() const = 0;
  /// All processes call it together, each with a device of its own; throws Error. `places`: for the
  /// names of processes in errors.
  virtual std::unique_ptr<DeviceLink> connect(const std::string& id, int device, int rank,
                                              std::vector<ProcessPlace> places) const = 0;
};

/// Loads acid-nccl.so from the folder of the running executable, or from ACID_NCCL_MODULE. Throws
/// Error saying what is missing and how to get it.
const NcclRuntime& load_nccl_runtime();

/// What a process has for a link: NCCL and a device.
struct DeviceEnd {
  const NcclRuntime* nccl = nullptr;  // null: none, and `missing` says why
  std::string missing;
  int device = 0;
  std::string uuid;  // of the device; unlike `device` the same in every process
};

struct DeviceConnection {
  std::unique_ptr<DeviceLink> link;  // null: vectors go through the hosts' memory
  std::string why_not;               // the reason then, the same in every process
};

/// A link between all processes, if all have NCCL and each has its own device. All processes call
/// it together. Throws Error if connecting them fails.
DeviceConnection connect_devices(MpiRuntime& mpi, const DeviceEnd& own,
                                 const std::vector<ProcessPlace>& places);

}  // namespace acid
