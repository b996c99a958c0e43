#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "engine/language/round.hpp"
#include "engine/methods/network.hpp"

namespace acid {

/// What a gradient costs besides its duration, and in which pieces its result travels.
struct CostModel {
  double forward_share = 1.0 / 3;  // of a gradient's duration; the backward pass is the rest
  /// The optimiser's time, added as a share of a gradient's duration, with every method. It follows
  /// the exchange (all-reduce) or each bucket of it (neighbour average beside the gradient),
  /// precedes it (adapt-then-combine), or is part of the gradient (pairwise).
  double optimizer_share = 0;
  /// What an exchange takes of each worker's own time: a meeting lasts so much longer and lengthens
  /// the gradient that is computed when it ends, or else the next one; a worker of rounds pays it
  /// for each message that it hears from a neighbour, and never for an all-reduce.
  double exchange_seconds = 0;
  /// The number of equal buckets; 0: buckets by size, as PyTorch's DistributedDataParallel cuts
  /// them, which overlaps one bucket's all-reduce with the backward pass of the next. The first is
  /// small, so that sending begins early. (DDP never cuts a tensor; these buckets do.)
  int buckets = 0;
  double first_bucket_bytes = 1 << 20, bucket_bytes = 25 << 20;

  /// Shares of a vector of so many bytes, in the order in which the backward pass ends them. A
  /// bucket takes its share of the backward pass, of the bytes and of the optimiser's time.
  std::vector<double> bucket_shares(double vector_bytes) const;
};

/// How long one worker computes in a leg.
struct RoundWork {
  double gradient_seconds = 0;   // forward and backward, with the pauses in it
  double optimizer_seconds = 0;  // on top
};

/// What the exchange of one worker's message with all its neighbours costs.
struct NeighbourCost {
  double latency_seconds = 0, transfer_seconds = 0;
  double seconds(double share) const { return latency_seconds + share * transfer_seconds; }
};

/// A message from a worker's neighbour on another node, which shares cards with others.
struct CardMessage {
  SharedWay way = {};
  double bytes = 0;
  LinkCost link = {};
};

/// What the all-reduce of a group of neighbours costs. By bucket, and last of the whole message:
struct GroupCost {
  std::vector<int> members = {};
  std::vector<double> seconds = {};  // with the cards to itself
  std::vector<CardMessage> over_cards = {};
  std::vector<double> after = {};  // of these seconds, those after its messages have left the cards
  /// Where these have bucket b of so many; a whole message is one bucket.
  std::size_t place(std::size_t b, std::size_t buckets) const {
    return buckets + 1 == seconds.size() ? b : seconds.size() - 1;
  }
};

/// What the messages of one exchange of a synchronous method cost.
struct MessageCosts {
  // Where workers hear neighbours; empty where they hear all, by an all-reduce.
  std::vector<std::vector<int>> neighbours = {};          // whom worker i hears
  std::vector<NeighbourCost> exchanges = {};              // of worker i, without those over cards
  std::vector<std::vector<CardMessage>> over_cards = {};  // to worker i; empty: none has any
  std::vector<GroupCost> groups = {};  // where neighbours average by all-reduces, in place of both
  std::vector<double> cards = {};      // NetworkModel::cards(), directed
  std::vector<double> own_seconds = {};  // of worker i, to hear them; empty: none
  // Where they hear all: the seconds of an all-reduce of each bucket, and of the whole message.
  std::vector<double> bucket_seconds = {};
  double whole_seconds = 0;
  /// The latency of each of the two ways of a direct all-reduce, whose buckets travel side by side:
  /// only their bytes follow each other, parts and sums in the order in which they are there. The
  /// other kinds reduce one bucket after the other.
  std::optional<double> way_seconds = {};
  /// When all-reduces of buckets end that the last worker says at these moments.
  std::vector<double> all_reduced(const std::vector<double>& said) const;
  bool of_gradients = false;  // the message is the gradient
  bool is_whole = false;      // the message is one bucket, also where it could overlap
  bool is_empty = false;      // nothing is sent, and no worker waits
};

/// When the workers of a synchronous method are done with a leg of its round (DDP's and Decent-DP's
/// bucket schedules are two cases). One max-plus recurrence, of worker i and bucket b:
///
///   gradient  Fᵢ is its forward pass, gᵢ,b its backward pass of bucket b, which ends at
///             readyᵢ,b = nowᵢ + Fᵢ + gᵢ,1 + … + gᵢ,b.
///   say       The message leaves bucket by bucket where that overlaps something: saidᵢ,b is
///             readyᵢ,b of a gradient, and while a gradient is computed doneᵢ,b, when bucket b last
///             changed. Elsewhere it is one bucket, saidᵢ = nowᵢ, as are messages that differ from
///             exchange to exchange. Where nothing is sent, endᵢ = nowᵢ. Neighbours: the exchange
///             of bucket b begins as soon as i and those it hears have said it and i's link is
///             free, and ends at endᵢ,b, c_b later; where messages share cards, when the last of
///             them has come. The all-reduce of a group begins and ends so for all its members at
///             once. All: end_b = max(maxᵢ saidᵢ,b, end_b−1) + c_b, the same for all workers; by
///             a direct all-reduce, MessageCosts::all_reduced(). Legs may end meanwhile.
///   hear      nowᵢ ← max(nowᵢ, endᵢ,B) + hᵢ, the worker's own time for what it hears.
///   step      nowᵢ ← nowᵢ + Uᵢ, the optimiser's time. Right after hearing
///             from neighbours what was said before the gradient, bucket by bucket: doneᵢ,b =
///             max(doneᵢ,b−1 + gᵢ,b, endᵢ,b) + uᵢ,b + hᵢ,b, with doneᵢ,0 = nowᵢ + Fᵢ where it
///             began.
///
/// The start points are done at 0. Equal buckets and workers have closed forms in steady state,
/// with G = Bg: "gradient say hear step" with all max(F + G + c, F + g + Bc) + U;
/// "say gradient hear step" with neighbours max(F + G + U, Bc, c + U/B).
class RoundClock {
 public:
  /// `shares` of the buckets sum to 1.
  RoundClock(int workers, double forward_share, std::vector<double> shares);

