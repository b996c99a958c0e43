#pragma once

#include <set>
#include <span>

#include "engine/drivers/mpi/incoming.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/progress.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// The exchanges of a process's worker, one after the other, in the words of docs/MPI.md. One
/// partner says that it is ready; the other, once it is ready too, stops its clock and sends its
/// time; the first sets the time of the exchange and answers. Then either both offer, send and
/// apply, or, where the second can reach the first's memory, the first lends its vectors and the
/// second changes those of both.
///
/// Belongs to the communication thread; the worker is locked for each of its events.
class PairExchange {
 public:
  /// The arguments outlive this.
  PairExchange(const Run& run, const MpiOptions& options, Post& post, SharedWorker& worker,
               Progress& progress);
  ~PairExchange();

  /// Begins the exchange of the worker's next due edge, unless one is on its way.
  void begin();
  /// Takes a message of the kinds ready, go, answer, offer, rest, lent and returned.
  void deliver(const Mail& mail);
  /// Checks whether offers between devices have arrived: nothing wakes a thread for them.
  void finish_swap();
  bool is_swapping() const { return swapping_; }
  /// Whether no exchange of this worker is on its way.
  bool is_idle() const { return stage_ == Stage::none; }
  /// A process is lost: gives up the exchange with it. An offer stays offered, never applied.
  void lose(int rank);

 private:
  enum class Stage { none, ready, gone, in_flight, lent };

  // The partner's messages.
  void hear_ready(const Mail& mail);
  void go(const Mail& mail);
  void answer(const Mail& mail);
  void exchange(const Mail& mail);
  void take_back(const Mail& mail);
  void fetch_offer(const Mail& mail);

  void lend(std::int64_t count);
  void offer(std::int64_t count) REQUIRES_LOCK(worker_.mutex);
  void send_offer(MailKind kind);
  void swap_offers();
  void apply();
  void expect(Stage stage, std::uint64_t number, const Mail& mail) const;
  bool leads() const;
  int partner() const { return edge_.i == rank_ ? edge_.j : edge_.i; }
  std::span<float> partners_memory();

  const Run& run_;
  const MpiOptions& options_;
  Post& post_;
  SharedWorker& worker_;
  Progress& progress_;
  const int rank_;
  Stage stage_ = Stage::none;
  DueEdge edge_;              // of stage_
  std::int64_t offered_ = 0;  // count at which edge_ was offered
  double began_ = 0;          // by the wall clock
  bool leaving_ = false;      // our offer is on its way to the partner
  bool swapping_ = false;     // options_.link swaps both offers
  const bool by_link_;
  const PackedMessage form_;
  std::uint64_t said_ = 0;  // number of the message that is our offer
  Arena<float> own_offer_;
  Arena<float> own_packed_;  // as it travels, if that differs
  Incoming partner_offer_;
  std::set<std::uint64_t> ready_partners_;  // exchanges for which the partner is ready
};

}  // namespace acid
