#include "engine/drivers/virtual/round_clock.hpp"

#include <algorithm>
#include <utility>

#include "engine/methods/cards.hpp"
#include "engine/run/run_spec.hpp"

namespace acid {

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

RoundClock::Buckets RoundClock::exchange(const Buckets& said, const MessageCosts& costs) {
  Buckets ends = said;
  if (costs.neighbours.empty()) {
    double end = 0;
    for (std::size_t b = 0; b < shares_.size(); ++b) {
      for (const auto& own : said) end = std::max(end, own[b]);
      end += costs.bucket_seconds[b];
      for (auto& own : ends) own[b] = end;
    }
    return ends;
  }
  if (!costs.over_cards.empty()) return exchange_over_cards(said, costs, link_free_, shares_);
  for (std::size_t i = 0; i < said.size(); ++i)
    for (std::size_t b = 0; b < shares_.size(); ++b) {
      double start = std::max(said[i][b], link_free_[i]);
      for (const int j : costs.neighbours[i])
        start = std::max(start, said[static_cast<std::size_t>(j)][b]);
      ends[i][b] = link_free_[i] = start + costs.exchanges[i].seconds(shares_[b]);
    }
  return ends;
}

// What happens next is that a worker's exchange of a bucket begins, or that messages have left
// their cards. Messages of one exchange share cards with each other, not with those of the exchange
// before it, whose last ones may still be under way.
RoundClock::Buckets RoundClock::exchange_over_cards(const Buckets& said, const MessageCosts& costs,
                                                    std::vector<double>& link_free,
                                                    const std::vector<double>& shares) {
  struct Exchange {
    std::size_t bucket = 0;
    double start = 0, end = 0;
    std::size_t under_way = 0;
  };
  const std::size_t n = said.size();
  Buckets ends = said;
  Cards cards(costs.cards);
  std::vector<Exchange> exchanges(n);
  std::vector<std::pair<std::size_t, double>> messages;  // worker that hears it, latency; by name
  const auto plan = [&](std::size_t i) {
    const std::size_t b = exchanges[i].bucket;
    double start = std::max(said[i][b], link_free[i]);
    for (const int j : costs.neighbours[i])
      start = std::max(start, said[static_cast<std::size_t>(j)][b]);
    exchanges[i].start = start;
  };
  const auto finish = [&](std::size_t i) {
    ends[i][exchanges[i].bucket] = link_free[i] = exchanges[i].end;
    exchanges[i].start = kNever;
    if (++exchanges[i].bucket < shares.size()) plan(i);
  };
  const auto begin = [&](std::size_t i) {
    Exchange& own = exchanges[i];
    own.end = own.start + costs.exchanges[i].seconds(shares[own.bucket]);
    own.under_way = costs.over_cards[i].size();
    if (own.under_way == 0) return finish(i);
    for (const CardMessage& message : costs.over_cards[i]) {
      cards.begin(static_cast<int>(messages.size()), message.way,
                  message.bytes * shares[own.bucket], message.link.most_bytes_per_second(),
                  own.start);
      messages.emplace_back(i, message.link.latency_seconds);
    }
    own.start = kNever;
  };
  for (std::size_t i = 0; i < n; ++i) plan(i);
  double now = 0;
  while (true) {
    const auto next = std::ranges::min_element(exchanges, {}, &Exchange::start);
    if (next->start <= now || next->start < cards.next_end()) {
      now = std::max(now, next->start);
      begin(static_cast<std::size_t>(next - exchanges.begin()));
      continue;
    }
    const double left = now = cards.next_end();
    if (left == kNever) return ends;
    for (const int name : cards.end_next()) {
      const auto [i, latency] = messages[static_cast<std::size_t>(name)];
      exchanges[i].end = std::max(exchanges[i].end, left + latency);
      if (--exchanges[i].under_way == 0) finish(i);
    }
  }
}

std::vector<double> RoundClock::exchange_whole(const MessageCosts& costs) const {
  std::vector<double> ends = now_;
  if (costs.neighbours.empty()) {
    ends.assign(now_.size(), *std::max_element(now_.begin(), now_.end()) + costs.whole_seconds);
    return ends;
  }
  if (!costs.over_cards.empty()) {
    Buckets said;
    for (const double now : now_) said.push_back({now});
    std::vector<double> free(now_.size(), 0.0);
    const Buckets heard = exchange_over_cards(said, costs, free, {1.0});
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = heard[i][0];
    return ends;
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (const int j : costs.neighbours[i])
      ends[i] = std::max(ends[i], now_[static_cast<std::size_t>(j)]);
    ends[i] += costs.exchanges[i].seconds(1);
  }
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
