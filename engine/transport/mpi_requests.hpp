#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/transport/transport.hpp"

namespace acid {

/// The unfinished MPI requests of a process, each for a part of a body that is sent or received.
class MpiRequests {
 public:
  /// Memory of a request once losses are outlived: MPI may use it after the caller has given up.
  using Staged = std::shared_ptr<std::vector<float>>;
  struct Owner {
    Transport::Ticket ticket = 0;
    int peer = 0;
    std::span<float> into = {};  // what arrived in `staged` goes there
    Staged staged = {};
  };
  struct Finished {
    Owner owner;
    int code = MPI_SUCCESS;
  };

  bool empty() const { return requests_.empty(); }
  int any_peer() const { return owners_.front().peer; }
  void add(MPI_Request request, Owner owner);
  /// Moves finished requests into `finished`. Returns MPI's error code if the test itself fails.
  int take_finished(std::vector<Finished>& finished);

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Owner> owners_;  // of requests_
  // Scratch of take_finished().
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace acid
