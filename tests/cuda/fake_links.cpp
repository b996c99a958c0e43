#include "tests/cuda/fake_links.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"
#include "tests/cuda/strict_backend.hpp"

namespace acid::test {

class FakeLinks::Link final : public DeviceLink {
 public:
  Link(FakeLinks& all, int rank) : all_(all), rank_(rank) {}

  void swap(int peer, std::span<const float> own, std::span<float> partner) override {
    MutexLock lock(all_.mutex_);
    End& end = all_.ends_[static_cast<std::size_t>(rank_)];
    ACID_ASSERT(!end.swapping, "rank {} swaps with {} and {}", rank_, end.peer, peer);
    if (!strict_backend().holds(own.data(), own.size_bytes()) ||
        !strict_backend().holds(partner.data(), partner.size_bytes()))
      all_.complaint_ = "a vector that is not on the device";
    end.swapping = true;
    end.arrived = end.asked = false;
    end.peer = peer;
    end.own = own;
    end.partner = partner;
  }

  bool done() override {
    MutexLock lock(all_.mutex_);
    End& end = all_.ends_[static_cast<std::size_t>(rank_)];
    if (end.fails) throw LostProcess({end.peer, "nowhere", 0}, "the link broke");
    if (!end.swapping) return true;
    if (std::exchange(end.asked, !end.asked)) return false;
    End& other = all_.ends_[static_cast<std::size_t>(end.peer)];
    if (!end.arrived && other.swapping && !other.arrived && other.peer == rank_) {
      ACID_ASSERT(other.own.size() == end.own.size(), "{} for {} floats", other.own.size(),
                  end.own.size());
      std::copy(other.own.begin(), other.own.end(), end.partner.begin());
      std::copy(end.own.begin(), end.own.end(), other.partner.begin());
      end.arrived = other.arrived = true;
      ++all_.swaps_;
    }
    if (end.arrived) end.swapping = false;
    return end.arrived;
  }

  void abort() noexcept override {
    MutexLock lock(all_.mutex_);
    all_.ends_[static_cast<std::size_t>(rank_)] = {};
    ++all_.aborts_;
  }

 private:
  FakeLinks& all_;
  const int rank_;
};

FakeLinks::FakeLinks(int size) : ends_(static_cast<std::size_t>(size)) {
  for (int rank = 0; rank < size; ++rank) links_.push_back(std::make_unique<Link>(*this, rank));
}

FakeLinks::~FakeLinks() = default;

DeviceLink& FakeLinks::at(int rank) { return *links_[static_cast<std::size_t>(rank)]; }

void FakeLinks::fail(int rank) {
  MutexLock lock(mutex_);
  ends_[static_cast<std::size_t>(rank)].fails = true;
}

int FakeLinks::swaps() const {
  MutexLock lock(mutex_);
  return swaps_;
}

int FakeLinks::aborts() const {
  MutexLock lock(mutex_);
  return aborts_;
}

std::string FakeLinks::complaint() const {
  MutexLock lock(mutex_);
  return complaint_;
}

}  // namespace acid::test
