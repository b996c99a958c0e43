#include "engine/drivers/virtual/round_clock.hpp"

#include <algorithm>
#include <utility>

#include "engine/methods/cards.hpp"
#include "engine/run/run_spec.hpp"

namespace acid {
namespace {

std::size_t at(int worker) { return static_cast<std::size_t>(worker); }

/// The buckets of one exchange over shared cards. What happens next is that an exchange of a bucket
/// begins, of one worker with those that it hears or of one group, or that messages have left their
/// cards. Messages of one exchange share cards with each other, not with those of the exchange
/// before it, whose last ones may still be under way.
class ExchangeOverCards {
 public:
  using Buckets = std::vector<std::vector<double>>;
  ExchangeOverCards(const Buckets& said, const MessageCosts& costs, std::vector<double>& link_free,
                    const std::vector<double>& shares)
      : said_(said),
        costs_(costs),
        link_free_(link_free),
        shares_(shares),
        in_groups_(!costs.groups.empty()),
        ends_(said),
        cards_(costs.cards),
        parts_(in_groups_ ? costs.groups.size() : said.size()) {}

  /// When worker i's exchange of bucket b ends.
  Buckets ends() {
    for (std::size_t p = 0; p < parts_.size(); ++p) plan(p);
    double now = 0;
    while (true) {
      const auto next = std::ranges::min_element(parts_, {}, &Part::start);
      if (next->start <= now || next->start < cards_.next_end()) {
        now = std::max(now, next->start);
        begin(static_cast<std::size_t>(next - parts_.begin()));
        continue;
      }
      now = cards_.next_end();
      if (now == kNever) return std::move(ends_);
      leave_cards(now);
    }
  }

 private:
  /// A worker, or a group: its bucket that is exchanged or comes next.
  struct Part {
    std::size_t bucket = 0;
    double start = 0, end = 0;
    std::size_t under_way = 0;
  };
  void plan(std::size_t p) {
    const std::size_t b = parts_[p].bucket;
    double start = 0;
    const auto wait_for = [&](std::size_t i) {
      start = std::max({start, said_[i][b], link_free_[i]});
    };
    if (in_groups_) {
      for (const int i : costs_.groups[p].members) wait_for(at(i));
    } else {
      wait_for(p);
      for (const int j : costs_.neighbours[p]) start = std::max(start, said_[at(j)][b]);
    }
    parts_[p].start = start;
  }
  void begin(std::size_t p) {
    Part& part = parts_[p];
    const double share = shares_[part.bucket];
    const GroupCost* const group = in_groups_ ? &costs_.groups[p] : nullptr;
    const std::size_t place = in_groups_ ? group->place(part.bucket, shares_.size()) : 0;
    const double alone = in_groups_ ? group->seconds[place] : costs_.exchanges[p].seconds(share);
    part.end = part.start + alone;
    const auto& over_cards = in_groups_ ? group->over_cards : costs_.over_cards[p];
    part.under_way = over_cards.size();
    if (part.under_way == 0) return finish(p);
    for (const CardMessage& message : over_cards) {
      cards_.begin(static_cast<int>(messages_.size()), message.way, message.bytes * share,
                   message.link.most_bytes_per_second(), part.start);
      messages_.emplace_back(p, in_groups_ ? group->after[place] : message.link.latency_seconds);
    }
    part.start = kNever;
  }
  void leave_cards(double now) {
    for (const int name : cards_.end_next()) {
      const auto [p, after] = messages_[at(name)];
      parts_[p].end = std::max(parts_[p].end, now + after);
      if (--parts_[p].under_way == 0) finish(p);
    }
  }
  void finish(std::size_t p) {
    Part& part = parts_[p];
    const auto end_of = [&](std::size_t i) { ends_[i][part.bucket] = link_free_[i] = part.end; };
    if (in_groups_)
      for (const int i : costs_.groups[p].members) end_of(at(i));
    else
      end_of(p);
    part.start = kNever;
    if (++part.bucket < shares_.size()) plan(p);
  }