  /// Advances the clock by a leg. `costs`: of the messages that are said in it. Returns when the
  /// last worker ends it.
  double advance(const Leg& leg, const std::vector<RoundWork>& work,
                 const std::vector<std::shared_ptr<const MessageCosts>>& costs);

  /// When worker i starts its next leg.
  double ready_seconds(int worker) const { return ready_[static_cast<std::size_t>(worker)]; }
  /// Seconds each worker has neither computed, nor taken optimiser steps, nor spent on what it
  /// heard, so far.
  const std::vector<double>& idle_seconds() const { return idle_; }

  template <class Archive>
  void persist(Archive& archive) {
    archive(ready_, done_, link_free_, idle_);
  }

 private:
  using Buckets = std::vector<std::vector<double>>;  // by worker and bucket

  /// The seconds at which bucket b of worker i's gradient is computed.
  double gradient_ready(std::size_t i, std::size_t b, const RoundWork& work) const {
    return began_[i] + work.gradient_seconds * (1 - (1 - forward_share_) * rest_[b]);
  }
  Buckets exchange(const Buckets& said, const MessageCosts& costs);
  /// `link_free`: as link_free_; `shares`: of the buckets in `said`, of which a whole message has
  /// one.
  static Buckets exchange_with_neighbours(const Buckets& said, const MessageCosts& costs,
                                          std::vector<double>& link_free,
                                          const std::vector<double>& shares);
  std::vector<double> exchange_whole(const MessageCosts& costs) const;
  void step_by_buckets(const std::vector<RoundWork>& work, const Buckets& ends);

  double forward_share_;
  std::vector<double> shares_, rest_;  // rest_[b]: of the buckets after b
  std::vector<double> ready_;          // when each worker starts its next leg
  std::vector<double> now_, began_;    // during a leg: its clock, and when its gradient began
  Buckets done_;                       // when each bucket of what a worker says last changed
  std::vector<double> link_free_;      // per worker: end of its last bucket exchange
  // When the message on its way arrives, by bucket, or whole; none is where the clock is kept.
  Buckets ends_;
  std::vector<double> whole_;
  std::vector<double> own_;  // MessageCosts::own_seconds, 0 where there are none
  bool early_ = false;       // the message was said before a gradient that is computed meanwhile
  bool to_all_ = false;      // the message goes to all, by an all-reduce
  std::vector<double> idle_;
};

}  // namespace acid
