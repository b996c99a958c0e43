#include "engine/transport/mpi_requests.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace acid {

void MpiRequests::add(MPI_Request request, Owner owner) {
  requests_.push_back(request);
  owners_.push_back(std::move(owner));
}

int MpiRequests::take_finished(std::vector<Finished>& finished) {
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
  if (count == MPI_UNDEFINED) return MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i), index = static_cast<std::size_t>(indices_[k]);
    // MPI does not set the statuses if all succeeded.
    finished.push_back({std::move(owners_[index]),
                        code == MPI_ERR_IN_STATUS ? statuses_[k].MPI_ERROR : MPI_SUCCESS});
  }
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    requests_[index] = requests_.back();
    owners_[index] = std::move(owners_.back());
    requests_.pop_back();
    owners_.pop_back();
  }
  return MPI_SUCCESS;
}

}  // namespace acid
