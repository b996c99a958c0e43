#pragma once

#include <span>
#include <vector>

#include "engine/worker/backend.hpp"

namespace acid {

/// A vector of a backend, for the host to read: in place if it is in host memory, otherwise a copy
/// made by the constructor, so that no pages move.
class HostView {
 public:
  HostView(const Backend& backend, std::span<const float> vector) : values_(vector) {
    if (backend.is_host_memory()) return;
    copy_.resize(vector.size());
    backend.kernels<float>().copy(vector.data(), copy_.data(), copy_.size());
    values_ = copy_;
  }
  HostView(const HostView&) = delete;
  HostView& operator=(const HostView&) = delete;

  std::span<const float> values() const { return values_; }

 private:
  std::vector<float> copy_;
  std::span<const float> values_;
};

}  // namespace acid
