#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/drivers/mpi/post.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// The processes of a calibration, which do one thing together after the other. Those that have
/// nothing to do sleep in the kernel. Rank 0 leads. One thread.
class CalibrationCrew {
 public:
  explicit CalibrationCrew(Transport& transport);
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }
  bool leads() const { return rank() == 0; }

  /// Ranks by host, those of rank 0's host first.
  const std::vector<std::vector<int>>& hosts() const { return hosts_; }
  const std::string& host_name(std::size_t host) const;

  /// Returns when all have come: rank 0's value, in every process.
  std::int32_t meet(std::int32_t value = 0);
  /// Runs a job that takes long and does not talk.
  void work(const std::function<void()>& job) { post_.run_with_heartbeats(job); }
  /// Numbers for rank 0, and what rank 0 gets from another.
  void report(const std::vector<double>& values);
  std::vector<double> reported_by(int rank);

  // Each for so many seconds, and at least twice.
  /// Half a round trip of a message of `floats` between rank 0 and the partner, which both call it;
  /// the median. 0 in the partner.
  double message_seconds(int partner, std::size_t floats, double seconds);
  /// An exchange with the partner, which calls it too, by words and vectors as PairExchange has
  /// them; the mean.
  double exchange_seconds(int partner, std::size_t floats, double seconds);
  /// A round: `before`, and then vectors of both at the same time; the mean.
  double swap_seconds(int partner, std::size_t floats, double seconds,
                      const std::function<void()>& before);
  /// A round: `before`, if there is something, and then an all-reduce of acid's own over all
  /// processes, which all call it; the mean.
  double all_reduce_seconds(std::size_t floats, double seconds,
                            const std::function<void()>& before = {});

 private:
  Mail take(int from);
  std::vector<float> body_of(const Mail& mail);
  /// Fetches a body, and waits until another has been sent, too.
  void await(Transport::Ticket sent, const Mail& mail, std::span<float> into);
  void send(int to, const std::vector<std::byte>& header, std::span<const float> body = {});

  Transport& transport_;
  Post post_;
  std::deque<Mail> early_;  // mail that came before it was wanted
  std::vector<std::vector<int>> hosts_;
};

}  // namespace acid
