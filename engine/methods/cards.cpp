#include "engine/methods/cards.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace acid {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
// Messages that end this close, relatively, end together: their times are sums of many intervals.
constexpr double kTogether = 1e-12;

std::size_t index(int card) { return static_cast<std::size_t>(card); }

}  // namespace

Cards::Cards(std::vector<double> bytes_per_second)
    : bytes_per_second_(std::move(bytes_per_second)), next_end_(kUnlimited) {}

void Cards::begin(int name, const SharedWay& way, double bytes, double link_bytes_per_second,
                  double now) {
  go_to(now);
  messages_.push_back(
      {name, way, bytes, link_bytes_per_second > 0 ? link_bytes_per_second : kUnlimited, 0, 0});
  share();
}

std::vector<int> Cards::end_next() {
  const double end = next_end_;
  go_to(end);
  std::vector<int> names;
  std::erase_if(messages_, [&](const Message& message) {
    const bool ends = message.end <= end * (1 + kTogether);
    if (ends) names.push_back(message.name);
    return ends;
  });
  share();
  std::ranges::sort(names);
  return names;
}

void Cards::go_to(double now) {
  for (Message& message : messages_)
    message.left = std::max(0.0, message.left - message.rate * (now - now_));
  now_ = now;
}

// Fills the cards step by step: the messages that get the least get it first.
void Cards::share() {
  std::vector<double> rest = bytes_per_second_;
  std::vector<int> waiting(rest.size(), 0);
  std::vector<Message*> open;
  for (Message& message : messages_) {
    open.push_back(&message);
    for (const int card : message.way)
      if (card >= 0) ++waiting[index(card)];
  }
  const auto most = [&](const Message& message) {
    double rate = message.limit;
    for (const int card : message.way)
      if (card >= 0) rate = std::min(rate, rest[index(card)] / waiting[index(card)]);
    return rate;
  };
  while (!open.empty()) {
    double least = kUnlimited;
    for (const Message* message : open) least = std::min(least, most(*message));
    std::vector<Message*> filled;
    std::erase_if(open, [&](Message* message) {
      const bool full = most(*message) <= least * (1 + kTogether);
      if (full) filled.push_back(message);
      return full;
    });
    for (Message* message : filled) {
      message->rate = least;
      for (const int card : message->way) {
        if (card < 0) continue;
        if (least < kUnlimited) rest[index(card)] = std::max(0.0, rest[index(card)] - least);
        --waiting[index(card)];
      }
    }
  }
  next_end_ = kUnlimited;
  for (Message& message : messages_) {
    message.end = now_ + message.left / message.rate;
    next_end_ = std::min(next_end_, message.end);
  }
}

std::vector<double> Cards::load() const {
  std::vector<double> sums(bytes_per_second_.size(), 0.0);
  for (const Message& message : messages_)
    for (const int card : message.way)
      if (card >= 0) sums[index(card)] += message.rate;
  return sums;
}

}  // namespace acid
