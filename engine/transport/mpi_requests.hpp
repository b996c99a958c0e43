#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/transport/transport.hpp"

namespace acid {

/// The unfinished requests that a process has made of MPI, each a part of a body that is on its way
/// in or out.
class MpiRequests {
 public:
  /// Once losses are outlived MPI has memory of its own, which it may use as long as it likes after
  /// its caller has given up.
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
  /// Moves those that have come to an end into `finished`. Returns MPI's code where it cannot tell.
  int take_finished(std::vector<Finished>& finished);

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Owner> owners_;  // of requests_
  // Scratch of take_finished().
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace acid
