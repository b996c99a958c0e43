#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/drivers/mpi/post.hpp"
#include "engine/worker/arena.hpp"

namespace acid {

/// A vector of `dimension` elements cut into buckets of about a mebibyte, the last elements first:
/// a backward pass finishes them in that order. No bucket is empty. They are smaller than the 25
/// MiB of PyTorch's DistributedDataParallel, which reduces one bucket after the other and pays a
/// start-up for each: here the messages of all buckets travel side by side, and each slice is added
/// as soon as its parts are there.
class Buckets {
 public:
  static constexpr std::size_t kMostElements = std::size_t{1} << 18;

  explicit Buckets(std::size_t dimension);
  std::size_t size() const { return count_; }
  /// Elements [first, second).
  std::pair<std::size_t, std::size_t> range(std::size_t bucket) const;
  /// The bucket of an element.
  std::size_t holding(std::size_t element) const;

 private:
  std::size_t dimension_, count_;
};

/// The mean of one vector of every process of a group, round after round, bucket by bucket as they
/// become final. Each bucket is cut into n slices; every process sends slice k to the group's
/// member k, which adds the n slices in worker order, multiplies by 1/n and sends the result to
/// all. So the order of additions of every element, and with it every bit, is that of
/// mean_in_order, for any order of arrival.
///
/// Cost per round and process: 2(n − 1)/n vectors sent in 2(n − 1) messages per bucket, 2 hops;
/// memory for two vectors, the mean and the parts of other members.
///
/// Belongs to the communication thread.
class AllReduce {
 public:
  /// The vectors that are summed together: those of as many floats, in exchanges at this place
  /// (PeerSchedule::place).
  struct Key {
    std::int64_t place = -1;
    std::uint64_t floats = 0;
    auto operator<=>(const Key&) const = default;
  };
  /// `members`: the group's ranks, ascending. `own`: this process's vector, outlives this. The mean
  /// lies in `memory`. `over` is called at the end of every round: mean() is whole and `own` may
  /// change. `library_sum`, if there is one, replaces all of the above once every process has its
  /// whole vector, in one bucket; the group is of all processes then.
  AllReduce(Post& post, const Key& key, std::vector<int> members, const Buckets& buckets,
            std::span<const float> own, const Backend& memory,
            std::function<void(std::span<float>)> library_sum, std::function<void()> over);

  /// A bucket of the own vector is final. Called for every bucket once a round, in any order, and
  /// for none of the next round before this one is over and its mean read.
  void contribute(std::size_t bucket);
  /// Takes a message of the kinds slice, slice_mean and round_ready.
  void deliver(const Mail& mail);
  /// Whose message it is.
  static Key key_of(const Mail& mail);
  std::span<const float> mean() const { return mean_.span(); }

 private:
  struct Bucket {
    bool contributed = false;  // the own part of the round is there
    int arrived = 0;           // others' slices that this process adds
    int leaving = 0;           // means of the bucket on their way to others
    std::size_t offset = 0;    // of this process's slice in incoming_
  };
  // Members are meant by their place in the group.
  std::pair<std::size_t, std::size_t> slice(std::size_t bucket, int member) const;
  bool has_slice(std::size_t bucket, int member) const;
  int member(int rank) const;
  template <class... Parts>
  auto header(MailKind kind, Parts... parts) const {
    return mail_header(kind, key_.place, key_.floats, parts...);
  }
  void fetch_slice(const Mail& mail, std::size_t bucket);
  void fetch_mean(const Mail& mail, std::size_t bucket);
  void add(std::size_t bucket);
  void settle();
  void check_over();
  void sum_by_library();

  Post& post_;
  const Key key_;
  const std::vector<int> members_;
  const Buckets& buckets_;
  const std::span<const float> own_;
  const std::function<void(std::span<float>)> library_sum_;
  const std::function<void()> over_;
  const int size_, own_place_;
  Arena<float> mean_;
  std::vector<Bucket> state_;
  std::vector<Arena<float>> incoming_;         // by member: its part of what this process adds
  std::size_t slices_ = 0;                     // of all buckets and members
  std::size_t contributed_ = 0, settled_ = 0;  // of this round: buckets, slices of the mean
  std::size_t slices_leaving_ = 0;
  int ready_ = 0;  // with a library_sum: processes whose vector is ready
};

}  // namespace acid
