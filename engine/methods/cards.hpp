#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace acid {

/// What a message shares with others: numbers of cards, and of the path between two nodes; −1:
/// none.
using SharedWay = std::array<int, 3>;

/// Messages under way that share network cards, and paths between nodes (cards, too, below). At
/// every moment each has its max-min fair share (Bertsekas and Gallager, Data Networks, 6.5.2): the
/// rates grow together, and a message's stops when one of its cards, or its own link, has no more
/// to give. So the rates on a card never sum to more than its bandwidth, and every message has its
/// link's rate or a card that is full. Not thread-safe.
class Cards {
 public:
  /// The bandwidth of each card, above 0. Directions that do not disturb each other are cards of
  /// their own.
  explicit Cards(std::vector<double> bytes_per_second);

  /// A message begins now, in seconds, which never go back. `name` is no other's that is under way;
  /// `link_bytes_per_second` is what its own link carries, 0: unlimited.
  void begin(int name, const SharedWay& way, double bytes, double link_bytes_per_second,
             double now);
  bool idle() const { return messages_.empty(); }
  /// When the next message has left its cards; infinity when none is under way.
  double next_end();
  /// Ends the messages whose time that is, and returns their names in ascending order.
  std::vector<int> end_next();
  /// The rates on each card, summed.
  std::vector<double> load();

  template <class Archive>
  void persist(Archive& archive) {
    archive(messages_, now_, next_end_, is_new_);
  }

 private:
  struct Message {
    int name = 0;
    SharedWay way = {};
    double left = 0;  // bytes, at now_
    double limit = 0, rate = 0;
    double end = 0;  // at this rate
    template <class Archive>
    void persist(Archive& archive) {
      archive(name, way[0], way[1], way[2], left, limit, rate, end);
    }
  };
  void go_to(double now);
  void share();
  void list_by_card();

  std::vector<double> bytes_per_second_;
  std::vector<Message> messages_;
  double now_ = 0;
  double next_end_;
  bool is_new_ = false;  // messages have begun or ended since rates were shared
  // Used by share() alone.
  std::vector<double> rest_;  // bytes per second, by card
  std::vector<int> waiting_;  // messages without a rate, by card
  std::vector<Message*> by_limit_, on_card_;
  std::vector<std::size_t> first_;
};

}  // namespace acid
