#include "engine/methods/cards.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace acid {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
// Messages that end this close, relatively, end together: their times are sums of many intervals.
constexpr double kTogether = 1e-12;
constexpr double kOpen = -1;  // the rate of a message that is not known yet

std::size_t index(int card) { return static_cast<std::size_t>(card); }

}  // namespace

Cards::Cards(std::vector<double> bytes_per_second)
    : bytes_per_second_(std::move(bytes_per_second)), next_end_(kUnlimited) {}

void Cards::begin(int name, const SharedWay& way, double bytes, double link_bytes_per_second,
                  double now) {
  go_to(now);
  messages_.push_back(
      {name, way, bytes, link_bytes_per_second > 0 ? link_bytes_per_second : kUnlimited, 0, 0});
  is_new_ = true;
}

double Cards::next_end() {
  if (is_new_) share();
  return next_end_;
}

std::vector<int> Cards::end_next() {
  const double end = next_end();
  go_to(end);
  std::vector<int> names;
  std::erase_if(messages_, [&](const Message& message) {
    const bool ends = message.end <= end * (1 + kTogether);
    if (ends) names.push_back(message.name);
    return ends;
  });
  is_new_ = true;
  std::ranges::sort(names);
  return names;
}

void Cards::go_to(double now) {
  if (now <= now_) return;
  if (is_new_) share();
  for (Message& message : messages_)
    message.left = std::max(0.0, message.left - message.rate * (now - now_));
  now_ = now;
}

// Fills the cards one after the other: first the one that has least for each of its messages. A
// message whose own link has less gets that before.
void Cards::share() {
  rest_ = bytes_per_second_;
  waiting_.assign(rest_.size(), 0);
  by_limit_.clear();
  for (Message& message : messages_) {
    message.rate = kOpen;
    if (message.limit < kUnlimited) by_limit_.push_back(&message);
    for (const int card : message.way)
      if (card >= 0) ++waiting_[index(card)];
  }
  std::ranges::sort(by_limit_, {}, &Message::limit);
  list_by_card();
  const auto fill = [&](Message& message, double rate) {
    message.rate = rate;
    for (const int card : message.way) {
      if (card < 0) continue;
      if (rate < kUnlimited) rest_[index(card)] = std::max(0.0, rest_[index(card)] - rate);
      --waiting_[index(card)];
    }
  };
  auto limited = by_limit_.begin();
  while (true) {
    double least = kUnlimited;
    std::size_t fullest = rest_.size();
    for (std::size_t card = 0; card < rest_.size(); ++card) {
      if (waiting_[card] == 0) continue;
      const double share = rest_[card] / waiting_[card];
      if (fullest < rest_.size() && share >= least) continue;
      least = share;
      fullest = card;
    }
    if (fullest == rest_.size()) break;
    while (limited != by_limit_.end() && (*limited)->rate != kOpen) ++limited;
    if (limited != by_limit_.end() && (*limited)->limit <= least) {
      fill(**limited, (*limited)->limit);
      continue;
    }
    for (std::size_t k = first_[fullest]; k < first_[fullest + 1]; ++k)
      if (on_card_[k]->rate == kOpen) fill(*on_card_[k], least);
  }
  is_new_ = false;
  next_end_ = kUnlimited;
  for (Message& message : messages_) {
    message.end = now_ + message.left / message.rate;
    next_end_ = std::min(next_end_, message.end);
  }
}

// on_card_[first_[c]], … up to first_[c + 1] are card c's messages.
void Cards::list_by_card() {
  first_.assign(rest_.size() + 1, 0);
  for (std::size_t card = 0; card < rest_.size(); ++card)
    first_[card + 1] = first_[card] + index(waiting_[card]);
  on_card_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  for (Message& message : messages_)
    for (const int card : message.way)
      if (card >= 0) on_card_[next[index(card)]++] = &message;
}

std::vector<double> Cards::load() {
  if (is_new_) share();
  std::vector<double> sums(bytes_per_second_.size(), 0.0);
  for (const Message& message : messages_)
    for (const int card : message.way)
      if (card >= 0) sums[index(card)] += message.rate;
  return sums;
}

}  // namespace acid
