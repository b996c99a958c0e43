#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/transport/mpi_runtime.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// Moves vectors between the devices of the processes of a run, without their hosts.
///
/// Threads: the communication thread only. Nothing blocks but abort().
class DeviceLink {
 public:
  virtual ~DeviceLink() = default;
  /// Begins to send `own` to process `peer` and to receive as much from it into `partner`; both lie
  /// in the device's memory, and stay as they are until done(). The peer must do the same: it
  /// begins once both have. One swap at a time, so processes that agree on one order of all pairs
  /// cannot come to a deadlock.
  virtual void swap(int peer, std::span<const float> own, std::span<float> partner) = 0;
  /// Whether the swap is over. It and swap() throw LostProcess when the peer is gone, Error for
  /// what failed here; then, too, the memory is in use until abort().
  virtual bool done() = 0;
  /// Gives up the current swap, whose memory is nobody's any more when this returns, and with it
  /// the link: there is no other swap.
  virtual void abort() noexcept = 0;
};

/// NCCL in this process; obtained with load_nccl_runtime().
class NcclRuntime {
 public:
  virtual ~NcclRuntime() = default;
  /// "2.28.9": of the library that was found.
  virtual std::string version() const = 0;
  /// Made by one process, for connect() in all of them; any bytes.
  virtual std::string new_id() const = 0;
  /// All processes call it together, each with a device that no other has; throws Error. The
  /// link's messages name processes as `places` does.
  virtual std::unique_ptr<DeviceLink> connect(const std::string& id, int device, int rank,
                                              std::vector<ProcessPlace> places) const = 0;
};

/// Loads acid-nccl.so from the folder of the running executable, or from ACID_NCCL_MODULE. Throws
/// Error saying what is missing and how to get it.
const NcclRuntime& load_nccl_runtime();

/// What a process has for a link.
struct DeviceEnd {
  const NcclRuntime* nccl = nullptr;  // null: none, and `missing` says why
  std::string missing;
  int device = 0;
  std::string uuid;  // of the device, whatever its number is here
};

struct DeviceConnection {
  std::unique_ptr<DeviceLink> link;  // null: vectors go through the hosts' memory
  std::string why_not;               // then, in words: the same in every process
};

/// A link between all processes, if all have NCCL and each a device of its own. All of them call it
/// together. Throws Error where they should be able to and are not.
DeviceConnection connect_devices(MpiRuntime& mpi, const DeviceEnd& own,
                                 const std::vector<ProcessPlace>& places);

}  // namespace acid