  const Buckets& said_;
  const MessageCosts& costs_;
  std::vector<double>& link_free_;
  const std::vector<double>& shares_;
  const bool in_groups_;
  Buckets ends_;
  Cards cards_;
  std::vector<Part> parts_;
  // By a message's name: its part, and the seconds from when it has left its cards.
  std::vector<std::pair<std::size_t, double>> messages_;
};

}  // namespace

std::vector<double> CostModel::bucket_shares(double vector_bytes) const {
  if (buckets > 0) return std::vector<double>(static_cast<std::size_t>(buckets), 1.0 / buckets);
  std::vector<double> shares;
  double left = vector_bytes, limit = first_bucket_bytes;
  for (; left > limit; limit = bucket_bytes) {
    shares.push_back(limit / vector_bytes);
    left -= limit;
  }
  shares.push_back(left / vector_bytes);
  return shares;
}

RoundClock::RoundClock(int workers, double forward_share, std::vector<double> shares)
    : forward_share_(forward_share),
      shares_(std::move(shares)),
      rest_(shares_.size(), 0.0),
      ready_(static_cast<std::size_t>(workers), 0.0),
      done_(ready_.size(), std::vector<double>(shares_.size(), 0.0)),
      link_free_(ready_.size(), 0.0),
      own_(ready_.size(), 0.0),
      idle_(ready_.size(), 0.0) {
  for (std::size_t b = shares_.size() - 1; b > 0; --b) rest_[b - 1] = rest_[b] + shares_[b];
}

double RoundClock::advance(const Leg& leg, const std::vector<RoundWork>& work,
                           const std::vector<std::shared_ptr<const MessageCosts>>& of_says) {
  const std::size_t n = work.size(), buckets = shares_.size();
  now_ = began_ = ready_;
  bool computed = false;  // the leg's gradient is computed, its step is not done
  bool stepping = false;  // the step goes with what is heard, bucket by bucket
  std::size_t said = 0;   // messages
  for (std::size_t k = 0; k < leg.size(); ++k) switch (leg[k]) {
      case Phase::gradient:
        began_ = now_;
        for (std::size_t i = 0; i < n; ++i) now_[i] += work[i].gradient_seconds;
        computed = true;
        break;
      case Phase::say: {
        const MessageCosts& costs = *of_says[said++];
        const bool overlaps = !costs.is_whole && leg[k + 1] != Phase::hear;
        to_all_ = costs.neighbours.empty();
        own_ = costs.own_seconds;
        own_.resize(n);
        whole_.clear();
        early_ = overlaps;
        if (!overlaps && !(computed && costs.of_gradients)) {
          whole_ = costs.is_empty ? now_ : exchange_whole(costs);
          break;
        }
        Buckets leaving = done_;
        for (std::size_t i = 0; computed && i < n; ++i)
          for (std::size_t b = 0; b < buckets; ++b) leaving[i][b] = gradient_ready(i, b, work[i]);
        ends_ = exchange(leaving, costs);
        break;
      }
      case Phase::hear:
        stepping = early_ && computed && !to_all_ && leg[k + 1] == Phase::step;
        for (std::size_t i = 0; i < n; ++i) idle_[i] -= own_[i];
        if (stepping) break;
        for (std::size_t i = 0; i < n; ++i) {
          now_[i] = std::max(now_[i], whole_.empty() ? ends_[i].back() : whole_[i]) + own_[i];
          done_[i].assign(buckets, now_[i]);
        }
        break;
      case Phase::step:
        computed = false;
        if (stepping) {
          step_by_buckets(work, ends_);
          break;
        }
        for (std::size_t i = 0; i < n; ++i) {
          now_[i] += work[i].optimizer_seconds;
          done_[i].assign(buckets, now_[i]);
        }
    }
  for (std::size_t i = 0; i < n; ++i)
    idle_[i] += now_[i] - ready_[i] - work[i].gradient_seconds - work[i].optimizer_seconds;
  ready_ = now_;
  return *std::max_element(ready_.begin(), ready_.end());
}

std::vector<double> MessageCosts::all_reduced(const std::vector<double>& said) const {
  std::vector<double> ends(said.size());
  double free = 0;  // when the link is
  if (!way_seconds) {
    for (std::size_t b = 0; b < said.size(); ++b)
      ends[b] = free = std::max(free, said[b]) + bucket_seconds[b];
    return ends;
  }
  std::vector<double> added(said.size());  // when all parts of a bucket have come
  for (std::size_t sent = 0, answered = 0; answered < said.size();) {
    const bool sends = sent < said.size() && (answered == sent || said[sent] <= added[answered]);
    const std::size_t b = sends ? sent++ : answered++;
    free = std::max(free, sends ? said[b] : added[b]) + bucket_seconds[b] / 2 - *way_seconds;
    (sends ? added : ends)[b] = free + *way_seconds;
  }
  return ends;
}

RoundClock::Buckets RoundClock::exchange(const Buckets& said, const MessageCosts& costs) {
  if (!costs.neighbours.empty()) return exchange_with_neighbours(said, costs, link_free_, shares_);
  std::vector<double> by_all(shares_.size());
  for (std::size_t b = 0; b < by_all.size(); ++b)
    for (const auto& own : said) by_all[b] = std::max(by_all[b], own[b]);
  return Buckets(said.size(), costs.all_reduced(by_all));
}

RoundClock::Buckets RoundClock::exchange_with_neighbours(const Buckets& said,
                                                         const MessageCosts& costs,
                                                         std::vector<double>& link_free,
                                                         const std::vector<double>& shares) {
  if (!costs.cards.empty()) return ExchangeOverCards(said, costs, link_free, shares).ends();
  Buckets ends = said;
  for (const GroupCost& group : costs.groups)
    for (std::size_t b = 0; b < shares.size(); ++b) {
      double end = 0;
      for (const int i : group.members) end = std::max({end, said[at(i)][b], link_free[at(i)]});
      end += group.seconds[group.place(b, shares.size())];
      for (const int i : group.members) ends[at(i)][b] = link_free[at(i)] = end;
    }
  for (std::size_t i = 0; i < said.size() && costs.groups.empty(); ++i)
    for (std::size_t b = 0; b < shares.size(); ++b) {
      double start = std::max(said[i][b], link_free[i]);
      for (const int j : costs.neighbours[i]) start = std::max(start, said[at(j)][b]);
      ends[i][b] = link_free[i] = start + costs.exchanges[i].seconds(shares[b]);
    }
  return ends;
}

std::vector<double> RoundClock::exchange_whole(const MessageCosts& costs) const {
  std::vector<double> ends = now_;
  if (costs.neighbours.empty()) {
    ends.assign(now_.size(), *std::max_element(now_.begin(), now_.end()) + costs.whole_seconds);
    return ends;
  }
  Buckets said;
  for (const double now : now_) said.push_back({now});
  std::vector<double> free(now_.size(), 0.0);
  const Buckets heard = exchange_with_neighbours(said, costs, free, {1.0});
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = heard[i][0];
  return ends;
}

void RoundClock::step_by_buckets(const std::vector<RoundWork>& work, const Buckets& ends) {
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double backward = work[i].gradient_seconds * (1 - forward_share_);
    double now = began_[i] + work[i].gradient_seconds * forward_share_;
    for (std::size_t b = 0; b < shares_.size(); ++b) {
      now = std::max(now + backward * shares_[b], ends[i][b]) +
            (work[i].optimizer_seconds + own_[i]) * shares_[b];
      done_[i][b] = now;
    }
    now_[i] = now;
  }
}

}  // namespace acid
